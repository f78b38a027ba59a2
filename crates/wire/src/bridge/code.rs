//! The nine error codes of the protocol. Doors map the core's failures to these, in one exhaustive match.

use std::fmt;

use serde::Serialize;

/// A `BridgeErrorCode`, as it stands in `error` frames, SSE events and callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The agent did not answer in time.
    Timeout,
    /// The process behind the agent died.
    AdapterCrash,
    /// The agent has too many requests at once.
    AgentBusy,
    /// The token is wrong, expired, revoked or another agent's.
    AuthFailed,
    /// The agent is not connected.
    AgentOffline,
    /// A field is missing or wrong, or the message is of an unknown type.
    InvalidMessage,
    /// The session has expired or never existed; also what a cancelled request ends with.
    SessionNotFound,
    /// Too many calls in a time, or calls between agents are not allowed.
    RateLimited,
    /// A fault of the hub.
    InternalError,
}

impl ErrorCode {
    /// All codes, in the order of the seed.
    pub const ALL: [ErrorCode; 9] = [
        ErrorCode::Timeout,
        ErrorCode::AdapterCrash,
        ErrorCode::AgentBusy,
        ErrorCode::AuthFailed,
        ErrorCode::AgentOffline,
        ErrorCode::InvalidMessage,
        ErrorCode::SessionNotFound,
        ErrorCode::RateLimited,
        ErrorCode::InternalError,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            ErrorCode::Timeout => "timeout",
            ErrorCode::AdapterCrash => "adapter_crash",
            ErrorCode::AgentBusy => "agent_busy",
            ErrorCode::AuthFailed => "auth_failed",
            ErrorCode::AgentOffline => "agent_offline",
            ErrorCode::InvalidMessage => "invalid_message",
            ErrorCode::SessionNotFound => "session_not_found",
            ErrorCode::RateLimited => "rate_limited",
            ErrorCode::InternalError => "internal_error",
        }
    }

    /// Reads a name back; `None` for what is no code of the protocol.
    pub fn from_name(name: &str) -> Option<Self> {
        ErrorCode::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
