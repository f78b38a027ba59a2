//! Live calls whose agent has asked its caller. The response to the request has ended with the question, so the calls wait
//! here for the next request of their conversation, which has the answer. The hub's clock for answers runs meanwhile.

use std::collections::HashMap;

use jackfield_core::{call::Replies, observer::HubObserver, principal::Principal};
use jackfield_model::{AgentId, Ask, SessionId};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::translate::AnswerRest;

/// A conversation of a caller with an agent.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ThreadKey {
    principal: String,
    agent: AgentId,
    thread: Thread,
}

/// What tells the conversations of a caller apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Thread {
    /// The session that the client names.
    Session(SessionId),
    /// The messages so far, of a client that names none.
    Transcript([u8; 32]),
}

impl ThreadKey {
    pub(crate) fn new(principal: &Principal, agent: &AgentId, thread: Thread) -> Self {
        Self {
            principal: principal.key(),
            agent: agent.clone(),
            thread,
        }
    }
}

/// A call that waits for an answer. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct ParkedCall {
    pub(crate) replies: Replies,
    pub(crate) rest: AnswerRest,
    pub(crate) ask: Ask,
}

impl ParkedCall {
    /// Whether nobody can answer any more: the call has ended, or the caller's token is revoked.
    fn is_over(&self) -> bool {
        let call = self.replies.asking().call();
        call.is_ended() || call.principal.grant.is_over()
    }
}

/// The calls that wait for an answer.
#[derive(Debug)]
pub(crate) struct ParkedCalls {
    parked: Mutex<Parked>,
    /// Maximum number of calls.
    limit: usize,
}

#[derive(Debug, Default)]
struct Parked {
    /// Each with its number, which rises.
    calls: HashMap<ThreadKey, (u64, ParkedCall)>,
    next: u64,
    is_closed: bool,
}

impl Parked {
    /// Removes the oldest call of the principal that holds most.
    fn evict(&mut self) -> Option<(u64, ParkedCall)> {
        let mut held: HashMap<&str, usize> = HashMap::new();
        for key in self.calls.keys() {
            *held.entry(&key.principal).or_default() += 1;
        }
        let (most, _) = held.into_iter().max_by_key(|(_, count)| *count)?;
        let theirs = self.calls.iter().filter(|(key, _)| key.principal == most);
        let (oldest, _) = theirs.min_by_key(|(_, (number, _))| *number)?;
        let oldest = oldest.clone();
        self.calls.remove(&oldest)
    }
}

impl ParkedCalls {
    /// Creates an empty set of at most `limit` calls.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            parked: Mutex::default(),
            limit,
        }
    }

    /// Keeps a call. A call that waits under the same key has lost its caller, and is cancelled.
    pub(crate) fn park(&self, key: ThreadKey, call: ParkedCall) {
        let mut parked = self.parked.lock();
        let dropped = if parked.is_closed {
            [Some((0, call)), None]
        } else {
            parked.next += 1;
            let number = parked.next;
            let before = parked.calls.insert(key, (number, call));
            let evicted = (parked.calls.len() > self.limit).then(|| parked.evict());
            [before, evicted.flatten()]
        };
        // The end of a call takes locks of its own.
        drop(parked);
        drop(dropped);
    }

    /// Takes the call that waits for this conversation.
    pub(crate) fn take(&self, key: &ThreadKey) -> Option<ParkedCall> {
        let taken = self.parked.lock().calls.remove(key);
        taken.map(|(_, call)| call)
    }

    /// Cancels all calls, now and later: the hub stops.
    pub(crate) fn close(&self) {
        let mut parked = self.parked.lock();
        parked.is_closed = true;
        let calls = std::mem::take(&mut parked.calls);
        drop(parked);
        drop(calls);
    }
}

impl HubObserver for ParkedCalls {
    fn sweep(&self, _: Instant) {
        let mut parked = self.parked.lock();
        let over: Vec<_> = parked
            .calls
            .extract_if(|_, (_, call)| call.is_over())
            .collect();
        drop(parked);
        drop(over);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jackfield_core::hub::{Hub, Request};
    use jackfield_kit::testing::{AgentBuilder, TestSettings};
    use jackfield_model::{AskKind, CallId, Message, Owner};

    use super::*;

    /// Opens a call of `who` that waits, and returns its id.
    fn park(hub: &Hub, parked: &ParkedCalls, who: &Principal, session: &str) -> CallId {
        let amy = AgentId::parse("amy").unwrap();
        let session = SessionId::parse(session).unwrap();
        let message = Message::text("go");
        let request = Request::new(who.clone(), "openai", amy.clone(), message);
        let replies = hub.calls().open(request).unwrap().replies();
        let id = replies.asking().call().id;
        let key = ThreadKey::new(who, &amy, Thread::Session(session));
        let ask = Ask {
            id: "q".into(),
            kind: AskKind::Input,
            text: "where?".into(),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema: None,
        };
        let rest = AnswerRest::new(0);
        parked.park(key, ParkedCall { replies, rest, ask });
        id
    }

    async fn hub() -> Hub {
        TestSettings::default().prepare().await.context.hub
    }

    #[tokio::test]
    async fn beyond_the_limit_who_holds_most_loses_its_oldest() {
        let hub = hub().await;
        let mut amy = AgentBuilder::new(&hub, "amy").attach();
        let parked = ParkedCalls::new(3);
        let bob = Principal::admin(Owner::parse("bob").unwrap());
        let ann = Principal::local();
        park(&hub, &parked, &bob, "b");
        let oldest = park(&hub, &parked, &ann, "a-1");
        park(&hub, &parked, &ann, "a-2");
        park(&hub, &parked, &ann, "a-3");
        assert_eq!(amy.next_cancel().await, oldest);
        assert_eq!(parked.parked.lock().calls.len(), 3);
    }

    #[tokio::test]
    async fn a_newer_question_of_a_conversation_takes_the_place_of_the_older() {
        let hub = hub().await;
        let mut amy = AgentBuilder::new(&hub, "amy").attach();
        let parked = ParkedCalls::new(3);
        let ann = Principal::local();
        let older = park(&hub, &parked, &ann, "a");
        let newer = park(&hub, &parked, &ann, "a");
        assert_eq!(amy.next_cancel().await, older);
        let session = Thread::Session(SessionId::parse("a").unwrap());
        let key = ThreadKey::new(&ann, &AgentId::parse("amy").unwrap(), session);
        let taken = parked.take(&key).unwrap();
        assert_eq!(taken.replies.asking().call().id, newer);
        assert!(parked.take(&key).is_none());
    }

    #[tokio::test]
    async fn calls_that_have_ended_are_let_go_and_a_stop_cancels_all() {
        let hub = hub().await;
        let mut amy = AgentBuilder::new(&hub, "amy").attach();
        let parked = Arc::new(ParkedCalls::new(3));
        let ann = Principal::local();
        let over = park(&hub, &parked, &ann, "a-1");
        hub.calls().cancel(&ann, over).unwrap();
        let other = park(&hub, &parked, &ann, "a-2");
        parked.sweep(Instant::now());
        assert_eq!(parked.parked.lock().calls.len(), 1);
        parked.close();
        let late = park(&hub, &parked, &ann, "a-3");
        for id in [over, other, late] {
            assert_eq!(amy.next_cancel().await, id);
        }
    }
}
