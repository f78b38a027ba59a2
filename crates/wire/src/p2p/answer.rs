//! The answer of a 1.0.0 stream: a plain body, or the one shape that errors have.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Limits, MAX_ERROR, MAX_NAME, cut, read_body, word};
use crate::read::read_part;

/// What a peer is told instead of a body: `{"error": text, "code": int}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// What went wrong, for people.
    pub text: String,
    /// The code of HTTP that says it.
    pub code: u16,
    /// The task that goes on though nobody waits any more (beyond the seed).
    pub task_id: Option<String>,
    /// The name of the failure, which says more than the code; only in frames.
    pub reason: Option<String>,
}

impl ErrorBody {
    /// An error without a task. Its text is cut to [`MAX_ERROR`] bytes.
    pub fn new(text: impl Into<String>, code: u16) -> Self {
        let mut text = text.into();
        text.truncate(text.floor_char_boundary(MAX_ERROR));
        ErrorBody {
            text,
            code,
            task_id: None,
            reason: None,
        }
    }

    /// The error as the body of an answer, in the shape that every peer knows: the reason is left out.
    pub fn to_json(&self) -> String {
        let fields = ErrorFields {
            reason: None,
            ..self.fields()
        };
        // Texts and a number cannot fail to be written.
        serde_json::to_string(&fields).unwrap_or_default()
    }

    /// The fields of the error, for a frame.
    pub fn fields(&self) -> ErrorFields<'_> {
        let reason = self.reason.as_deref();
        ErrorFields {
            error: cut(&self.text, MAX_ERROR),
            code: self.code,
            task_id: self.task_id.as_deref(),
            reason: reason.map(|name| cut(name, MAX_NAME)),
        }
    }

    /// Reads an error; `None` if `raw` is none: an object with a text `error` and a number `code`.
    pub fn read(raw: &RawValue) -> Option<Self> {
        #[derive(Deserialize)]
        struct Body {
            error: String,
            code: u16,
        }
        /// Others may say anything here, so it is read only as far as it can be.
        #[derive(Default, Deserialize)]
        struct Beside<'a> {
            #[serde(borrow)]
            task_id: Option<&'a RawValue>,
            #[serde(borrow)]
            reason: Option<&'a RawValue>,
        }
        let body: Body = read_part(raw).ok()?;
        let beside: Beside<'_> = read_part(raw).unwrap_or_default();
        let text = |raw: Option<&RawValue>| read_part::<String>(raw?).ok();
        let reason = text(beside.reason).and_then(|reason| word("reason", reason, MAX_NAME).ok());
        Some(ErrorBody {
            task_id: text(beside.task_id),
            reason,
            ..Self::new(body.error, body.code)
        })
    }
}

/// The fields of an error as they are written.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ErrorFields<'a> {
    error: &'a str,
    code: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// What a peer answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The body, whatever it is.
    Body(&'a [u8]),
    /// An error.
    Error(ErrorBody),
}

/// Tells an error from a body.
///
/// An error is an object with a text `error` and a number `code`, and short. Bodies that happen to have one of the two, or
/// `"error": null`, are bodies; one that has both cannot be told apart, which is how the protocol is.
pub fn read_answer(bytes: &[u8]) -> Answer<'_> {
    let raw: Result<&RawValue, _> = read_body(bytes, &Limits::SMALL);
    match raw.ok().and_then(ErrorBody::read) {
        Some(error) => Answer::Error(error),
        None => Answer::Body(bytes),
    }
}
