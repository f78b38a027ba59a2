//! The closed set of failure reasons that peers receive (docs/promises.md, Failures). Each door maps
//! [`Reason`] to its own codes in one exhaustive match, so that a new reason does not compile until every
//! door maps it.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};

/// Reason why a call, a frame or a request failed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The request is malformed; the text names the field.
    Invalid,
    /// The request is well formed, but the agent or the hub does not support it.
    Unsupported,
    /// A message, chunk or body is over its limit.
    TooLarge,
    /// The caller is not authenticated, or lacks the permission.
    Unauthorized,
    /// The agent, call or task does not exist, or the caller may not know of it.
    NotFound,
    /// The agent is known but not connected, or disconnected.
    Offline,
    /// The hub is stopping.
    Stopping,
    /// Too many open calls.
    Busy,
    /// Too many calls within a period of time.
    RateLimited,
    /// The call would close a loop of agents.
    Loop,
    /// The id is in use, or the action is already done.
    Conflict,
    /// A timeout expired.
    Timeout,
    /// The call was cancelled.
    Cancelled,
    /// The session or task of a follow-up is unknown.
    SessionUnknown,
    /// The agent's process died.
    Crashed,
    /// The reader did not accept the sent data in time.
    SlowReader,
    /// Internal error of the hub.
    Internal,
    /// Error code of the agent, different from all names of the hub: see [`Reason::from_agent_code`].
    Agent(String),
}

impl Reason {
    /// All reasons that the hub itself gives: every reason except [`Reason::Agent`].
    pub const HUB_REASONS: [Self; 17] = [
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

    /// Returns the name that the hub's own protocols use.
    pub fn name(&self) -> &str {
        if let Self::Agent(code) = self {
            code
        } else {
            self.label()
        }
    }

    /// Returns a label for metrics. Same as [`name`](Self::name), but with one label for all codes of agents,
    /// so that agents cannot invent labels.
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

    /// Parses a name: a name of the hub gives the hub's reason, any other name is an agent's own code.
    pub fn from_name(name: &str) -> Self {
        Self::HUB_REASONS
            .into_iter()
            .find(|ours| ours.name() == name)
            .unwrap_or_else(|| Self::Agent(name.to_owned()))
    }

    /// Returns the reason for an error code of an agent. Codes that describe the agent's own work (such as
    /// `busy` or `timeout`) map to the reason of the same name. Any other code becomes [`Reason::Agent`].
    /// Names reserved for the hub get the prefix `agent_`, so that a later reader of the name, from a store
    /// or a protocol, does not take the code for a statement of the hub.
    pub fn from_agent_code(code: &str) -> Self {
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
    /// The address is that of a server whose agents have addresses of their own, which the text names; with
    /// [`Reason::Invalid`].
    OtherAddress,
}

impl Cause {
    /// Returns the name that our own protocols and the store use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unanswered => "unanswered",
            Self::OtherAddress => "other_address",
        }
    }

    /// Reads a cause from its [name](Self::name). A name of a newer hub is none.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut all = [Self::Unanswered, Self::OtherAddress].into_iter();
        all.find(|cause| cause.name() == name)
    }
}

/// A failure as reported to peers: a reason and a sentence for people.
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
    /// Creates a failure from a [`Reason`] and a sentence.
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

    /// Returns the failure for both unknown and foreign agents, so that a caller cannot tell the two apart.
    pub fn no_such_agent(id: &str) -> Self {
        let id: String = id.chars().take(crate::id::MAX_NAME).collect();
        Self::new(
            Reason::NotFound,
            format!("no agent {id:?} that you may call"),
        )
    }

    /// Returns the failure for both unknown and foreign teams, so that a caller cannot tell the two apart.
    pub fn no_such_team(id: &str) -> Self {
        let id: String = id.chars().take(crate::id::MAX_NAME).collect();
        let text = format!("no team {id:?} is known here; see `jackfield team ls`");
        Self::new(Reason::NotFound, text)
    }

    /// Returns the failure for an agent that is not connected.
    pub fn agent_offline() -> Self {
        Self::new(Reason::Offline, "the agent is not connected")
    }

    /// Returns the failure for an agent whose queue of waiting calls is full.
    pub fn agent_queue_full() -> Self {
        let text = "the agent has as many calls waiting as it takes; try again later";
        Self::new(Reason::Busy, text)
    }

    /// Returns the failure for an agent that disconnected during its work.
    pub fn agent_left() -> Self {
        Self::new(Reason::Offline, "the agent disconnected before it finished")
    }

    /// Returns the failure for an agent that disconnected before its first event. Whether the agent began the
    /// work is unknown.
    pub fn agent_left_silent() -> Self {
        Self::new(
            Reason::Offline,
            "the agent disconnected before it said anything",
        )
    }

    /// Returns the failure for an agent that was replaced by a newer connection during its work.
    pub fn agent_replaced() -> Self {
        let text = "a newer connection of the agent took its place before it finished";
        Self::new(Reason::Offline, text)
    }

    /// Returns the failure for an agent that was working when the hub was restarted and did not resume.
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
    fn an_unknown_id_is_repeated_escaped() {
        for failure in [
            Failure::no_such_agent("a\nb"),
            Failure::no_such_team("a\nb"),
        ] {
            assert!(failure.text.contains(r#""a\nb""#), "{}", failure.text);
        }
    }

    #[test]
    fn an_agent_says_of_its_own_work_what_we_say_and_never_speaks_for_the_hub() {
        assert_eq!(Reason::from_agent_code("busy"), Reason::Busy);
        assert_eq!(Reason::from_agent_code("cancelled"), Reason::Cancelled);
        assert_eq!(
            Reason::from_agent_code("quota"),
            Reason::Agent("quota".into())
        );
        let marked = Reason::Agent("agent_slow_reader".into());
        assert_eq!(Reason::from_agent_code("slow_reader"), marked);
    }
}
