//! The answer of a 1.0.0 stream: a plain body, or an error object.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{BodyLimits, MAX_ERROR, MAX_NAME, checked_text, cut, read_body};
use crate::read::read_part;

/// The error that a peer receives instead of a body: `{"error": text, "code": int}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerErrorBody {
    /// The error message, for people.
    pub text: String,
    /// The HTTP status code of the error.
    pub code: u16,
    /// The task that continues although its caller stopped waiting (beyond the seed).
    pub task_id: Option<String>,
    /// The name of the failure, more precise than the code; only in frames.
    pub reason: Option<String>,
}

impl PeerErrorBody {
    /// Creates an error without a task. The text is cut to [`MAX_ERROR`] bytes.
    pub fn new(text: impl Into<String>, code: u16) -> Self {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(MAX_ERROR));
        PeerErrorBody {
            text,
            code,
            task_id: None,
            reason: None,
        }
    }

    /// Returns the error as the body of an answer, in the form that every peer knows, without the reason.
    pub fn to_json(&self) -> String {
        let fields = PeerErrorFields {
            reason: None,
            ..self.fields()
        };
        // Texts and a number can always be serialised.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    /// Returns the fields of the error, for a frame.
    pub fn fields(&self) -> PeerErrorFields<'_> {
        let reason = self.reason.as_deref();
        PeerErrorFields {
            error: cut(&self.text, MAX_ERROR),
            code: self.code,
            task_id: self.task_id.as_deref(),
            reason: reason.map(|name| cut(name, MAX_NAME)),
        }
    }

    /// Reads an error, an object with a text `error` and a number `code`; `None` for any other value.
    pub fn read(raw: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct RequiredErrorFields {
            error: String,
            code: u16,
        }
        /// Optional fields. Other implementations may put any value here, so unusable values are ignored.
        #[derive(Default, Deserialize)]
        struct OptionalErrorFields<'a> {
            #[serde(borrow)]
            task_id: Option<&'a RawValue>,
            #[serde(borrow)]
            reason: Option<&'a RawValue>,
        }
        let body: RequiredErrorFields = read_part(raw).ok()?;
        let beside: OptionalErrorFields<'_> = read_part(raw).unwrap_or_default();
        let text = |raw: Option<&RawValue>| read_part::<String>(raw?).ok();
        let reason =
            text(beside.reason).and_then(|reason| checked_text("reason", reason, MAX_NAME).ok());
        Some(PeerErrorBody {
            task_id: text(beside.task_id),
            reason,
            ..Self::new(body.error, body.code)
        })
    }
}

/// The fields of an [`PeerErrorBody`] in JSON.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct PeerErrorFields<'a> {
    error: &'a str,
    code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// The answer of a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerAnswer<'a> {
    /// The body, any bytes.
    Body(&'a [u8]),
    /// An error.
    Error(PeerErrorBody),
}

/// Distinguishes an [`PeerErrorBody`] from a body.
///
/// An error is a short object with a text `error` and a number `code`. An object with only one of the two, or
/// with `"error": null`, is a body. A body with both cannot be distinguished from an error, by design of the
/// protocol.
pub fn read_answer(bytes: &[u8]) -> PeerAnswer<'_> {
    let raw: Result<&RawValue, _> = read_body(bytes, &BodyLimits::SMALL);
    match raw.ok().and_then(PeerErrorBody::read) {
        Some(error) => PeerAnswer::Error(error),
        None => PeerAnswer::Body(bytes),
    }
}
