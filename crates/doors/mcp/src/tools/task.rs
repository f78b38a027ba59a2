//! `task`: continues waiting for a task after the client's position, or answers a question of its agent.

use std::sync::Arc;

use jackfield_core::{
    store::TaskState,
    task::{Cursor, Task},
};
use jackfield_kit::api::invalid;
use jackfield_model::{Answer, Ask, AskKind, Failure, Message, Reason};
use rmcp::model::{CallToolResponse, JsonObject};
use serde::Deserialize;

use super::wait_time;
use crate::{
    questions::open_asks,
    tool_request::{ToolRequest, arguments, find_task},
    waiting,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskArguments {
    task: String,
    after: Option<String>,
    answer: Option<String>,
    approve: Option<bool>,
    wait_seconds: Option<u64>,
}

pub(super) async fn run(
    asked: &ToolRequest<'_>,
    given: Option<JsonObject>,
) -> Result<CallToolResponse, Failure> {
    let given: TaskArguments = arguments(given)?;
    let patience = wait_time(given.wait_seconds);
    if let Some(task) = &asked.resumed {
        let progress = asked.progress(task.id);
        return waiting::wait_and_respond(asked, task, None, patience, progress).await;
    }
    let mut after = given.after()?;
    let mut task = find_task(asked.hub(), asked.principal(), &given.task).await?;
    asked.set_task(task.id);
    // A caller that knows the id may return later.
    task.outlive_readers();
    if given.answer.is_some() || given.approve.is_some() {
        match open_asks(asked.hub(), asked.principal(), &task).next() {
            Some(ask) => {
                // The client has received all output before the question.
                after.get_or_insert(task.snapshot().1);
                given.answer_ask(asked, &task, &ask)?;
            }
            None => {
                task = given.send_answer(asked, &task).await?;
                after = None;
            }
        }
    }
    let progress = asked.progress(task.id);
    waiting::wait_and_respond(asked, &task, after, patience, progress).await
}

impl TaskArguments {
    fn after(&self) -> Result<Option<Cursor>, Failure> {
        let after = self.after.as_deref().filter(|text| !text.is_empty());
        after.map(str::parse).transpose().map_err(|_: Failure| {
            invalid("argument \"after\": use the `cursor` of an earlier result")
        })
    }

    /// Answers a question of a working agent.
    fn answer_ask(&self, asked: &ToolRequest<'_>, task: &Task, ask: &Ask) -> Result<(), Failure> {
        if ask.kind == AskKind::Approval && self.approve.is_none() {
            let text = "argument \"approve\": the agent asks for leave; say true or false";
            return Err(invalid(text));
        }
        let answer = Answer {
            content: self.answer.clone(),
            approved: self.approve,
            ..Answer::default()
        };
        let call = task.record().call;
        asked
            .hub()
            .calls()
            .answer(asked.principal(), call, &ask.id, answer)
    }

    /// Sends a message to an agent that ended its turn and waits for input.
    async fn send_answer(
        &self,
        asked: &ToolRequest<'_>,
        task: &Arc<Task>,
    ) -> Result<Arc<Task>, Failure> {
        let record = task.record();
        let Some(answer) = &self.answer else {
            let text = "argument \"approve\": the agent does not ask for leave; leave it out";
            return Err(invalid(text));
        };
        if record.state != TaskState::InputRequired {
            let text = format!(
                "the task is {} and asks nothing; leave out answer to read it, or use call_agent with its session to say more",
                record.state.name()
            );
            return Err(Failure::new(Reason::Conflict, text));
        }
        let mut message = Message::text(answer);
        asked.want_files(&mut message)?;
        let request = asked.request(record.agent, message)?;
        asked.hub().tasks().continue_task(request, task).await
    }
}
