//! Types of agents' events, and the corresponding message types of the flattened stream.

use serde::{Deserialize, Serialize};

/// Event of a segment: start, content or end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(super) enum SegmentStep {
    #[serde(rename = "SEGMENT_START")]
    Start,
    #[serde(rename = "SEGMENT_CONTENT")]
    Content,
    #[serde(rename = "SEGMENT_END")]
    End,
}

impl SegmentStep {
    /// Returns the message type in the flattened stream.
    pub(super) fn message(self) -> &'static str {
        match self {
            SegmentStep::Start => "SEGMENT_START",
            SegmentStep::Content => "SEGMENT_CONTENT",
            SegmentStep::End => "SEGMENT_END",
        }
    }
}

/// Type of an agent's event, including types that only outside runtimes publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub(super) enum AgentEventType {
    #[serde(rename = "segment_event")]
    Segment,
    #[serde(rename = "agent_status_updated")]
    Status,
    #[serde(rename = "assistant_chunk")]
    Chunk,
    #[serde(rename = "assistant_complete_response")]
    Complete,
    #[serde(rename = "tool_approval_requested")]
    ApprovalRequested,
    #[serde(rename = "tool_approved")]
    Approved,
    #[serde(rename = "tool_denied")]
    Denied,
    #[serde(rename = "tool_execution_started")]
    ToolStarted,
    #[serde(rename = "tool_execution_succeeded")]
    ToolSucceeded,
    #[serde(rename = "tool_execution_failed")]
    ToolFailed,
    #[serde(rename = "tool_interaction_log_entry")]
    ToolLog,
    #[serde(rename = "system_task_notification")]
    SystemNotification,
    #[serde(rename = "inter_agent_message")]
    InterAgent,
    #[serde(rename = "agent_todo_list_updated")]
    TodoList,
    #[serde(rename = "artifact_persisted")]
    ArtifactPersisted,
    #[serde(rename = "artifact_updated")]
    ArtifactUpdated,
    #[serde(rename = "error_event")]
    Error,
}

impl AgentEventType {
    /// Returns the message type in the flattened stream. `None` for segments: their [`SegmentStep`] determines the
    /// type.
    pub(super) fn message(self) -> Option<&'static str> {
        Some(match self {
            Self::Segment => return None,
            Self::Chunk => "ASSISTANT_CHUNK",
            Self::Status => "AGENT_STATUS",
            Self::Complete => "ASSISTANT_COMPLETE",
            Self::ApprovalRequested => "TOOL_APPROVAL_REQUESTED",
            Self::Approved => "TOOL_APPROVED",
            Self::Denied => "TOOL_DENIED",
            Self::ToolStarted => "TOOL_EXECUTION_STARTED",
            Self::ToolSucceeded => "TOOL_EXECUTION_SUCCEEDED",
            Self::ToolFailed => "TOOL_EXECUTION_FAILED",
            Self::ToolLog => "TOOL_LOG",
            Self::SystemNotification => "SYSTEM_TASK_NOTIFICATION",
            Self::InterAgent => "INTER_AGENT_MESSAGE",
            Self::TodoList => "TODO_LIST_UPDATE",
            Self::ArtifactPersisted => "ARTIFACT_PERSISTED",
            Self::ArtifactUpdated => "ARTIFACT_UPDATED",
            Self::Error => "ERROR",
        })
    }
}
