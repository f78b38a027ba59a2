//! The nine error codes of the protocol. Doors map the core's failures to these codes, in one exhaustive
//! match.

use std::fmt;

use serde::Serialize;

/// A `BridgeErrorCode`, as used in `error` frames, SSE events and callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BridgeErrorCode {
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

impl BridgeErrorCode {
    /// All codes, in the order of the seed.
    pub const ALL: [BridgeErrorCode; 9] = [
        BridgeErrorCode::Timeout,
        BridgeErrorCode::AdapterCrash,
        BridgeErrorCode::AgentBusy,
        BridgeErrorCode::AuthFailed,
        BridgeErrorCode::AgentOffline,
        BridgeErrorCode::InvalidMessage,
        BridgeErrorCode::SessionNotFound,
        BridgeErrorCode::RateLimited,
        BridgeErrorCode::InternalError,
    ];

    /// Returns the name in the protocol.
    pub fn name(self) -> &'static str {
        match self {
            BridgeErrorCode::Timeout => "timeout",
            BridgeErrorCode::AdapterCrash => "adapter_crash",
            BridgeErrorCode::AgentBusy => "agent_busy",
            BridgeErrorCode::AuthFailed => "auth_failed",
            BridgeErrorCode::AgentOffline => "agent_offline",
            BridgeErrorCode::InvalidMessage => "invalid_message",
            BridgeErrorCode::SessionNotFound => "session_not_found",
            BridgeErrorCode::RateLimited => "rate_limited",
            BridgeErrorCode::InternalError => "internal_error",
        }
    }

    /// Parses a [name](Self::name); `None` for a name outside the protocol.
    pub fn from_name(name: &str) -> Option<Self> {
        BridgeErrorCode::ALL
            .into_iter()
            .find(|code| code.name() == name)
    }
}

impl fmt::Display for BridgeErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
