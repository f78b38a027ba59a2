//! What a caller says to an agent.

use serde::{Deserialize, Serialize};

use crate::{
    File, Json, Part,
    weight::{json_weight, parts_weight, text_weight},
};

/// What a caller says to an agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Message {
    /// The caller's own id of the message, if its protocol has one.
    #[serde(
        rename = "message_id",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "schema", schema(nullable = false))]
    pub id: Option<String>,
    /// The contents.
    pub parts: Vec<Part>,
    /// Metadata of the caller's protocol; passed on where the agent's protocol has a place for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<serde_json::Value>))]
    pub metadata: Option<Json>,
    /// Fields of the caller's protocol that have no place here. Only agents of the same protocol get them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub extra: Option<Json>,
}

impl Message {
    /// A message of text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            parts: vec![Part::Text(text.into())],
            ..Self::default()
        }
    }

    /// All text of the message, for agents that take one text. Parts are joined by line breaks.
    pub fn words(&self) -> String {
        self.joined(|part| match part {
            Part::Text(text) => Some(text),
            Part::File(_) | Part::Data(_) => None,
        })
    }

    /// The text and the data of the message, for agents that take one text and would not see the data otherwise.
    pub fn words_and_data(&self) -> String {
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

    /// The files of the message.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.parts.iter().filter_map(|part| match part {
            Part::File(file) => Some(file),
            Part::Text(_) | Part::Data(_) => None,
        })
    }

    /// The size of the message in bytes, for the limit on messages.
    pub fn weight(&self) -> usize {
        let parts = parts_weight(&self.parts);
        text_weight(&self.id) + parts + json_weight(&self.metadata) + json_weight(&self.extra)
    }
}
