//! The request for a response.

use std::borrow::Cow;

use jackfield_wire::read;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Body of `POST /v1/responses`.
#[derive(Debug, Deserialize)]
pub(crate) struct ResponsesRequest<'a> {
    #[serde(borrow)]
    pub(crate) model: Cow<'a, str>,
    /// A text, or a list of items.
    #[serde(borrow)]
    pub(crate) input: &'a RawValue,
    #[serde(default, borrow, deserialize_with = "read::word")]
    pub(crate) instructions: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "read::word")]
    pub(crate) previous_response_id: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "read::or_default")]
    pub(crate) stream: bool,
    #[serde(default, deserialize_with = "read::or_default")]
    pub(crate) background: bool,
    pub(crate) store: Option<bool>,
    #[serde(default, borrow)]
    pub(crate) metadata: Option<&'a RawValue>,
    #[serde(default, borrow, deserialize_with = "read::word")]
    pub(crate) user: Option<Cow<'a, str>>,
}

/// The input of a response.
#[derive(Debug)]
pub(crate) enum RequestInput<'a> {
    /// A single text of the user.
    Text(String),
    /// The items of a conversation.
    Items(Vec<InputItem<'a>>),
}

/// An item of the input. The type of a message may be left out.
#[derive(Debug, Deserialize)]
pub(crate) struct InputItem<'a> {
    #[serde(default, borrow, rename = "type", deserialize_with = "read::word")]
    pub(crate) kind: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "read::word")]
    pub(crate) role: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    pub(crate) content: Option<&'a RawValue>,
}

impl<'a> RequestInput<'a> {
    /// Reads the field `input`.
    pub(crate) fn read(raw: &'a RawValue) -> Result<Self, read::FieldError> {
        match raw.get().as_bytes().first() {
            Some(b'"') => read::read_part(raw).map(Self::Text),
            Some(b'[') => read::read_part(raw).map(Self::Items),
            _ => Err(read::FieldError::invalid(
                "",
                "must be a string or an array of items",
            )),
        }
    }
}
