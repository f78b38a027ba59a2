//! Messages of `a2a.v1`, written by hand from the published definition: the build runs no protobuf compiler. Each has the
//! JSON that the definition gives it, in which a value that is the default of its type is left out. A test compares them
//! with frames of a published client.

mod card;
mod json;

use prost_types::{Struct, Timestamp};
use serde::{Deserialize, Serialize};

pub(super) use self::card::AgentCard;
use self::json::is_default;

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SendMessageRequest {
    #[prost(message, optional, tag = "1")]
    #[serde(rename = "message", skip_serializing_if = "is_default")]
    pub(super) request: Option<Message>,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) configuration: Option<SendMessageConfiguration>,
    #[prost(message, optional, tag = "3")]
    #[serde(with = "json::object", skip_serializing_if = "is_default")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SendMessageConfiguration {
    #[prost(string, repeated, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) accepted_output_modes: Vec<String>,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) push_notification: Option<PushNotificationConfig>,
    #[prost(int32, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) history_length: i32,
    #[prost(bool, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) blocking: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GetTaskRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(int32, tag = "2")]
    pub(super) history_length: i32,
}

/// A request that only names something: to cancel or follow a task, to get or delete a push config.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct NameRequest {
    #[prost(string, tag = "1")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CreatePushConfigRequest {
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) parent: String,
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) config_id: String,
    #[prost(message, optional, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) config: Option<TaskPushNotificationConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListPushConfigsRequest {
    #[prost(string, tag = "1")]
    pub(super) parent: String,
    #[prost(int32, tag = "2")]
    pub(super) page_size: i32,
    #[prost(string, tag = "3")]
    pub(super) page_token: String,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ListPushConfigsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) configs: Vec<TaskPushNotificationConfig>,
    #[prost(string, tag = "2")]
    pub(super) next_page_token: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GetAgentCardRequest {}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TaskPushNotificationConfig {
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) push_notification_config: Option<PushNotificationConfig>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PushNotificationConfig {
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) id: String,
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) url: String,
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) token: String,
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) authentication: Option<AuthenticationInfo>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct AuthenticationInfo {
    #[prost(string, repeated, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) schemes: Vec<String>,
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) credentials: String,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Task {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<TaskStatus>,
    #[prost(message, repeated, tag = "4")]
    pub(super) artifacts: Vec<Artifact>,
    #[prost(message, repeated, tag = "5")]
    pub(super) history: Vec<Message>,
    #[prost(message, optional, tag = "6")]
    #[serde(with = "json::object")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TaskStatus {
    /// A number of [`json::STATES`].
    #[prost(int32, tag = "1")]
    #[serde(with = "json::state")]
    pub(super) state: i32,
    #[prost(message, optional, tag = "2")]
    #[serde(rename = "message")]
    pub(super) update: Option<Message>,
    #[prost(message, optional, tag = "3")]
    #[serde(with = "json::time")]
    pub(super) timestamp: Option<Timestamp>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message {
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) message_id: String,
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) context_id: String,
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) task_id: String,
    /// A number of [`json::ROLES`].
    #[prost(int32, tag = "4")]
    #[serde(with = "json::role", skip_serializing_if = "is_default")]
    pub(super) role: i32,
    #[prost(message, repeated, tag = "5")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) content: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    #[serde(with = "json::object", skip_serializing_if = "is_default")]
    pub(super) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) extensions: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Part {
    #[prost(oneof = "PartContent", tags = "1, 2, 3")]
    #[serde(flatten)]
    pub(super) part: Option<PartContent>,
    #[prost(message, optional, tag = "4")]
    #[serde(with = "json::object", skip_serializing_if = "is_default")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Oneof, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PartContent {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(message, tag = "2")]
    File(FilePart),
    #[prost(message, tag = "3")]
    Data(DataPart),
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FilePart {
    #[prost(oneof = "FileContent", tags = "1, 2")]
    #[serde(flatten)]
    pub(super) file: Option<FileContent>,
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) mime_type: String,
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "is_default")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, prost::Oneof, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum FileContent {
    #[prost(string, tag = "1")]
    FileWithUri(String),
    #[prost(bytes, tag = "2")]
    FileWithBytes(#[serde(with = "json::base64")] Vec<u8>),
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct DataPart {
    #[prost(message, optional, tag = "1")]
    #[serde(with = "json::object")]
    pub(super) data: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Artifact {
    #[prost(string, tag = "1")]
    pub(super) artifact_id: String,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) description: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) parts: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    #[serde(with = "json::object")]
    pub(super) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
    pub(super) extensions: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TaskStatusUpdateEvent {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<TaskStatus>,
    #[prost(bool, tag = "4")]
    pub(super) r#final: bool,
    #[prost(message, optional, tag = "5")]
    #[serde(with = "json::object")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct TaskArtifactUpdateEvent {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(super) artifact: Option<Artifact>,
    #[prost(bool, tag = "4")]
    pub(super) append: bool,
    #[prost(bool, tag = "5")]
    pub(super) last_chunk: bool,
    #[prost(message, optional, tag = "6")]
    #[serde(with = "json::object")]
    pub(super) metadata: Option<Struct>,
}

/// Element of a stream. The answer to a plain send has only the first two fields.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StreamResponse {
    #[prost(oneof = "Payload", tags = "1, 2, 3, 4")]
    #[serde(flatten)]
    pub(super) payload: Option<Payload>,
}

#[derive(Clone, PartialEq, prost::Oneof, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Payload {
    #[prost(message, tag = "1")]
    Task(Task),
    #[prost(message, tag = "2")]
    #[serde(alias = "msg")]
    Message(Message),
    #[prost(message, tag = "3")]
    StatusUpdate(TaskStatusUpdateEvent),
    #[prost(message, tag = "4")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}
