//! The body of a callback, exactly as in the original hub.

use jackfield_core::store::TaskRecord;
use jackfield_kit::files::Files;
use jackfield_model::Json;
use jackfield_wire::json::RawMembers;
use serde::Serialize;

use crate::{relay::outcome::RelayOutcome, wire::response::CallbackBody};

/// The parts of a request that its callback repeats.
#[derive(Debug, Serialize)]
pub(crate) struct RepeatedFields<'a> {
    /// The platform's id of the request; the agent may have been given a different one.
    pub(crate) request_id: &'a str,
    /// Title of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session_title: Option<&'a str>,
    /// Message of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_message: Option<&'a str>,
}

/// Returns the body of the callback for a finished task. `data` holds the [`RepeatedFields`] parts of its request,
/// and `links` provides URLs for the files of the answer.
pub(super) fn body_from(
    record: &TaskRecord,
    data: Option<&Json>,
    outcome: &RelayOutcome,
    links: &Files,
) -> Result<Vec<u8>, serde_json::Error> {
    let data = data.map(Json::raw).and_then(RawMembers::of);
    let repeated = |name| data.as_ref().and_then(|members| members.text(name));
    let request_id = repeated("request_id").unwrap_or_else(|| record.request.as_str().into());
    match &outcome.result {
        Ok(answered) => serde_json::to_vec(&CallbackBody::Completed {
            request_id: &request_id,
            result: &answered.text,
            attachments: &answered.attachments(links),
            file_transfer_offer: answered.offer(),
            duration_ms: outcome.duration_ms,
            session_key: record.session.as_str(),
            session_title: repeated("session_title").as_deref(),
            user_message: repeated("user_message").as_deref(),
        }),
        Err((code, text)) => serde_json::to_vec(&CallbackBody::Failed {
            request_id: &request_id,
            error_code: code,
            error_message: text,
        }),
    }
}
