//! Events in the feed of a team: events of members, status of teams, changes of the task board, and envelopes
//! published by outside runtimes. The door writes them as envelopes and messages of the protocol.

use std::sync::Arc;

use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, Json};

use super::{board::BoardChange, feed::ViewerId};
pub use crate::wire::{AgentStatus, SegmentKind, TeamStatus};

/// Tool name with the id of a single tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolInvocation {
    /// Id of the tool call, unique within its call.
    pub id: Arc<str>,
    /// Name of the tool.
    pub tool: Arc<str>,
}

/// Event of a member's stream.
#[derive(Debug, Clone, PartialEq)]
pub enum MemberEvent {
    /// Start of a segment.
    SegmentStart {
        /// Id of the segment.
        id: Arc<str>,
        /// Kind of the segment.
        kind: SegmentKind,
        /// Called tool, for tool calls.
        tool: Option<Arc<str>>,
    },
    /// More content of a segment.
    SegmentContent {
        /// Id of the segment.
        id: Arc<str>,
        /// Kind of the segment.
        kind: SegmentKind,
        /// Text to append.
        delta: String,
    },
    /// End of a segment.
    SegmentEnd {
        /// Id of the segment.
        id: Arc<str>,
        /// Called tool, for tool calls.
        tool: Option<Arc<str>>,
        /// Arguments of the tool call.
        arguments: Option<Json>,
    },
    /// New status of the member.
    Status(StatusChange),
    /// Complete answer of a turn.
    Complete {
        /// Text of the answer.
        content: String,
        /// Whether `content` is incomplete: the answer exceeded the size limit, or began before a restart of
        /// the hub.
        is_cut: bool,
        /// Token usage of the turn.
        usage: Option<Json>,
    },
    /// The member requests approval of a tool call, or asks a question.
    ApprovalRequested {
        /// Tool call to approve.
        of: ToolInvocation,
        /// Arguments of the tool call; for a question, `{"question": …}`.
        arguments: Json,
        /// Message of the member to the approver. May be empty.
        text: String,
    },
    /// The tool call was approved, or the question answered.
    Approved {
        /// Approved tool call.
        of: ToolInvocation,
        /// Reason given by the approver.
        reason: Option<String>,
    },
    /// The tool call was denied.
    Denied {
        /// Denied tool call.
        of: ToolInvocation,
        /// Reason of the denial.
        reason: String,
    },
    /// A tool started to run.
    ToolStarted {
        /// Running tool call.
        of: ToolInvocation,
        /// Arguments of the tool call.
        arguments: Option<Json>,
    },
    /// A tool returned a result.
    ToolSucceeded {
        /// Finished tool call.
        of: ToolInvocation,
        /// Result of the tool.
        result: Option<Json>,
    },
    /// A tool failed.
    ToolFailed {
        /// Failed tool call.
        of: ToolInvocation,
        /// Error message.
        error: String,
    },
    /// Status line.
    Log {
        /// Tool call of the status line. Without a running tool: a placeholder tool named `status`.
        of: ToolInvocation,
        /// Text of the status line.
        entry: String,
    },
    /// Message from a fellow member.
    MemberMessage {
        /// Sending agent.
        sender: AgentId,
        /// Name of the recipient in the team.
        recipient: Arc<str>,
        /// Text of the message.
        content: String,
    },
    /// Message from outside the team.
    OutsideMessage {
        /// Sender: the name of an owner or of a peer.
        sender: String,
        /// Name of the recipient in the team.
        recipient: Arc<str>,
        /// Text of the message.
        content: String,
        /// Viewer that sent the message, if any. Viewers display their own messages themselves.
        viewer: Option<ViewerId>,
    },
    /// New artifact, or more content of a known artifact.
    Artifact(MemberArtifact),
    /// Failure of the member's call.
    Error {
        /// Label of the failure's reason.
        code: String,
        /// Description of the failure.
        message: String,
    },
}

/// Change of a member's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// Status after the change.
    pub new: AgentStatus,
    /// Status before the change, if known.
    pub old: Option<AgentStatus>,
    /// Tool that the status refers to.
    pub tool: Option<Arc<str>>,
    /// Cause, for [`AgentStatus::Error`].
    pub error: Option<String>,
}

