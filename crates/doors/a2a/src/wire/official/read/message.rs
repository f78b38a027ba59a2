//! Messages.

use jackfield_wire::json;
use serde_json::value::RawValue;

use super::super::{
    Version,
    fields::{Fields, REQUIRED, Wrong, number},
    model::{Message, Part, Role},
    shape::Shape,
};
use crate::wire::seed::MAX_PARTS;

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
    #[cfg(test)]
    pub(crate) fn read_message(
        self,
        raw: &RawValue,
    ) -> Result<Message, super::super::error::Fault> {
        Ok(Message::read(self.shape(), raw)?)
    }
}

impl Message {
    /// Reads what a caller says: there must be something in it.
    pub(super) fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        let fields = Fields::of(raw)?;
        // One version of the conformance kit leaves the role out in REST.
        let message = Self::of_fields(shape, &fields, shape.is_proto().then_some(Role::User))?;
        check_spelling(shape, &fields)?;
        if message.parts.is_empty() {
            let name = parts_name(shape, &fields)?;
            let why = match fields.raw(name)? {
                None => REQUIRED,
                Some(_) => "must not be empty",
            };
            return Err(Wrong::at(name, why));
        }
        Ok(message)
    }

    /// Reads what a server says: some say nothing, and leave out what goes without saying.
    pub(super) fn read_said(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        Self::of_fields(shape, &Fields::of(raw)?, Some(Role::Agent))
    }

    /// Reads what a server answers with. What it says may be nothing, but it has to say so.
    pub(super) fn read_answer(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        let fields = Fields::of(raw)?;
        let name = parts_name(shape, &fields)?;
        if fields.raw(name)?.is_none() {
            return Err(Wrong::at(name, REQUIRED));
        }
        Self::of_fields(shape, &fields, Some(Role::Agent))
    }

    fn of_fields(shape: Shape, fields: &Fields<'_>, usual: Option<Role>) -> Result<Self, Wrong> {
        let id = fields.require_word("messageId")?;
        let role = fields.read("role", |raw| role(shape.version(), raw))?;
        let role = role.or(usual);
        let role = role.ok_or_else(|| Wrong::at("role", REQUIRED))?;
        let name = parts_name(shape, fields)?;
        let count = fields.read(name, |raw| {
            let list = json::elements(raw).ok_or_else(|| Wrong::here("must be a list"))?;
            Ok(list.len())
        })?;
        if count.is_some_and(|count| count > MAX_PARTS) {
            let why = format!("must not be more than {MAX_PARTS}");
            return Err(Wrong::at(name, why));
        }
        Ok(Self {
            id,
            context_id: fields.word("contextId")?,
            task_id: fields.word("taskId")?,
            role,
            parts: fields.list(name, |raw| Part::read(shape, raw))?,
            metadata: fields.metadata("metadata")?,
            extensions: fields.texts("extensions")?,
            reference_task_ids: fields.texts("referenceTaskIds")?,
            extra: fields.extra(shape.version(), &KNOWN),
        })
    }
}

/// What the parts are called. REST of 0.3 calls them content.
fn parts_name(shape: Shape, fields: &Fields<'_>) -> Result<&'static str, Wrong> {
    let may_be_content = shape.version() == Version::V03 && fields.raw("parts")?.is_none();
    if may_be_content && fields.raw("content")?.is_some() {
        return Ok("content");
    }
    Ok("parts")
}

/// Callers keep to the spelling of their version. Servers are read more leniently: their mistakes are not the caller's.
fn check_spelling(shape: Shape, fields: &Fields<'_>) -> Result<(), Wrong> {
    match shape {
        Shape::V03 => fields.list("parts", |raw| match Fields::of(raw)?.raw("kind")? {
            Some(_) => Ok(()),
            None => Err(Wrong::at("kind", "is required: text, file or data")),
        })?,
        Shape::V10 => {
            fields.read("role", |raw| match json::str_of(raw) {
                Some(name)
                    if Role::from_name(&name).is_some_and(|it| it.name(Version::V10) != name) =>
                {
                    Err(Wrong::here(format!(
                        "'{name}' is of version 0.3; write ROLE_USER"
                    )))
                }
                _ => Ok(()),
            })?;
            fields.list("parts", |raw| match Fields::of(raw)?.raw("file")? {
                Some(_) => Err(Wrong::at(
                    "file",
                    "is of version 0.3; write raw or url in its place",
                )),
                None => Ok(()),
            })?
        }
        Shape::V03Proto(_) => Vec::new(),
    };
    Ok(())
}

fn role(version: Version, raw: &RawValue) -> Result<Role, Wrong> {
    let role = match json::str_of(raw) {
        Some(name) => Role::from_name(&name),
        None => number(raw).and_then(Role::from_number),
    };
    role.ok_or_else(|| {
        let [user, agent] = [Role::User, Role::Agent].map(|role| role.name(version));
        Wrong::here(format!("must be {user} or {agent}"))
    })
}
