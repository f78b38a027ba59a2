//! Readers for tasks and for elements of streams.

use jackfield_wire::{
    json,
    read::{self, FieldError, OpenObject, or_default},
    time,
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    super::{
        A2aVersion,
        error::A2aError,
        fields::{RawObject, extra, filled, here, number, word},
        model::{
            A2aState, A2aStatus, Artifact, ArtifactUpdate, Message, Part, StatusUpdate, StreamItem,
            Task,
        },
        shape::WireForm,
    },
    message::OpenMessage,
    part::PartIn,
};

/// Longest quote of an invalid state in an error.
const SHOWN: usize = 40;

/// Members that identify an element: its kind in 0.3, the name of its only member in 1.0 and in REST of 0.3.
/// Without either, the other fields decide.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemIn<'a> {
    #[serde(borrow)]
    kind: Option<&'a RawValue>,
    #[serde(borrow)]
    task: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    /// Name of a message in REST of 0.3.
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    #[serde(alias = "status_update", borrow)]
    status_update: Option<&'a RawValue>,
    #[serde(alias = "artifact_update", borrow)]
    artifact_update: Option<&'a RawValue>,
    #[serde(borrow)]
    artifact: Option<&'a RawValue>,
    #[serde(alias = "message_id", borrow)]
    message_id: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(alias = "task_id", borrow)]
    task_id: Option<&'a RawValue>,
}

/// Serialized form of a task.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TaskIn<'a> {
    #[serde(rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(deserialize_with = "filled")]
    id: String,
    #[serde(alias = "context_id", default, deserialize_with = "or_default")]
    context_id: String,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    #[serde(borrow)]
    artifacts: Option<Vec<OpenArtifact<'a>>>,
    #[serde(borrow)]
    history: Option<Vec<OpenMessage<'a>>>,
    metadata: Option<RawObject>,
}

/// Serialized form of a status.
#[derive(Debug, Deserialize)]
struct StatusIn<'a> {
    #[serde(borrow)]
    state: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<OpenMessage<'a>>,
    /// Name of the message in REST of 0.3.
    #[serde(borrow)]
    update: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "word")]
    timestamp: Option<String>,
}

/// Serialized form of an artifact.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactIn<'a> {
    #[serde(alias = "artifact_id", deserialize_with = "filled")]
    artifact_id: String,
    #[serde(default, deserialize_with = "word")]
    name: Option<String>,
    #[serde(default, deserialize_with = "word")]
    description: Option<String>,
    #[serde(borrow)]
    parts: Option<Vec<OpenObject<'a, PartIn<'a>>>>,
    metadata: Option<RawObject>,
    #[serde(default, deserialize_with = "or_default")]
    extensions: Vec<String>,
}

type OpenArtifact<'a> = OpenObject<'a, ArtifactIn<'a>>;

/// Serialized form of a status update.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdateIn<'a> {
    #[serde(rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(alias = "task_id", deserialize_with = "filled")]
    task_id: String,
    #[serde(alias = "context_id", default, deserialize_with = "or_default")]
    context_id: String,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
    r#final: Option<bool>,
    metadata: Option<RawObject>,
}

/// Serialized form of an artifact update.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdateIn<'a> {
    #[serde(rename = "kind")]
    _kind: Option<IgnoredAny>,
    #[serde(alias = "task_id", deserialize_with = "filled")]
    task_id: String,
    #[serde(alias = "context_id", default, deserialize_with = "or_default")]
    context_id: String,
    #[serde(borrow)]
    artifact: OpenArtifact<'a>,
    append: Option<bool>,
    #[serde(alias = "last_chunk")]
    last_chunk: Option<bool>,
    metadata: Option<RawObject>,
}

impl A2aVersion {
    /// Reads an element of a stream, or the answer to a plain send.
    pub(crate) fn read_item(self, raw: &RawValue) -> Result<StreamItem, A2aError> {
        Ok(StreamItem::read(self.shape(), raw)?)
    }
}

