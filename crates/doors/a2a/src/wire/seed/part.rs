//! The parts of messages: text, files by link or by bytes, data. Read from callers, and written in answers.

use std::borrow::Cow;

use jackfield_wire::echo;
use serde::{Deserialize, Serialize};

use crate::wire::base64;

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    /// Words.
    Text(Cow<'a, str>),
    /// A file.
    File(File<'a>),
    /// Data of some kind, as a text.
    Data(Data<'a>),
}

/// Where the bytes of a file are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FileSource<'a> {
    /// At this address.
    Uri(Cow<'a, str>),
    /// Here, in base64; callers may have broken it into lines.
    Bytes(Cow<'a, str>),
}

/// A file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File<'a> {
    /// Where its bytes are.
    pub source: FileSource<'a>,
    /// Its media type.
    pub mime_type: Cow<'a, str>,
    /// Its name.
    pub name: Option<Cow<'a, str>>,
}

/// Data of some kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Data<'a> {
    /// The data itself.
    pub content: Cow<'a, str>,
    /// Its media type.
    pub mime_type: Cow<'a, str>,
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<Cow<'a, str>>,
}

impl File<'_> {
    /// Refuses bytes that are not base64, in the words of the original.
    pub(super) fn check_bytes(&self) -> Result<(), String> {
        let FileSource::Bytes(bytes) = &self.source else {
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

/// A part as it is written.
#[derive(Debug, Serialize)]
pub(super) struct PartOut<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Data<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<&'a str>,
    mime_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> PartOut<'a> {
    pub(super) fn of(part: &'a Part<'a>) -> Self {
        let mut out = PartOut {
            kind: "text",
            text: None,
            file: None,
            data: None,
        };
        match part {
            Part::Text(text) => out.text = Some(text),
            Part::File(file) => {
                let (uri, bytes) = match &file.source {
                    FileSource::Uri(uri) => (Some(&**uri), None),
                    FileSource::Bytes(bytes) => (None, Some(&**bytes)),
                };
                out.kind = "file";
                out.file = Some(FileOut {
                    uri,
                    bytes,
                    mime_type: &file.mime_type,
                    name: file.name.as_deref(),
                });
            }
            Part::Data(data) => {
                out.kind = "data";
                out.data = Some(data);
            }
        }
        out
    }
}

/// A part whose types are right, and which may say nothing or nonsense all the same.
#[derive(Debug, Deserialize)]
pub(super) struct PartIn<'a> {
    kind: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    file: Option<FileIn<'a>>,
    #[serde(borrow)]
    data: Option<DataIn<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileIn<'a> {
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

impl<'a> PartIn<'a> {
    /// The part, if it is one; the error is the reason in the words of the original.
    pub(super) fn check(self) -> Result<Part<'a>, Cow<'static, str>> {
        match &*self.kind.unwrap_or_default() {
            "text" => match given(self.text) {
                Some(text) => Ok(Part::Text(text)),
                None => Err("text part requires non-empty text field".into()),
            },
            "file" => match self.file {
                Some(file) => Ok(Part::File(file.check()?)),
                None => Err("file part requires file field".into()),
            },
            "data" => match self.data {
                Some(data) => Ok(Part::Data(data.check()?)),
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

/// A text that says something.
fn given(text: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    text.filter(|text| !text.is_empty())
}

impl<'a> DataIn<'a> {
    fn check(self) -> Result<Data<'a>, &'static str> {
        Ok(Data {
            content: given(self.content).ok_or("data part requires non-empty content field")?,
            mime_type: given(self.mime_type).ok_or("data part requires mimeType field")?,
            name: self.name,
        })
    }
}

impl<'a> FileIn<'a> {
    fn check(self) -> Result<File<'a>, &'static str> {
        // A link wins over bytes, as in the original; no bytes at all are an empty file, no link is none.
        let source = match (given(self.uri), self.bytes) {
            (Some(uri), _) => FileSource::Uri(uri),
            (None, Some(bytes)) => FileSource::Bytes(bytes),
            (None, None) => return Err("file part requires either uri or bytes field"),
        };
        Ok(File {
            source,
            mime_type: given(self.mime_type).ok_or("file part requires mimeType field")?,
            name: self.name,
        })
    }
}
