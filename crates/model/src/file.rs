//! A file in a message, an artifact or an answer: its bytes, or where they are.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ITEM_OVERHEAD, weight::text_weight};

mod data_url;
#[cfg(feature = "schema")]
mod schema;

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// At this address.
    Uri(String),
    /// Here, in base64. Shared, so that whoever keeps the file does not keep a copy.
    Bytes(Arc<str>),
}

/// A file in a message, an artifact or an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its media type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Where its bytes are.
    #[serde(flatten)]
    pub source: FileSource,
}

impl File {
    /// A file that a protocol names by its address. If the address itself holds the bytes (`data:`), they are the file;
    /// no other address is ever followed. An empty name or media type is none.
    pub fn at(url: String, name: Option<String>, mime: Option<String>) -> Self {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (name, mime) = (filled(name), filled(mime));
        match data_url::read(&url) {
            Some((found, bytes)) => Self {
                name,
                mime: mime.or(found),
                source: FileSource::Bytes(bytes.into()),
            },
            None => Self {
                name,
                mime,
                source: FileSource::Uri(url),
            },
        }
    }

    /// The size of the file in bytes, as it is held here.
    pub fn weight(&self) -> usize {
        let text = match &self.source {
            FileSource::Uri(uri) => uri.len(),
            FileSource::Bytes(bytes) => bytes.len(),
        };
        ITEM_OVERHEAD + text + text_weight(&self.name) + text_weight(&self.mime)
    }
}
