//! The answer to `message/send`: a task that is over, all at once.

use axum::response::Response;
use jackfield_core::call::CallerHandle;
use serde_json::value::RawValue;

use super::{
    failure::{Problem, json},
    listen::{Heard, Listening, Trouble},
    translate::Names,
};
use crate::A2a;
use crate::wire::seed::{
    Id,
    task::{self, Status, Task},
};

/// Waits for the answer. A caller that leaves drops this, and with it the call.
pub(super) async fn respond(
    a2a: &A2a,
    id: Id,
    asking: CallerHandle,
    input: &RawValue,
) -> Result<Response, Problem> {
    let names = Names::of(asking.call());
    let mut listening = Listening::new(asking, a2a.hub.limits().message);
    let outcome = loop {
        if let Heard::Over(outcome) = listening.next().await {
            break outcome;
        }
    };
    let task = Task {
        id: &names.task,
        context_id: &names.context,
        status: Status::Completed,
        input,
        reply: None,
        error: None,
    };
    let (task, said) = match &outcome {
        Ok(parts) => (task, Some(parts)),
        Err(trouble) => {
            let (status, error) = trouble.told();
            let task = Task {
                status,
                error: Some(error),
                ..task
            };
            match trouble {
                Trouble::Failed(failure) => return Err(Problem::of(id, failure.clone())),
                Trouble::Asked(_, parts) => (task, Some(parts)),
                Trouble::Cancelled => (task, None),
            }
        }
    };
    let body = match said {
        None => task::result(&id, &task),
        Some(parts) => names.reply(parts, |reply| {
            let reply = Some(*reply);
            task::result(&id, &Task { reply, ..task })
        }),
    };
    Ok(json(body))
}
