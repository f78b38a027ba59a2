//! Reader for messages.

use jackfield_wire::{
    json,
    read::{self, FieldError, OpenObject, or_default},
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    super::{
        A2aVersion,
        fields::{RawObject, extra, filled, number, word},
        model::{Message, Part, Role},
        shape::WireForm,
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
    parts: Option<Vec<OpenObject<'a, PartIn<'a>>>>,
    /// Name of the parts in REST of 0.3.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    metadata: Option<RawObject>,
    #[serde(default, deserialize_with = "or_default")]
    extensions: Vec<String>,
    #[serde(alias = "reference_task_ids", default, deserialize_with = "or_default")]
    reference_task_ids: Vec<String>,
}

/// Message with its unknown fields.
pub(super) type OpenMessage<'a> = OpenObject<'a, MessageIn<'a>>;

#[cfg(test)]
impl A2aVersion {
    /// Reads a caller's message.
    pub(crate) fn read_message(
        self,
        raw: &RawValue,
    ) -> Result<Message, super::super::error::A2aError> {
        Ok(Message::read(self.shape(), read::read_part(raw)?)?)
    }
}

impl Message {
    /// Reads a caller's message, which must have a part.
    pub(super) fn read(shape: WireForm, message: OpenMessage<'_>) -> Result<Self, FieldError> {
        let name = parts_name(shape, &message.known);
        let has_parts = has_parts(shape, &message.known);
        let spelling = check_spelling(shape, &message.known);
        // A version of the conformance kit leaves out the role in REST.
        let message = Self::of(shape, message, shape.is_proto().then_some(Role::User))?;
        spelling?;
        match (message.parts.is_empty(), has_parts) {
            (false, _) => Ok(message),
            (true, true) => Err(FieldError::invalid(name, "must not be empty")),
            (true, false) => Err(FieldError::missing(name)),
        }
    }

    /// Reads a server's message. Some servers send no parts or leave out the role.
    pub(super) fn read_said(shape: WireForm, message: OpenMessage<'_>) -> Result<Self, FieldError> {
        Self::of(shape, message, Some(Role::Agent))
    }

    /// Reads a server's answer. The parts may be empty, but the field must be present.
    pub(super) fn read_answer(
        shape: WireForm,
        message: OpenMessage<'_>,
    ) -> Result<Self, FieldError> {
        if !has_parts(shape, &message.known) {
            return Err(FieldError::missing(parts_name(shape, &message.known)));
        }
        Self::read_said(shape, message)
    }

    fn of(
        shape: WireForm,
        message: OpenMessage<'_>,
        usual: Option<Role>,
    ) -> Result<Self, FieldError> {
        let OpenObject {
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
            return Err(FieldError::invalid(name, why));
        }
        let parts = Part::read_all(shape, parts);
        Ok(Self {
            id: message.message_id,
            context_id: message.context_id,
            task_id: message.task_id,
            role: role.ok_or_else(|| FieldError::missing("role"))?,
            parts: parts.map_err(|misread| misread.within(name))?,
            metadata: message.metadata.map(|RawObject(raw)| raw),
            extensions: message.extensions,
            reference_task_ids: message.reference_task_ids,
            extra: extra(shape.version(), &rest),
        })
    }
}

const PARTS: &str = "parts";
const CONTENT: &str = "content";

/// Returns the field name of the parts, which is `content` in REST of 0.3.
fn parts_name(shape: WireForm, message: &MessageIn<'_>) -> &'static str {
    let may_be_content = shape.version() == A2aVersion::V03 && message.parts.is_none();
    if may_be_content && message.content.is_some() {
        CONTENT
    } else {
        PARTS
    }
}

fn has_parts(shape: WireForm, message: &MessageIn<'_>) -> bool {
    message.parts.is_some() || parts_name(shape, message) == CONTENT
}

/// Checks that callers use the role names of their version. Servers are read leniently, because the caller
/// cannot correct their mistakes.
fn check_spelling(shape: WireForm, message: &MessageIn<'_>) -> Result<(), FieldError> {
    if shape == WireForm::V10
        && let Some(name) = message.role.and_then(json::str_of)
        && Role::from_name(&name).is_some_and(|role| role.name(A2aVersion::V10) != name)
    {
        let why = format!("'{name}' is of version 0.3; write ROLE_USER");
        return Err(FieldError::invalid("role", why));
    }
    for (index, part) in message.parts.iter().flatten().enumerate() {
        let (field, why) = match shape {
            WireForm::V03 if part.known.kind.is_none() => {
                ("kind", "is required: text, file or data")
            }
            WireForm::V10 if part.known.file.is_some() => {
                ("file", "is of version 0.3; write raw or url in its place")
            }
            WireForm::V03 | WireForm::V10 | WireForm::V03Proto(_) => continue,
        };
        let misread = FieldError::invalid(field, why);
        return Err(misread.within(&format!("{PARTS}[{index}]")));
    }
    Ok(())
}

fn role(version: A2aVersion, raw: &RawValue) -> Result<Role, FieldError> {
    let role = match json::str_of(raw) {
        Some(name) => Role::from_name(&name),
        None => number(raw).and_then(Role::from_number),
    };
    role.ok_or_else(|| {
        let [user, agent] = [Role::User, Role::Agent].map(|role| role.name(version));
        FieldError::invalid("role", format!("must be {user} or {agent}"))
    })
}
