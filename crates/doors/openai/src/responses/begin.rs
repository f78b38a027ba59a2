//! How a response that is stored begins: as a new task, as the next turn of one, or as the answer to the question of
//! one.

use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use jackfield_core::{hub::Request, principal::Principal, task::Task};
use jackfield_kit::trace;
use jackfield_model::{AgentId, Ask, Json, Message, Reason, SessionId};

use super::{head::ResponseHead, id::ResponseId, stored::StoredResponse};
use crate::{
    DOOR,
    door::OpenAiDoor,
    failure::OpenAiError,
    translate::{Conversation, answer_to},
    wire::ResponseStatus,
};

/// A request for a stored response.
#[derive(Debug)]
pub(super) struct StoredRequest<'a> {
    pub(super) principal: &'a Principal,
    pub(super) agent: AgentId,
    pub(super) conversation: &'a Conversation,
    /// Session that the headers or the user name.
    pub(super) session: Option<SessionId>,
    pub(super) previous: Option<StoredResponse>,
    pub(super) head: ResponseHead,
    pub(super) metadata: Option<Json>,
    pub(super) headers: &'a HeaderMap,
}

/// A response that has begun.
#[derive(Debug)]
pub(super) struct BegunResponse {
    pub(super) id: ResponseId,
    pub(super) task: Arc<Task>,
    pub(super) head: ResponseHead,
}

/// Finds the response that a request continues.
pub(super) async fn find_previous(
    door: &OpenAiDoor,
    principal: &Principal,
    agent: &AgentId,
    id: &str,
) -> Result<StoredResponse, OpenAiError> {
    const FIELD: &str = "previous_response_id";
    let found = StoredResponse::find(door, principal, id).await;
    let previous = found.map_err(|failure| match failure.reason {
        Reason::SessionUnknown => OpenAiError::from(failure)
            .with_param(FIELD)
            .with_code("previous_response_not_found")
            .with_status(StatusCode::BAD_REQUEST),
        _ => failure.into(),
    })?;
    if previous.record.agent != *agent {
        let text = format!(
            "field {FIELD:?}: this is a conversation with {}, which {agent} does not know; name that model, or send the conversation in \"input\"",
            previous.record.agent
        );
        return Err(
            OpenAiError::field(Reason::Conflict, FIELD, text).with_status(StatusCode::BAD_REQUEST)
        );
    }
    let status = previous.builder.status;
    if matches!(status, ResponseStatus::Queued | ResponseStatus::InProgress) {
        let text =
            format!("field {FIELD:?}: this response has not ended; wait for it, or cancel it");
        return Err(OpenAiError::field(Reason::Conflict, FIELD, text));
    }
    Ok(previous)
}

impl StoredRequest<'_> {
    /// Begins the response.
    pub(super) async fn begin(mut self, door: &OpenAiDoor) -> Result<BegunResponse, OpenAiError> {
        let Some(previous) = self.previous.take() else {
            return self.start(door, None).await;
        };
        if let Some(ask) = open_ask(&previous, self.principal)
            && let Some(begun) = self.answer(door, &previous, &ask)
        {
            return Ok(begun);
        }
        let (task, record) = (&previous.task, &previous.record);
        let is_last = previous.end >= record.log_end;
        if record.waits_for_message() && is_last {
            self.head.start = record.log_end;
            let request = self.request(door, Some(record.session.clone()))?;
            let task = door.hub.tasks().continue_task(request, task).await?;
            return Ok(self.begun(task));
        }
        let session = record.session.clone();
        self.start(door, Some(session)).await
    }

    /// Starts a task. `session` is that of the response before.
    async fn start(
        mut self,
        door: &OpenAiDoor,
        session: Option<SessionId>,
    ) -> Result<BegunResponse, OpenAiError> {
        self.head.start = 0;
        let session = self.session.clone().or(session);
        let request = self.request(door, session.clone())?;
        let task = door.hub.tasks().start(request).await?;
        if let Some(session) = session {
            door.conversations
                .note(self.principal, &self.agent, &session);
        }
        Ok(self.begun(task))
    }

    /// Answers the question with which the response before ended. `None` if the question is no longer open.
    fn answer(
        &mut self,
        door: &OpenAiDoor,
        previous: &StoredResponse,
        ask: &Ask,
    ) -> Option<BegunResponse> {
        self.head.start = previous.end;
        let mut message = self.conversation.news();
        self.complete(&mut message);
        let call = previous.task.record().call;
        let answer = answer_to(ask, message);
        let calls = door.hub.calls();
        match calls.answer(self.principal, call, &ask.id, answer) {
            Ok(()) => Some(self.begun(previous.task.clone())),
            Err(failure) => {
                tracing::debug!(%call, %failure, "a question is no longer open");
                None
            }
        }
    }

    /// Builds the request. An agent that has the conversation gets what is new.
    fn request(
        &self,
        door: &OpenAiDoor,
        session: Option<SessionId>,
    ) -> Result<Request, OpenAiError> {
        let known = &door.conversations;
        let has_it = self.session.as_ref();
        let has_it = has_it.is_some_and(|it| known.has(self.principal, &self.agent, it));
        let mut message = match has_it {
            true => self.conversation.news(),
            // After a response the input has only what is new, and perhaps new instructions.
            false => self.conversation.whole(),
        };
        self.complete(&mut message);
        let mut request = Request::new(self.principal.clone(), DOOR, self.agent.clone(), message);
        request.session = session;
        if !self.head.background {
            request.unread = Some(door.hub.limits().unread.0);
        }
        trace::set_origin(&mut request, self.headers)?;
        Ok(request)
    }

    fn complete(&self, message: &mut Message) {
        message.metadata.clone_from(&self.metadata);
        self.head.put_on(message);
    }

    fn begun(&self, task: Arc<Task>) -> BegunResponse {
        let id = ResponseId {
            task: task.id,
            start: self.head.start,
        };
        BegunResponse {
            id,
            task,
            head: self.head.clone(),
        }
    }
}

/// Returns the question with which a response ended, if the caller can still answer it.
pub(super) fn open_ask(response: &StoredResponse, principal: &Principal) -> Option<Ask> {
    let asked = response.builder.asked.as_ref()?;
    let call = response.task.call()?;
    let open = call.open_asks(principal).into_iter();
    open.into_iter().find(|ask| ask.id == asked.id)
}
