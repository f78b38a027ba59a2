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
    /// The agent's own code.
    Agent(String),
}

impl Reason {
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
        const OURS: [Reason; 17] = [
            Reason::Invalid,
            Reason::Unsupported,
            Reason::TooLarge,
            Reason::Unauthorized,
            Reason::NotFound,
            Reason::Offline,
            Reason::Stopping,
            Reason::Busy,
            Reason::RateLimited,
            Reason::Loop,
            Reason::Conflict,
            Reason::Timeout,
            Reason::Cancelled,
            Reason::SessionUnknown,
            Reason::Crashed,
            Reason::SlowReader,
            Reason::Internal,
        ];
        OURS.into_iter()
            .find(|ours| ours.name() == name)
            .unwrap_or_else(|| Self::Agent(name.to_owned()))
    }
}

/// What a peer is told: the reason and one sentence for a person.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Failure {
    /// The reason, for programs.
    pub reason: Reason,
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
            text: text.into(),
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

    /// The agent went away while it was working.
    pub fn agent_left() -> Self {
        Self::new(Reason::Offline, "the agent disconnected before it finished")
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
}
