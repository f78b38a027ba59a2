//! The closed set of reasons a peer can be given (docs/promises.md, Failures). Each door maps it to its own codes in
//! one exhaustive match, so that a new reason does not compile until every door answers it.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// Why a call, a frame or a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The request is malformed; the text names the field.
    Invalid,
    /// The request is well formed, but this agent or hub cannot do it.
    Unsupported,
    /// A message, chunk or body is over its limit.
    TooLarge,
    /// Who is calling could not be proved, or may not do this.
    Unauthorized,
    /// No such agent, call or task, or none that the caller may know of.
    NotFound,
    /// The agent is known but not connected, or went away.
    Offline,
    /// The hub is stopping.
    Stopping,
    /// Too many open calls.
    Busy,
    /// Too many calls in a time.
    RateLimited,
    /// The call would close a loop of agents.
    Loop,
    /// The id is in use, or a thing is already done.
    Conflict,
    /// A clock ran out.
    Timeout,
    /// Somebody cancelled.
    Cancelled,
    /// The session or task of a follow-up is unknown.
    SessionUnknown,
    /// The agent's process died.
    Crashed,
    /// The reader did not take what was sent to it.
    SlowReader,
    /// A fault of the hub.
    Internal,
    /// The agent's own code, which is none of our names: see [`Reason::of_agent`].
    Agent(String),
}

impl Reason {
    /// All of ours: every reason but the agents' own.
    pub const OURS: [Self; 17] = [
        Self::Invalid,
        Self::Unsupported,
        Self::TooLarge,
        Self::Unauthorized,
        Self::NotFound,
        Self::Offline,
        Self::Stopping,
        Self::Busy,
        Self::RateLimited,
        Self::Loop,
        Self::Conflict,
        Self::Timeout,
        Self::Cancelled,
        Self::SessionUnknown,
        Self::Crashed,
        Self::SlowReader,
        Self::Internal,
    ];

    /// The name that our own protocols use.
    pub fn name(&self) -> &str {
        if let Self::Agent(code) = self {
            code
        } else {
            self.label()
        }
    }

    /// A label for metrics: like the name, but agents cannot invent labels.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Agent(_) => "agent",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::TooLarge => "too_large",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not_found",
            Self::Offline => "offline",
            Self::Stopping => "stopping",
            Self::Busy => "busy",
            Self::RateLimited => "rate_limited",
            Self::Loop => "loop",
            Self::Conflict => "conflict",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::SessionUnknown => "session_unknown",
            Self::Crashed => "crashed",
            Self::SlowReader => "slow_reader",
            Self::Internal => "internal",
        }
    }

    /// Reads a name back: our own names mean our reasons, anything else is the agent's own code.
    pub fn from_name(name: &str) -> Self {
        Self::OURS
            .into_iter()
            .find(|ours| ours.name() == name)
            .unwrap_or_else(|| Self::Agent(name.to_owned()))
    }

    /// The reason behind the code with which an agent fails. What it can say of its own work means the same as our name
    /// for it. All else is its own; a name that is only the hub's to say gets a mark, so that nobody who reads the name
    /// later, from a store or a wire, takes it for the hub's word.
    pub fn of_agent(code: &str) -> Self {
        match Self::from_name(code) {
            own @ (Self::Agent(_)
            | Self::Invalid
            | Self::Unsupported
            | Self::TooLarge
            | Self::Busy
            | Self::RateLimited
            | Self::Timeout
            | Self::Cancelled
            | Self::Crashed) => own,
            Self::Unauthorized
            | Self::NotFound
            | Self::Offline
            | Self::Stopping
            | Self::Loop
            | Self::Conflict
            | Self::SessionUnknown
            | Self::SlowReader
            | Self::Internal => Self::Agent(format!("agent_{code}")),
        }
    }
}

/// A narrower cause within a [`Reason`], for programs that advise on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A question or an approval was not answered in time; with [`Reason::Timeout`].
    Unanswered,
}

impl Cause {
    /// Returns the name that our own protocols and the store use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unanswered => "unanswered",
        }
    }

    /// Reads a cause from its [name](Self::name). A name of a newer hub is none.
    pub fn from_name(name: &str) -> Option<Self> {
        (name == Self::Unanswered.name()).then_some(Self::Unanswered)
    }
}

/// What a peer is told: the reason and one sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    /// The reason, for programs.
    pub reason: Reason,
    /// The narrower cause, if the reason has one.
    pub cause: Option<Cause>,
    /// The sentence, for people.
    pub text: Cow<'static, str>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.name(), self.text)
    }
}

impl Failure {
    /// A failure with its sentence.
    pub fn new(reason: Reason, text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason,
            cause: None,
            text: text.into(),
        }
    }

    /// Adds the narrower cause.
    #[must_use]
    pub fn because(self, cause: impl Into<Option<Cause>>) -> Self {
        Self {
            cause: cause.into(),
            ..self
        }
    }

    /// The one answer for unknown and foreign agents, so that they look the same.
    pub fn no_such_agent(id: &str) -> Self {
        let id: String = id.chars().take(crate::id::MAX_NAME).collect();
        Self::new(
            Reason::NotFound,
            format!("no agent {id:?} that you may call"),
        )
    }

    /// The one answer for unknown and foreign teams, so that they look the same.
    pub fn no_such_team(id: &str) -> Self {
        let id: String = id.chars().take(crate::id::MAX_NAME).collect();
        let text = format!("no team {id} is known here; see `jackfield team ls`");
        Self::new(Reason::NotFound, text)
    }

    /// The agent is not connected.
    pub fn agent_offline() -> Self {
        Self::new(Reason::Offline, "the agent is not connected")
    }

    /// The agent has more calls that it has not begun with than it takes.
    pub fn agent_full() -> Self {
        let text = "the agent has as many calls waiting as it takes; try again later";
        Self::new(Reason::Busy, text)
    }

    /// The agent went away while it was working.
    pub fn agent_left() -> Self {
        Self::new(Reason::Offline, "the agent disconnected before it finished")
    }

    /// The agent went away before it said anything, so that nobody knows whether it began.
    pub fn agent_left_unheard() -> Self {
        Self::new(
            Reason::Offline,
            "the agent disconnected before it said anything",
        )
    }

    /// Another connection took the agent's place while it was working.
    pub fn agent_replaced() -> Self {
        let text = "a newer connection of the agent took its place before it finished";
        Self::new(Reason::Offline, text)
    }

    /// The agent was working when the hub was restarted, and did not come back to it.
    pub fn hub_restarted() -> Self {
        Self::new(
            Reason::Offline,
            "the hub was restarted while the agent was working",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_names_read_back_and_foreign_ones_stay_the_agents() {
        for reason in [Reason::SlowReader, Reason::NotFound, Reason::Loop] {
            assert_eq!(Reason::from_name(reason.name()), reason);
        }
        assert_eq!(Reason::from_name("quota"), Reason::Agent("quota".into()));
        assert_eq!(Reason::from_name("quota").label(), "agent");
    }

    #[test]
    fn an_agent_says_of_its_own_work_what_we_say_and_never_speaks_for_the_hub() {
        assert_eq!(Reason::of_agent("busy"), Reason::Busy);
        assert_eq!(Reason::of_agent("cancelled"), Reason::Cancelled);
        assert_eq!(Reason::of_agent("quota"), Reason::Agent("quota".into()));
        let marked = Reason::Agent("agent_slow_reader".into());
        assert_eq!(Reason::of_agent("slow_reader"), marked);
    }
}
