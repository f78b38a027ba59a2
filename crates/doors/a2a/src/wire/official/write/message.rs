//! Writers for messages and parts.

use std::borrow::Cow;

use jackfield_wire::json::RawMembers;
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::value::RawValue;

use super::{
    super::{
        A2aVersion,
        model::{Extra, Message, Part, PartContent, Role},
        shape::WireForm,
        v03_proto::FileBytes,
    },
    DATA_WRAPPED, ExtraOut, IN_FILE,
};
use crate::wire::base64;

/// Serialized form of a message.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    message_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_id: Option<&'a str>,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<Vec<PartOut<'a>>>,
    /// Name of the parts in REST of 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<PartOut<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    reference_task_ids: &'a [String],
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Serialized form of a part.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum PartOut<'a> {
    V03(PartV03<'a>),
    V10(PartV10<'a>),
}

/// Part in 0.3, which has media type and name only for files.
#[derive(Debug, Serialize)]
pub(super) struct PartV03<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<DataOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<MetadataOut<'a>>,
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Part in 1.0.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PartV10<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// File in 0.3, in JSON-RPC or REST.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FileOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_bytes: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file_with_uri: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(flatten)]
    extra: FileExtraOut<'a>,
}

/// Unknown fields of a file.
#[derive(Debug, Default)]
struct FileExtraOut<'a>(Vec<&'a RawValue>);

impl Serialize for FileExtraOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for members in self.0.iter().filter_map(|object| RawMembers::of(object)) {
            for member in members.iter() {
                map.serialize_entry(&member.name, member.value)?;
            }
        }
        map.end()
    }
}

/// Data of a part in 0.3, which must be an object.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum DataOut<'a> {
    Object(&'a RawValue),
    /// Value other than an object, wrapped into an object.
    Wrapped {
        value: &'a RawValue,
    },
    /// Data in REST, with an additional object.
    InRest {
        data: Box<DataOut<'a>>,
    },
}

/// Metadata of a part in 0.3.
#[derive(Debug)]
enum MetadataOut<'a> {
    Plain(&'a RawValue),
    /// Metadata with the mark of wrapped data.
    Marked(Option<&'a RawValue>),
}

impl Serialize for MetadataOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metadata = match self {
            Self::Plain(raw) => return raw.serialize(serializer),
            Self::Marked(metadata) => metadata.and_then(RawMembers::of).unwrap_or_default(),
        };
        let mut map = serializer.serialize_map(None)?;
        for member in metadata.iter().filter(|member| member.name != DATA_WRAPPED) {
            map.serialize_entry(&member.name, member.value)?;
        }
        map.serialize_entry(DATA_WRAPPED, &true)?;
        map.end()
    }
}

impl WireForm {
    /// Returns the kind of an object, which only JSON-RPC of 0.3 has.
    pub(super) fn kind(self, kind: &'static str) -> Option<&'static str> {
        (self == Self::V03).then_some(kind)
    }

    /// Returns the serialized form of a message.
    pub(super) fn message(self, message: &Message) -> MessageOut<'_> {
        let parts = Some(self.parts(&message.parts));
        let (parts, content) = match self {
            Self::V03 | Self::V10 => (parts, None),
            Self::V03Proto(_) => (None, parts),
        };
        MessageOut {
            kind: self.kind("message"),
            message_id: &message.id,
            context_id: message.context_id.as_deref(),
            task_id: message.task_id.as_deref(),
            role: self.role(message.role),
            parts,
            content,
            metadata: message.metadata.as_deref(),
            extensions: &message.extensions,
            reference_task_ids: match self {
                Self::V03 | Self::V10 => &message.reference_task_ids,
                Self::V03Proto(_) => &[],
            },
            extra: self.extra(&message.extra),
        }
    }

