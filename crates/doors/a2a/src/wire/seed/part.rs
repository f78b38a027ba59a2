//! Parts of messages: text, files by link or by bytes, data. Read from requests and written in answers.

use std::borrow::Cow;

use jackfield_wire::echo;
use serde::{Deserialize, Serialize};

use crate::wire::base64;

/// Part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SeedPart<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// File.
    File(SeedFile<'a>),
    /// Data as a text.
    Data(SeedData<'a>),
}

/// Location of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SeedFileSource<'a> {
    /// URL of the file.
    Uri(Cow<'a, str>),
    /// Bytes in base64; callers may insert line breaks.
    Bytes(Cow<'a, str>),
}

/// File in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeedFile<'a> {
    /// Location of the bytes.
    pub source: SeedFileSource<'a>,
    /// Media type.
    pub mime_type: Cow<'a, str>,
    /// File name.
    pub name: Option<Cow<'a, str>>,
}

/// Data in a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SeedData<'a> {
    /// Content as a text.
    pub content: Cow<'a, str>,
    /// Media type.
    pub mime_type: Cow<'a, str>,
    /// Name of the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
}

impl SeedFile<'_> {
    /// Refuses bytes that are not base64, with the message of the original.
    pub(super) fn check_bytes(&self) -> Result<(), String> {
        let SeedFileSource::Bytes(bytes) = &self.source else {
            return Ok(());
        };
        let Some(at) = base64::fault(bytes) else {
            return Ok(());
        };
        let what = match self.mime_type.split('/').next() {
            Some(kind) if kind.eq_ignore_ascii_case("image") => "image",
            Some(kind) if kind.eq_ignore_ascii_case("audio") => "audio",
            _ => "file",
        };
        Err(format!(
            "failed to process {what}: failed to decode base64 {what}: illegal base64 data at input byte {at}"
        ))
    }
}

/// Serialized form of a part.
#[derive(Debug, Serialize)]
pub(super) struct SeedPartOut<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<SeedFileOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a SeedData<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SeedFileOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<&'a str>,
    mime_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> SeedPartOut<'a> {
    pub(super) fn of(part: &'a SeedPart<'a>) -> Self {
        let mut out = SeedPartOut {
            kind: "text",
            text: None,
            file: None,
            data: None,
        };
        match part {
            SeedPart::Text(text) => out.text = Some(text),
            SeedPart::File(file) => {
                let (uri, bytes) = match &file.source {
                    SeedFileSource::Uri(uri) => (Some(&**uri), None),
                    SeedFileSource::Bytes(bytes) => (None, Some(&**bytes)),
                };
                out.kind = "file";
                out.file = Some(SeedFileOut {
                    uri,
                    bytes,
                    mime_type: &file.mime_type,
                    name: file.name.as_deref(),
                });
            }
            SeedPart::Data(data) => {
                out.kind = "data";
                out.data = Some(data);
            }
        }
        out
    }
}

/// Part with correct types and unchecked values.
#[derive(Debug, Deserialize)]
pub(super) struct SeedPartIn<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    file: Option<SeedFileIn<'a>>,
    #[serde(borrow)]
    data: Option<DataIn<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SeedFileIn<'a> {
    uri: Option<Cow<'a, str>>,
    bytes: Option<Cow<'a, str>>,
    mime_type: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataIn<'a> {
    content: Option<Cow<'a, str>>,
    mime_type: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
}

impl<'a> SeedPartIn<'a> {
    /// Checks the values; the error has the message of the original.
    pub(super) fn check(self) -> Result<SeedPart<'a>, Cow<'static, str>> {
        match &*self.kind.unwrap_or_default() {
            "text" => match given(self.text) {
                Some(text) => Ok(SeedPart::Text(text)),
                None => Err("text part requires non-empty text field".into()),
            },
            "file" => match self.file {
                Some(file) => Ok(SeedPart::File(file.check()?)),
                None => Err("file part requires file field".into()),
            },
            "data" => match self.data {
                Some(data) => Ok(SeedPart::Data(data.check()?)),
                None => Err("data part requires data field".into()),
            },
            other => {
                let other = echo(other);
                Err(
                    format!("invalid part kind: expected 'text', 'file', or 'data', got '{other}'")
                        .into(),
                )
            }
        }
    }
}

/// Returns a text unless empty.
fn given(text: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    text.filter(|text| !text.is_empty())
}

impl<'a> DataIn<'a> {
    fn check(self) -> Result<SeedData<'a>, &'static str> {
        Ok(SeedData {
            content: given(self.content).ok_or("data part requires non-empty content field")?,
            mime_type: given(self.mime_type).ok_or("data part requires mimeType field")?,
            name: self.name,
        })
    }
}

impl<'a> SeedFileIn<'a> {
    fn check(self) -> Result<SeedFile<'a>, &'static str> {
        // A link has precedence over bytes, as in the original. Empty bytes mean an empty file; an empty link
        // means no link.
        let source = match (given(self.uri), self.bytes) {
            (Some(uri), _) => SeedFileSource::Uri(uri),
            (None, Some(bytes)) => SeedFileSource::Bytes(bytes),
            (None, None) => return Err("file part requires either uri or bytes field"),
        };
        Ok(SeedFile {
            source,
            mime_type: given(self.mime_type).ok_or("file part requires mimeType field")?,
            name: self.name,
        })
    }
}
