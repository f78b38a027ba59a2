//! Translation of answers from the model.

use jackfield_model::Base64;
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::official::grpc::{
    json::{struct_from_raw, value_from_raw},
    proto::{self, Payload},
};
use crate::wire::official::{
    error::{A2aError, A2aErrorKind},
    model::{
        A2aState, A2aStatus, Artifact, ArtifactUpdate, Message, Part, PartContent, PushConfig,
        PushPage, Role, StatusUpdate, StreamItem, Task, TaskPage,
    },
};

/// Writes an element of a stream, or the answer to a send.
pub(in crate::official::grpc) fn item(item: StreamItem) -> proto::StreamResponse {
    let payload = match item {
        StreamItem::Task(it) => Payload::Task(task(*it)),
        StreamItem::Message(it) => Payload::Message(message(*it)),
        StreamItem::Status(it) => Payload::StatusUpdate(status_update(*it)),
        StreamItem::Artifact(it) => Payload::ArtifactUpdate(artifact_update(*it)),
    };
    proto::StreamResponse {
        payload: Some(payload),
    }
}

/// Writes a task.
pub(in crate::official::grpc) fn task(task: Task) -> proto::Task {
    proto::Task {
        id: task.id,
        context_id: task.context_id,
        status: Some(status(task.status)),
        artifacts: task.artifacts.into_iter().map(artifact).collect(),
        history: task.history.into_iter().map(message).collect(),
        metadata: object(task.metadata.as_deref()),
    }
}

/// Writes a [`TaskPage`] of tasks.
pub(in crate::official::grpc) fn page(page: TaskPage) -> proto::ListTasksResponse {
    proto::ListTasksResponse {
        tasks: page.tasks.into_iter().map(task).collect(),
        next_page_token: page.next_page_token,
        page_size: number(page.page_size),
        total_size: number(page.total_size),
    }
}

/// Writes a [`PushConfig`].
pub(in crate::official::grpc) fn push(config: PushConfig) -> proto::TaskPushNotificationConfig {
    let authentication = config.authentication.map(|it| proto::AuthenticationInfo {
        // The message has a single scheme; the first scheme is the preferred one.
        scheme: it.schemes.into_iter().next().unwrap_or_default(),
        credentials: it.credentials.unwrap_or_default(),
    });
    proto::TaskPushNotificationConfig {
        // The caller knows the tenant of its own request.
        tenant: String::new(),
        id: config.id.unwrap_or_default(),
        task_id: config.task_id.unwrap_or_default(),
        url: config.url,
        token: config.token.unwrap_or_default(),
        authentication,
    }
}

/// Writes the push configs of a task.
pub(in crate::official::grpc) fn pushes(
    page: PushPage,
) -> proto::ListTaskPushNotificationConfigsResponse {
    proto::ListTaskPushNotificationConfigsResponse {
        configs: page.configs.into_iter().map(push).collect(),
        next_page_token: page.next_page_token,
    }
}

/// Reads a card from its JSON.
pub(in crate::official::grpc) fn card(json: &str) -> Result<proto::AgentCard, A2aError> {
    serde_json::from_str(json).map_err(|error| {
        tracing::error!(%error, "the extended card is none");
        A2aError::new(A2aErrorKind::Internal, "the extended card cannot be read")
    })
}

fn status_update(update: StatusUpdate) -> proto::TaskStatusUpdateEvent {
    proto::TaskStatusUpdateEvent {
        task_id: update.task_id,
        context_id: update.context_id,
        status: Some(status(update.status)),
        metadata: object(update.metadata.as_deref()),
    }
}

fn artifact_update(update: ArtifactUpdate) -> proto::TaskArtifactUpdateEvent {
    proto::TaskArtifactUpdateEvent {
        task_id: update.task_id,
        context_id: update.context_id,
        artifact: Some(artifact(update.artifact)),
        append: update.append,
        last_chunk: update.last_chunk,
        metadata: object(update.metadata.as_deref()),
    }
}

fn status(status: A2aStatus) -> proto::TaskStatus {
    proto::TaskStatus {
        state: state_of(status.state).into(),
        message: status.message.map(message),
        timestamp: status.timestamp.as_deref().and_then(time),
    }
}

fn state_of(state: A2aState) -> proto::TaskState {
    match state {
        A2aState::Submitted => proto::TaskState::Submitted,
        A2aState::Working => proto::TaskState::Working,
        A2aState::InputRequired => proto::TaskState::InputRequired,
        A2aState::AuthRequired => proto::TaskState::AuthRequired,
        A2aState::Completed => proto::TaskState::Completed,
        A2aState::Canceled => proto::TaskState::Canceled,
        A2aState::Failed => proto::TaskState::Failed,
        A2aState::Rejected => proto::TaskState::Rejected,
        A2aState::Unknown => proto::TaskState::Unspecified,
    }
}

fn message(message: Message) -> proto::Message {
    let role = match message.role {
        Role::User => proto::Role::User,
        Role::Agent => proto::Role::Agent,
    };
    proto::Message {
        message_id: message.id,
        context_id: message.context_id.unwrap_or_default(),
        task_id: message.task_id.unwrap_or_default(),
        role: role.into(),
        parts: message.parts.into_iter().map(part).collect(),
        metadata: object(message.metadata.as_deref()),
        extensions: message.extensions,
        reference_task_ids: message.reference_task_ids,
    }
}

fn artifact(artifact: Artifact) -> proto::Artifact {
    proto::Artifact {
        artifact_id: artifact.id,
        name: artifact.name.unwrap_or_default(),
        description: artifact.description.unwrap_or_default(),
        parts: artifact.parts.into_iter().map(part).collect(),
        metadata: object(artifact.metadata.as_deref()),
        extensions: artifact.extensions,
    }
}

fn part(part: Part) -> proto::Part {
    let content = match part.content {
        PartContent::Text(text) => proto::Content::Text(text),
        PartContent::Bytes(base64) => proto::Content::Raw(bytes(&base64)),
        PartContent::Url(url) => proto::Content::Url(url),
        PartContent::Data(raw) => proto::Content::Data(value_from_raw(&raw)),
    };
    proto::Part {
        content: Some(content),
        metadata: object(part.metadata.as_deref()),
        filename: part.filename.unwrap_or_default(),
        media_type: part.media_type.unwrap_or_default(),
    }
}

/// Decodes the bytes of a file. Invalid base64 is passed on as text, so that no content is lost.
pub(in crate::official::grpc) fn bytes(base64: &str) -> Vec<u8> {
    let decoded = Base64::from(base64).decode();
    decoded.unwrap_or_else(|_| base64.as_bytes().to_vec())
}

fn object(raw: Option<&RawValue>) -> Option<proto::Struct> {
    raw.and_then(struct_from_raw)
}

/// Parses a time; `None` for an invalid time.
pub(in crate::official::grpc) fn time(text: &str) -> Option<proto::Timestamp> {
    let time: Timestamp = text.parse().ok()?;
    // In protobuf, nanoseconds count forward in time, also before 1970.
    Some(proto::Timestamp {
        seconds: time.as_nanosecond().div_euclid(1_000_000_000) as i64,
        nanos: time.as_nanosecond().rem_euclid(1_000_000_000) as i32,
    })
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
