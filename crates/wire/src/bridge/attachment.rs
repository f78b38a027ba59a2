//! Attachments: the files of a message or an answer, as links. Shared by frames, relay bodies, events and
//! callbacks.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::read::{FieldError, read_part, text};

/// A file by its URL.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Attachment))]
pub struct Attachment<'a> {
    /// The file's name; may be empty.
    #[cfg_attr(feature = "schema", schema(required = false))]
    pub name: Cow<'a, str>,
    /// The URL of the file.
    pub url: Cow<'a, str>,
    /// The file's media type; may be empty.
    #[cfg_attr(feature = "schema", schema(required = false, rename = "type"))]
    pub media_type: Cow<'a, str>,
    /// The attachment as its sender wrote it, with unknown fields; written instead of the other fields if
    /// present.
    #[cfg_attr(feature = "schema", schema(ignore))]
    pub raw: Option<&'a RawValue>,
}

impl<'a> Attachment<'a> {
    /// Creates an attachment without a raw form.
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

    /// Returns an estimate of the bytes that a list of attachments takes in a frame.
    pub fn size_hint(list: &[Self]) -> usize {
        const NAMES: usize = 64;
        list.iter()
            .map(|one| match one.raw {
                Some(raw) => raw.get().len() + 1,
                None => NAMES + one.name.len() + one.url.len() + one.media_type.len(),
            })
            .sum()
    }
}

/// Attachments are equal if they describe the same file, however they were written.
impl PartialEq for Attachment<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.url == other.url && self.media_type == other.media_type
    }
}

impl Eq for Attachment<'_> {}

/// The known fields of an [`Attachment`].
#[derive(Serialize, Deserialize)]
struct AttachmentFields<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    name: Cow<'a, str>,
    #[serde(borrow)]
    url: Cow<'a, str>,
    #[serde(rename = "type", default, deserialize_with = "text")]
    media_type: Cow<'a, str>,
}

impl Serialize for Attachment<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(raw) = self.raw {
            return raw.serialize(serializer);
        }
        let fields = AttachmentFields {
            name: (&*self.name).into(),
            url: (&*self.url).into(),
            media_type: (&*self.media_type).into(),
        };
        fields.serialize(serializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Attachment<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = <&RawValue>::deserialize(deserializer)?;
        let fields: AttachmentFields<'_> = read_part(raw).map_err(FieldError::into_error)?;
        Ok(Attachment {
            name: fields.name,
            url: fields.url,
            media_type: fields.media_type,
            raw: Some(raw),
        })
    }
}
