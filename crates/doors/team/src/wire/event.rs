//! Events of members, carried unchanged in envelopes and as messages in the flattened stream.

use serde::Serialize;
use serde_json::value::RawValue;

use super::event_type::AgentEventType;
use super::{AgentStatus, SegmentEvent};

/// Event of a member, produced by the hub. Serialized as the `data` of an agent's event.
#[derive(Debug, Clone, Copy, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum AgentEventData<'a> {
    /// Part of the answer.
    Segment(SegmentEvent<'a>),
    /// Changed status.
    Status {
        /// New status.
        #[serde(rename = "new_status")]
        new: AgentStatus,
        /// Previous status.
        #[serde(rename = "old_status", skip_serializing_if = "Option::is_none")]
        old: Option<AgentStatus>,
        /// Cause of the change.
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'a str>,
        /// Tool that the status refers to.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<&'a str>,
        /// Error message.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    /// Complete answer.
    Complete {
        /// Text of the answer.
        content: &'a str,
        /// Whether `content` is incomplete: `content_truncated` on the wire, unknown to the published
        /// programs.
        #[serde(rename = "content_truncated", skip_serializing_if = "is_false")]
        is_cut: bool,
        /// Reasoning of the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        /// Token counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = serde_json::Value, required = false)]
        usage: Option<&'a RawValue>,
        /// Images that belong to the answer.
        image_urls: &'a [String],
        /// Audio that belongs to the answer.
        audio_urls: &'a [String],
        /// Videos that belong to the answer.
        video_urls: &'a [String],
    },
    /// Request to approve a tool call.
    ApprovalRequested {
        /// Id of the tool call.
        invocation_id: &'a str,
        /// Name of the tool.
        tool_name: &'a str,
        /// Arguments for the tool.
        #[schema(value_type = serde_json::Value)]
        arguments: &'a RawValue,
        /// Turn of the tool call.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<&'a str>,
        /// Message to the approver. Jackfield's addition to the protocol.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
    /// Approved tool call.
    Approved {
        /// Id of the tool call.
        invocation_id: &'a str,
        /// Name of the tool.
        tool_name: &'a str,
        /// Reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    /// Denied tool call.
    Denied {
        /// Id of the tool call.
        invocation_id: &'a str,
        /// Name of the tool.
        tool_name: &'a str,
        /// Reason.
        reason: &'a str,
        /// Same as `reason`, for older readers.
        error: &'a str,
    },
    /// Start of a tool.
    ToolStarted {
        /// Id of the tool call.
        invocation_id: &'a str,
        /// Name of the tool.
        tool_name: &'a str,
        /// Arguments of the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = serde_json::Value, required = false)]
        arguments: Option<&'a RawValue>,
    },
    /// Success of a tool.
    ToolSucceeded {
        /// Id of the tool call.
        invocation_id: &'a str,
        /// Name of the tool.
        tool_name: &'a str,
        /// Result of the tool.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schema(value_type = serde_json::Value, required = false)]
        result: Option<&'a RawValue>,
    },
    /// Failure of a tool.
    ToolFailed {
        /// Id of the tool call.
        invocation_id: &'a str,
        /// Name of the tool.
        tool_name: &'a str,
        /// Error message.
        error: &'a str,
    },
    /// Log line of a tool.
    ToolLog {
        /// Text of the line.
        #[serde(rename = "log_entry")]
        entry: &'a str,
        /// Id of the tool call.
        tool_invocation_id: &'a str,
        /// Name of the tool.
        tool_name: &'a str,
    },
    /// Message received by the member.
    InterAgent {
        /// Sender of the message.
        sender_agent_id: &'a str,
        /// Role of the recipient: its name in the team.
        recipient_role_name: &'a str,
        /// Text of the message.
        content: &'a str,
        /// Type of the message.
        message_type: &'a str,
    },
    /// Complete artifact.
    ArtifactPersisted {
        /// Id of the artifact.
        artifact_id: &'a str,
        /// Name or path of the artifact.
        path: &'a str,
        /// Agent that created the artifact. Omitted if a neighbouring field names the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<&'a str>,
        /// Kind of the artifact.
        #[serde(rename = "type")]
        kind: &'a str,
        /// Download address.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<&'a str>,
    },
    /// Partial artifact.
    ArtifactUpdated {
        /// Id of the artifact.
        #[serde(skip_serializing_if = "Option::is_none")]
        artifact_id: Option<&'a str>,
        /// Name or path of the artifact.
        path: &'a str,
        /// Agent that created the artifact. Omitted if a neighbouring field names the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<&'a str>,
        /// Kind of the artifact.
        #[serde(rename = "type")]
        kind: &'a str,
    },
    /// Error.
    Error {
        /// Machine-readable code.
        code: &'a str,
        /// Description.
        message: &'a str,
        /// Additional details.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'a str>,
    },
    /// Notification from the hub.
    SystemNotification {
        /// Sender of the notification.
        sender_id: &'a str,
        /// Text of the notification.
        content: &'a str,
    },
}

impl<'a> AgentEventData<'a> {
    /// Returns the [`AgentEventType`].
    pub(super) fn event_type(&self) -> AgentEventType {
        match self {
            Self::Segment(_) => AgentEventType::Segment,
            Self::Status { .. } => AgentEventType::Status,
            Self::Complete { .. } => AgentEventType::Complete,
            Self::ApprovalRequested { .. } => AgentEventType::ApprovalRequested,
            Self::Approved { .. } => AgentEventType::Approved,
            Self::Denied { .. } => AgentEventType::Denied,
            Self::ToolStarted { .. } => AgentEventType::ToolStarted,
            Self::ToolSucceeded { .. } => AgentEventType::ToolSucceeded,
            Self::ToolFailed { .. } => AgentEventType::ToolFailed,
            Self::ToolLog { .. } => AgentEventType::ToolLog,
            Self::InterAgent { .. } => AgentEventType::InterAgent,
            Self::ArtifactPersisted { .. } => AgentEventType::ArtifactPersisted,
            Self::ArtifactUpdated { .. } => AgentEventType::ArtifactUpdated,
            Self::Error { .. } => AgentEventType::Error,
            Self::SystemNotification { .. } => AgentEventType::SystemNotification,
        }
    }

    /// Returns the message type in the flattened stream.
    pub(super) fn message(&self) -> Option<&'static str> {
        match self {
            Self::Segment(segment) => Some(segment.step().message()),
            other => other.event_type().message(),
        }
    }

    /// Returns the event with the agent id set in artifacts. In the flattened form of a team, a neighbouring
    /// field names the agent.
    pub(super) fn of_agent(mut self, by: &'a str) -> Self {
        if let Self::ArtifactPersisted { agent_id, .. } | Self::ArtifactUpdated { agent_id, .. } =
            &mut self
        {
            *agent_id = Some(by);
        }
        self
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(flag: &bool) -> bool {
    !*flag
}
