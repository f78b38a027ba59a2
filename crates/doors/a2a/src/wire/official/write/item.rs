//! Writers for tasks and for elements of streams.

use jackfield_wire::time;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    super::{
        A2aVersion,
        model::{
            A2aState, A2aStatus, Artifact, ArtifactUpdate, StatusUpdate, StreamItem, Task, TaskPage,
        },
        names::OLD_CANCELED,
        shape::WireForm,
    },
    ExtraOut, append,
    message::{MessageOut, PartOut},
};

/// Element of a stream, in an object with a single member.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum NamedItem<'a> {
    Task(TaskOut<'a>),
    Message(MessageOut<'a>),
    StatusUpdate(StatusUpdateOut<'a>),
    ArtifactUpdate(ArtifactUpdateOut<'a>),
}

/// Serialized form of a task.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    id: &'a str,
    context_id: &'a str,
    status: StatusOut<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<ArtifactOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<MessageOut<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Serialized form of a status.
#[derive(Debug, Serialize)]
struct StatusOut<'a> {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Serialized form of an artifact.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactOut<'a> {
    artifact_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    parts: Vec<PartOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    extensions: &'a [String],
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Serialized form of a status update.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdateOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a str,
    context_id: &'a str,
    status: StatusOut<'a>,
    /// End of the stream, in 0.3 only.
    #[serde(skip_serializing_if = "Option::is_none")]
    r#final: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Serialized form of an artifact update.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdateOut<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a str,
    context_id: &'a str,
    artifact: ArtifactOut<'a>,
    #[serde(skip_serializing_if = "is_no")]
    append: bool,
    #[serde(skip_serializing_if = "is_no")]
    last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a RawValue>,
    #[serde(flatten)]
    extra: ExtraOut<'a>,
}

/// Serialized form of a page of tasks.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageOut<'a> {
    tasks: Vec<TaskOut<'a>>,
    next_page_token: &'a str,
    page_size: usize,
    total_size: usize,
}

/// Returns true for a flag to leave out.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_no(flag: &bool) -> bool {
    !flag
}

impl WireForm {
    /// Appends an element of a stream.
    pub(in crate::wire::official) fn write_item(self, item: &StreamItem, out: &mut String) {
        let item = match item {
            StreamItem::Task(task) => NamedItem::Task(self.task(task)),
            StreamItem::Message(message) => NamedItem::Message(self.message(message)),
            StreamItem::Status(update) => NamedItem::StatusUpdate(self.status_update(update)),
            StreamItem::Artifact(update) => NamedItem::ArtifactUpdate(self.artifact_update(update)),
        };
        match (self, &item) {
            (Self::V03Proto(_) | Self::V10, named) => append(out, named),
            // In 0.3 the kind identifies the element.
            (Self::V03, NamedItem::Task(task)) => append(out, task),
            (Self::V03, NamedItem::Message(message)) => append(out, message),
            (Self::V03, NamedItem::StatusUpdate(update)) => append(out, update),
            (Self::V03, NamedItem::ArtifactUpdate(update)) => append(out, update),
        }
    }

    /// Appends a task.
    pub(in crate::wire::official) fn write_task(self, task: &Task, out: &mut String) {
        append(out, &self.task(task));
    }

    /// Appends a page of tasks.
    pub(in crate::wire::official) fn write_page(self, page: &TaskPage, out: &mut String) {
        let page = PageOut {
            tasks: page.tasks.iter().map(|task| self.task(task)).collect(),
            next_page_token: &page.next_page_token,
            page_size: match self.version() {
                A2aVersion::V03 => page.tasks.len(),
                A2aVersion::V10 => page.page_size,
            },
            total_size: page.total_size,
        };
        append(out, &page);
    }

    fn task(self, task: &Task) -> TaskOut<'_> {
        // Callers of 0.3 expect the history.
        let has_history = !task.history.is_empty() || self == Self::V03;
        let messages = || task.history.iter().map(|message| self.message(message));
        let artifacts = task.artifacts.iter();
        TaskOut {
            kind: self.kind("task"),
            id: &task.id,
            context_id: &task.context_id,
            status: self.status(&task.status),
            artifacts: artifacts.map(|artifact| self.artifact(artifact)).collect(),
            history: has_history.then(|| messages().collect()),
            metadata: task.metadata.as_deref(),
            extra: self.extra(&task.extra),
        }
    }

    fn status(self, status: &A2aStatus) -> StatusOut<'_> {
        let message = status.message.as_ref();
        StatusOut {
            state: self.state(status.state),
            message: message.map(|message| self.message(message)),
            timestamp: status.timestamp.as_deref().and_then(time::to_utc),
            extra: self.extra(&status.extra),
        }
    }

    fn state(self, state: A2aState) -> &'static str {
        match self {
            Self::V03 => state.name(A2aVersion::V03),
            Self::V03Proto(_) if state == A2aState::Canceled => OLD_CANCELED,
            Self::V03Proto(_) | Self::V10 => state.name(A2aVersion::V10),
        }
    }

    fn artifact(self, artifact: &Artifact) -> ArtifactOut<'_> {
        ArtifactOut {
            artifact_id: &artifact.id,
            name: artifact.name.as_deref(),
            description: artifact.description.as_deref(),
            parts: self.parts(&artifact.parts),
            metadata: artifact.metadata.as_deref(),
            extensions: &artifact.extensions,
            extra: self.extra(&artifact.extra),
        }
    }

    fn status_update(self, update: &StatusUpdate) -> StatusUpdateOut<'_> {
        StatusUpdateOut {
            kind: self.kind("status-update"),
            task_id: &update.task_id,
            context_id: &update.context_id,
            status: self.status(&update.status),
            r#final: (self.version() == A2aVersion::V03).then_some(update.is_final),
            metadata: update.metadata.as_deref(),
            extra: self.extra(&update.extra),
        }
    }

    fn artifact_update(self, update: &ArtifactUpdate) -> ArtifactUpdateOut<'_> {
        ArtifactUpdateOut {
            kind: self.kind("artifact-update"),
            task_id: &update.task_id,
            context_id: &update.context_id,
            artifact: self.artifact(&update.artifact),
            append: update.append,
            last_chunk: update.last_chunk,
            metadata: update.metadata.as_deref(),
            extra: self.extra(&update.extra),
        }
    }
}
