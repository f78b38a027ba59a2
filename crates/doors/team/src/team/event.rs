//! What is shown of a team: the events of its members, its status, its board, and what an outside runtime published.
//! The door writes them as the protocol's envelopes and messages.

use std::sync::Arc;

use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, Json};

use super::{board::BoardChange, stage::ViewerId};
pub use crate::wire::{AgentStatus, SegmentKind, TeamStatus};

/// The name of a tool and one call of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// Its id, unique in its call.
    pub id: Arc<str>,
    /// The tool.
    pub tool: Arc<str>,
}

/// One event of a member's stream.
#[derive(Debug, Clone, PartialEq)]
pub enum MemberEvent {
    /// A segment begins. A tool's name for tool calls.
    SegmentStart {
        /// Its id.
        id: Arc<str>,
        /// What it is.
        kind: SegmentKind,
        /// The tool that is called.
        tool: Option<Arc<str>>,
    },
    /// More of a segment.
    SegmentContent {
        /// Its id.
        id: Arc<str>,
        /// What it is.
        kind: SegmentKind,
        /// The words.
        delta: String,
    },
    /// A segment is complete. The tool and what it is called with, for tool calls.
    SegmentEnd {
        /// Its id.
        id: Arc<str>,
        /// The tool that is called.
        tool: Option<Arc<str>>,
        /// What it is called with.
        arguments: Option<Json>,
    },
    /// How the member is doing.
    Status(StatusChange),
    /// The whole answer of one turn.
    Complete {
        /// The words.
        content: String,
        /// Whether there is more of it than the words here: it was too long, or began before the hub was restarted.
        is_cut: bool,
        /// What it cost.
        usage: Option<Json>,
    },
    /// It wants leave to use a tool, or an answer.
    ApprovalRequested {
        /// Which call of which tool.
        of: Invocation,
        /// What the tool would be called with; for a question, `{"question": …}`.
        arguments: Json,
        /// What it says to whoever decides; may be empty.
        text: String,
    },
    /// It may.
    Approved {
        /// Which call of which tool.
        of: Invocation,
        /// Why.
        reason: Option<String>,
    },
    /// It may not.
    Denied {
        /// Which call of which tool.
        of: Invocation,
        /// Why.
        reason: String,
    },
    /// A tool runs.
    ToolStarted {
        /// Which call of which tool.
        of: Invocation,
        /// What it is called with.
        arguments: Option<Json>,
    },
    /// A tool gave something.
    ToolSucceeded {
        /// Which call of which tool.
        of: Invocation,
        /// What it gave.
        result: Option<Json>,
    },
    /// A tool did not.
    ToolFailed {
        /// Which call of which tool.
        of: Invocation,
        /// Why.
        error: String,
    },
    /// A word on what is going on.
    Log {
        /// Which call of which tool; the turn and `status` where no tool runs.
        of: Invocation,
        /// The words.
        entry: String,
    },
    /// Another member says something to it.
    InterAgent {
        /// Who.
        sender: AgentId,
        /// The recipient's name in the team.
        recipient: Arc<str>,
        /// The words.
        content: String,
    },
    /// Somebody outside the team says something to it.
    Told {
        /// Who: an owner, or the name of a peer.
        sender: String,
        /// The recipient's name in the team.
        recipient: Arc<str>,
        /// The words.
        content: String,
        /// The viewer that said it, if a viewer did. It shows its own words itself.
        viewer: Option<ViewerId>,
    },
    /// It made something, or more of it.
    Artifact(MadeArtifact),
    /// Something went wrong.
    Error {
        /// The failure's label.
        code: String,
        /// The words.
        message: String,
    },
}

/// How a member's status changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// What it is now.
    pub new: AgentStatus,
    /// What it was, if known.
    pub old: Option<AgentStatus>,
    /// The tool it is about.
    pub tool: Option<Arc<str>>,
    /// Why, for [`AgentStatus::Error`].
    pub error: Option<String>,
}

/// Something a member made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeArtifact {
    /// Its id within the task.
    pub id: String,
    /// Its name.
    pub path: String,
    /// `image`, `audio`, `video`, `text` or `file`.
    pub kind: &'static str,
    /// Where it can be had.
    pub url: Option<String>,
    /// Whether nothing more comes under this id.
    pub is_whole: bool,
}

/// What one envelope of a team's stream is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// The team itself.
    Team {
        /// What it is now.
        new: TeamStatus,
        /// What it was.
        old: Option<TeamStatus>,
        /// Why, for [`TeamStatus::Error`].
        error: Option<String>,
    },
    /// One of its members.
    Member {
        /// Its name in its team.
        name: Arc<str>,
        /// The agent.
        agent: AgentId,
        /// What it does.
        event: MemberEvent,
    },
    /// The task board.
    Board(BoardChange),
    /// A whole envelope of an outside runtime, checked by the door.
    Published(Json),
}

/// One level of nesting: a team that is a member of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name in the team above.
    pub name: Arc<str>,
    /// The team.
    pub team: AgentId,
}

/// Whose call led to something, by their [`Principal::key`]: they see it, besides those who may watch the whole team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller(Arc<str>);

impl Caller {
    pub(crate) fn new(principal: &Principal) -> Self {
        Self(principal.key().into())
    }

    /// The one of this [`Principal::key`], which was written down.
    pub(crate) fn of_key(key: &str) -> Self {
        Self(key.into())
    }

    pub(crate) fn key(&self) -> &str {
        &self.0
    }

    /// Whether the principal is that one, or may act for it.
    pub(crate) fn is(&self, principal: &Principal) -> bool {
        principal.may_act_for(&self.0)
    }
}

impl Body {
    /// Whether this viewer said it, and shows it by itself.
    pub(super) fn is_said_by(&self, viewer: ViewerId) -> bool {
        let Self::Member { event, .. } = self else {
            return false;
        };
        matches!(event, MemberEvent::Told { viewer: Some(by), .. } if *by == viewer)
    }

    /// How much text there is in it, about.
    pub(super) fn text_len(&self) -> usize {
        let json = |json: &Option<Json>| json.as_ref().map_or(0, |json| json.get().len());
        match self {
            Self::Team { error, .. } => error.as_ref().map_or(0, String::len),
            Self::Board(change) => change.weight(),
            Self::Published(published) => published.get().len(),
            Self::Member { event, .. } => match event {
                MemberEvent::SegmentContent { delta: text, .. }
                | MemberEvent::Log { entry: text, .. }
                | MemberEvent::InterAgent { content: text, .. }
                | MemberEvent::Told { content: text, .. }
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
