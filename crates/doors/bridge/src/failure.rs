//! Failures of the core as error codes and HTTP statuses of the bridge (docs/promises.md, Failures): one
//! exhaustive match each.

use http::StatusCode;
use jackfield_model::{Failure, Reason};
use jackfield_wire::bridge::ErrorCode;

/// Returns the error code for agents and platforms of the bridge: an [`ErrorCode`] of the protocol, or the
/// agent's own.
pub(crate) fn code(reason: &Reason) -> &str {
    let code = match reason {
        Reason::Invalid | Reason::Unsupported | Reason::TooLarge | Reason::Conflict => {
            ErrorCode::InvalidMessage
        }
        Reason::Unauthorized => ErrorCode::AuthFailed,
        Reason::NotFound | Reason::Offline | Reason::Stopping => ErrorCode::AgentOffline,
        Reason::Busy => ErrorCode::AgentBusy,
        Reason::RateLimited | Reason::Loop => ErrorCode::RateLimited,
        Reason::Timeout => ErrorCode::Timeout,
        Reason::Cancelled | Reason::SessionUnknown => ErrorCode::SessionNotFound,
        Reason::Crashed => ErrorCode::AdapterCrash,
        Reason::SlowReader | Reason::Internal => ErrorCode::InternalError,
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
    let reason = match ErrorCode::from_name(code) {
        Some(ErrorCode::AdapterCrash) => Reason::Crashed,
        Some(ErrorCode::AgentBusy) => Reason::Busy,
        Some(ErrorCode::Timeout) => Reason::Timeout,
        _ => Reason::of_agent(code),
    };
    Failure::new(reason, text.to_owned())
}
