//! The files that go with a message or an answer, as links. Frames, relay bodies, events and callbacks share them.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::json::{self, Members, ObjectWriter};

/// A file, and where its bytes are.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Attachment))]
pub struct Attachment<'a> {
    /// Its name; may be empty.
    #[cfg_attr(feature = "schema", schema(required = false))]
    pub name: Cow<'a, str>,
    /// Where it can be fetched.
    pub url: Cow<'a, str>,
    /// Its media type; may be empty.
    #[cfg_attr(feature = "schema", schema(required = false, rename = "type"))]
    pub media_type: Cow<'a, str>,
    /// How its sender wrote it, unknown fields and all; if it is there, it is what gets written.
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub raw: Option<&'a RawValue>,
}

impl<'a> Attachment<'a> {
    /// An attachment of our own.
    pub fn new(
        name: impl Into<Cow<'a, str>>,
        url: impl Into<Cow<'a, str>>,
        media_type: impl Into<Cow<'a, str>>,
    ) -> Self {
        Attachment {
            name: name.into(),
            url: url.into(),
            media_type: media_type.into(),
            raw: None,
        }
    }

    /// Reads one attachment; the error is the path to the wrong field and what is wrong with it.
    fn read(raw: &'a RawValue) -> Result<Self, (&'static str, &'static str)> {
        let members = Members::of(raw).ok_or(("", "must be an object"))?;
        let text = |name: &'static str, path: &'static str| match members.get(name) {
            None => Ok(None),
            Some(value) => match json::str_of(value) {
                Some(text) => Ok(Some(text)),
                None => Err((path, "must be a string")),
            },
        };
        Ok(Attachment {
            name: text("name", ".name")?.unwrap_or_default(),
            url: text("url", ".url")?.ok_or((".url", "is missing"))?,
            media_type: text("type", ".type")?.unwrap_or_default(),
            raw: Some(raw),
        })
    }

    /// Reads a list; the error is the path to the wrong field and what is wrong with it.
    pub(super) fn read_list(raw: &'a RawValue) -> Result<Vec<Self>, (String, &'static str)> {
        let elements = json::elements(raw).ok_or((String::new(), "must be an array"))?;
        elements
            .into_iter()
            .enumerate()
            .map(|(index, raw)| {
                Attachment::read(raw)
                    .map_err(|(field, problem)| (format!("[{index}]{field}"), problem))
            })
            .collect()
    }

    /// Reads what can be read of a list.
    pub(super) fn read_lenient(raw: &'a RawValue) -> Vec<Self> {
        let elements = json::elements(raw).unwrap_or_default();
        elements
            .into_iter()
            .filter_map(|raw| Attachment::read(raw).ok())
            .collect()
    }

    pub(super) fn write(&self, out: &mut String) {
        if let Some(raw) = self.raw {
            out.push_str(raw.get());
            return;
        }
        let mut object = ObjectWriter::open(out);
        object
            .text("name", &*self.name)
            .text("url", &*self.url)
            .text("type", &*self.media_type);
        object.close();
    }

    /// Adds a list, unless it is empty.
    pub(super) fn put(object: &mut ObjectWriter<'_>, list: &[Self]) {
        if !list.is_empty() {
            object.list("attachments", list, |out, attachment| attachment.write(out));
        }
    }

    /// About how many bytes a list takes in a frame.
    pub(super) fn size_hint(list: &[Self]) -> usize {
        const NAMES: usize = 64;
        list.iter()
            .map(|one| match one.raw {
                Some(raw) => raw.get().len() + 1,
                None => NAMES + one.name.len() + one.url.len() + one.media_type.len(),
            })
            .sum()
    }
}

/// Equal are attachments that say the same of their file, however they were written.
impl PartialEq for Attachment<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.url == other.url && self.media_type == other.media_type
    }
}

impl Eq for Attachment<'_> {}

impl Serialize for Attachment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(raw) = self.raw {
            return raw.serialize(serializer);
        }
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("url", &self.url)?;
        map.serialize_entry("type", &self.media_type)?;
        map.end()
    }
}
