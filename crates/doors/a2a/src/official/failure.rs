//! Translation of the core's [`Failure`]s into the protocol's errors and task states (docs/promises.md).
//! Refused requests and failed tasks have one exhaustive match each.

use jackfield_model::{Failure, Reason};

use crate::wire::official::{
    error::{A2aError, A2aErrorKind},
    model::A2aState,
};

/// Translates the failure of a refused request. [`Reason::NotFound`] means a missing agent here; see
/// [`task_fault_from`] for tasks.
pub(super) fn fault_from(failure: Failure) -> A2aError {
    let kind = match &failure.reason {
        Reason::Invalid => A2aErrorKind::InvalidParams,
        Reason::Unsupported => A2aErrorKind::Unsupported,
        Reason::TooLarge => A2aErrorKind::TooLarge,
        Reason::Unauthorized => A2aErrorKind::Unauthenticated,
        Reason::NotFound => A2aErrorKind::AgentNotFound,
        Reason::SessionUnknown => A2aErrorKind::TaskNotFound,
        Reason::Conflict => A2aErrorKind::Conflict,
        Reason::Busy | Reason::RateLimited | Reason::Loop => A2aErrorKind::Busy,
        Reason::Offline | Reason::Stopping => A2aErrorKind::Unavailable,
        Reason::Timeout
        | Reason::Cancelled
        | Reason::Crashed
        | Reason::SlowReader
        | Reason::Internal
        | Reason::Agent(_) => A2aErrorKind::Internal,
    };
    let reason = failure.reason.name().to_owned();
    A2aError::new(kind, failure.text).with("failure", reason)
}

/// Translates like [`fault_from`], but [`Reason::NotFound`] means a missing task.
pub(super) fn task_fault_from(failure: Failure) -> A2aError {
    match failure.reason {
        Reason::NotFound => no_such_task(),
        _ => fault_from(failure),
    }
}

/// Returns the error for an unknown task. Tasks of other callers, unknown ids and invalid ids give the same
/// error.
pub(super) fn no_such_task() -> A2aError {
    A2aError::new(A2aErrorKind::TaskNotFound, "Task not found")
}

/// Returns true if a message that the hub could not deliver still creates a task, in state failed or
/// rejected.
pub(super) fn creates_failed_task(reason: &Reason) -> bool {
    match reason {
        Reason::Offline | Reason::Busy | Reason::RateLimited | Reason::Loop | Reason::Timeout => {
            true
        }
        Reason::Invalid
        | Reason::Unsupported
        | Reason::TooLarge
        | Reason::Unauthorized
        | Reason::NotFound
        | Reason::SessionUnknown
        | Reason::Conflict
        | Reason::Stopping
        | Reason::Cancelled
        | Reason::Crashed
        | Reason::SlowReader
        | Reason::Internal
        | Reason::Agent(_) => false,
    }
}

/// Returns the state of a task that ended with `reason`.
pub(super) fn state_of_failure(reason: &Reason) -> A2aState {
    match reason {
        Reason::Busy | Reason::RateLimited | Reason::Loop => A2aState::Rejected,
        Reason::Cancelled => A2aState::Canceled,
        Reason::Invalid
        | Reason::Unsupported
        | Reason::TooLarge
        | Reason::Unauthorized
        | Reason::NotFound
        | Reason::SessionUnknown
        | Reason::Conflict
        | Reason::Offline
        | Reason::Stopping
        | Reason::Timeout
        | Reason::Crashed
        | Reason::SlowReader
        | Reason::Internal
        | Reason::Agent(_) => A2aState::Failed,
    }
}
