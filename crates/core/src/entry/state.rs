//! The state that the lock of an [`Entry`] guards: its link, its open calls, and the order in which they get
//! their turn. All methods run under that lock and end no call; the caller drops [`Undelivered`] after the
//! lock.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Entry, quota::Quota};
use jackfield_model::{AgentId, CallId, End, Failure, Reason, RequestId, SessionId};

use crate::{
    agent::{Link, Profile, Settings, Share},
    call::{AgentHandle, Call, Life},
    clock::Progress,
    resume::Hash,
};

/// Time for which a connection that keeps replacing another is refused.
const HOLD: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct State {
    pub(super) door: &'static str,
    pub(super) profile: Profile,
    pub(super) share: Share,
    pub(super) settings: Settings,
    pub(super) link: Option<Arc<dyn Link>>,
    /// Whether the link only keeps its calls, since its agent cannot be reached now.
    pub(super) is_away: bool,
    /// `Some` for an alias: the agent that the id stands for, if known.
    pub(super) stands_for: Option<Option<Arc<Entry>>>,
    pub(super) changed_at: Timestamp,
    /// Time until which open calls wait for the agent to resume them.
    pub(super) grace: Option<Instant>,
    /// Whether the link's door finds the remote work again, also after a restart of the hub; see
    /// [`AgentRegistry::resume_at`](crate::hub::AgentRegistry::resume_at).
    pub(super) finds_again: bool,
    /// Whether the connection said that it may be resumed.
    pub(super) is_resumable: bool,
    /// Hash of the token for resuming the connection.
    pub(super) resume: Option<Hash>,
    pub(super) open: HashMap<RequestId, Arc<Call>>,
    /// Sessions of an agent that takes one call per session at a time.
    pub(super) sessions: HashMap<SessionId, SessionQueue>,
    /// Calls that wait for the agent to come online.
    pub(super) waiting: VecDeque<Arc<Call>>,
    pub(super) replaced: VecDeque<Instant>,
    pub(super) held: Option<Instant>,
    pub(super) quota: Quota,
}

/// A session of an agent that takes one call per session at a time.
#[derive(Debug)]
pub(super) struct SessionQueue {
    /// Call whose turn it is.
    active: CallId,
    /// Calls that wait for their turn.
    pub(super) queue: VecDeque<Arc<Call>>,
}

impl SessionQueue {
    fn of(call: &Call) -> Self {
        Self {
            active: call.id,
            queue: VecDeque::new(),
        }
    }
}

/// Calls that could not be delivered. Dropping this ends them, which must not happen under the lock.
#[derive(Debug, Default)]
pub(super) struct Undelivered {
    /// Calls that the agent's connection refused.
    servings: Vec<AgentHandle>,
    /// Calls whose callers may not reach the agent any more.
    refused: Vec<(Arc<Call>, Failure)>,
}

impl Drop for Undelivered {
    fn drop(&mut self) {
        self.servings.clear();
        for (call, failure) in self.refused.drain(..) {
            call.finish(End::Failed(failure), false);
        }
    }
}

impl State {
    /// Whether the agent is offline, without calls, not shared and with default settings.
    pub(super) fn is_evictable(&self) -> bool {
        self.link.is_none()
            && self.stands_for.is_none()
            && self.grace.is_none()
            && self.open.is_empty()
            && self.share == Share::Nobody
            && self.settings == Settings::default()
    }

    pub(super) fn is_held_by(&self, link: &Arc<dyn Link>) -> bool {
        let held = self.link.as_ref();
        held.is_some_and(|held| Arc::ptr_eq(held, link))
    }

    /// Returns the link for delivering a call, if the agent takes calls now.
    pub(super) fn way(&self) -> Option<Arc<dyn Link>> {
        self.link.clone().filter(|_| !self.is_away)
    }

    /// Whether the agent takes calls now.
    pub(super) fn takes_calls(&self) -> bool {
        self.link.is_some() && !self.is_away
    }

    pub(super) fn check_hold(&mut self, now: Instant, limit: usize) -> Result<(), Failure> {
        while self
            .replaced
            .front()
            .is_some_and(|at| now.saturating_duration_since(*at) > HOLD)
        {
            self.replaced.pop_front();
        }
        // The holder of the id keeps it; once nothing holds it, the fight is over.
        if self.link.is_none() {
            self.held = None;
            return Ok(());
        }
        if self.replaced.len() >= limit {
            self.replaced.clear();
            self.held = Some(now + HOLD);
        }
        match self.held.map(|until| until.saturating_duration_since(now)) {
            Some(left) if !left.is_zero() => {
                let text = format!(
                    "two programs register this id in turn; the one that has it keeps it for {} s more: stop one of them",
                    left.as_secs().max(1)
                );
                Err(Failure::new(Reason::RateLimited, text))
            }
            _ => {
                self.held = None;
                Ok(())
            }
        }
    }

