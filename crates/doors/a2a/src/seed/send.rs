//! Answer to `message/send`: the finished task.

use axum::response::Response;
use jackfield_core::call::CallerHandle;
use serde_json::value::RawValue;

use super::{
    failure::{SeedProblem, json},
    reply_reader::{LiveCallError, ReplyElement, SeedReplyReader},
    translate::SeedIds,
};
use crate::A2aDoor;
use crate::wire::seed::{
    SeedRequestId,
    task::{self, SeedStatus, SeedTask},
};

/// Waits for the answer. A caller that disconnects drops the future, and with it the call.
pub(super) async fn respond(
    a2a: &A2aDoor,
    id: SeedRequestId,
    asking: CallerHandle,
    input: &RawValue,
) -> Result<Response, SeedProblem> {
    let names = SeedIds::of(asking.call());
    let mut listening = SeedReplyReader::new(asking, a2a.hub.limits().message);
    let outcome = loop {
        if let ReplyElement::Over(outcome) = listening.next().await {
            break outcome;
        }
    };
    let task = SeedTask {
        id: &names.task,
        context_id: &names.context,
        status: SeedStatus::Completed,
        input,
        reply: None,
        error: None,
    };
    let (task, said) = match &outcome {
        Ok(parts) => (task, Some(parts)),
        Err(trouble) => {
            let (status, error) = trouble.task_error();
            let task = SeedTask {
                status,
                error: Some(error),
                ..task
            };
            match trouble {
                LiveCallError::Failed(failure) => return Err(SeedProblem::of(id, failure.clone())),
                LiveCallError::Asked(_, parts) => (task, Some(parts)),
                LiveCallError::Cancelled => (task, None),
            }
        }
    };
    let body = match said {
        None => task::result(&id, &task),
        Some(parts) => names.reply(parts, |reply| {
            let reply = Some(*reply);
            task::result(&id, &SeedTask { reply, ..task })
        }),
    };
    Ok(json(body))
}
