//! [`File`]: a file in a message, an artifact or an answer, by its address or with its bytes.

use serde::{Deserialize, Serialize};

use crate::{Base64, ITEM_OVERHEAD, weight::text_weight};

mod data_url;
#[cfg(feature = "schema")]
mod schema;

/// The source of a file's bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSource {
    /// The address of the file.
    Uri(String),
    /// The bytes of the file.
    Bytes(Base64),
}

/// A file in a message, an artifact or an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct File {
    /// Name of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Media type of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// Address or bytes of the file.
    #[serde(flatten)]
    pub source: FileSource,
}

impl File {
    /// Creates a file with a [`FileSource::Uri`].
    pub fn at(uri: impl Into<String>) -> Self {
        Self::new(FileSource::Uri(uri.into()))
    }

    /// Creates a file with [`FileSource::Bytes`].
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

    /// Creates a file from a URL in a protocol. A `data:` URL is decoded into [`FileSource::Bytes`]; any
    /// other URL is kept and never fetched. An empty name or media type counts as absent.
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

    /// Returns the size of the file in bytes, as held in memory.
    pub fn weight(&self) -> usize {
        let text = match &self.source {
            FileSource::Uri(uri) => uri.len(),
            FileSource::Bytes(bytes) => bytes.len(),
        };
        ITEM_OVERHEAD + text + text_weight(&self.name) + text_weight(&self.mime)
    }
}