/// Artifact created by a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberArtifact {
    /// Id of the artifact within the task.
    pub id: String,
    /// Name of the artifact.
    pub path: String,
    /// `image`, `audio`, `video`, `text` or `file`.
    pub kind: &'static str,
    /// Download address.
    pub url: Option<String>,
    /// Whether the artifact is complete: no more content follows under the same id.
    pub is_whole: bool,
}

/// Content of an event in the feed of a team.
#[derive(Debug, Clone, PartialEq)]
pub enum EventBody {
    /// Status of the team itself.
    Team {
        /// Status after the change.
        new: TeamStatus,
        /// Status before the change.
        old: Option<TeamStatus>,
        /// Cause, for [`TeamStatus::Error`].
        error: Option<String>,
    },
    /// Event of a member.
    Member {
        /// Name of the member in its team.
        name: Arc<str>,
        /// Agent of the member.
        agent: AgentId,
        /// Event of the member.
        event: MemberEvent,
    },
    /// Change of the task board.
    Board(BoardChange),
    /// Complete envelope of an outside runtime, validated by the door.
    Published(Json),
}

/// Level of nesting: a team that is a member of its parent team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubTeam {
    /// Name of the nested team in its parent.
    pub name: Arc<str>,
    /// Id of the nested team.
    pub team: AgentId,
}

/// Caller at the root of a call chain, identified by [`Principal::key`]. Besides principals that may watch
/// the whole team, only the caller sees the events of the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerKey(Arc<str>);

impl CallerKey {
    pub(crate) fn new(principal: &Principal) -> Self {
        Self(principal.key().into())
    }

    /// Restores a caller from a stored [`Principal::key`].
    pub(crate) fn of_key(key: &str) -> Self {
        Self(key.into())
    }

    pub(crate) fn key(&self) -> &str {
        &self.0
    }

    /// Returns whether `principal` is the caller, or may act for the caller.
    pub(crate) fn is(&self, principal: &Principal) -> bool {
        principal.may_act_for(&self.0)
    }
}

impl EventBody {
    /// Returns whether `viewer` sent the message in the event. Viewers display their own messages themselves.
    pub(super) fn is_said_by(&self, viewer: ViewerId) -> bool {
        let Self::Member { event, .. } = self else {
            return false;
        };
        matches!(event, MemberEvent::OutsideMessage { viewer: Some(by), .. } if *by == viewer)
    }

    /// Returns the approximate length of all texts in the event, in bytes.
    pub(super) fn text_len(&self) -> usize {
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.get().len());
        match self {
            Self::Team { error, .. } => error.as_ref().map_or(0, String::len),
            Self::Board(change) => change.weight(),
            Self::Published(published) => published.get().len(),
            Self::Member { event, .. } => match event {
                MemberEvent::SegmentContent { delta: text, .. }
                | MemberEvent::Log { entry: text, .. }
                | MemberEvent::MemberMessage { content: text, .. }
                | MemberEvent::OutsideMessage { content: text, .. }
                | MemberEvent::Error { message: text, .. }
                | MemberEvent::ToolFailed { error: text, .. }
                | MemberEvent::Denied { reason: text, .. } => text.len(),
                MemberEvent::Complete { content, usage, .. } => content.len() + json(usage),
                MemberEvent::SegmentEnd { arguments, .. }
                | MemberEvent::ToolStarted { arguments, .. } => json(arguments),
                MemberEvent::ToolSucceeded { result, .. } => json(result),
                MemberEvent::ApprovalRequested {
                    arguments, text, ..
                } => arguments.get().len() + text.len(),
                MemberEvent::Artifact(made) => {
                    made.path.len() + made.url.as_ref().map_or(0, String::len)
                }
                MemberEvent::Approved { reason, .. } => reason.as_ref().map_or(0, String::len),
                MemberEvent::Status(change) => change.error.as_ref().map_or(0, String::len),
                MemberEvent::SegmentStart { .. } => 0,
            },
        }
    }
}
