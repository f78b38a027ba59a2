//! [`Message`]: a caller's request to an agent.

use serde::{Deserialize, Serialize};

use crate::{
    File, Json, Part,
    weight::{json_weight, parts_weight, text_weight},
};

/// A caller's message to an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message {
    /// The id that the caller gave to the message, if the caller's protocol has such ids.
    #[serde(
        rename = "message_id",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub id: Option<String>,
    /// The contents.
    pub parts: Vec<Part>,
    /// Metadata of the caller's protocol. Passed on where the agent's protocol supports metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Value>))]
    pub metadata: Option<Json>,
    /// Fields of the caller's protocol that this model does not know. Only agents of the same protocol
    /// receive them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub extra: Option<Json>,
}

impl Message {
    /// Creates a message with a single [`Part::Text`].
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Text(text.into())],
            ..Self::default()
        }
    }

    /// Returns all text of the message, for agents that accept a single text. Text parts are joined by line
    /// breaks.
    pub fn joined_text(&self) -> String {
        self.joined(|part| match part {
            Part::Text(text) => Some(text),
            Part::File(_) | Part::Data(_) => None,
        })
    }

    /// Returns the text and the data of the message, for agents that accept a single text and would not see a
    /// [`Part::Data`] otherwise.
    pub fn joined_text_and_data(&self) -> String {
        self.joined(|part| match part {
            Part::Text(text) => Some(text),
            Part::Data(json) => Some(json.get()),
            Part::File(_) => None,
        })
    }

    fn joined(&self, text_of: impl FnMut(&Part) -> Option<&str>) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(text_of).collect();
        texts.join("\n")
    }

    /// Returns an iterator over the files of the message.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().filter_map(|part| match part {
            Part::File(file) => Some(file),
            Part::Text(_) | Part::Data(_) => None,
        })
    }

    /// Returns the size of the message in bytes, for the limit on messages.
    pub fn weight(&self) -> usize {
        let parts = parts_weight(&self.parts);
        text_weight(&self.id) + parts + json_weight(&self.metadata) + json_weight(&self.extra)
    }
}
