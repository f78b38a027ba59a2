//! Tasks, and what streams carry.

use jackfield_wire::{json, time};
use serde_json::value::RawValue;

use super::super::{
    Version,
    error::Fault,
    fields::{Fields, Wrong, number},
    model::{Artifact, ArtifactUpdate, Item, Message, Part, State, Status, StatusUpdate, Task},
    shape::Shape,
};

/// How much is shown of what should be a state and is none.
const SHOWN: usize = 40;

impl Version {
    /// Reads what a stream carries, or what answers a plain send. In 0.3 its kind tells what it is, in 1.0 and in REST of
    /// 0.3 the name of the only member; where neither does, its fields do.
    pub(crate) fn read_item(self, raw: &RawValue) -> Result<Item, Fault> {
        Ok(Item::read(self.shape(), raw)?)
    }
}

impl Item {
    pub(in crate::wire::official) fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        let fields = Fields::of(raw)?;
        let task = |raw| Task::read(shape, raw).map(|task| Item::Task(task.into()));
        let message = |raw| Message::read_answer(shape, raw).map(|said| Item::Message(said.into()));
        let status = |raw| StatusUpdate::read(shape, raw).map(|it| Item::Status(it.into()));
        let artifact = |raw| ArtifactUpdate::read(shape, raw).map(|it| Item::Artifact(it.into()));

        let kind = fields.raw("kind")?.and_then(json::str_of);
        match kind.as_deref() {
            Some("task") => return task(raw),
            Some("message") => return message(raw),
            Some("status-update") => return status(raw),
            Some("artifact-update") => return artifact(raw),
            _ => {}
        }
        let mut found = fields.read("task", task)?;
        for other in [
            fields.read("message", message)?,
            // What REST of 0.3 may call it.
            fields.read("msg", message)?,
            fields.read("statusUpdate", status)?,
            fields.read("artifactUpdate", artifact)?,
        ] {
            if found.is_some() && other.is_some() {
                return Err(Wrong::here("must hold just one thing"));
            }
            found = found.or(other);
        }
        if let Some(found) = found {
            return Ok(found);
        }
        if fields.raw("artifact")?.is_some() {
            artifact(raw)
        } else if fields.raw("messageId")?.is_some() {
            message(raw)
        } else if fields.raw("status")?.is_some() && fields.raw("taskId")?.is_some() {
            status(raw)
        } else if fields.raw("status")?.is_some() {
            task(raw)
        } else {
            Err(Wrong::here("must be a task, a message or an update"))
        }
    }
}

impl Task {
    fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        const KNOWN: [&str; 7] = [
            "kind",
            "id",
            "contextId",
            "status",
            "artifacts",
            "history",
            "metadata",
        ];
        let fields = Fields::of(raw)?;
        Ok(Self {
            id: fields.require_word("id")?,
            context_id: fields.text("contextId")?.unwrap_or_default(),
            status: fields.require("status", |raw| Status::read(shape, raw))?,
            artifacts: fields.list("artifacts", |raw| Artifact::read(shape, raw))?,
            history: fields.list("history", |raw| Message::read_said(shape, raw))?,
            metadata: fields.metadata("metadata")?,
            extra: fields.extra(shape.version(), &KNOWN),
        })
    }
}

impl Status {
    fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        const KNOWN: [&str; 4] = ["state", "message", "update", "timestamp"];
        if json::is_string(raw) {
            // The dialect of Agno Go says no more than the state.
            return state(shape.version(), raw).map(Self::new);
        }
        let fields = Fields::of(raw)?;
        let said = |raw| Message::read_said(shape, raw);
        let mut message = fields.read("message", said)?;
        if message.is_none() && shape.version() == Version::V03 {
            // What REST of 0.3 may call it.
            message = fields.read("update", said)?;
        }
        let timestamp = fields.word("timestamp")?;
        Ok(Self {
            state: fields
                .read("state", |raw| state(shape.version(), raw))?
                .unwrap_or(State::Unknown),
            message,
            // A time that nobody can read says nothing.
            timestamp: timestamp.and_then(|text| time::to_utc(&text)),
            extra: fields.extra(shape.version(), &KNOWN),
        })
    }
}

/// The state of a name or number.
pub(super) fn state(version: Version, raw: &RawValue) -> Result<State, Wrong> {
    let state = match json::str_of(raw) {
        Some(name) => State::from_name(&name),
        None => number(raw).and_then(State::from_number),
    };
    state.ok_or_else(|| {
        let given: String = raw.get().chars().take(SHOWN).collect();
        let names = State::names(version);
        Wrong::here(format!("must be one of {names}, not {given}"))
    })
}

impl Artifact {
    fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        const KNOWN: [&str; 6] = [
            "artifactId",
            "name",
            "description",
            "parts",
            "metadata",
            "extensions",
        ];
        let fields = Fields::of(raw)?;
        Ok(Self {
            id: fields.require_word("artifactId")?,
            name: fields.word("name")?,
            description: fields.word("description")?,
            parts: fields.list("parts", |raw| Part::read(shape, raw))?,
            metadata: fields.metadata("metadata")?,
            extensions: fields.texts("extensions")?,
            extra: fields.extra(shape.version(), &KNOWN),
        })
    }
}

impl StatusUpdate {
    fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        const KNOWN: [&str; 6] = ["kind", "taskId", "contextId", "status", "final", "metadata"];
        let fields = Fields::of(raw)?;
        let status = fields.require("status", |raw| Status::read(shape, raw))?;
        let says_final = fields.flag("final")?;
        Ok(Self {
            task_id: fields.require_word("taskId")?,
            context_id: fields.text("contextId")?.unwrap_or_default(),
            is_final: says_final.unwrap_or_else(|| status.state.is_terminal()),
            status,
            metadata: fields.metadata("metadata")?,
            extra: fields.extra(shape.version(), &KNOWN),
        })
    }
}

impl ArtifactUpdate {
    fn read(shape: Shape, raw: &RawValue) -> Result<Self, Wrong> {
        const KNOWN: [&str; 7] = [
            "kind",
            "taskId",
            "contextId",
            "artifact",
            "append",
            "lastChunk",
            "metadata",
        ];
        let fields = Fields::of(raw)?;
        Ok(Self {
            task_id: fields.require_word("taskId")?,
            context_id: fields.text("contextId")?.unwrap_or_default(),
            artifact: fields.require("artifact", |raw| Artifact::read(shape, raw))?,
            append: fields.flag("append")?.unwrap_or(false),
            last_chunk: fields.flag("lastChunk")?.unwrap_or(false),
            metadata: fields.metadata("metadata")?,
            extra: fields.extra(shape.version(), &KNOWN),
        })
    }
}
