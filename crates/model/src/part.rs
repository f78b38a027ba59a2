//! What a message, an answer or an artifact is made of.

use serde::{Deserialize, Serialize};

use crate::{File, Json};

/// A part of a message, an answer or an artifact. Externally tagged, since raw JSON does not survive serde's internal tags.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum Part {
    /// Text.
    Text(String),
    /// A file.
    File(File),
    /// Structured data.
    #[cfg_attr(feature = "schema", schema(value_type = serde_json::Value))]
    Data(Json),
}

impl Part {
    pub(crate) fn weight(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::File(file) => file.weight(),
            Self::Data(json) => json.get().len(),
        }
    }
}
