//! Content blocks: the pieces of a prompt and of a reply.

use jackfield_model::Base64;
use jackfield_wire::read::FieldError;
use serde::{Deserialize, Serialize};

use super::{Prompt, RpcError};

/// A content block.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ContentBlock {
    Text {
        text: String,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        data: Base64,
        mime_type: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        uri: Option<String>,
    },
    #[serde(rename_all = "camelCase")]
    Audio {
        data: Base64,
        mime_type: String,
    },
    #[serde(rename_all = "camelCase")]
    ResourceLink {
        uri: String,
        name: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// The contents of a resource. Only editors send these.
    Resource {
        resource: Resource,
    },
}

impl ContentBlock {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// The contents of a resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub(crate) enum Resource {
    Text {
        uri: String,
        text: String,
    },
    Blob {
        uri: String,
        blob: Base64,
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

/// A content block as it is read: the type says which fields it needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawBlock {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
    uri: Option<String>,
    name: Option<String>,
    resource: Option<RawResource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawResource {
    uri: String,
    text: Option<String>,
    blob: Option<String>,
    mime_type: Option<String>,
}

/// Returns the blocks of a prompt, at least one. The error names the field of the wrong one.
pub(crate) fn blocks(prompt: &mut Prompt) -> Result<Vec<ContentBlock>, RpcError> {
    let given = std::mem::take(&mut prompt.prompt);
    if given.is_empty() {
        let error = FieldError::invalid("prompt", "must have at least one content block");
        return Err(RpcError::invalid_params(&error));
    }
    let read = |(index, block): (usize, RawBlock)| {
        let placed = |error: FieldError| error.within(&format!("[{index}]")).within("prompt");
        block
            .read()
            .map_err(|error| RpcError::invalid_params(&placed(error)))
    };
    given.into_iter().enumerate().map(read).collect()
}

impl RawBlock {
    fn read(self) -> Result<ContentBlock, FieldError> {
        let block = match &*self.kind {
            "text" => ContentBlock::Text {
                text: required("text", self.text)?,
            },
            "image" => ContentBlock::Image {
                data: bytes("data", self.data)?,
                mime_type: required("mimeType", self.mime_type)?,
                uri: self.uri,
            },
            "audio" => ContentBlock::Audio {
                data: bytes("data", self.data)?,
                mime_type: required("mimeType", self.mime_type)?,
            },
            "resource_link" => ContentBlock::ResourceLink {
                uri: required("uri", self.uri)?,
                name: required("name", self.name)?,
                mime_type: self.mime_type,
            },
            "resource" => {
                let resource = required("resource", self.resource)?.read();
                ContentBlock::Resource {
                    resource: resource.map_err(|error| error.within("resource"))?,
                }
            }
            other => {
                let other = jackfield_wire::echo(other).escape_debug();
                let text = format!(
                    "must be text, image, audio, resource_link or resource, not \"{other}\""
                );
                return Err(FieldError::invalid("type", text));
            }
        };
        Ok(block)
    }
}

impl RawResource {
    fn read(self) -> Result<Resource, FieldError> {
        match (self.text, self.blob) {
            (Some(text), None) => Ok(Resource::Text {
                uri: self.uri,
                text,
            }),
            (None, blob @ Some(_)) => Ok(Resource::Blob {
                uri: self.uri,
                blob: bytes("blob", blob)?,
                mime_type: self.mime_type,
            }),
            (None, None) => Err(FieldError::invalid("text", "is required, or \"blob\"")),
            (Some(_), Some(_)) => Err(FieldError::invalid("blob", "must not be beside \"text\"")),
        }
    }
}

fn required<T>(field: &str, value: Option<T>) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::missing(field))
}

fn bytes(field: &str, value: Option<String>) -> Result<Base64, FieldError> {
    let text = Base64::normalize(required(field, value)?);
    let text = text.ok_or_else(|| FieldError::invalid(field, "must be base64"))?;
    Ok(Base64::from(text))
}
