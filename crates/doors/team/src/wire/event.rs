//! What a member says: the events of one agent, which the envelope carries whole and the flattened stream as messages.

use serde::Serialize;
use serde_json::value::RawValue;

use super::event_type::EventType;
use super::{AgentStatus, Segment};

/// One event of a member, of the hub's own making. Serialized as the `data` of an agent's event.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum MemberEvent<'a> {
    /// A piece of its answer.
    Segment(Segment<'a>),
    /// It does something else now.
    Status {
        /// What it does now.
        #[serde(rename = "new_status")]
        new: AgentStatus,
        /// What it did before.
        #[serde(rename = "old_status", skip_serializing_if = "Option::is_none")]
        old: Option<AgentStatus>,
        /// What made it change.
        #[serde(skip_serializing_if = "Option::is_none")]
        trigger: Option<&'a str>,
        /// The tool that it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_name: Option<&'a str>,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error_message: Option<&'a str>,
    },
    /// Its answer is whole.
    Complete {
        /// The answer.
        content: &'a str,
        /// Whether there is more of it: `content_truncated` on the wire, which the published programs do not know.
        #[serde(rename = "content_truncated", skip_serializing_if = "is_false")]
        is_cut: bool,
        /// What it thought.
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<&'a str>,
        /// What it took: counts of tokens.
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<&'a RawValue>,
        /// Images that belong to it.
        image_urls: &'a [String],
        /// Sounds that belong to it.
        audio_urls: &'a [String],
        /// Films that belong to it.
        video_urls: &'a [String],
    },
    /// It waits until somebody approves a tool call.
    ApprovalRequested {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// What the tool is to get.
        arguments: &'a RawValue,
        /// The turn that it belongs to.
        #[serde(skip_serializing_if = "Option::is_none")]
        turn_id: Option<&'a str>,
        /// What it says to whoever decides; ours, beside the protocol's own fields.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<&'a str>,
    },
    /// Somebody approved.
    Approved {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
    },
    /// Somebody denied.
    Denied {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// Why.
        reason: &'a str,
        /// The same again, where older readers look for it.
        error: &'a str,
    },
    /// A tool runs.
    ToolStarted {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// What it got.
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<&'a RawValue>,
    },
    /// A tool has run.
    ToolSucceeded {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// What it gave.
        #[serde(skip_serializing_if = "Option::is_none")]
        result: Option<&'a RawValue>,
    },
    /// A tool failed.
    ToolFailed {
        /// Which call.
        invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
        /// Why.
        error: &'a str,
    },
    /// A tool says what it does.
    ToolLog {
        /// What it says.
        #[serde(rename = "log_entry")]
        entry: &'a str,
        /// Which call.
        tool_invocation_id: &'a str,
        /// The tool.
        tool_name: &'a str,
    },
    /// It has got a message of another member.
    InterAgent {
        /// The agent that sent it.
        sender_agent_id: &'a str,
        /// The part that this one plays.
        recipient_role_name: &'a str,
        /// What it says.
        content: &'a str,
        /// Of which sort it is.
        message_type: &'a str,
    },
    /// It has made something.
    ArtifactPersisted {
        /// Which thing.
        artifact_id: &'a str,
        /// Where it is.
        path: &'a str,
        /// The agent that made it, where nothing beside names the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<&'a str>,
        /// What it is.
        #[serde(rename = "type")]
        kind: &'a str,
        /// Where it can be fetched.
        #[serde(skip_serializing_if = "Option::is_none")]
        url: Option<&'a str>,
    },
    /// It has changed something that it made.
    ArtifactUpdated {
        /// Which thing.
        #[serde(skip_serializing_if = "Option::is_none")]
        artifact_id: Option<&'a str>,
        /// Where it is.
        path: &'a str,
        /// The agent that made it, where nothing beside names the agent.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent_id: Option<&'a str>,
        /// What it is.
        #[serde(rename = "type")]
        kind: &'a str,
    },
    /// Something went wrong.
    Error {
        /// A word for it.
        code: &'a str,
        /// A sentence about it.
        message: &'a str,
        /// More of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        details: Option<&'a str>,
    },
    /// The hub told it something.
    SystemNotification {
        /// What told it.
        sender_id: &'a str,
        /// What it was told.
        content: &'a str,
    },
}

impl<'a> MemberEvent<'a> {
    /// Of which type it is.
    pub(super) fn event_type(&self) -> EventType {
        match self {
            Self::Segment(_) => EventType::Segment,
            Self::Status { .. } => EventType::Status,
            Self::Complete { .. } => EventType::Complete,
            Self::ApprovalRequested { .. } => EventType::ApprovalRequested,
            Self::Approved { .. } => EventType::Approved,
            Self::Denied { .. } => EventType::Denied,
            Self::ToolStarted { .. } => EventType::ToolStarted,
            Self::ToolSucceeded { .. } => EventType::ToolSucceeded,
            Self::ToolFailed { .. } => EventType::ToolFailed,
            Self::ToolLog { .. } => EventType::ToolLog,
            Self::InterAgent { .. } => EventType::InterAgent,
            Self::ArtifactPersisted { .. } => EventType::ArtifactPersisted,
            Self::ArtifactUpdated { .. } => EventType::ArtifactUpdated,
            Self::Error { .. } => EventType::Error,
            Self::SystemNotification { .. } => EventType::SystemNotification,
        }
    }

    /// Which message of the flattened stream it becomes.
    pub(super) fn message(&self) -> Option<&'static str> {
        match self {
            Self::Segment(segment) => Some(segment.step().message()),
            other => other.event_type().message(),
        }
    }

    /// The same event, in which artifacts name the agent. In the flattened form of a team the agent stands beside them.
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
