//! Questions of an agent for the user of an editor: requests of the hub to the editor, and the answers to the agent.
//!
//! An approval is a request for permission, which every editor has. Any other question is a form, for editors that show forms;
//! without them, `turn.rs` shows the question as text.

use std::{collections::HashMap, sync::Arc};

use jackfield_model::{Answer, Ask, AskKind, SessionId};
use jackfield_wire::read::FieldError;
use parking_lot::Mutex;
use serde_json::{json, value::RawValue};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::{
    connection::Shared,
    wire::{
        self, Elicitation, ElicitationAnswer, PermissionOutcome, PermissionRequest, PermissionTool,
        RequestId, ToolContent, ToolStatus,
    },
};

/// Requests to the editor that have no answer yet. Bounded by the questions that calls may have open.
#[derive(Debug, Default)]
pub(crate) struct OpenQuestions(Mutex<Requests>);

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    waiting: HashMap<u64, oneshot::Sender<Option<Box<RawValue>>>>,
}

impl OpenQuestions {
    /// Passes on the response to a request. `None` if the editor could not carry it out.
    pub(crate) fn answered(&self, id: &RequestId, result: Option<&RawValue>) {
        let id = match id {
            RequestId::Number(id) => u64::try_from(*id).ok(),
            // Some clients return numbers as strings.
            RequestId::Text(id) => id.parse().ok(),
        };
        let waiting = id.and_then(|id| self.0.lock().waiting.remove(&id));
        match waiting {
            // Fails if the question was withdrawn meanwhile.
            Some(waiting) => drop(waiting.send(result.map(ToOwned::to_owned))),
            None => tracing::debug!("a response belongs to no open request"),
        }
    }

    fn open(&self) -> (u64, oneshot::Receiver<Option<Box<RawValue>>>) {
        let (sender, receiver) = oneshot::channel();
        let mut requests = self.0.lock();
        requests.last += 1;
        let id = requests.last;
        requests.waiting.insert(id, sender);
        (id, receiver)
    }
}

/// A request that has no answer yet. Dropping it forgets the request.
struct OpenRequest<'a> {
    questions: &'a OpenQuestions,
    id: u64,
}

impl Drop for OpenRequest<'_> {
    fn drop(&mut self) {
        self.questions.0.lock().waiting.remove(&self.id);
    }
}

/// How a question to an editor ended.
#[derive(Debug, PartialEq)]
pub(crate) enum Asked {
    /// The user answered.
    Answered(Answer),
    /// Somebody else answered, or the call is over.
    Withdrawn,
    /// The editor cannot ask.
    Unable,
}

/// A question for an editor.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) ask: Ask,
    /// Id of the tool call that an approval is about, as the editor knows it.
    pub(crate) tool: Option<String>,
    /// Cancelled when the question needs no answer any more.
    pub(crate) withdrawn: CancellationToken,
}

impl Question {
    /// Asks the user, and waits for the answer.
    pub(crate) async fn ask(self, shared: Arc<Shared>, session: SessionId) -> (Self, Asked) {
        let asked = match self.ask.kind {
            AskKind::Approval => self.permission(&shared, &session).await,
            AskKind::Input => self.form(&shared, &session).await,
        };
        let asked = asked.unwrap_or_else(|error| {
            tracing::debug!(%error, "the answer of an editor cannot be read");
            Asked::Unable
        });
        (self, asked)
    }

    async fn permission(&self, shared: &Shared, session: &SessionId) -> Result<Asked, FieldError> {
        let ask = &self.ask;
        let title = ask.tool_name.as_deref().filter(|name| !name.is_empty());
        let has_text = !ask.text.is_empty() && title.is_some();
        let tool = PermissionTool {
            tool_call_id: self.tool.as_deref().unwrap_or(&ask.id),
            title: title.unwrap_or(&ask.text),
            status: ToolStatus::Pending,
            content: has_text
                .then(|| ToolContent::text(&ask.text))
                .into_iter()
                .collect(),
            raw_input: ask.arguments.as_ref(),
        };
        let request = PermissionRequest::new(session.as_str(), tool);
        let result = match self.request(shared, |id| request.frame(id)).await {
            Ok(result) => result,
            Err(asked) => return Ok(asked),
        };
        Ok(Asked::Answered(match PermissionOutcome::read(&result)? {
            PermissionOutcome::Allowed => decision(true, None),
            PermissionOutcome::Rejected => decision(false, None),
            PermissionOutcome::Dismissed => {
                decision(false, Some("the user closed the question in the editor"))
            }
        }))
    }

    async fn form(&self, shared: &Shared, session: &SessionId) -> Result<Asked, FieldError> {
        let form = Elicitation::new(session.as_str(), &self.ask);
        let result = match self.request(shared, |id| form.frame(id)).await {
            Ok(result) => result,
            Err(asked) => return Ok(asked),
        };
        let answer = match ElicitationAnswer::read(&result, form.is_wrapped())? {
            ElicitationAnswer::Given(text) => Answer {
                content: Some(text),
                ..Answer::default()
            },
            ElicitationAnswer::Declined => refusal("The user declined to answer."),
            ElicitationAnswer::Dismissed => refusal("The user closed the question."),
        };
        Ok(Asked::Answered(answer))
    }

    /// Sends a request and waits for its result.
    async fn request(
        &self,
        shared: &Shared,
        frame: impl Fn(u64) -> String,
    ) -> Result<Box<RawValue>, Asked> {
        let questions = &shared.questions;
        let (id, answer) = questions.open();
        let _open = OpenRequest { questions, id };
        shared.outbox.send(frame(id)).await;
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(Some(result)) => Ok(result),
                Ok(None) | Err(_) => Err(Asked::Unable),
            },
            () = self.withdrawn.cancelled() => {
                let params = json!({"requestId": id});
                shared.outbox.send(wire::notification("$/cancel_request", &params)).await;
                Err(Asked::Withdrawn)
            }
        }
    }
}

fn decision(is_approved: bool, reason: Option<&str>) -> Answer {
    Answer {
        approved: Some(is_approved),
        reason: reason.map(str::to_owned),
        ..Answer::default()
    }
}

/// The answer of a user who does not answer. It has words, because the agent waits for words.
fn refusal(words: &str) -> Answer {
    Answer {
        content: Some(words.to_owned()),
        ..decision(false, Some(words))
    }
}