    fn role(self, role: Role) -> &'static str {
        role.name(match self {
            Self::V03 => A2aVersion::V03,
            Self::V03Proto(_) | Self::V10 => A2aVersion::V10,
        })
    }

    /// Returns the serialized form of parts.
    pub(super) fn parts(self, parts: &[Part]) -> Vec<PartOut<'_>> {
        let part = |part| match self {
            Self::V03 | Self::V03Proto(_) => PartOut::V03(self.old_part(part)),
            Self::V10 => PartOut::V10(self.new_part(part)),
        };
        parts.iter().map(part).collect()
    }

    fn new_part(self, part: &Part) -> PartV10<'_> {
        let content = &part.content;
        PartV10 {
            text: content.as_text(),
            raw: content.as_bytes(),
            url: content.as_url(),
            data: content.as_data(),
            media_type: part.media_type.as_deref(),
            filename: part.filename.as_deref(),
            metadata: part.metadata.as_deref(),
            extra: self.extra(&part.extra),
        }
    }

    fn old_part(self, part: &Part) -> PartV03<'_> {
        let metadata = part.metadata.as_deref();
        let is_wrapped = |data: &RawValue| !data.get().starts_with('{');
        let is_marked = part.content.as_data().is_some_and(is_wrapped);
        PartV03 {
            kind: self.kind(match part.content {
                PartContent::Text(_) => "text",
                PartContent::Bytes(_) | PartContent::Url(_) => "file",
                PartContent::Data(_) => "data",
            }),
            text: part.content.as_text(),
            file: match &part.content {
                PartContent::Bytes(_) | PartContent::Url(_) => Some(self.file(part)),
                PartContent::Text(_) | PartContent::Data(_) => None,
            },
            data: part.content.as_data().map(|data| self.data(data)),
            metadata: match is_marked {
                true => Some(MetadataOut::Marked(metadata)),
                false => metadata.map(MetadataOut::Plain),
            },
            extra: self.extra(&part.extra),
        }
    }

    fn data(self, data: &RawValue) -> DataOut<'_> {
        let data = match data.get().starts_with('{') {
            true => DataOut::Object(data),
            false => DataOut::Wrapped { value: data },
        };
        match self {
            Self::V03 | Self::V10 => data,
            Self::V03Proto(_) => DataOut::InRest { data: data.into() },
        }
    }

    fn file(self, part: &Part) -> FileOut<'_> {
        let (bytes, uri) = (part.content.as_bytes(), part.content.as_url());
        let mut file = FileOut {
            bytes: None,
            file_with_bytes: None,
            uri: None,
            file_with_uri: None,
            mime_type: part.media_type.as_deref(),
            name: part.filename.as_deref(),
            extra: FileExtraOut::default(),
        };
        match self {
            Self::V03 | Self::V10 => {
                (file.bytes, file.uri) = (bytes, uri);
                file.extra = file_extra(&part.extra);
            }
            Self::V03Proto(files) => {
                file.file_with_uri = uri;
                file.file_with_bytes = bytes.map(|bytes| match files {
                    FileBytes::Once => bytes.into(),
                    FileBytes::Twice => base64::encode(bytes).into(),
                });
            }
        }
        file
    }
}

/// Returns the unknown fields of the file in a part of 0.3.
fn file_extra(extra: &Extra) -> FileExtraOut<'_> {
    let is_old = extra.version == Some(A2aVersion::V03);
    let fields = extra.fields.iter();
    let objects = fields.filter(|(name, _)| is_old && name == IN_FILE);
    FileExtraOut(objects.map(|(_, object)| &**object).collect())
}

impl PartContent {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) | Self::Url(_) | Self::Data(_) => None,
        }
    }

    fn as_bytes(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Text(_) | Self::Url(_) | Self::Data(_) => None,
        }
    }

    fn as_url(&self) -> Option<&str> {
        match self {
            Self::Url(url) => Some(url),
            Self::Text(_) | Self::Bytes(_) | Self::Data(_) => None,
        }
    }

    fn as_data(&self) -> Option<&RawValue> {
        match self {
            Self::Data(data) => Some(data),
            Self::Text(_) | Self::Bytes(_) | Self::Url(_) => None,
        }
    }
}
