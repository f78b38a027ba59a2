//! The pause between two requests of one session, for agents without the extension `meta`.
//!
//! The published client starts a program for each request. When a program exits, the client ends whatever request of the
//! session is the current one. It says `done` before the program has exited, so that a request which arrives right after
//! `done` is ended by the exit of the program before it: as a success, without a word.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use jackfield_core::call::{AgentHandle, Call};
use jackfield_model::{CallId, Failure, Reason, SessionId};
use tokio::time::Instant;

/// The sessions whose last request ended just now, and the requests that wait for that reason.
#[derive(Debug)]
pub(super) struct Pauses {
    pause: Duration,
    /// When the last request of a session ended. Kept for two pauses: one before the next request, one after it.
    ended: HashMap<SessionId, Instant>,
    /// The same, oldest first. A session that ended again meanwhile is in here twice.
    oldest: VecDeque<(SessionId, Instant)>,
    /// At most as many as an agent may have open.
    held: Vec<(Instant, AgentHandle)>,
}

impl Pauses {
    pub(super) fn new(pause: Duration) -> Self {
        Self {
            pause,
            ended: HashMap::new(),
            oldest: VecDeque::new(),
            held: Vec::new(),
        }
    }

    /// A request of this session ended.
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

    /// Holds a request back if the one before it in its session ended less than a pause ago; gives it back if not.
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

    /// When the next request is to be sent, if one is held back.
    pub(super) fn due(&self) -> Option<Instant> {
        self.held.iter().map(|(due, _)| *due).min()
    }

    /// A request whose pause is over, the oldest first.
    pub(super) fn take(&mut self) -> Option<AgentHandle> {
        let now = Instant::now();
        let due = self.held.iter().position(|(due, _)| *due <= now)?;
        Some(self.held.remove(due).1)
    }

    /// Takes back a request that the agent never saw.
    pub(super) fn withdraw(&mut self, call: CallId) -> Option<AgentHandle> {
        let held = self.held.iter();
        let index = held
            .map(|(_, held)| held.call().id)
            .position(|id| id == call)?;
        Some(self.held.remove(index).1)
    }

    /// Nothing is sent any more.
    pub(super) fn clear(&mut self) {
        self.held.clear();
    }

    /// Whether a `done` without a word that comes now may be about the request before: nothing was said of this one, and
    /// it comes less than a pause after the pause before it.
    pub(super) fn is_doubtful(&self, call: &Call) -> bool {
        let until = |ended: &Instant| *ended + 2 * self.pause;
        let ended = self.ended.get(&call.agent_session);
        !call.has_reply() && ended.is_some_and(|ended| Instant::now() < until(ended))
    }
}

/// Why a call fails whose end may have been meant for the request before it.
pub(super) fn doubtful() -> Failure {
    let text = "the agent ended this request without a word, right after the one before it in its session; \
                it may have meant that one: send this one again";
    Failure::new(Reason::Crashed, text)
}
