//! Failures of the core as error codes and HTTP statuses of the bridge (docs/promises.md, Failures): one
//! exhaustive match each.

use http::StatusCode;
use jackfield_model::{Failure, Reason};
use jackfield_wire::bridge::BridgeErrorCode;

/// Returns the error code for agents and platforms of the bridge: an [`BridgeErrorCode`] of the protocol, or the
/// agent's own.
pub(crate) fn code(reason: &Reason) -> &str {
    let code = match reason {
        Reason::Invalid | Reason::Unsupported | Reason::TooLarge | Reason::Conflict => {
            BridgeErrorCode::InvalidMessage
        }
        Reason::Unauthorized => BridgeErrorCode::AuthFailed,
        Reason::NotFound | Reason::Offline | Reason::Stopping => BridgeErrorCode::AgentOffline,
        Reason::Busy => BridgeErrorCode::AgentBusy,
        Reason::RateLimited | Reason::Loop => BridgeErrorCode::RateLimited,
        Reason::Timeout => BridgeErrorCode::Timeout,
        Reason::Cancelled | Reason::SessionUnknown => BridgeErrorCode::SessionNotFound,
        Reason::Crashed => BridgeErrorCode::AdapterCrash,
        Reason::SlowReader | Reason::Internal => BridgeErrorCode::InternalError,
        Reason::Agent(code) => return code,
    };
    code.name()
}

/// Returns the HTTP status for a refusal.
pub(crate) fn status(reason: &Reason) -> StatusCode {
    match reason {
        Reason::Invalid | Reason::Unsupported => StatusCode::BAD_REQUEST,
        Reason::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Reason::Unauthorized => StatusCode::UNAUTHORIZED,
        Reason::NotFound | Reason::Offline | Reason::SessionUnknown => StatusCode::NOT_FOUND,
        Reason::Stopping | Reason::Crashed | Reason::Cancelled | Reason::Agent(_) => {
            StatusCode::BAD_GATEWAY
        }
        Reason::Busy | Reason::RateLimited | Reason::Loop => StatusCode::TOO_MANY_REQUESTS,
        Reason::Conflict => StatusCode::CONFLICT,
        Reason::Timeout => StatusCode::GATEWAY_TIMEOUT,
        Reason::SlowReader | Reason::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Returns the [`Failure`] for an agent's `error` frame. The codes for a crash, a busy agent and a timeout
/// become reasons of the core; other codes stay the agent's own.
pub(crate) fn failure_of_agent(code: &str, text: &str) -> Failure {
    let reason = match BridgeErrorCode::from_name(code) {
        Some(BridgeErrorCode::AdapterCrash) => Reason::Crashed,
        Some(BridgeErrorCode::AgentBusy) => Reason::Busy,
        Some(BridgeErrorCode::Timeout) => Reason::Timeout,
        _ => Reason::from_agent_code(code),
    };
    Failure::new(reason, text.to_owned())
}
