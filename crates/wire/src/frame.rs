//! What the frames of Agora and of the bridge share: their limits, the kinds of mistakes, and how [`Fields`] are read.

use std::fmt;

use crate::json::MAX_DEPTH;

mod fields;

pub(crate) use fields::{Fields, Key, Slots};

/// How large the text of one chunk may be, in bytes of the frame: beyond it a sender should have streamed.
pub const MAX_CHUNK: usize = 1024 * 1024;

/// What a frame or body may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep a value may be nested.
    pub max_depth: usize,
    /// How large the text of a chunk may be, in bytes as it stands in the frame.
    pub max_chunk: usize,
}

impl Limits {
    /// What is wrong with a value that is nested too deeply.
    pub(crate) fn too_deep(&self) -> String {
        format!("is nested deeper than {} levels", self.max_depth)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_depth: MAX_DEPTH,
            max_chunk: MAX_CHUNK,
        }
    }
}

/// What kind of mistake a malformed frame or body holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The text is no JSON object.
    Syntax,
    /// A field is missing, given twice, of the wrong type or nested too deeply.
    Invalid,
    /// The frame type is not one of the protocol's. The bridge has no such mistake: it reads unknown types as such.
    Unsupported,
    /// A chunk is larger than allowed.
    TooLarge,
}

/// What is wrong with a text that cannot be read as an object; `what` says what it should have been.
pub(crate) fn no_object(what: &str, error: &serde_json::Error) -> String {
    // The visitors accept any object, so the only data error is another kind of value.
    if error.is_data() {
        format!("the {what} must be a JSON object")
    } else {
        format!("the {what} is not valid JSON: {error}")
    }
}

/// Writes a mistake as a sentence. A peer's own words are escaped, so that it cannot write lines of its own into a log.
pub(crate) fn write_mistake(
    f: &mut fmt::Formatter<'_>,
    frame_type: Option<&str>,
    field: Option<&str>,
    problem: &str,
) -> fmt::Result {
    if let Some(frame_type) = frame_type {
        write!(f, "{}: ", frame_type.escape_debug())?;
    }
    if let Some(field) = field {
        write!(f, "field \"{}\" ", field.escape_debug())?;
    }
    f.write_str(problem)
}
