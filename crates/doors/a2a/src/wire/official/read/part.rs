//! The parts of messages and artifacts.

use std::borrow::Cow;

use jackfield_wire::json::{self, Member, Members, ObjectWriter};
use serde_json::value::RawValue;

use super::super::{
    Version,
    fields::{Fields, Wrong, own, text},
    model::{Content, Extra, Part, Raw},
    shape::Shape,
    v03_proto::FileBytes,
    write::DATA_WRAPPED,
};
use crate::wire::base64;

/// The fields of a part, in both versions.
const KNOWN: [&str; 9] = [
    "kind",
    "text",
    "file",
    "raw",
    "url",
    "data",
    "mediaType",
    "filename",
    "metadata",
];

/// The fields of a file, as 0.3 has it in JSON-RPC and in REST, and as its conformance kit writes it.
const KNOWN_IN_FILE: [&str; 7] = [
    "bytes",
    "fileWithBytes",
    "uri",
    "fileWithUri",
    "url",
    "mimeType",
    "name",
];

const NOT_ONE: &str = "must hold exactly one of text, file and data";
const NOT_ONE_NEW: &str = "must hold exactly one of text, raw, url and data";

impl Part {
    pub(super) fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        let version = shape.version();
        let fields = Fields::of(raw)?;
        let kind = match version {
            Version::V03 => fields.text("kind")?,
            // It has none, and does not mind.
            Version::V10 => None,
        };
        let mut part = Draft {
            extra: fields.extra(version, &KNOWN),
            media_type: fields.word("mediaType")?,
            filename: fields.word("filename")?,
            metadata: fields.metadata("metadata")?,
            ..Draft::default()
        };
        if let Some(text) = fields.text("text")? {
            part.add(Content::Text(text));
        }
        if let Some(bytes) = fields.read("raw", bytes)? {
            part.add(Content::Bytes(bytes));
        }
        if let Some(url) = fields.text("url")? {
            part.add(Content::Url(url));
        }
        if let Some(file) = fields.object("file")? {
            let file = part.add_file(shape, &file);
            file.map_err(|wrong| wrong.within("file"))?;
        }
        match fields.given("data")? {
            // In 1.0 nothing is a value, too.
            Some(data) if json::is_null(data) && version == Version::V03 => {}
            Some(data) if json::is_null(data) && !part.contents.is_empty() => {}
            Some(data) => part.add_data(version, data, kind.is_some()),
            None => {}
        }
        part.finish(version, kind.as_deref())
    }
}

/// A part of which not everything is known yet.
#[derive(Debug, Default)]
struct Draft {
    contents: Vec<Content>,
    media_type: Option<String>,
    filename: Option<String>,
    metadata: Option<Raw>,
    extra: Extra,
}

impl Draft {
    fn add(&mut self, content: Content) {
        self.contents.push(content);
    }

    fn add_file(&mut self, shape: Shape, file: &Fields<'_>) -> Result<(), Wrong> {
        let with_bytes = match shape {
            Shape::V03Proto(FileBytes::Twice) => twice,
            Shape::V03Proto(FileBytes::Once) | Shape::V03 | Shape::V10 => bytes,
        };
        let bytes = [
            file.read("bytes", bytes)?,
            file.read("fileWithBytes", with_bytes)?,
        ];
        for bytes in bytes.into_iter().flatten() {
            self.add(Content::Bytes(bytes));
        }
        for name in ["uri", "fileWithUri", "url"] {
            if let Some(uri) = file.word(name)? {
                self.add(Content::Url(uri));
            }
        }
        if self.contents.is_empty() {
            return Err(Wrong::here("must hold bytes or uri"));
        }
        self.media_type = file.word("mimeType")?.or(self.media_type.take());
        self.filename = file.word("name")?.or(self.filename.take());
        let version = shape.version();
        let unknown = file.extra(version, &KNOWN_IN_FILE);
        if !unknown.fields.is_empty() {
            let mut out = String::new();
            let mut object = ObjectWriter::open(&mut out);
            for (name, value) in &unknown.fields {
                let name = Cow::Borrowed(name.as_str());
                object.members(&[Member { name, value }]);
            }
            object.close();
            // They come out where they came in: in a file that this part holds.
            if let Ok(object) = RawValue::from_string(out) {
                self.extra.version = Some(version);
                self.extra.fields.push(("file".into(), object));
            }
        }
        Ok(())
    }

