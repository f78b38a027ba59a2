//! Failures as error responses. [`code_of`] is the door's exhaustive match over all reasons.

use jackfield_model::{Failure, Reason};
use serde_json::json;

use crate::wire::{RpcError, code};

/// Returns the error code for a reason, and the next step for the user. The step is empty if the failure's own text states
/// it.
fn code_of(reason: &Reason) -> (i32, &'static str) {
    match reason {
        Reason::Invalid => (code::INVALID_PARAMS, ""),
        Reason::Unsupported => (code::INVALID_PARAMS, "Leave it out, or use another agent."),
        Reason::TooLarge => (code::INVALID_PARAMS, "Send less, or a link to it."),
        Reason::Unauthorized => (
            code::AUTH_REQUIRED,
            "Start jackfield acp with --token-file; jackfield token create makes a token.",
        ),
        Reason::NotFound => (
            code::NOT_FOUND,
            "jackfield ls lists the agents that you may call.",
        ),
        Reason::SessionUnknown => (code::NOT_FOUND, "Begin a new session."),
        Reason::Conflict => (code::INVALID_REQUEST, ""),
        Reason::Cancelled => (code::CANCELLED, "Send the prompt again."),
        Reason::Offline => (
            code::INTERNAL_ERROR,
            "Start the agent, or wait until it is back: jackfield ls shows it.",
        ),
        Reason::Stopping => (
            code::INTERNAL_ERROR,
            "The hub is being restarted: send the prompt again in a few seconds.",
        ),
        Reason::Busy | Reason::RateLimited => {
            (code::INTERNAL_ERROR, "Wait a little and send it again.")
        }
        Reason::Loop => (
            code::INTERNAL_ERROR,
            "Agents call each other in a circle: jackfield show AGENT lists its calls.",
        ),
        Reason::Timeout => (code::INTERNAL_ERROR, "Ask for less at a time."),
        Reason::Crashed | Reason::SlowReader | Reason::Internal => {
            (code::INTERNAL_ERROR, "Send it again.")
        }
        Reason::Agent(_) => (code::INTERNAL_ERROR, ""),
    }
}

/// Converts a [`Failure`] into an error response.
pub(crate) fn refused(failure: &Failure) -> RpcError {
    let (code, step) = code_of(&failure.reason);
    let text = &failure.text;
    let message = match step {
        "" => text.to_string(),
        step => format!("{text}. {step}"),
    };
    RpcError {
        data: Some(json!({"reason": failure.reason.name()})),
        ..RpcError::new(code, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_code_of_the_protocol() {
        let known = [-32602, -32000, -32002, -32600, -32800, -32603];
        for reason in Reason::HUB_REASONS {
            let error = refused(&Failure::new(reason.clone(), "it failed"));
            assert!(known.contains(&error.code), "{reason:?}");
            assert!(error.message.starts_with("it failed"));
            assert_eq!(error.data.unwrap()["reason"], reason.name());
        }
        let own = refused(&Failure::new(
            Reason::Agent("quota".into()),
            "no money left",
        ));
        assert_eq!((own.code, &*own.message), (-32603, "no money left"));
    }
}
