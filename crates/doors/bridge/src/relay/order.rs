//! Reading of a relay's body, checked in the order of the original hub: the agent's id, whether the agent is
//! online, and then the other fields.

use std::time::Duration;

use jackfield_core::{hub::Request, units::Span};
use jackfield_model::{AgentId, Json, Message, Part, RequestId, SessionId};
use jackfield_wire::{bridge::is_free_client_id, read::FieldError};
use serde::Serialize;

use crate::{
    DOOR,
    api::problem::{RelayApiError, agent_id, peer_id},
    attachment::file_from_attachment,
    callbacks::RepeatedFields,
    door::Bridge,
    wire::body::RelayRequest,
};

/// How the platform receives its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RelayMode {
    /// A stream that ends with its reader.
    Live,
    /// A stream that can be resumed.
    Durable,
    /// A callback.
    Async,
}

/// A relay requested by the platform.
#[derive(Debug)]
pub(super) struct RelayOrder {
    pub(super) request: Request,
    pub(super) mode: RelayMode,
}

/// Metadata of the message, with the field names of the bridge.
#[derive(Debug, Serialize)]
struct RelayMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    with_files: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_message: Option<&'a str>,
}

impl RelayOrder {
    /// Reads and checks the body of a relay.
    pub(super) fn read(bridge: &Bridge, body: &RelayRequest<'_>) -> Result<Self, RelayApiError> {
        let agent = agent_id(body.agent_id.required()?)?;
        let order = Self::of_agent(bridge, body, &agent);
        // A platform that waits for the agent accepts that the agent is offline now.
        let waits = order
            .as_ref()
            .is_ok_and(|order| order.request.wait_online.is_some());
        let entry = bridge.hub.agents().find(&bridge.platform, agent.as_str());
        let is_away =
            entry.is_err() || (order.is_err() && entry.is_ok_and(|it| it.link().is_none()));
        if is_away && !waits {
            return Err(RelayApiError::offline(format!(
                "Agent is not connected: {agent}"
            )));
        }
        order
    }

    fn of_agent(
        bridge: &Bridge,
        body: &RelayRequest<'_>,
        agent: &AgentId,
    ) -> Result<Self, RelayApiError> {
        let missing = |misread: FieldError| {
            let problem = RelayApiError::from(misread);
            problem.prefixed("Missing required fields")
        };
        let session = body.session_id.required().map_err(missing)?;
        let request_id = body.request_id.required().map_err(missing)?;
        body.content.required().map_err(missing)?;
        let session = peer_id("session_id", session, SessionId::parse)?;
        let request_id = peer_id("request_id", request_id, RequestId::parse)?;
        let wait_online = wait_online(body)?;
        // Wrong values are reported even if the field is not needed.
        let mode = body.mode.optional()?.map(AsRef::as_ref);
        if !matches!(mode, None | Some("stream" | "async")) {
            let text = "field \"mode\" must be \"stream\" or \"async\"";
            return Err(RelayApiError::invalid(text));
        }
        body.callback_url.optional()?;
        let mode = if body.is_async() {
            RelayMode::Async
        } else if wait_online.is_some() || body.keep.optional()?.is_some_and(|keep| *keep) {
            RelayMode::Durable
        } else {
            RelayMode::Live
        };
        let message = message_from(body)?;
        let mut request = Request::new(bridge.platform.clone(), DOOR, agent.clone(), message);
        request.session = Some(session);
        request.request = Some(request_id);
        request.wait_online = wait_online;
        match mode {
            RelayMode::Live => {}
            RelayMode::Durable => request.unread = Some(bridge.hub.limits().unread.0),
            RelayMode::Async => {
                let repeated = RepeatedFields {
                    request_id: body.request_id.required()?,
                    session_title: body.session_title.optional()?.map(AsRef::as_ref),
                    user_message: body.user_message.optional()?.map(AsRef::as_ref),
                };
                let url = body.callback_url.required()?;
                request.callback = Some(bridge.callbacks.accept(url, &repeated)?);
            }
        }
        Ok(Self { request, mode })
    }
}

/// Builds the [`Message`] for the agent.
fn message_from(body: &RelayRequest<'_>) -> Result<Message, RelayApiError> {
    let client_id = body.client_id.optional()?.map(AsRef::as_ref);
    if client_id.is_some_and(|id| !is_free_client_id(id)) {
        return Err(RelayApiError::unsafe_client_id());
    }
    let mut parts = vec![Part::Text(body.content.required()?.to_string())];
    let attachments = body.attachments.optional()?;
    let files = attachments.into_iter().flatten().map(file_from_attachment);
    parts.extend(files.map(Part::File));
    let metadata = RelayMetadata {
        client_id,
        with_files: body
            .with_files
            .optional()?
            .is_some_and(|with_files| *with_files),
        session_title: body.session_title.optional()?.map(AsRef::as_ref),
        user_message: body.user_message.optional()?.map(AsRef::as_ref),
    };
    let metadata = Json::of(&metadata).ok().filter(|json| json.get() != "{}");
    Ok(Message {
        parts,
        metadata,
        extra: None,
        ..Message::default()
    })
}

/// Returns how long the request may wait for its agent: given as seconds, or as a text such as `8h`.
fn wait_online(body: &RelayRequest<'_>) -> Result<Option<Duration>, RelayApiError> {
    let Some(raw) = body.wait_online.optional()? else {
        return Ok(None);
    };
    let text = raw.get();
    let span = match serde_json::from_str::<String>(text) {
        Ok(text) => text.parse::<Span>().ok().map(|span| span.0),
        // JSON does not distinguish 60 from 60.0.
        Err(_) => (text.parse::<f64>().ok())
            .filter(|seconds| seconds.fract() == 0.0)
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    };
    match span {
        Some(span) => Ok(Some(span)),
        None => Err(RelayApiError::invalid(
            "field \"wait_online\" must be a number of seconds or a text such as \"8h\"",
        )),
    }
}