    fn add_data(&mut self, version: Version, data: &RawValue, has_kind: bool) {
        if version == Version::V10 {
            return self.add(Content::Data(own(data)));
        }
        let members = Members::of(data);
        // REST of 0.3 has no kinds, and one more object around the data.
        let inner = members.as_ref().filter(|_| !has_kind).and_then(sole_data);
        let data = inner.unwrap_or(data);
        match self.unwrapped(data) {
            Some(value) => {
                let value = own(value);
                self.metadata = self.metadata.take().and_then(|raw| without_mark(&raw));
                self.add(Content::Data(value));
            }
            None => self.add(Content::Data(own(data))),
        }
    }

    /// The value within data that a writer of 0.3 had to wrap, since it was no object.
    fn unwrapped<'d>(&self, data: &'d RawValue) -> Option<&'d RawValue> {
        let metadata = Members::of(self.metadata.as_deref()?)?;
        if metadata.get(DATA_WRAPPED)?.get() != "true" {
            return None;
        }
        let members = Members::of(data)?;
        let mut values = members.iter().filter(|member| member.name == "value");
        values.next().map(|member| member.value)
    }

    fn finish(self, version: Version, kind: Option<&str>) -> Result<Part, Wrong> {
        let is_of_kind = |content: &Content| match kind {
            Some("text") => matches!(content, Content::Text(_)),
            Some("file") => matches!(content, Content::Bytes(_) | Content::Url(_)),
            Some("data") => matches!(content, Content::Data(_)),
            _ => true,
        };
        match kind {
            None | Some("text" | "file" | "data") => {}
            Some(_) => return Err(Wrong::at("kind", "must be text, file or data")),
        }
        if let Some(kind) = kind
            && !self.contents.iter().any(is_of_kind)
        {
            return Err(Wrong::at(kind, "is required"));
        }
        let mut contents = self.contents.into_iter();
        let (Some(content), None) = (contents.next(), contents.next()) else {
            return Err(Wrong::here(match version {
                Version::V03 => NOT_ONE,
                Version::V10 => NOT_ONE_NEW,
            }));
        };
        Ok(Part {
            content,
            media_type: self.media_type,
            filename: self.filename,
            metadata: self.metadata,
            extra: self.extra,
        })
    }
}

/// The value of an object's member `data`, if it has no other.
fn sole_data<'a>(members: &Members<'a>) -> Option<&'a RawValue> {
    let mut members = members.iter();
    match (members.next(), members.next()) {
        (Some(member), None) if member.name == "data" => Some(member.value),
        _ => None,
    }
}

/// Metadata without the mark of wrapped data; `None` if nothing else is in it.
fn without_mark(metadata: &RawValue) -> Option<Raw> {
    let members = Members::of(metadata)?;
    let others: Vec<_> = members
        .iter()
        .filter(|member| member.name != DATA_WRAPPED)
        .cloned()
        .collect();
    if others.is_empty() {
        return None;
    }
    let mut out = String::new();
    let mut object = ObjectWriter::open(&mut out);
    object.members(&others);
    object.close();
    RawValue::from_string(out).ok()
}

/// Bytes in base64.
fn bytes(raw: &RawValue) -> Result<String, Wrong> {
    base64::normal(text(raw)?).ok_or_else(|| Wrong::here("must be base64"))
}

/// Bytes in base64, in base64 again. What can only have been written once is taken as that.
fn twice(raw: &RawValue) -> Result<String, Wrong> {
    let outer = bytes(raw)?;
    let inner = base64::decode(&outer).and_then(base64::normal);
    Ok(inner.unwrap_or(outer))
}
