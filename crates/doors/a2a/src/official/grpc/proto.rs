//! Messages of `lf.a2a.v1` for requests and answers, written by hand from the published `a2a.proto`: the
//! build runs no protobuf compiler. Tests compare these types with generated types.

mod card;

pub(super) use prost_types::{Struct, Timestamp, Value};

pub(super) use self::card::AgentCard;

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SendMessageRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(message, optional, tag = "2")]
    pub(super) message: Option<Message>,
    #[prost(message, optional, tag = "3")]
    pub(super) configuration: Option<SendMessageConfiguration>,
    #[prost(message, optional, tag = "4")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SendMessageConfiguration {
    #[prost(string, repeated, tag = "1")]
    pub(super) accepted_output_modes: Vec<String>,
    #[prost(message, optional, tag = "2")]
    pub(super) task_push_notification_config: Option<TaskPushNotificationConfig>,
    #[prost(int32, optional, tag = "3")]
    pub(super) history_length: Option<i32>,
    #[prost(bool, tag = "4")]
    pub(super) return_immediately: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GetTaskRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) id: String,
    #[prost(int32, optional, tag = "3")]
    pub(super) history_length: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListTasksRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(enumeration = "TaskState", tag = "3")]
    pub(super) status: i32,
    #[prost(int32, optional, tag = "4")]
    pub(super) page_size: Option<i32>,
    #[prost(string, tag = "5")]
    pub(super) page_token: String,
    #[prost(int32, optional, tag = "6")]
    pub(super) history_length: Option<i32>,
    #[prost(message, optional, tag = "7")]
    pub(super) status_timestamp_after: Option<Timestamp>,
    #[prost(bool, optional, tag = "8")]
    pub(super) include_artifacts: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListTasksResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) tasks: Vec<Task>,
    #[prost(string, tag = "2")]
    pub(super) next_page_token: String,
    #[prost(int32, tag = "3")]
    pub(super) page_size: i32,
    #[prost(int32, tag = "4")]
    pub(super) total_size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CancelTaskRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) id: String,
    #[prost(message, optional, tag = "3")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SubscribeToTaskRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) id: String,
}

/// Names a push config. The requests for get and delete have the same fields.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PushConfigRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) task_id: String,
    #[prost(string, tag = "3")]
    pub(super) id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListTaskPushNotificationConfigsRequest {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(int32, tag = "2")]
    pub(super) page_size: i32,
    #[prost(string, tag = "3")]
    pub(super) page_token: String,
    #[prost(string, tag = "4")]
    pub(super) tenant: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ListTaskPushNotificationConfigsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) configs: Vec<TaskPushNotificationConfig>,
    #[prost(string, tag = "2")]
    pub(super) next_page_token: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GetExtendedAgentCardRequest {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TaskPushNotificationConfig {
    #[prost(string, tag = "1")]
    pub(super) tenant: String,
    #[prost(string, tag = "2")]
    pub(super) id: String,
    #[prost(string, tag = "3")]
    pub(super) task_id: String,
    #[prost(string, tag = "4")]
    pub(super) url: String,
    #[prost(string, tag = "5")]
    pub(super) token: String,
    #[prost(message, optional, tag = "6")]
    pub(super) authentication: Option<AuthenticationInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct AuthenticationInfo {
    #[prost(string, tag = "1")]
    pub(super) scheme: String,
    #[prost(string, tag = "2")]
    pub(super) credentials: String,
}

#[derive(Clone, PartialEq, prost::Message)]
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
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TaskStatus {
    #[prost(enumeration = "TaskState", tag = "1")]
    pub(super) state: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) message: Option<Message>,
    #[prost(message, optional, tag = "3")]
    pub(super) timestamp: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum TaskState {
    Unspecified = 0,
    Submitted = 1,
    Working = 2,
    Completed = 3,
    Failed = 4,
    Canceled = 5,
    InputRequired = 6,
    Rejected = 7,
    AuthRequired = 8,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Message {
    #[prost(string, tag = "1")]
    pub(super) message_id: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(string, tag = "3")]
    pub(super) task_id: String,
    #[prost(enumeration = "Role", tag = "4")]
    pub(super) role: i32,
    #[prost(message, repeated, tag = "5")]
    pub(super) parts: Vec<Part>,
    #[prost(message, optional, tag = "6")]
    pub(super) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "7")]
    pub(super) extensions: Vec<String>,
    #[prost(string, repeated, tag = "8")]
    pub(super) reference_task_ids: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub(super) enum Role {
    Unspecified = 0,
    User = 1,
    Agent = 2,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Part {
    #[prost(oneof = "Content", tags = "1, 2, 3, 4")]
    pub(super) content: Option<Content>,
    #[prost(message, optional, tag = "5")]
    pub(super) metadata: Option<Struct>,
    #[prost(string, tag = "6")]
    pub(super) filename: String,
    #[prost(string, tag = "7")]
    pub(super) media_type: String,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Content {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bytes, tag = "2")]
    Raw(Vec<u8>),
    #[prost(string, tag = "3")]
    Url(String),
    #[prost(message, tag = "4")]
    Data(Value),
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Artifact {
    #[prost(string, tag = "1")]
    pub(super) artifact_id: String,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(string, tag = "3")]
    pub(super) description: String,
    #[prost(message, repeated, tag = "4")]
    pub(super) parts: Vec<Part>,
    #[prost(message, optional, tag = "5")]
    pub(super) metadata: Option<Struct>,
    #[prost(string, repeated, tag = "6")]
    pub(super) extensions: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct TaskStatusUpdateEvent {
    #[prost(string, tag = "1")]
    pub(super) task_id: String,
    #[prost(string, tag = "2")]
    pub(super) context_id: String,
    #[prost(message, optional, tag = "3")]
    pub(super) status: Option<TaskStatus>,
    #[prost(message, optional, tag = "4")]
    pub(super) metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
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
    pub(super) metadata: Option<Struct>,
}

/// Element of a stream. The answer to a plain send has only the first two fields.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct StreamResponse {
    #[prost(oneof = "Payload", tags = "1, 2, 3, 4")]
    pub(super) payload: Option<Payload>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Payload {
    #[prost(message, tag = "1")]
    Task(Task),
    #[prost(message, tag = "2")]
    Message(Message),
    #[prost(message, tag = "3")]
    StatusUpdate(TaskStatusUpdateEvent),
    #[prost(message, tag = "4")]
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// `google.rpc.Status`: an error with details of any type.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RpcStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<prost_types::Any>,
}

/// `google.rpc.ErrorInfo`: the machine-readable reason.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ErrorInfo {
    #[prost(string, tag = "1")]
    pub(super) reason: String,
    #[prost(string, tag = "2")]
    pub(super) domain: String,
    #[prost(btree_map = "string, string", tag = "3")]
    pub(super) metadata: std::collections::BTreeMap<String, String>,
}

/// `google.rpc.BadRequest`: the invalid fields.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) field_violations: Vec<FieldViolation>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct FieldViolation {
    #[prost(string, tag = "1")]
    pub(super) field: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
}
