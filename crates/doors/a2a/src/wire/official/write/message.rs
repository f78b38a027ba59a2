//! Messages and their parts.

use std::borrow::Cow;

use jackfield_wire::json::{Member, Members, ObjectWriter};
use serde_json::value::RawValue;

use super::{
    super::{
        Version,
        model::{Content, Extra, Message, Part, Role},
        shape::Shape,
        v03_proto::FileBytes,
    },
    DATA_WRAPPED,
};
use crate::wire::base64;

impl Shape {
    /// Appends a message.
    pub(in crate::wire::official) fn write_message(self, message: &Message, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        self.put_message(message, &mut object);
        object.close();
    }

    pub(super) fn put_message(self, message: &Message, object: &mut ObjectWriter<'_>) {
        if self == Self::V03 {
            object.text("kind", "message");
        }
        object
            .text("messageId", message.id.as_str())
            .maybe_text("contextId", message.context_id.as_deref())
            .maybe_text("taskId", message.task_id.as_deref())
            .text("role", self.role(message.role));
        let parts = match self {
            Self::V03 | Self::V10 => "parts",
            Self::V03Proto(_) => "content",
        };
        self.put_parts(parts, &message.parts, object);
        object.maybe_raw("metadata", message.metadata.as_deref());
        put_texts("extensions", &message.extensions, object);
        if !self.is_proto() {
            put_texts("referenceTaskIds", &message.reference_task_ids, object);
        }
        self.put_extra(&message.extra, object);
    }

    fn role(self, role: Role) -> &'static str {
        role.name(match self {
            Self::V03 => Version::V03,
            Self::V03Proto(_) | Self::V10 => Version::V10,
        })
    }

    pub(super) fn put_parts(self, name: &str, parts: &[Part], object: &mut ObjectWriter<'_>) {
        object.list(name, parts, |out, part| {
            let mut object = ObjectWriter::open(out);
            match self {
                Self::V03 | Self::V03Proto(_) => self.put_old_part(part, &mut object),
                Self::V10 => put_part(part, &mut object),
            }
            self.put_extra(&part.extra, &mut object);
            object.close();
        });
    }

    /// A part of 0.3. It has no place for the media type and the name of what is no file.
    fn put_old_part(self, part: &Part, object: &mut ObjectWriter<'_>) {
        if self == Self::V03 {
            object.text("kind", kind(&part.content));
        }
        match &part.content {
            Content::Text(text) => {
                object.text("text", text.as_str());
            }
            Content::Bytes(bytes) => self.put_file(part, object, |file| {
                match self {
                    Self::V03 | Self::V10 => file.text("bytes", bytes.as_str()),
                    Self::V03Proto(FileBytes::Once) => file.text("fileWithBytes", bytes.as_str()),
                    Self::V03Proto(FileBytes::Twice) => {
                        file.text("fileWithBytes", base64::encode(bytes).as_str())
                    }
                };
            }),
            Content::Url(url) => self.put_file(part, object, |file| {
                let name = match self {
                    Self::V03Proto(_) => "fileWithUri",
                    Self::V03 | Self::V10 => "uri",
                };
                file.text(name, url.as_str());
            }),
            Content::Data(data) => {
                let is_wrapped = !data.get().starts_with('{');
                if self == Self::V03 {
                    put_data(data, is_wrapped, object);
                } else {
                    object.object("data", |object| put_data(data, is_wrapped, object));
                }
                if is_wrapped {
                    object.object("metadata", |metadata| {
                        let known = part.metadata.as_deref().and_then(Members::of);
                        for member in known.iter().flat_map(Members::iter) {
                            if member.name != DATA_WRAPPED {
                                metadata.members(std::slice::from_ref(member));
                            }
                        }
                        metadata.flag(DATA_WRAPPED, true);
                    });
                    return;
                }
            }
        }
        object.maybe_raw("metadata", part.metadata.as_deref());
    }

    fn put_file(
        self,
        part: &Part,
        object: &mut ObjectWriter<'_>,
        fill: impl FnOnce(&mut ObjectWriter<'_>),
    ) {
        object.object("file", |file| {
            fill(file);
            file.maybe_text("mimeType", part.media_type.as_deref())
                .maybe_text("name", part.filename.as_deref());
            if self == Self::V03 && part.extra.version == Some(Version::V03) {
                put_file_extra(&part.extra, file);
            }
        });
    }

    /// Fields that are not known here, if they are of the version that is written.
    pub(super) fn put_extra(self, extra: &Extra, object: &mut ObjectWriter<'_>) {
        // The readers of REST in 0.3 take nothing that they do not know.
        if self.is_proto() || extra.version != Some(self.version()) {
            return;
        }
        for (name, value) in &extra.fields {
            if name != IN_FILE {
                put_field(name, value, object);
            }
        }
    }
}

/// Under this name are the unknown fields of the file that a part holds.
const IN_FILE: &str = "file";

fn put_file_extra(extra: &Extra, file: &mut ObjectWriter<'_>) {
    for (_, object) in extra.fields.iter().filter(|(name, _)| name == IN_FILE) {
        for member in Members::of(object).iter().flat_map(Members::iter) {
            file.members(std::slice::from_ref(member));
        }
    }
}

fn put_field(name: &str, value: &RawValue, object: &mut ObjectWriter<'_>) {
    let name = Cow::Borrowed(name);
    object.members(&[Member { name, value }]);
}

fn put_data(data: &RawValue, is_wrapped: bool, object: &mut ObjectWriter<'_>) {
    if is_wrapped {
        object.object("data", |object| {
            object.raw("value", data);
        });
    } else {
        object.raw("data", data);
    }
}

fn put_part(part: &Part, object: &mut ObjectWriter<'_>) {
    match &part.content {
        Content::Text(text) => object.text("text", text.as_str()),
        Content::Bytes(bytes) => object.text("raw", bytes.as_str()),
        Content::Url(url) => object.text("url", url.as_str()),
        Content::Data(data) => object.raw("data", data),
    }
    .maybe_text("mediaType", part.media_type.as_deref())
    .maybe_text("filename", part.filename.as_deref())
    .maybe_raw("metadata", part.metadata.as_deref());
}

fn kind(content: &Content) -> &'static str {
    match content {
        Content::Text(_) => "text",
        Content::Bytes(_) | Content::Url(_) => "file",
        Content::Data(_) => "data",
    }
}

/// A list of texts, unless it is empty.
pub(super) fn put_texts(name: &str, texts: &[String], object: &mut ObjectWriter<'_>) {
    if !texts.is_empty() {
        object.texts(name, texts);
    }
}
