//! The request for a chat completion.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use jackfield_wire::read;

/// Body of `POST /v1/chat/completions`.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatRequest<'a> {
    #[serde(borrow)]
    pub(crate) model: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) messages: Vec<ChatMessage<'a>>,
    #[serde(default, deserialize_with = "read::or_default")]
    pub(crate) stream: bool,
    #[serde(default, deserialize_with = "read::or_default")]
    pub(crate) stream_options: StreamOptions,
    #[serde(default, borrow, deserialize_with = "read::word")]
    pub(crate) user: Option<Cow<'a, str>>,
}

/// Options of a stream.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct StreamOptions {
    #[serde(default, deserialize_with = "read::or_default")]
    pub(crate) include_usage: bool,
}

/// A message of the conversation.
#[derive(Debug, Deserialize)]
pub(crate) struct ChatMessage<'a> {
    #[serde(borrow)]
    pub(crate) role: Cow<'a, str>,
    /// A text, a list of parts, or nothing.
    #[serde(default, borrow, deserialize_with = "read::verbatim")]
    pub(crate) content: Option<&'a RawValue>,
}