impl StreamItem {
    pub(in crate::wire::official) fn read(
        shape: WireForm,
        raw: &RawValue,
    ) -> Result<Self, FieldError> {
        let item: ItemIn<'_> = read::read_part(raw)?;
        let kind = item.kind.and_then(json::str_of);
        match kind.as_deref() {
            Some("task") => return Self::task(shape, raw),
            Some("message") => return Self::message(shape, raw),
            Some("status-update") => return Self::status(shape, raw),
            Some("artifact-update") => return Self::artifact(shape, raw),
            _ => {}
        }
        let named: [(&str, Option<&RawValue>, ReadItem); 5] = [
            ("task", item.task, Self::task),
            ("message", item.message, Self::message),
            ("msg", item.msg, Self::message),
            ("statusUpdate", item.status_update, Self::status),
            ("artifactUpdate", item.artifact_update, Self::artifact),
        ];
        let mut found = None;
        for (name, inner, read) in named {
            let Some(inner) = inner else { continue };
            let inner = read(shape, inner).map_err(|misread| misread.within(name))?;
            if found.replace(inner).is_some() {
                return Err(here("must hold just one thing"));
            }
        }
        if let Some(found) = found {
            return Ok(found);
        }
        if item.artifact.is_some() {
            Self::artifact(shape, raw)
        } else if item.message_id.is_some() {
            Self::message(shape, raw)
        } else if item.status.is_some() && item.task_id.is_some() {
            Self::status(shape, raw)
        } else if item.status.is_some() {
            Self::task(shape, raw)
        } else {
            Err(here("must be a task, a message or an update"))
        }
    }

    fn task(shape: WireForm, raw: &RawValue) -> Result<Self, FieldError> {
        let task = Task::read(shape, read::read_part(raw)?)?;
        Ok(Self::Task(task.into()))
    }

    fn message(shape: WireForm, raw: &RawValue) -> Result<Self, FieldError> {
        let message = Message::read_answer(shape, read::read_part(raw)?)?;
        Ok(Self::Message(message.into()))
    }

    fn status(shape: WireForm, raw: &RawValue) -> Result<Self, FieldError> {
        let update = StatusUpdate::read(shape, read::read_part(raw)?)?;
        Ok(Self::Status(update.into()))
    }

    fn artifact(shape: WireForm, raw: &RawValue) -> Result<Self, FieldError> {
        let update = ArtifactUpdate::read(shape, read::read_part(raw)?)?;
        Ok(Self::Artifact(update.into()))
    }
}

/// Reader for one kind of [`StreamItem`].
type ReadItem = fn(WireForm, &RawValue) -> Result<StreamItem, FieldError>;

/// Reads each element of the list in a field.
fn each<T, M>(
    field: &str,
    list: Option<Vec<T>>,
    read: impl Fn(T) -> Result<M, FieldError>,
) -> Result<Vec<M>, FieldError> {
    let elements = list.into_iter().flatten().enumerate();
    let read = |(index, element)| {
        read(element).map_err(|misread| misread.within(&format!("{field}[{index}]")))
    };
    elements.map(read).collect()
}

impl Task {
    fn read(shape: WireForm, task: OpenObject<'_, TaskIn<'_>>) -> Result<Self, FieldError> {
        let OpenObject { known: task, rest } = task;
        Ok(Self {
            id: task.id,
            context_id: task.context_id,
            status: A2aStatus::read(shape, task.status)?,
            artifacts: each("artifacts", task.artifacts, |artifact| {
                Artifact::read(shape, artifact)
            })?,
            history: each("history", task.history, |message| {
                Message::read_said(shape, message)
            })?,
            metadata: task.metadata.map(|RawObject(raw)| raw),
            extra: extra(shape.version(), &rest),
        })
    }
}

