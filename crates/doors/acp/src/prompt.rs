//! The task of one prompt: from the message to the response.
//!
//! A prompt is a durable call, although losing the editor cancels it: its log is the transcript that `session/load` replays,
//! an approval may wait for a day, and a follow-up continues the agent's task.

use std::sync::Arc;

use jackfield_core::task::Task;
use jackfield_model::{DoneState, End, Failure, Json, Message, Reason};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    connection::Shared,
    conversation::{Conversation, Waiting},
    failure::refused,
    turn::{Turn, TurnStop},
    wire::{self, RequestId},
};

/// Runs a prompt, and sends the response.
pub(crate) async fn run(
    shared: Arc<Shared>,
    conversation: Arc<Conversation>,
    cancel: CancellationToken,
    id: RequestId,
    message: Message,
    traceparent: Option<String>,
) {
    let prompt = PromptRun {
        shared: &shared,
        conversation: &conversation,
        cancel: &cancel,
        traceparent,
    };
    let (result, waiting) = prompt.converse(message).await;
    conversation.end(waiting);
    let response = match result {
        Ok(result) => wire::response(&id, &result),
        // The protocol wants this whatever went wrong meanwhile.
        Err(_) if cancel.is_cancelled() => wire::response(&id, &json!({"stopReason": "cancelled"})),
        Err(failure) => wire::refusal(Some(&id), &refused(&failure)),
    };
    shared.outbox.send(response).await;
}

struct PromptRun<'a> {
    shared: &'a Arc<Shared>,
    conversation: &'a Conversation,
    cancel: &'a CancellationToken,
    traceparent: Option<String>,
}

impl PromptRun<'_> {
    /// Runs the prompt. Returns the result, and what the agent waits for now.
    async fn converse(&self, message: Message) -> (Result<Value, Failure>, Waiting) {
        let waiting = self.conversation.take_waiting();
        let unanswered = match &waiting {
            Waiting::Message(task) => Waiting::Message(task.clone()),
            Waiting::Nothing | Waiting::Answer(_) => Waiting::Nothing,
        };
        let mut turn = match self.begin(waiting, message).await {
            Ok(turn) => turn,
            Err(failure) => return (Err(failure), unanswered),
        };
        match self.follow(&mut turn).await {
            Ok(TurnStop::Ended(end)) => self.ended(turn.task(), end),
            Ok(TurnStop::Asked) => {
                let result = result("end_turn", turn.task(), None);
                (Ok(result), Waiting::Answer(Box::new(turn)))
            }
            Err(failure) => (Err(failure), Waiting::Nothing),
        }
    }

    async fn follow(&self, turn: &mut Turn) -> Result<TurnStop, Failure> {
        let session = self.conversation.id();
        turn.follow(self.shared, session, self.cancel).await
    }

    /// Gives the message to the agent: as the answer to its question, as the next message of its task, or as a new task.
    async fn begin(&self, waiting: Waiting, message: Message) -> Result<Turn, Failure> {
        match waiting {
            Waiting::Nothing => self.start(message).await,
            Waiting::Message(task) => {
                let request = self.request(message.clone());
                match self
                    .shared
                    .door
                    .hub
                    .tasks()
                    .continue_task(request, &task)
                    .await
                {
                    Ok(task) => Ok(Turn::new(self.shared, task)),
                    // The task was cancelled or continued elsewhere meanwhile.
                    Err(failure) if failure.reason == Reason::Conflict => self.start(message).await,
                    Err(failure) => Err(failure),
                }
            }
            Waiting::Answer(turn) => self.answer(*turn, message).await,
        }
    }

    /// Answers the question of a turn. If somebody else has, the rest of the turn is shown first; the message is then the
    /// answer to its next question, or begins a new task.
    async fn answer(&self, mut turn: Turn, message: Message) -> Result<Turn, Failure> {
        while !turn.answer_shown(self.shared, &message)? {
            match self.follow(&mut turn).await? {
                TurnStop::Asked => {}
                TurnStop::Ended(End::Cancelled) if self.cancel.is_cancelled() => {
                    return Err(cancelled());
                }
                TurnStop::Ended(_) => return self.start(message).await,
            }
        }
        Ok(turn)
    }

    async fn start(&self, message: Message) -> Result<Turn, Failure> {
        let request = self.request(message);
        let task = self.shared.door.hub.tasks().start(request).await?;
        Ok(Turn::new(self.shared, task))
    }

    fn request(&self, message: Message) -> jackfield_core::hub::Request {
        let session = self.conversation.id().clone();
        let traceparent = self.traceparent.clone();
        self.shared.request(session, message, traceparent)
    }

    /// Converts the end of a turn.
    fn ended(&self, task: &Arc<Task>, end: End) -> (Result<Value, Failure>, Waiting) {
        let done = match end {
            End::Done(done) => done,
            End::Failed(failure) => return (Err(failure), Waiting::Nothing),
            End::Cancelled => return (Err(cancelled()), Waiting::Nothing),
        };
        let (reason, waiting) = match done.state {
            DoneState::Rejected => ("refusal", Waiting::Nothing),
            DoneState::InputRequired => ("end_turn", Waiting::Message(task.clone())),
            DoneState::Completed => (stop_reason(done.stop_reason.as_deref()), Waiting::Nothing),
        };
        (Ok(result(reason, task, done.usage.as_ref())), waiting)
    }
}

fn cancelled() -> Failure {
    Failure::new(Reason::Cancelled, "the prompt was cancelled")
}

/// Converts the reason why a model stopped. Models and protocols have words of their own for a limit on tokens.
fn stop_reason(given: Option<&str>) -> &'static str {
    match given.unwrap_or_default() {
        "max_tokens" | "length" | "model_context_window_exceeded" => "max_tokens",
        "max_turn_requests" => "max_turn_requests",
        "refusal" | "content_filter" => "refusal",
        _ => "end_turn",
    }
}

/// Builds the result of a prompt. The usage is in the agent's own terms, and the protocol has no place for it.
fn result(reason: &str, task: &Task, usage: Option<&Json>) -> Value {
    let mut ours = json!({"task": task.id.to_string()});
    if let Some(usage) = usage {
        ours["usage"] = usage.to_value();
    }
    json!({"stopReason": reason, "_meta": {"jackfield": ours}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_models_become_those_of_the_protocol() {
        for (given, expected) in [
            (None, "end_turn"),
            (Some("stop"), "end_turn"),
            (Some("end_turn"), "end_turn"),
            (Some("length"), "max_tokens"),
            (Some("max_tokens"), "max_tokens"),
            (Some("max_turn_requests"), "max_turn_requests"),
            (Some("refusal"), "refusal"),
        ] {
            assert_eq!(stop_reason(given), expected, "{given:?}");
        }
    }
}