    /// Fails if the agent takes no more calls of other agents.
    pub(super) fn check_agents(&mut self, id: &AgentId) -> Result<(), Failure> {
        let refused = |text| Err(Failure::new(Reason::RateLimited, text));
        if !self.settings.allow_a2a {
            return refused(format!("agent {id} takes no calls from other agents"));
        }
        let Some(limit) = self.settings.calls_per_hour else {
            return Ok(());
        };
        if self.quota.used(Instant::now()) >= limit {
            return refused(format!(
                "agent {id} takes {limit} calls from other agents an hour, and had them; try again later"
            ));
        }
        Ok(())
    }

    /// Lets a call that the agent got before a restart of the hub wait for the agent to resume it.
    pub(super) fn await_resume(&mut self, call: &Call, grace: Duration) {
        let now = Instant::now();
        call.mark_sent(now);
        self.grace.get_or_insert(now + grace);
    }

    /// Sends a call, or lets it wait for its agent or its session.
    pub(super) fn dispatch(&mut self, call: &Arc<Call>, undelivered: &mut Undelivered) {
        let now = Instant::now();
        let Some(link) = self.way() else {
            call.clock.lock().enter(Progress::Waiting, now);
            self.waiting.push_back(call.clone());
            return;
        };
        if link.one_call_per_session() {
            if let Some(session) = self.sessions.get_mut(&call.agent_session) {
                call.clock.lock().enter(Progress::Queued, now);
                session.queue.push_back(call.clone());
                return;
            }
            self.sessions
                .insert(call.agent_session.clone(), SessionQueue::of(call));
        }
        self.hand_over(call, &link, undelivered);
    }

    fn hand_over(&self, call: &Arc<Call>, link: &Arc<dyn Link>, undelivered: &mut Undelivered) {
        match call.life {
            Life::Durable => {
                call.clock.lock().enter(Progress::Placed, Instant::now());
                call.placed.notify_waiters();
            }
            Life::Live => {
                if let Err(failure) = call.check_right(&self.share) {
                    // Counts as its turn, so that the next call follows when this one is ended.
                    call.clock.lock().enter(Progress::Placed, Instant::now());
                    undelivered.refused.push((call.clone(), failure));
                    return;
                }
                call.mark_sent(Instant::now());
                let kept_back = link.deliver(call.serve()).err();
                undelivered.servings.extend(kept_back);
            }
        }
    }

    /// Adapts the queues to a new link, which may take calls differently: all at once, or one per session.
    pub(super) fn regroup(&mut self, link: &Arc<dyn Link>, undelivered: &mut Undelivered) {
        if !link.one_call_per_session() {
            for session in std::mem::take(&mut self.sessions).into_values() {
                for call in session.queue {
                    self.hand_over(&call, link, undelivered);
                }
            }
            return;
        }
        for call in self.open.values() {
            if matches!(
                call.clock.lock().progress,
                Progress::Placed | Progress::Sent
            ) {
                self.sessions
                    .entry(call.agent_session.clone())
                    .or_insert_with(|| SessionQueue::of(call));
            }
        }
    }

    /// Gives the turn to the next call of the session of an ended call.
    pub(super) fn next_of_session(&mut self, call: &Call, undelivered: &mut Undelivered) {
        let Some(link) = self.way() else {
            self.free_session(call);
            return;
        };
        let Some(session) = self.sessions.get_mut(&call.agent_session) else {
            return;
        };
        if session.active != call.id {
            return;
        }
        if let Some(next) = session.queue.pop_front() {
            session.active = next.id;
            self.hand_over(&next, &link, undelivered);
        } else {
            self.sessions.remove(&call.agent_session);
        }
    }

    /// Frees the session of a call whose agent is offline: the calls behind it wait for the agent, before all
    /// later ones.
    fn free_session(&mut self, call: &Call) {
        let Some(session) = self.sessions.get(&call.agent_session) else {
            return;
        };
        if session.active != call.id {
            return;
        }
        let queue = self.sessions.remove(&call.agent_session);
        let queue = queue.into_iter().flat_map(|session| session.queue);
        for queued in queue.rev() {
            queued.clock.lock().enter(Progress::Waiting, Instant::now());
            self.waiting.push_front(queued);
        }
    }

    /// Lets a call whose agent is offline wait for the agent, before the calls behind it.
    pub(super) fn set_aside(&mut self, call: &Arc<Call>) {
        self.free_session(call);
        call.clock.lock().enter(Progress::Waiting, Instant::now());
        self.waiting.push_front(call.clone());
    }

    /// Returns the calls that fail because the agent is gone; calls that may wait for the agent keep waiting.
    pub(super) fn lose(&mut self) -> Vec<Arc<Call>> {
        let now = Instant::now();
        self.sessions.clear();
        self.waiting.clear();
        let mut lost = Vec::new();
        let mut open: Vec<_> = self.open.values().cloned().collect();
        // Ids sort by time: waiting calls keep their order.
        open.sort_by_key(|call| call.id);
        for call in open {
            let mut clock = call.clock.lock();
            let unsent = clock.progress != Progress::Sent;
            if !unsent || clock.wait_until.is_none() {
                drop(clock);
                lost.push(call);
            } else if clock.progress != Progress::Placed {
                clock.enter(Progress::Waiting, now);
                drop(clock);
                self.waiting.push_back(call);
            }
            // A placed call comes here by itself, see `send`, or gets its turn again, see `regroup`.
        }
        lost
    }
}
