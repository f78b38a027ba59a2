//! The nine error codes of the protocol. Doors map the core's failures to these codes, in one exhaustive
//! match.

use std::fmt;

use serde::Serialize;

/// A `BridgeErrorCode`, as used in `error` frames, SSE events and callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The agent did not answer in time.
    Timeout,
    /// The process of the agent died.
    AdapterCrash,
    /// The agent has too many requests at once.
    AgentBusy,
    /// The token is wrong, expired or revoked, or belongs to another agent.
    AuthFailed,
    /// The agent is not connected.
    AgentOffline,
    /// A field is missing or wrong, or the message is of an unknown type.
    InvalidMessage,
    /// The session has expired or never existed; also the end of a cancelled request.
    SessionNotFound,
    /// Too many calls within a period of time, or calls between agents are not allowed.
    RateLimited,
    /// Internal error of the hub.
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

    /// Returns the name in the protocol.
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

    /// Parses a [name](Self::name); `None` for a name outside the protocol.
    pub fn from_name(name: &str) -> Option<Self> {
        ErrorCode::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
