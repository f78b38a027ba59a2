//! How a handler fails.

use std::any::Any;

use crate::HandlerError;

/// What is said of a handler's error that names no code of its own.
const FAILED: &str = "agent_error";
/// What is said of a handler that panicked, as the protocols name it.
const CRASHED: &str = "adapter_crash";

/// A handler's error with a code for programs: `Err(Failure::new("quota", "no more today").into())`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Why, for programs; `agent_busy` and `timeout` mean the same to the hub.
    pub code: String,
    /// Why, for people.
    pub message: String,
}

impl Failure {
    /// A failure with this code.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
        }
    }

    /// What the caller gets of a handler's error.
    pub(crate) fn of(error: HandlerError) -> Self {
        match error.downcast::<Self>() {
            Ok(failure) => *failure,
            Err(error) => Self::new(FAILED, error.to_string()),
        }
    }

    /// What the caller gets of a handler's panic.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("for no reason that it named");
        Self::new(CRASHED, format!("the agent panicked: {text}"))
    }
}
