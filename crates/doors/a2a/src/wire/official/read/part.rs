//! Reader for parts of messages and artifacts.

use jackfield_model::Base64;
use jackfield_wire::{
    json::{self, RawMember, RawMembers},
    read::{FieldError, OpenObject},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{
    A2aVersion,
    fields::{Base64Bytes, RawObject, extra, given, here, own, word},
    model::{Extra, Part, PartContent, Raw},
    shape::WireForm,
    v03_proto::FileBytes,
    write::DATA_WRAPPED,
};
use crate::wire::{
    base64,
    write::{MembersOut, to_json},
};

/// Serialized form of a part, in both versions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartIn<'a> {
    #[serde(borrow)]
    pub(super) kind: Option<&'a RawValue>,
    text: Option<String>,
    raw: Option<Base64Bytes>,
    url: Option<String>,
    #[serde(borrow)]
    pub(super) file: Option<OpenObject<'a, FileIn>>,
    #[serde(borrow, default, deserialize_with = "given")]
    data: Option<&'a RawValue>,
    #[serde(alias = "media_type", default, deserialize_with = "word")]
    media_type: Option<String>,
    #[serde(default, deserialize_with = "word")]
    filename: Option<String>,
    metadata: Option<RawObject>,
}

/// Serialized form of a file in 0.3: in JSON-RPC, in REST, and in the conformance kit.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileIn {
    bytes: Option<Base64Bytes>,
    #[serde(alias = "file_with_bytes")]
    file_with_bytes: Option<Base64Bytes>,
    #[serde(default, deserialize_with = "word")]
    uri: Option<String>,
    #[serde(alias = "file_with_uri", default, deserialize_with = "word")]
    file_with_uri: Option<String>,
    #[serde(default, deserialize_with = "word")]
    url: Option<String>,
    #[serde(alias = "mime_type", default, deserialize_with = "word")]
    mime_type: Option<String>,
    #[serde(default, deserialize_with = "word")]
    name: Option<String>,
}

const NOT_ONE: &str = "must hold exactly one of text, file and data";
const NOT_ONE_NEW: &str = "must hold exactly one of text, raw, url and data";

impl Part {
    /// Reads the parts of a list.
    pub(super) fn read_all(
        shape: WireForm,
        parts: Vec<OpenObject<'_, PartIn<'_>>>,
    ) -> Result<Vec<Self>, FieldError> {
        let parts = parts.into_iter().enumerate();
        let read = |(index, part)| {
            let part = Self::read(shape, part);
            part.map_err(|misread| misread.within(&format!("[{index}]")))
        };
        parts.map(read).collect()
    }

    fn read(shape: WireForm, part: OpenObject<'_, PartIn<'_>>) -> Result<Self, FieldError> {
        let version = shape.version();
        let OpenObject { known: given, rest } = part;
        let kind = match (version, given.kind) {
            // Version 1.0 has no kinds and ignores the field.
            (A2aVersion::V10, _) | (A2aVersion::V03, None) => None,
            (A2aVersion::V03, Some(kind)) => {
                let text = json::str_of(kind);
                Some(text.ok_or_else(|| FieldError::invalid("kind", "must be a string"))?)
            }
        };
        let mut part = PartDraft {
            contents: Vec::new(),
            media_type: given.media_type,
            filename: given.filename,
            metadata: given.metadata.map(|RawObject(raw)| raw),
            extra: extra(version, &rest),
        };
        part.contents.extend(given.text.map(PartContent::Text));
        let bytes = given
            .raw
            .map(|Base64Bytes(bytes)| PartContent::Bytes(bytes));
        part.contents.extend(bytes);
        part.contents.extend(given.url.map(PartContent::Url));
        if let Some(file) = given.file {
            let file = part.add_file(shape, file);
            file.map_err(|misread| misread.within("file"))?;
        }
        match given.data {
            // In 1.0 null is a valid value too.
            Some(data) if json::is_null(data) && version == A2aVersion::V03 => {}
            Some(data) if json::is_null(data) && !part.contents.is_empty() => {}
            Some(data) => part.add_data(version, data, kind.is_some()),
            None => {}
        }
        part.finish(version, kind.as_deref())
    }
}

/// Part under construction.
#[derive(Debug, Default)]
struct PartDraft {
    contents: Vec<PartContent>,
    media_type: Option<String>,
    filename: Option<String>,
    metadata: Option<Raw>,
    extra: Extra,
}

impl PartDraft {
    fn add(&mut self, content: PartContent) {
        self.contents.push(content);
    }

