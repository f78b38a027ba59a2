//! Reader for messages.

use jackfield_wire::{
    json,
    read::{self, Misread, Open, or_default},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    super::{
        Version,
        fields::{Object, extra, filled, number, word},
        model::{Message, Part, Role},
        shape::Shape,
    },
    part::PartIn,
};
use crate::wire::seed::MAX_PARTS;

/// Serialized form of a message, in both versions.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MessageIn<'a> {
    #[serde(rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(alias = "message_id", deserialize_with = "filled")]
    message_id: String,
    #[serde(alias = "context_id", default, deserialize_with = "word")]
    context_id: Option<String>,
    #[serde(alias = "task_id", default, deserialize_with = "word")]
    task_id: Option<String>,
    #[serde(borrow)]
    role: Option<&'a RawValue>,
    #[serde(borrow)]
    parts: Option<Vec<Open<'a, PartIn<'a>>>>,
    /// Name of the parts in REST of 0.3.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    metadata: Option<Object>,
    #[serde(default, deserialize_with = "or_default")]
    extensions: Vec<String>,
    #[serde(alias = "reference_task_ids", default, deserialize_with = "or_default")]
    reference_task_ids: Vec<String>,
}

/// Message with its unknown fields.
pub(super) type OpenMessage<'a> = Open<'a, MessageIn<'a>>;

#[cfg(test)]
impl Version {
    /// Reads a caller's message.
    pub(crate) fn read_message(
        self,
        raw: &RawValue,
    ) -> Result<Message, super::super::error::Fault> {
        Ok(Message::read(self.shape(), read::read_part(raw)?)?)
    }
}

impl Message {
    /// Reads a caller's message, which must have a part.
    pub(super) fn read(shape: Shape, message: OpenMessage<'_>) -> Result<Self, Misread> {
        let name = parts_name(shape, &message.known);
        let has_parts = has_parts(shape, &message.known);
        let spelling = check_spelling(shape, &message.known);
        // A version of the conformance kit leaves out the role in REST.
        let message = Self::of(shape, message, shape.is_proto().then_some(Role::User))?;
        spelling?;
        match (message.parts.is_empty(), has_parts) {
            (false, _) => Ok(message),
            (true, true) => Err(Misread::invalid(name, "must not be empty")),
            (true, false) => Err(Misread::missing(name)),
        }
    }

    /// Reads a server's message. Some servers send no parts or leave out the role.
    pub(super) fn read_said(shape: Shape, message: OpenMessage<'_>) -> Result<Self, Misread> {
        Self::of(shape, message, Some(Role::Agent))
    }

    /// Reads a server's answer. The parts may be empty, but the field must be present.
    pub(super) fn read_answer(shape: Shape, message: OpenMessage<'_>) -> Result<Self, Misread> {
        if !has_parts(shape, &message.known) {
            return Err(Misread::missing(parts_name(shape, &message.known)));
        }
        Self::read_said(shape, message)
    }

    fn of(shape: Shape, message: OpenMessage<'_>, usual: Option<Role>) -> Result<Self, Misread> {
        let Open {
            known: message,
            rest,
        } = message;
        let name = parts_name(shape, &message);
        let role = message.role.map(|raw| role(shape.version(), raw));
        let role = role.transpose()?.or(usual);
        let parts = match (message.parts, message.content) {
            (None, Some(content)) if name == CONTENT => {
                let parts = read::read_part(content);
                parts.map_err(|misread| misread.within(CONTENT))?
            }
            (parts, _) => parts.unwrap_or_default(),
        };
        if parts.len() > MAX_PARTS {
            let why = format!("must not be more than {MAX_PARTS}");
            return Err(Misread::invalid(name, why));
        }
        let parts = Part::read_all(shape, parts);
        Ok(Self {
            id: message.message_id,
            context_id: message.context_id,
            task_id: message.task_id,
            role: role.ok_or_else(|| Misread::missing("role"))?,
            parts: parts.map_err(|misread| misread.within(name))?,
            metadata: message.metadata.map(|Object(raw)| raw),
            extensions: message.extensions,
            reference_task_ids: message.reference_task_ids,
            extra: extra(shape.version(), &rest),
        })
    }
}

const PARTS: &str = "parts";
const CONTENT: &str = "content";

/// Returns the field name of the parts, which is `content` in REST of 0.3.
fn parts_name(shape: Shape, message: &MessageIn<'_>) -> &'static str {
    let may_be_content = shape.version() == Version::V03 && message.parts.is_none();
    if may_be_content && message.content.is_some() {
        CONTENT
    } else {
        PARTS
    }
}

fn has_parts(shape: Shape, message: &MessageIn<'_>) -> bool {
    message.parts.is_some() || parts_name(shape, message) == CONTENT
}

/// Checks that callers use the role names of their version. Servers are read leniently, because the caller
/// cannot correct their mistakes.
fn check_spelling(shape: Shape, message: &MessageIn<'_>) -> Result<(), Misread> {
    if shape == Shape::V10
        && let Some(name) = message.role.and_then(json::str_of)
        && Role::from_name(&name).is_some_and(|role| role.name(Version::V10) != name)
    {
        let why = format!("'{name}' is of version 0.3; write ROLE_USER");
        return Err(Misread::invalid("role", why));
    }
    for (index, part) in message.parts.iter().flatten().enumerate() {
        let (field, why) = match shape {
            Shape::V03 if part.known.kind.is_none() => ("kind", "is required: text, file or data"),
            Shape::V10 if part.known.file.is_some() => {
                ("file", "is of version 0.3; write raw or url in its place")
            }
            Shape::V03 | Shape::V10 | Shape::V03Proto(_) => continue,
        };
        let misread = Misread::invalid(field, why);
        return Err(misread.within(&format!("{PARTS}[{index}]")));
    }
    Ok(())
}

fn role(version: Version, raw: &RawValue) -> Result<Role, Misread> {
    let role = match json::str_of(raw) {
        Some(name) => Role::from_name(&name),
        None => number(raw).and_then(Role::from_number),
    };
    role.ok_or_else(|| {
        let [user, agent] = [Role::User, Role::Agent].map(|role| role.name(version));
        Misread::invalid("role", format!("must be {user} or {agent}"))
    })
}
