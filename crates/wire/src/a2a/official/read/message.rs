//! Messages.

use serde_json::value::RawValue;

use super::super::{
    Version,
    error::Fault,
    fields::{Fields, Wrong, number},
    model::{Message, Part, Role},
};
use crate::{a2a::seed::MAX_PARTS, json};

/// The fields of a message, in both versions.
const KNOWN: [&str; 10] = [
    "kind",
    "messageId",
    "contextId",
    "taskId",
    "role",
    "parts",
    "content",
    "metadata",
    "extensions",
    "referenceTaskIds",
];

impl Version {
    /// Reads a message.
    pub fn read_message(self, raw: &RawValue) -> Result<Message, Fault> {
        Ok(Message::read(self, raw)?)
    }
}

impl Message {
    pub(super) fn read(version: Version, raw: &RawValue) -> Result<Self, Wrong> {
        let fields = Fields::of(raw)?;
        let id = fields.require_word("messageId")?;
        let role = fields.require("role", role)?;
        // REST of 0.3 calls them content.
        let has_content = version == Version::V03 && fields.raw("parts")?.is_none();
        let name = if has_content && fields.raw("content")?.is_some() {
            "content"
        } else {
            "parts"
        };
        let list = fields.require(name, |raw| {
            json::elements(raw).ok_or_else(|| Wrong::here("must be a list"))
        })?;
        if list.is_empty() {
            return Err(Wrong::at(name, "must not be empty"));
        }
        if list.len() > MAX_PARTS {
            let why = format!("must not be more than {MAX_PARTS}");
            return Err(Wrong::at(name, why));
        }
        Ok(Self {
            id,
            context_id: fields.word("contextId")?,
            task_id: fields.word("taskId")?,
            role,
            parts: fields.list(name, |raw| Part::read(version, raw))?,
            metadata: fields.metadata("metadata")?,
            extensions: fields.texts("extensions")?,
            reference_task_ids: fields.texts("referenceTaskIds")?,
            extra: fields.extra(version, &KNOWN),
        })
    }
}

fn role(raw: &RawValue) -> Result<Role, Wrong> {
    let role = match json::str_of(raw) {
        Some(name) => Role::from_name(&name),
        None => number(raw).and_then(Role::from_number),
    };
    role.ok_or_else(|| Wrong::here("must be user or agent"))
}
