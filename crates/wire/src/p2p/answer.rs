//! The answer of a 1.0.0 stream: a plain body, or the one shape that errors have.

use serde_json::value::RawValue;

use super::fields::{self, Fields};
use super::{Limits, MAX_ERROR, MAX_NAME, cut};
use crate::json::{self, ObjectWriter};

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
        let mut out = String::new();
        let mut object = ObjectWriter::open(&mut out);
        self.write_known(&mut object);
        object.close();
        out
    }

    /// Adds the error's members to a frame.
    pub fn write(&self, object: &mut ObjectWriter<'_>) {
        self.write_known(object);
        let reason = self.reason.as_deref();
        object.maybe_text("reason", reason.map(|name| cut(name, MAX_NAME)));
    }

    fn write_known(&self, object: &mut ObjectWriter<'_>) {
        object
            .text("error", cut(&self.text, MAX_ERROR))
            .number("code", self.code.into())
            .maybe_text("task_id", self.task_id.as_deref());
    }

    /// Reads an error's members; `None` if these are not an error's: a text and a number.
    pub fn read(fields: &Fields<'_>) -> Option<Self> {
        let text = fields.read("error", fields::text).ok()??;
        let code = fields.read("code", fields::number).ok()??;
        let task_id = fields.read("task_id", fields::text).ok().flatten();
        // Others may say whole sentences here, or anything.
        let reason = fields.read("reason", |raw| fields::word(raw, MAX_NAME));
        Some(ErrorBody {
            task_id: task_id.map(Into::into),
            reason: reason.ok().flatten(),
            ..Self::new(text, code)
        })
    }
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
    match read_error(bytes) {
        Some(error) => Answer::Error(error),
        None => Answer::Body(bytes),
    }
}

fn read_error(bytes: &[u8]) -> Option<ErrorBody> {
    let raw: &RawValue = fields::value(bytes, &Limits::SMALL).ok()?;
    if !json::is_container(raw.get()) {
        return None;
    }
    ErrorBody::read(&Fields::of(raw).ok()?)
}
