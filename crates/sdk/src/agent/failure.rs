//! [`AgentFailure`], the error of a handler, with a code.

use std::any::Any;

use crate::HandlerError;

/// Code of a handler's error without a code of its own.
const FAILED: &str = "agent_error";
/// Code of a handler that panicked, as the protocols name it.
const CRASHED: &str = "adapter_crash";

/// A handler's error with a code for programs, for example `quota` with the text "no more today". Converts
/// into a [`HandlerError`] with `into()`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AgentFailure {
    /// Reason for programs. The hub knows `agent_busy` and `timeout` and gives them the same meaning.
    pub code: String,
    /// Reason for people.
    pub message: String,
}

impl AgentFailure {
    /// Creates a failure with this code.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }

    /// Converts a handler's error into the failure that the caller receives.
    pub(crate) fn of(error: HandlerError) -> Self {
        match error.downcast::<Self>() {
            Ok(failure) => *failure,
            Err(error) => Self::new(FAILED, error.to_string()),
        }
    }

    /// Converts a handler's panic into the failure that the caller receives.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("for no reason that it named");
        Self::new(CRASHED, format!("the agent panicked: {text}"))
    }
}