    fn add_file(
        &mut self,
        shape: WireForm,
        file: OpenObject<'_, FileIn>,
    ) -> Result<(), FieldError> {
        let OpenObject { known: file, rest } = file;
        let with_bytes = file.file_with_bytes.map(|bytes| match shape {
            WireForm::V03Proto(FileBytes::Twice) => decoded_once(bytes),
            WireForm::V03Proto(FileBytes::Once) | WireForm::V03 | WireForm::V10 => bytes,
        });
        for Base64Bytes(bytes) in file.bytes.into_iter().chain(with_bytes) {
            self.add(PartContent::Bytes(bytes));
        }
        for uri in [file.uri, file.file_with_uri, file.url]
            .into_iter()
            .flatten()
        {
            self.add(PartContent::Url(uri));
        }
        if self.contents.is_empty() {
            return Err(here("must hold bytes or uri"));
        }
        self.media_type = file.mime_type.or(self.media_type.take());
        self.filename = file.name.or(self.filename.take());
        // The fields are written back in the same place: in the file of the part.
        if let Some(object) = object_of(&rest) {
            self.extra.version = Some(shape.version());
            self.extra.fields.push(("file".into(), object));
        }
        Ok(())
    }

    fn add_data(&mut self, version: A2aVersion, data: &RawValue, has_kind: bool) {
        if version == A2aVersion::V10 {
            return self.add(PartContent::Data(own(data)));
        }
        let members = RawMembers::of(data);
        // REST of 0.3 has no kinds, and an additional object around the data.
        let inner = members.as_ref().filter(|_| !has_kind).and_then(sole_data);
        let data = inner.unwrap_or(data);
        match self.unwrapped(data) {
            Some(value) => {
                let value = own(value);
                self.metadata = self.metadata.take().and_then(|raw| without_mark(&raw));
                self.add(PartContent::Data(value));
            }
            None => self.add(PartContent::Data(own(data))),
        }
    }

    /// Returns the value of data that a writer of 0.3 wrapped into an object.
    fn unwrapped<'d>(&self, data: &'d RawValue) -> Option<&'d RawValue> {
        let metadata = RawMembers::of(self.metadata.as_deref()?)?;
        if metadata.get(DATA_WRAPPED)?.get() != "true" {
            return None;
        }
        let members = RawMembers::of(data)?;
        let mut values = members.iter().filter(|member| member.name == "value");
        values.next().map(|member| member.value)
    }

    fn finish(self, version: A2aVersion, kind: Option<&str>) -> Result<Part, FieldError> {
        let is_of_kind = |content: &PartContent| match kind {
            Some("text") => matches!(content, PartContent::Text(_)),
            Some("file") => matches!(content, PartContent::Bytes(_) | PartContent::Url(_)),
            Some("data") => matches!(content, PartContent::Data(_)),
            _ => true,
        };
        match kind {
            None | Some("text" | "file" | "data") => {}
            Some(_) => return Err(FieldError::invalid("kind", "must be text, file or data")),
        }
        if let Some(kind) = kind
            && !self.contents.iter().any(is_of_kind)
        {
            return Err(FieldError::missing(kind));
        }
        let mut contents = self.contents.into_iter();
        let (Some(content), None) = (contents.next(), contents.next()) else {
            return Err(here(match version {
                A2aVersion::V03 => NOT_ONE,
                A2aVersion::V10 => NOT_ONE_NEW,
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

/// Returns the value of the member `data`, if the object has no other member.
fn sole_data<'a>(members: &RawMembers<'a>) -> Option<&'a RawValue> {
    let mut members = members.iter();
    match (members.next(), members.next()) {
        (Some(member), None) if member.name == "data" => Some(member.value),
        _ => None,
    }
}

/// Returns metadata without the mark of wrapped data; `None` if empty otherwise.
fn without_mark(metadata: &RawValue) -> Option<Raw> {
    let members = RawMembers::of(metadata)?;
    let others: Vec<_> = members
        .iter()
        .filter(|member| member.name != DATA_WRAPPED)
        .cloned()
        .collect();
    object_of(&others)
}

/// Builds an object of members; `None` for an empty list.
fn object_of(members: &[RawMember<'_>]) -> Option<Raw> {
    if members.is_empty() {
        return None;
    }
    let object = RawValue::from_string(to_json(&MembersOut(members))).ok()?;
    Some(own(&object))
}

/// Decodes doubly encoded base64 once. Content that can only be encoded once is returned unchanged.
fn decoded_once(Base64Bytes(outer): Base64Bytes) -> Base64Bytes {
    let inner = base64::decode(&outer).and_then(Base64::normalize);
    Base64Bytes(inner.unwrap_or(outer))
}
