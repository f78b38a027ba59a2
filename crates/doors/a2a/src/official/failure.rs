//! What a caller is told when something goes wrong: the core's failures as the protocol's errors (docs/promises.md), in one
//! exhaustive match each for what is refused and for what ends a task.

use jackfield_model::{Failure, Reason};

use crate::wire::official::{
    error::{Fault, Kind},
    model::State,
};

/// A request that is refused. What was not found is an agent, unless the caller of this knows better.
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

/// The same where a task was looked for.
pub(super) fn task_fault_from(failure: Failure) -> Fault {
    match failure.reason {
        Reason::NotFound => no_such_task(),
        _ => fault_from(failure),
    }
}

/// Foreign and unknown tasks look the same, and so does what cannot be an id at all.
pub(super) fn no_such_task() -> Fault {
    Fault::new(Kind::TaskNotFound, "Task not found")
}

/// Whether a message that could not be handed to its agent still is a task, which failed or was rejected.
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

/// Where a task stands that ended with this failure.
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