impl A2aStatus {
    /// Reads the required field `status`.
    fn read(shape: WireForm, raw: Option<&RawValue>) -> Result<Self, FieldError> {
        const FIELD: &str = "status";
        let raw = raw.ok_or_else(|| FieldError::missing(FIELD))?;
        let status = if json::is_string(raw) {
            // The dialect of Agno Go sends only the state.
            state(shape.version(), raw).map(Self::new)
        } else {
            read::read_part(raw).and_then(|status| Self::of(shape, status))
        };
        status.map_err(|misread| misread.within(FIELD))
    }

    fn of(shape: WireForm, status: OpenObject<'_, StatusIn<'_>>) -> Result<Self, FieldError> {
        let OpenObject {
            known: status,
            rest,
        } = status;
        let (name, message) = match (status.message, status.update) {
            (None, Some(update)) if shape.version() == A2aVersion::V03 => {
                ("update", read::read_part(update).map(Some))
            }
            (message, _) => ("message", Ok(message)),
        };
        let message = message.and_then(|message| {
            let message = message.map(|message| Message::read_said(shape, message));
            message.transpose()
        });
        let state = status.state.map(|raw| state(shape.version(), raw));
        let state = state
            .transpose()
            .map_err(|misread| misread.within("state"))?;
        Ok(Self {
            state: state.unwrap_or(A2aState::Unknown),
            message: message.map_err(|misread| misread.within(name))?,
            // An unreadable time counts as absent.
            timestamp: status.timestamp.and_then(|text| time::to_utc(&text)),
            extra: extra(shape.version(), &rest),
        })
    }
}

/// Reads a state from its name or number.
pub(super) fn state(version: A2aVersion, raw: &RawValue) -> Result<A2aState, FieldError> {
    let state = match json::str_of(raw) {
        Some(name) => A2aState::from_name(&name),
        None => number(raw).and_then(A2aState::from_number),
    };
    state.ok_or_else(|| {
        let given: String = raw.get().chars().take(SHOWN).collect();
        let names = A2aState::names(version);
        here(format!("must be one of {names}, not {given}"))
    })
}

impl Artifact {
    fn read(shape: WireForm, artifact: OpenArtifact<'_>) -> Result<Self, FieldError> {
        let OpenObject {
            known: artifact,
            rest,
        } = artifact;
        let parts = Part::read_all(shape, artifact.parts.unwrap_or_default());
        Ok(Self {
            id: artifact.artifact_id,
            name: artifact.name,
            description: artifact.description,
            parts: parts.map_err(|misread| misread.within("parts"))?,
            metadata: artifact.metadata.map(|RawObject(raw)| raw),
            extensions: artifact.extensions,
            extra: extra(shape.version(), &rest),
        })
    }
}

impl StatusUpdate {
    fn read(
        shape: WireForm,
        update: OpenObject<'_, StatusUpdateIn<'_>>,
    ) -> Result<Self, FieldError> {
        let OpenObject {
            known: update,
            rest,
        } = update;
        let status = A2aStatus::read(shape, update.status)?;
        Ok(Self {
            task_id: update.task_id,
            context_id: update.context_id,
            is_final: update.r#final.unwrap_or_else(|| status.state.is_terminal()),
            status,
            metadata: update.metadata.map(|RawObject(raw)| raw),
            extra: extra(shape.version(), &rest),
        })
    }
}

impl ArtifactUpdate {
    fn read(
        shape: WireForm,
        update: OpenObject<'_, ArtifactUpdateIn<'_>>,
    ) -> Result<Self, FieldError> {
        let OpenObject {
            known: update,
            rest,
        } = update;
        let artifact = Artifact::read(shape, update.artifact);
        Ok(Self {
            task_id: update.task_id,
            context_id: update.context_id,
            artifact: artifact.map_err(|misread| misread.within("artifact"))?,
            append: update.append.unwrap_or(false),
            last_chunk: update.last_chunk.unwrap_or(false),
            metadata: update.metadata.map(|RawObject(raw)| raw),
            extra: extra(shape.version(), &rest),
        })
    }
}
