//! [`LiveTurn`]: a live call made for a request, new, or taken up again because the request has the answer that its agent
//! waits for. Dropping it cancels the call.

use std::sync::Arc;

use http::HeaderMap;
use jackfield_core::{
    call::{Call, Replies, Reply},
    hub::Request,
    principal::Principal,
};
use jackfield_kit::trace;
use jackfield_model::{AgentId, Ask, Json, SessionId};

use crate::{
    DOOR,
    door::OpenAiDoor,
    failure::OpenAiError,
    parked::{ParkedCall, Thread, ThreadKey},
    translate::{AnswerRest, Conversation, answer_to},
};

/// A request of a client, as far as live calls are concerned.
#[derive(Debug)]
pub(crate) struct LiveRequest<'a> {
    pub(crate) principal: &'a Principal,
    pub(crate) agent: AgentId,
    pub(crate) conversation: &'a Conversation,
    pub(crate) session: Option<SessionId>,
    pub(crate) metadata: Option<Json>,
    pub(crate) headers: &'a HeaderMap,
}

/// A call, with what is known of its answer.
#[derive(Debug)]
pub(crate) struct LiveTurn {
    replies: Replies,
    pub(crate) rest: AnswerRest,
    /// Where the call waits if its agent asks.
    thread: ThreadKey,
}

impl LiveRequest<'_> {
    fn key(&self, thread: Thread) -> ThreadKey {
        ThreadKey::new(self.principal, &self.agent, thread)
    }

    /// Returns where a question of an earlier request waits.
    fn thread_before(&self) -> Option<ThreadKey> {
        let thread = match &self.session {
            Some(session) => Thread::Session(session.clone()),
            None => Thread::Transcript(self.conversation.fingerprint_before()?),
        };
        Some(self.key(thread))
    }

    /// Returns where a question to this request will wait.
    fn thread(&self) -> ThreadKey {
        self.key(match &self.session {
            Some(session) => Thread::Session(session.clone()),
            None => Thread::Transcript(self.conversation.fingerprint()),
        })
    }

    fn take_up(&self, door: &OpenAiDoor) -> Option<LiveTurn> {
        let parked = door.parked.take(&self.thread_before()?)?;
        let ParkedCall { replies, rest, ask } = parked;
        let mut message = self.conversation.news();
        message.metadata.clone_from(&self.metadata);
        let answer = answer_to(&ask, message);
        let call = replies.asking().call().id;
        match door
            .hub
            .calls()
            .answer(self.principal, call, &ask.id, answer)
        {
            Ok(()) => Some(LiveTurn {
                replies,
                rest,
                thread: self.thread(),
            }),
            Err(failure) => {
                // Somebody else answered, or the time was up: the message begins a new call, and nobody reads
                // the old one.
                tracing::debug!(%call, %failure, "a question is no longer open");
                None
            }
        }
    }
}

impl LiveTurn {
    /// Answers the question that the conversation waits with, or opens a call.
    pub(crate) fn open(door: &OpenAiDoor, asked: &LiveRequest<'_>) -> Result<Self, OpenAiError> {
        if let Some(turn) = asked.take_up(door) {
            return Ok(turn);
        }
        let LiveRequest {
            principal,
            agent,
            conversation,
            session,
            metadata,
            headers,
        } = asked;
        let known = &door.conversations;
        let remembers = |session: &SessionId| known.has(principal, agent, session);
        let mut message = if session.as_ref().is_some_and(remembers) {
            conversation.news()
        } else {
            conversation.whole()
        };
        message.metadata.clone_from(metadata);
        let mut request = Request::new((*principal).clone(), DOOR, agent.clone(), message);
        request.session.clone_from(session);
        trace::set_origin(&mut request, headers)?;
        let asking = door.hub.calls().open(request)?;
        if let Some(session) = session {
            known.note(principal, agent, session);
        }
        let call = asking.call();
        tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "live call");
        Ok(Self {
            replies: asking.replies(),
            rest: AnswerRest::new(door.hub.limits().message.0),
            thread: asked.thread(),
        })
    }

    /// Returns the call.
    pub(crate) fn call(&self) -> &Arc<Call> {
        self.replies.asking().call()
    }

    /// Waits for the next event, then the end, then returns `None`. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Reply> {
        self.replies.next().await
    }

    /// Returns the rest of the answer, at its end.
    pub(crate) fn into_rest(self) -> AnswerRest {
        self.rest
    }

    /// Lets the call wait for the answer to its question.
    pub(crate) fn park(self, door: &OpenAiDoor, ask: Ask) {
        let Self {
            replies,
            rest,
            thread,
        } = self;
        door.parked.park(thread, ParkedCall { replies, rest, ask });
    }
}
