//! The pause between two requests of one session, for agents without the extension `meta`.
//!
//! The published client starts a program for each request. When a program exits, the client ends the current
//! request of the session. The client sends `done` before the program has exited. A request that arrives
//! right after `done` is therefore ended by the exit of the previous program: as a success, without any text.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use jackfield_core::call::{AgentHandle, Call};
use jackfield_model::{CallId, Failure, Reason, SessionId};
use tokio::time::Instant;

/// Sessions whose last request ended just now, and the requests delayed for that reason.
#[derive(Debug)]
pub(super) struct SessionPauses {
    pause: Duration,
    /// Time of the last end per session. Stored for two pauses: one before the next request, one after it.
    ended: HashMap<SessionId, Instant>,
    /// Entries of `ended`, oldest first. A session that ended again meanwhile is listed twice.
    oldest: VecDeque<(SessionId, Instant)>,
    /// Delayed requests, at most as many as an agent may have open.
    held: Vec<(Instant, AgentHandle)>,
}

impl SessionPauses {
    pub(super) fn new(pause: Duration) -> Self {
        Self {
            pause,
            ended: HashMap::new(),
            oldest: VecDeque::new(),
            held: Vec::new(),
        }
    }

    /// Records the end of a request of `session`.
    pub(super) fn note_end(&mut self, session: &SessionId) {
        let now = Instant::now();
        self.forget_old(now);
        self.ended.insert(session.clone(), now);
        self.oldest.push_back((session.clone(), now));
    }

    fn forget_old(&mut self, now: Instant) {
        while let Some((session, at)) = self.oldest.front()
            && *at + 2 * self.pause <= now
        {
            if self.ended.get(session) == Some(at) {
                self.ended.remove(session);
            }
            self.oldest.pop_front();
        }
    }

    /// Delays a request ([`Serving`]) if the previous one of its session ended less than a pause ago;
    /// otherwise returns the request.
    pub(super) fn hold(&mut self, serving: AgentHandle) -> Option<AgentHandle> {
        let ended = self.ended.get(&serving.call().agent_session);
        let due = ended.map(|at| *at + self.pause);
        match due.filter(|due| *due > Instant::now()) {
            Some(due) => {
                self.held.push((due, serving));
                None
            }
            None => Some(serving),
        }
    }

    /// Returns when the next delayed request is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.iter().map(|(due, _)| *due).min()
    }

    /// Removes and returns the oldest request whose pause is over.
    pub(super) fn take(&mut self) -> Option<AgentHandle> {
        let now = Instant::now();
        let due = self.held.iter().position(|(due, _)| *due <= now)?;
        Some(self.held.remove(due).1)
    }

    /// Removes and returns a delayed request that the agent never saw.
    pub(super) fn withdraw(&mut self, call: CallId) -> Option<AgentHandle> {
        let held = self.held.iter();
        let index = held
            .map(|(_, held)| held.call().id)
            .position(|id| id == call)?;
        Some(self.held.remove(index).1)
    }

    /// Drops all delayed requests.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    /// Returns whether an empty `done` for `call` may belong to the previous request: the call has no reply
    /// yet, and its own pause ended less than a pause ago.
    pub(super) fn is_ambiguous_end(&self, call: &Call) -> bool {
        let until = |ended: &Instant| *ended + 2 * self.pause;
        let ended = self.ended.get(&call.agent_session);
        !call.has_reply() && ended.is_some_and(|ended| Instant::now() < until(ended))
    }
}

/// Returns the [`Failure`] of a call whose end may belong to the previous request.
pub(super) fn ambiguous_end() -> Failure {
    let text = "the agent ended this request without a word, right after the one before it in its session; \
                it may have meant that one: send this one again";
    Failure::new(Reason::Crashed, text)
}
