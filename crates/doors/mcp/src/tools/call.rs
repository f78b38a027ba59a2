//! `call_agent`: calls an agent and waits for the answer. The call is durable: after the waiting time the
//! call continues, and the client has the task id. If the client disconnects before receiving the id, the
//! call is cancelled soon. A client that takes tasks gets one at once.

use jackfield_kit::{api::invalid, similar::with_suggestions};
use jackfield_model::{AgentId, Failure, Json, Message, Part, SessionId};
use rmcp::model::{CallToolResponse, CreateTaskResult, JsonObject};
use serde::Deserialize;

use super::wait_time;
use crate::{
    tasks,
    tool_request::{ToolRequest, arguments},
    waiting,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallArguments {
    agent: String,
    message: String,
    session: Option<String>,
    data: Option<Json>,
    wait_seconds: Option<u64>,
}

pub(super) async fn run(
    asked: &ToolRequest<'_>,
    given: Option<JsonObject>,
) -> Result<CallToolResponse, Failure> {
    let mut given: CallArguments = arguments(given)?;
    let patience = wait_time(given.wait_seconds);
    if let Some(task) = &asked.resumed {
        let progress = asked.progress(task.id);
        return waiting::wait_and_respond(asked, task, None, patience, progress).await;
    }
    let mut message = given.message()?;
    asked.want_files(&mut message)?;
    let named = |failure| with_suggestions(failure, &given.agent, asked.hub(), asked.principal());
    let agent =
        AgentId::parse(&given.agent).map_err(|_| named(Failure::no_such_agent(&given.agent)))?;
    let mut request = asked.request(agent, message)?;
    request.session = given.session()?;
    request.unread = Some(asked.hub().limits().unread.0);
    let task = asked.hub().tasks().start(request).await.map_err(named)?;
    asked.set_task(task.id);
    if asked.takes_tasks() {
        // The client polls when it likes.
        task.outlive_readers();
        return Ok(CreateTaskResult::new(tasks::summary(&task.record(), asked.hub())).into());
    }
    let mut progress = asked.progress(task.id);
    progress
        .notify(format!("{} has it, task {}", given.agent, task.id))
        .await;
    waiting::wait_and_respond(asked, &task, None, patience, progress).await
}

impl CallArguments {
    fn message(&mut self) -> Result<Message, Failure> {
        if self.message.trim().is_empty() && self.data.is_none() {
            return Err(invalid("argument \"message\": say something to the agent"));
        }
        let mut message = Message::text(std::mem::take(&mut self.message));
        message.parts.extend(self.data.take().map(Part::Data));
        Ok(message)
    }

    fn session(&self) -> Result<Option<SessionId>, Failure> {
        let session = self.session.as_deref().filter(|text| !text.is_empty());
        session
            .map(SessionId::parse)
            .transpose()
            .map_err(|error| invalid(format!("argument \"session\": {error}")))
    }
}
