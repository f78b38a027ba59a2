//! Failures as tool results: an error result whose text ends with the next step for the model. [`next_step`]
//! is the door's exhaustive match over all reasons. Failures of requests that no model made are errors of the protocol.

use jackfield_model::{Failure, Reason};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, ErrorCode},
};

/// Returns the next step after a failure. Empty if the failure's own text states the step.
pub(crate) fn next_step(reason: &Reason) -> &'static str {
    match reason {
        Reason::Invalid | Reason::Unsupported | Reason::Conflict | Reason::SessionUnknown => "",
        Reason::TooLarge => "Send less, or a link to it.",
        Reason::Unauthorized => "The person who runs you can change this; go on without it.",
        Reason::NotFound => "find_agents lists the agents that you may call.",
        Reason::Offline => {
            "Try again later, or use another agent: find_agents with online=true lists those that are there."
        }
        Reason::Stopping => "The hub is being restarted: try again in a few seconds.",
        Reason::Busy | Reason::RateLimited => "Wait a little and call again, or use another agent.",
        Reason::Loop => {
            "Agents are calling each other in a circle: do not call this one again for this work, and answer with what you have."
        }
        Reason::Timeout => "Ask for less at a time, or call again.",
        Reason::Cancelled => "Somebody cancelled it; ask before you call again.",
        Reason::Crashed | Reason::SlowReader | Reason::Internal => {
            "Call again once; if it fails again, use another agent."
        }
        Reason::Agent(_) => "The agent said so itself: change the request, or use another agent.",
    }
}

/// Converts a [`Failure`] into a tool result.
pub(crate) fn refused(failure: &Failure) -> CallToolResult {
    let next = next_step(&failure.reason);
    let text = format!("{}: {}. {next}", failure.reason.name(), failure.text);
    CallToolResult::error(vec![ContentBlock::text(text.trim_end())])
}

/// Converts a [`Failure`] into an error of the protocol, for requests whose mistakes are the client's and not the model's.
pub(crate) fn protocol_error(failure: &Failure) -> ErrorData {
    let is_clients = matches!(
        failure.reason,
        Reason::Invalid
            | Reason::Unsupported
            | Reason::TooLarge
            | Reason::NotFound
            | Reason::SessionUnknown
            | Reason::Conflict
    );
    let code = if is_clients {
        ErrorCode::INVALID_PARAMS
    } else {
        ErrorCode::INTERNAL_ERROR
    };
    ErrorData::new(code, failure.text.to_string(), None)
}
