//! The types of agents' events, and the messages of the flattened stream that they become.

use super::segment::Step;

/// A message type of the flattened stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageType {
    /// Its name.
    pub(super) name: &'static str,
    /// Its name with its source, as the stream's stamp has it.
    pub(super) full_name: &'static str,
}

macro_rules! message_type {
    ($name:literal) => {
        MessageType {
            name: $name,
            full_name: concat!("AGENT:", $name),
        }
    };
}

impl MessageType {
    pub(super) fn of_step(step: Step) -> Self {
        match step {
            Step::Start => message_type!("SEGMENT_START"),
            Step::Content => message_type!("SEGMENT_CONTENT"),
            Step::End => message_type!("SEGMENT_END"),
        }
    }
}

/// The types of agents' events, those included that only outside runtimes publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventType {
    Segment,
    Status,
    Chunk,
    Complete,
    ApprovalRequested,
    Approved,
    Denied,
    ToolStarted,
    ToolSucceeded,
    ToolFailed,
    ToolLog,
    SystemNotification,
    InterAgent,
    TodoList,
    ArtifactPersisted,
    ArtifactUpdated,
    Error,
}

impl EventType {
    pub(super) const ALL: [EventType; 17] = [
        Self::Segment,
        Self::Status,
        Self::Chunk,
        Self::Complete,
        Self::ApprovalRequested,
        Self::Approved,
        Self::Denied,
        Self::ToolStarted,
        Self::ToolSucceeded,
        Self::ToolFailed,
        Self::ToolLog,
        Self::SystemNotification,
        Self::InterAgent,
        Self::TodoList,
        Self::ArtifactPersisted,
        Self::ArtifactUpdated,
        Self::Error,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Segment => "segment_event",
            Self::Status => "agent_status_updated",
            Self::Chunk => "assistant_chunk",
            Self::Complete => "assistant_complete_response",
            Self::ApprovalRequested => "tool_approval_requested",
            Self::Approved => "tool_approved",
            Self::Denied => "tool_denied",
            Self::ToolStarted => "tool_execution_started",
            Self::ToolSucceeded => "tool_execution_succeeded",
            Self::ToolFailed => "tool_execution_failed",
            Self::ToolLog => "tool_interaction_log_entry",
            Self::SystemNotification => "system_task_notification",
            Self::InterAgent => "inter_agent_message",
            Self::TodoList => "agent_todo_list_updated",
            Self::ArtifactPersisted => "artifact_persisted",
            Self::ArtifactUpdated => "artifact_updated",
            Self::Error => "error_event",
        }
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The message that it becomes; none for segments, whose step tells.
    pub(super) fn message(self) -> Option<MessageType> {
        Some(match self {
            Self::Segment => return None,
            Self::Chunk => message_type!("ASSISTANT_CHUNK"),
            Self::Status => message_type!("AGENT_STATUS"),
            Self::Complete => message_type!("ASSISTANT_COMPLETE"),
            Self::ApprovalRequested => message_type!("TOOL_APPROVAL_REQUESTED"),
            Self::Approved => message_type!("TOOL_APPROVED"),
            Self::Denied => message_type!("TOOL_DENIED"),
            Self::ToolStarted => message_type!("TOOL_EXECUTION_STARTED"),
            Self::ToolSucceeded => message_type!("TOOL_EXECUTION_SUCCEEDED"),
            Self::ToolFailed => message_type!("TOOL_EXECUTION_FAILED"),
            Self::ToolLog => message_type!("TOOL_LOG"),
            Self::SystemNotification => message_type!("SYSTEM_TASK_NOTIFICATION"),
            Self::InterAgent => message_type!("INTER_AGENT_MESSAGE"),
            Self::TodoList => message_type!("TODO_LIST_UPDATE"),
            Self::ArtifactPersisted => message_type!("ARTIFACT_PERSISTED"),
            Self::ArtifactUpdated => message_type!("ARTIFACT_UPDATED"),
            Self::Error => message_type!("ERROR"),
        })
    }
}
