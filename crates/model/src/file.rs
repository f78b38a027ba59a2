//! A file in a message, an artifact or an answer: its bytes, or where they are.

use serde::{Deserialize, Serialize};

use crate::{Base64, ITEM_OVERHEAD, weight::text_weight};

mod data_url;
#[cfg(feature = "schema")]
mod schema;

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// At this address.
    Uri(String),
    /// In the file itself.
    Bytes(Base64),
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
    /// A file at an address.
    pub fn at(uri: impl Into<String>) -> Self {
        Self::new(FileSource::Uri(uri.into()))
    }

    /// A file with its bytes.
    pub fn bytes(bytes: impl AsRef<[u8]>) -> Self {
        Self::new(FileSource::Bytes(Base64::encode(bytes)))
    }

    fn new(source: FileSource) -> Self {
        Self {
            name: None,
            mime: None,
            source,
        }
    }

    /// Sets the name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the media type.
    pub fn mime(mut self, mime: impl Into<String>) -> Self {
        self.mime = Some(mime.into());
        self
    }

    /// A file that a protocol names by its address. A `data:` address holds the bytes, which become the file's; no other
    /// address is followed. An empty name or media type counts as absent.
    pub fn from_url(url: String, name: Option<String>, mime: Option<String>) -> Self {
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
