//! Translation of the core's [`Failure`]s into the protocol's errors and task states (docs/promises.md).
//! Refused requests and failed tasks have one exhaustive match each.

use jackfield_model::{Failure, Reason};

use crate::wire::official::{
    error::{Fault, Kind},
    model::State,
};

/// Translates the failure of a refused request. [`Reason::NotFound`] means a missing agent here; see
/// [`task_fault_from`] for tasks.
pub(super) fn fault_from(failure: Failure) -> Fault {
    let kind = match &failure.reason {
        Reason::Invalid => Kind::InvalidParams,
        Reason::Unsupported => Kind::Unsupported,
        Reason::TooLarge => Kind::TooLarge,
        Reason::Unauthorized => Kind::Unauthenticated,
        Reason::NotFound => Kind::AgentNotFound,
        Reason::SessionUnknown => Kind::TaskNotFound,
        Reason::Conflict => Kind::Conflict,
        Reason::Busy | Reason::RateLimited | Reason::Loop => Kind::Busy,
        Reason::Offline | Reason::Stopping => Kind::Unavailable,
        Reason::Timeout
        | Reason::Cancelled
        | Reason::Crashed
        | Reason::SlowReader
        | Reason::Internal
        | Reason::Agent(_) => Kind::Internal,
    };
    let reason = failure.reason.name().to_owned();
    Fault::new(kind, failure.text).with("failure", reason)
}

/// Translates like [`fault_from`], but [`Reason::NotFound`] means a missing task.
pub(super) fn task_fault_from(failure: Failure) -> Fault {
    match failure.reason {
        Reason::NotFound => no_such_task(),
        _ => fault_from(failure),
    }
}

/// Returns the error for an unknown task. Tasks of other callers, unknown ids and invalid ids give the same
/// error.
pub(super) fn no_such_task() -> Fault {
    Fault::new(Kind::TaskNotFound, "Task not found")
}

/// Returns true if a message that the hub could not deliver still creates a task, in state failed or
/// rejected.
pub(super) fn is_task_all_the_same(reason: &Reason) -> bool {
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
pub(super) fn state_of_failure(reason: &Reason) -> State {
    match reason {
        Reason::Busy | Reason::RateLimited | Reason::Loop => State::Rejected,
        Reason::Cancelled => State::Canceled,
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
        | Reason::Agent(_) => State::Failed,
    }
}
