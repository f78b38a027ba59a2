//! Types of the feature matrix: the features that work between a caller of one protocol and an agent of
//! another.
//!
//! Each door has one [`Column`] in its `matrix.rs`. A door whose protocol only has callers has no agent side: it
//! gets rows in the table, and no column. The hub combines the columns and prints the table. Tests check the
//! hub against the table.

use std::borrow::Cow;

/// A feature or situation between a caller and an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// The agent answers in one message.
    OneShot,
    /// The agent streams its answer.
    Streamed,
    /// The agent reports its thinking, tools and status beside its answer.
    Kinds,
    /// The agent adds a file, as bytes, to its answer.
    Attachment,
    /// The agent asks the caller a question.
    Ask,
    /// The caller cancels the call.
    CancelByCaller,
    /// The caller loses its connection.
    CallerGone,
    /// The agent loses its connection.
    AgentGone,
    /// The agent fails with a code and a text of its own.
    AgentError,
    /// The agent is silent for too long.
    Timeout,
    /// The caller does not read its stream.
    SlowReader,
    /// The caller names an agent that does not exist.
    UnknownAgent,
    /// The caller names an agent that is not shared with it.
    ForeignAgent,
}

impl Topic {
    /// All topics, in the order of the table.
    pub const ALL: [Self; 13] = [
        Self::OneShot,
        Self::Streamed,
        Self::Kinds,
        Self::Attachment,
        Self::Ask,
        Self::CancelByCaller,
        Self::CallerGone,
        Self::AgentGone,
        Self::AgentError,
        Self::Timeout,
        Self::SlowReader,
        Self::UnknownAgent,
        Self::ForeignAgent,
    ];

    /// Returns the name of the topic in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneShot => "one-shot answer",
            Self::Streamed => "streamed answer",
            Self::Kinds => "thinking, tools, status",
            Self::Attachment => "attachment",
            Self::Ask => "question of the agent",
            Self::CancelByCaller => "cancel by the caller",
            Self::CallerGone => "caller gone",
            Self::AgentGone => "agent gone",
            Self::AgentError => "error of the agent",
            Self::Timeout => "timeout",
            Self::SlowReader => "slow reader",
            Self::UnknownAgent => "unknown agent",
            Self::ForeignAgent => "foreign agent",
        }
    }
}

/// How well a protocol, or a pair of protocols, supports a [`Topic`]. The text describes the result on the
/// wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Support {
    /// Full support without loss.
    Full(Cow<'static, str>),
    /// Reduced support; the text names the remaining part.
    Converted(Cow<'static, str>),
    /// No support; the text names the actual result.
    Unsupported(Cow<'static, str>),
}

impl Support {
    /// Creates [`Support::Full`] with a fixed text.
    pub const fn full(text: &'static str) -> Self {
        Self::Full(Cow::Borrowed(text))
    }

    /// Creates [`Support::Converted`] with a fixed text.
    pub const fn converted(text: &'static str) -> Self {
        Self::Converted(Cow::Borrowed(text))
    }

    /// Creates [`Support::Unsupported`] with a fixed text.
    pub const fn unsupported(text: &'static str) -> Self {
        Self::Unsupported(Cow::Borrowed(text))
    }

    /// Returns the text for people.
    pub fn text(&self) -> &str {
        match self {
            Self::Full(text) | Self::Converted(text) | Self::Unsupported(text) => text,
        }
    }

    /// Returns the support level as one word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Full(_) => "full",
            Self::Converted(_) => "converted",
            Self::Unsupported(_) => "unsupported",
        }
    }

    /// Combines the support `self` of a caller's protocol with the support `agent` of an agent's protocol:
    /// the lesser of the two.
    pub fn of(self, agent: Self) -> Self {
        match (agent, self) {
            (none @ Self::Unsupported(_), _) | (_, none @ Self::Unsupported(_)) => none,
            (Self::Full(_), caller) => caller,
            (Self::Converted(agent), Self::Full(_)) => Self::Converted(agent),
            (Self::Converted(agent), Self::Converted(caller)) => {
                Self::Converted(format!("{agent}; {caller}").into())
            }
        }
    }
}

/// The supported topics of one protocol: what a door adds to the table.
#[derive(Debug)]
pub struct Column {
    /// Name of the protocol.
    pub protocol: &'static str,
    /// Support for an agent of the protocol: messages the agent can send and receive. `None` if the protocol only
    /// has callers.
    pub agent: Option<fn(Topic) -> Support>,
    /// Support for a caller of the protocol: messages the caller receives, and the fate of its calls.
    pub caller: fn(Topic) -> Support,
    /// Support for a caller of the protocol with an agent of the named protocol, where the result is not the
    /// lesser of the two columns.
    pub exception: fn(&str, Topic) -> Option<Support>,
}

impl Column {
    /// Returns `None` for every pair: a column without exceptions.
    pub fn no_exception(_agent: &str, _topic: Topic) -> Option<Support> {
        None
    }

    /// Returns the support for a caller of this protocol and an agent of `agent`'s protocol. `None` if that
    /// protocol has no agents.
    pub fn of(&self, agent: &Self, topic: Topic) -> Option<Support> {
        let agent_side = agent.agent?;
        let exception = (self.exception)(agent.protocol, topic);
        Some(exception.unwrap_or_else(|| (self.caller)(topic).of(agent_side(topic))))
    }
}
