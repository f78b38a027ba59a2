//! The parts of messages: text, files by link or by bytes, data. Read from callers, and written in answers.

use std::borrow::Cow;

use jackfield_wire::echo;
use jackfield_wire::json::ObjectWriter;
use serde_json::value::RawValue;

use super::fields::{Fields, Unreadable};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Data<'a> {
    /// The data itself.
    pub content: Cow<'a, str>,
    /// Its media type.
    pub mime_type: Cow<'a, str>,
    /// Its name.
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

impl Part<'_> {
    /// About how many bytes it takes on the wire.
    pub(super) fn size_hint(&self) -> usize {
        /// Room for names, braces, a media type and the name of a file.
        const OVERHEAD: usize = 160;
        let text = match self {
            Part::Text(text) | Part::Data(Data { content: text, .. }) => {
                text.len() + text.len() / 8
            }
            Part::File(file) => {
                let (FileSource::Uri(text) | FileSource::Bytes(text)) = &file.source;
                text.len()
            }
        };
        OVERHEAD + text
    }

    /// Appends it as JSON.
    pub(super) fn write(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        match self {
            Part::Text(text) => {
                object.text("kind", "text").text("text", &**text);
            }
            Part::File(file) => {
                object.text("kind", "file").object("file", |object| {
                    match &file.source {
                        FileSource::Uri(uri) => object.text("uri", &**uri),
                        FileSource::Bytes(bytes) => object.text("bytes", &**bytes),
                    }
                    .text("mimeType", &*file.mime_type)
                    .maybe_text("name", file.name.as_deref());
                });
            }
            Part::Data(data) => {
                object.text("kind", "data").object("data", |object| {
                    object
                        .text("content", &*data.content)
                        .text("mimeType", &*data.mime_type)
                        .maybe_text("name", data.name.as_deref());
                });
            }
        }
        object.close();
    }
}

/// A part whose types are right, and which may say nothing or nonsense all the same.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    kind: Cow<'a, str>,
    text: Cow<'a, str>,
    file: Option<FileDraft<'a>>,
    data: Option<Data<'a>>,
}

#[derive(Debug)]
struct FileDraft<'a> {
    uri: Option<Cow<'a, str>>,
    bytes: Option<Cow<'a, str>>,
    mime_type: Cow<'a, str>,
    name: Option<Cow<'a, str>>,
}

impl<'a> Draft<'a> {
    /// Reads a part that stands at `place`.
    pub(super) fn read(raw: &'a RawValue, place: &str) -> Result<Self, Unreadable> {
        let fields = Fields::of(raw, place)?;
        Self::of(&fields).map_err(|unreadable| unreadable.within(place))
    }

    fn of(fields: &Fields<'a>) -> Result<Self, Unreadable> {
        let file = fields.object("file")?.map(|file| {
            let read = || {
                Ok(FileDraft {
                    uri: file.text("uri")?,
                    bytes: file.text("bytes")?,
                    mime_type: file.word("mimeType")?,
                    name: file.text("name")?,
                })
            };
            read().map_err(|unreadable: Unreadable| unreadable.within("file"))
        });
        let data = fields.object("data")?.map(|data| {
            let read = || {
                Ok(Data {
                    content: data.word("content")?,
                    mime_type: data.word("mimeType")?,
                    name: data.text("name")?,
                })
            };
            read().map_err(|unreadable: Unreadable| unreadable.within("data"))
        });
        Ok(Draft {
            kind: fields.word("kind")?,
            text: fields.word("text")?,
            file: file.transpose()?,
            data: data.transpose()?,
        })
    }

    /// The part, if it is one; the error is the reason in the words of the original.
    pub(super) fn check(self) -> Result<Part<'a>, Cow<'static, str>> {
        match &*self.kind {
            "text" if self.text.is_empty() => Err("text part requires non-empty text field".into()),
            "text" => Ok(Part::Text(self.text)),
            "file" => match self.file {
                Some(file) => Ok(Part::File(file.check()?)),
                None => Err("file part requires file field".into()),
            },
            "data" => match self.data {
                None => Err("data part requires data field".into()),
                Some(data) if data.content.is_empty() => {
                    Err("data part requires non-empty content field".into())
                }
                Some(data) if data.mime_type.is_empty() => {
                    Err("data part requires mimeType field".into())
                }
                Some(data) => Ok(Part::Data(data)),
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

impl<'a> FileDraft<'a> {
    fn check(self) -> Result<File<'a>, &'static str> {
        // A link wins over bytes, as in the original; no bytes at all are an empty file, no link is none.
        let uri = self.uri.filter(|uri| !uri.is_empty());
        let source = match (uri, self.bytes) {
            (Some(uri), _) => FileSource::Uri(uri),
            (None, Some(bytes)) => FileSource::Bytes(bytes),
            (None, None) => return Err("file part requires either uri or bytes field"),
        };
        if self.mime_type.is_empty() {
            return Err("file part requires mimeType field");
        }
        Ok(File {
            source,
            mime_type: self.mime_type,
            name: self.name,
        })
    }
}
