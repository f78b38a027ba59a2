//! Questions of agents as questions to the client's user ("elicitation"), and the answers. The questions wait in the
//! core's task, not here: each request looks up what is open, and finds the answers by the keys of the questions. See
//! decision 40.

mod form;

use std::sync::Arc;

use jackfield_core::{hub::Hub, principal::Principal, task::Task};
use jackfield_kit::api::invalid;
use jackfield_model::{Answer, Ask, AskKind, CallId, Failure, Message, Reason};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
    InputRequests, InputResponses,
};

use serde::Deserialize as _;

use self::form::Form;
use crate::{limits::QUESTION, serve::RequestCaller};

/// What a client gives as answer, for error messages.
const RESULT: &str = "give `action` (accept, decline or cancel) and, with accept, `content`";

/// A question that waits for the caller.
#[derive(Debug)]
pub(crate) enum Question {
    /// The agent asks in the middle of its work.
    Asked {
        /// Call in which the agent asks.
        call: CallId,
        /// The question.
        ask: Ask,
    },
    /// The agent ended its turn with a question: the answer is its next message.
    Ended {
        /// Last call of the task.
        call: CallId,
        /// What the agent said in the turn.
        text: String,
    },
}

/// A question with the answer of the client's user.
#[derive(Debug)]
struct Answered {
    question: Question,
    answer: Answer,
}

/// Returns the questions that the caller may answer. Approvals belong to the agent's owner, who may be
/// the same person but not the same model. Approvals are included only if the owner lets callers approve.
pub(crate) fn open_asks(
    hub: &Hub,
    principal: &Principal,
    task: &Task,
) -> impl Iterator<Item = Ask> + use<> {
    let call = task.call();
    let approves = call.as_ref().is_some_and(|call| {
        let entry = hub.agents().find(principal, call.target.as_str());
        entry.is_ok_and(|entry| entry.settings().approvals_to_caller)
    });
    let asks = call.map(|call| call.open_asks(principal));
    let asks = asks.unwrap_or_default().into_iter();
    asks.filter(move |ask| match ask.kind {
        AskKind::Input => true,
        AskKind::Approval => approves,
    })
}

/// Returns all questions of a task that the client's user may answer. `said` is what the agent said in its last turn. A
/// request for credentials is not among them: the protocol forbids to ask for secrets in a form.
pub(crate) fn open(hub: &Hub, principal: &Principal, task: &Task, said: &str) -> Vec<Question> {
    let record = task.record();
    if record.waits_for_message() && !record.needs_auth {
        return vec![Question::Ended {
            call: record.call,
            text: said.to_owned(),
        }];
    }
    let call = record.call;
    let asks = open_asks(hub, principal, task);
    asks.map(|ask| Question::Asked { call, ask }).collect()
}

/// Returns the requests to the client that ask these questions of its user.
pub(crate) fn requests(agent: &str, questions: &[Question]) -> InputRequests {
    let request = |question: &Question| {
        let params = question.params(agent);
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        (question.key(), request)
    };
    questions.iter().map(request).collect()
}

/// Passes the client's answers to the open questions of a task on to the agent. Returns the task, which has a new turn if
/// the agent had ended the last one. Fails if one answer is unreadable; then none is passed on.
pub(crate) async fn answer(
    hub: &Hub,
    asker: &RequestCaller,
    task: Arc<Task>,
    responses: &InputResponses,
) -> Result<Arc<Task>, Failure> {
    // What the agent said matters only for asking.
    let answers = read(open(hub, &asker.principal, &task, ""), responses)?;
    pass_on(hub, asker, task, answers).await
}

/// Reads the client's answers to open questions. Answers to other questions are left out: they were answered before.
fn read(questions: Vec<Question>, responses: &InputResponses) -> Result<Vec<Answered>, Failure> {
    let mut answered = Vec::new();
    for question in questions {
        let key = question.key();
        let Some(response) = responses.get(&key) else {
            continue;
        };
        let wrong = |text: String| invalid(format!("field \"inputResponses[{key:?}]\": {text}"));
        let result = ElicitResult::deserialize(response);
        let result = result.map_err(|error| wrong(format!("{error}; {RESULT}")))?;
        let answer = question.answer(result).map_err(wrong)?;
        answered.push(Answered { question, answer });
    }
    Ok(answered)
}

/// Passes answers on. A question that somebody else has answered meanwhile is left out.
async fn pass_on(
    hub: &Hub,
    asker: &RequestCaller,
    mut task: Arc<Task>,
    answers: Vec<Answered>,
) -> Result<Arc<Task>, Failure> {
    for Answered { question, answer } in answers {
        let passed = match question {
            Question::Asked { call, ask } => {
                let calls = hub.calls();
                calls.answer(&asker.principal, call, &ask.id, answer)
            }
            Question::Ended { .. } => {
                let mut message = Message::text(answer.content.unwrap_or_default());
                message.parts.extend(answer.parts);
                let request = asker.request(task.record().agent, message)?;
                let continued = hub.tasks().continue_task(request, &task).await;
                continued.map(|continued| task = continued)
            }
        };
        match passed {
            Err(failure) if !matches!(failure.reason, Reason::NotFound | Reason::Conflict) => {
                return Err(failure);
            }
            _ => {}
        }
    }
    Ok(task)
}

impl Question {
    /// Returns the key of the question, which no other question of the task has.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Asked { call, ask } => format!("ask {call} {}", ask.id),
            Self::Ended { call, .. } => format!("turn {call}"),
        }
    }

    /// Returns the question as the protocol has it. The user reads who asks.
    pub(crate) fn params(&self, agent: &str) -> ElicitRequestParams {
        let message = match self {
            Self::Asked { ask, .. } if ask.kind == AskKind::Approval => {
                format!("The agent {agent} asks for leave: {}", ask.text)
            }
            Self::Asked { ask, .. } => format!("The agent {agent} asks: {}", ask.text),
            Self::Ended { text, .. } if text.trim().is_empty() => {
                format!("The agent {agent} waits for an answer.")
            }
            Self::Ended { text, .. } => format!("The agent {agent} says: {}", last_of(text)),
        };
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message,
            requested_schema: self.form().schema(),
        }
    }

    /// Converts the answer of the client's user. A user who declines answers, too: the agent does not wait any longer.
    fn answer(&self, result: ElicitResult) -> Result<Answer, String> {
        let reason = match result.action {
            ElicitationAction::Accept => {
                return self.form().read(result.content.unwrap_or_default());
            }
            ElicitationAction::Decline => "The user declined to answer.",
            _ => "The user dismissed the question.",
        };
        let is_approval = matches!(self.form(), Form::Approval);
        Ok(Answer {
            content: (!is_approval).then(|| reason.to_owned()),
            approved: is_approval.then_some(false),
            reason: Some(reason.to_owned()),
            ..Answer::default()
        })
    }

    fn form(&self) -> Form {
        match self {
            Self::Asked { ask, .. } => Form::of(ask),
            Self::Ended { .. } => Form::text(),
        }
    }
}

/// Returns the end of a text, where the question is.
fn last_of(text: &str) -> String {
    let start = text.len().saturating_sub(QUESTION);
    match text.ceil_char_boundary(start) {
        0 => text.to_owned(),
        start => format!("…{}", &text[start..]),
    }
}

#[cfg(test)]
mod tests;
