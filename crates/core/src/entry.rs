//! An agent's place on the hub. It outlives the agent's connections and owns its open calls, its session queues and
//! its mail for when it comes back; a connection only holds it, by number (generation).
//!
//! Placing, adopting and delivering a call happen under the entry's lock, which the end of a call takes too, so that
//! no call is left behind. Nothing is finished or dropped under the lock: ends come back here.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{sync::Notify, time::Instant};

use crate::{
    agent::{Closing, Link, Profile, Settings, Share},
    call::{Call, Draft, Life, Serving},
    clock::Stage,
    event::End,
    failure::{Failure, Reason},
    id::{AgentId, Owner, RequestId, SessionId},
    shared::Shared,
    store::AgentRecord,
    tap::Sight,
};

/// A connection that keeps replacing another is held off for this long.
const HOLD: Duration = Duration::from_secs(60);

/// An agent's place on the hub.
#[derive(Debug)]
pub struct Entry {
    /// Its id.
    pub id: AgentId,
    owner: Owner,
    registered_at: Timestamp,
    /// The number of the newest connection; changes whenever the way to the agent does.
    generation: AtomicU64,
    state: Mutex<State>,
    shared: Arc<Shared>,
    /// A kept call reached its turn and wants to be written down as sent.
    pub(crate) placed: Notify,
}

#[derive(Debug)]
struct State {
    door: &'static str,
    profile: Profile,
    share: Share,
    settings: Settings,
    link: Option<Arc<dyn Link>>,
    changed_at: Timestamp,
    /// Until when open calls wait for the agent to resume them.
    grace: Option<Instant>,
    open: HashMap<RequestId, Arc<Call>>,
    /// Calls behind the active one of their session, for agents that take one at a time.
    sessions: HashMap<SessionId, VecDeque<Arc<Call>>>,
    /// Calls for when the agent comes (back) online.
    waiting: VecDeque<Arc<Call>>,
    replaced: VecDeque<Instant>,
    held: Option<Instant>,
}

/// What a caller may know of an agent.
#[derive(Debug, Clone)]
pub struct AgentView {
    /// Its id.
    pub id: AgentId,
    /// Whose it is.
    pub owner: Owner,
    /// The door it came through, or last came through.
    pub door: String,
    /// What it says of itself.
    pub profile: Profile,
    /// Who else may see it.
    pub share: Share,
    /// What was set for it.
    pub settings: Settings,
    /// Whether it is attached.
    pub online: bool,
    /// Since when it is online or offline.
    pub since: Timestamp,
    /// When it first registered.
    pub registered_at: Timestamp,
    /// How many calls are open or queued there.
    pub open_calls: usize,
}

/// What became of an attach.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) adopted: Vec<Serving>,
    pub(crate) changed: bool,
}

impl Entry {
    pub(crate) fn new(record: AgentRecord, door: &'static str, shared: Arc<Shared>) -> Self {
        let state = State {
            door,
            profile: record.profile,
            share: record.share,
            settings: record.settings,
            link: None,
            changed_at: Timestamp::now(),
            grace: None,
            open: HashMap::new(),
            sessions: HashMap::new(),
            waiting: VecDeque::new(),
            replaced: VecDeque::new(),
            held: None,
        };
        Self {
            id: record.id,
            owner: record.owner,
            registered_at: record.registered_at,
            generation: AtomicU64::new(0),
            state: Mutex::new(state),
            shared,
            placed: Notify::new(),
        }
    }

    /// Whose it is.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The number of its newest connection. A way to the agent that was found under another number is stale.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The way to the agent, if it is attached.
    pub fn link(&self) -> Option<Arc<dyn Link>> {
        self.state.lock().link.clone()
    }

    /// The door it came through, or last came through.
    pub fn door(&self) -> &'static str {
        self.state.lock().door
    }

    /// What was set for it.
    pub fn settings(&self) -> Settings {
        self.state.lock().settings.clone()
    }

    /// Who else may see and call it.
    pub fn share(&self) -> Share {
        self.state.lock().share.clone()
    }

    /// What a caller may know of it.
    pub fn view(&self) -> AgentView {
        let state = self.state.lock();
        AgentView {
            id: self.id.clone(),
            owner: self.owner.clone(),
            door: state.door.to_owned(),
            profile: state.profile.clone(),
            share: state.share.clone(),
            settings: state.settings.clone(),
            online: state.link.is_some(),
            since: state.changed_at,
            registered_at: self.registered_at,
            open_calls: state.open.len(),
        }
    }

    /// What is kept of it.
    pub fn record(&self) -> AgentRecord {
        let view = self.view();
        AgentRecord {
            id: view.id,
            owner: view.owner,
            door: view.door,
            profile: view.profile,
            share: view.share,
            settings: view.settings,
            registered_at: view.registered_at,
        }
    }

    pub(crate) fn set(&self, share: Option<Share>, settings: Option<Settings>) {
        let mut state = self.state.lock();
        if let Some(share) = share {
            state.share = share;
            // Ways that were found while it was shared are looked up, and checked, again.
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        if let Some(settings) = settings {
            state.settings = settings;
        }
    }

    /// What the agent says of itself now. False if it says the same as before.
    pub(crate) fn set_profile(&self, profile: Profile) -> bool {
        let mut state = self.state.lock();
        let changed = state.profile != profile;
        state.profile = profile;
        changed
    }

    /// The open calls, for parents and for the longest way here.
    pub(crate) fn open_calls(&self) -> Vec<Arc<Call>> {
        self.state.lock().open.values().cloned().collect()
    }

    /// An open call by the id that the agent knows.
    pub fn open_call(&self, request: &str) -> Option<Arc<Call>> {
        self.state.lock().open.get(request).cloned()
    }

    /// Takes a new connection. The newest wins: the old one is told, and its open calls fail unless `resumes`.
    pub(crate) fn take(
        &self,
        link: &Arc<dyn Link>,
        profile: Profile,
        resumes: bool,
    ) -> Result<Taken, Failure> {
        let now = Instant::now();
        let mut lost = Vec::new();
        let mut undelivered = Vec::new();
        let taken = {
            let mut state = self.state.lock();
            state.check_hold(now, self.shared.limits.replacements_per_minute)?;
            let changed = state.profile != profile || state.door != link.door();
            self.generation.fetch_add(1, Ordering::AcqRel);
            let old = state.link.replace(link.clone());
            if let Some(old) = &old {
                state.replaced.push_back(now);
                old.close(Closing::Replaced);
            } else {
                state.changed_at = Timestamp::now();
                self.shared.metrics.agent_online(1);
            }
            state.door = link.door();
            state.profile = profile;
            state.grace = None;
            let mut adopted = Vec::new();
            for call in state
                .open
                .values()
                .filter(|call| call.clock.lock().stage == Stage::Sent)
            {
                if resumes {
                    adopted.push(call.serve());
                } else {
                    lost.push(call.clone());
                }
            }
            for call in std::mem::take(&mut state.waiting) {
                state.dispatch(&call, &self.placed, &mut undelivered);
            }
            Taken { adopted, changed }
        };
        drop(undelivered);
        for call in lost {
            call.finish(End::Failed(Failure::agent_left()), false);
        }
        if self.shared.taps.are_watched() {
            self.shared
                .taps
                .see(&self.id, &self.owner, None, Sight::Online(link.door()));
        }
        Ok(taken)
    }

    /// A connection is gone. Harmless if a newer one has taken over. With `resumable`, open calls wait for the grace.
    pub(crate) fn leave(&self, link: &Arc<dyn Link>, resumable: bool) -> bool {
        let lost = {
            let mut state = self.state.lock();
            if !state
                .link
                .as_ref()
                .is_some_and(|held| Arc::ptr_eq(held, link))
            {
                return false;
            }
            state.link = None;
            state.changed_at = Timestamp::now();
            self.generation.fetch_add(1, Ordering::AcqRel);
            self.shared.metrics.agent_online(-1);
            if resumable {
                state.grace = Some(Instant::now() + self.shared.limits.resume_grace.0);
                Vec::new()
            } else {
                state.lose()
            }
        };
        for call in lost {
            call.finish(End::Failed(Failure::agent_left()), false);
        }
        if self.shared.taps.are_watched() {
            self.shared
                .taps
                .see(&self.id, &self.owner, None, Sight::Offline);
        }
        true
    }

    /// Ends the grace of an agent that did not come back in time.
    pub(crate) fn end_grace(&self, now: Instant) {
        let lost = {
            let mut state = self.state.lock();
            if state.grace.is_none_or(|until| now < until) {
                return;
            }
            state.grace = None;
            state.lose()
        };
        for call in lost {
            call.finish(End::Failed(Failure::agent_left()), false);
        }
    }

    /// Opens a call and sends it on its way. `wanted` is the caller's own id of the request.
    pub(crate) fn open(
        self: &Arc<Self>,
        mut draft: Draft,
        wanted: Option<RequestId>,
    ) -> Result<Arc<Call>, Failure> {
        let mut undelivered = Vec::new();
        let call = {
            let mut state = self.state.lock();
            if state.link.is_none() && state.grace.is_none() && draft.clock.wait_until.is_none() {
                return Err(Failure::agent_offline());
            }
            if state.open.len() >= self.shared.limits.pending_per_agent {
                let text = format!(
                    "agent {} has {} open calls, its limit; try again later",
                    self.id,
                    state.open.len()
                );
                return Err(Failure::new(Reason::Busy, text));
            }
            if let Some(wanted) = wanted {
                match state.open.get(&wanted) {
                    Some(open) if open.principal.key() == draft.principal.key() => {
                        let text = format!("request {wanted} is open already; use a new id");
                        return Err(Failure::new(Reason::Conflict, text));
                    }
                    // Somebody else's: the agent sees the hub's own id instead.
                    Some(_) => {}
                    None => draft.request = wanted,
                }
            }
            let call = Call::new(draft, self.clone(), self.shared.clone());
            state.open.insert(call.request.clone(), call.clone());
            self.shared.calls.lock().insert(call.id, call.clone());
            self.shared.metrics.call_started();
            state.dispatch(&call, &self.placed, &mut undelivered);
            call
        };
        drop(undelivered);
        Ok(call)
    }

    /// Hands a kept call to the agent after it was written down as sent. False if the agent has left meanwhile.
    pub(crate) fn send(&self, call: &Arc<Call>) -> bool {
        let mut undelivered = Vec::new();
        let mut state = self.state.lock();
        if call.is_ended() {
            return true;
        }
        let Some(link) = state.link.clone() else {
            call.clock.lock().enter(Stage::Waiting, Instant::now());
            state.waiting.push_back(call.clone());
            return false;
        };
        call.clock.lock().enter(Stage::Sent, Instant::now());
        undelivered.extend(link.deliver(call.serve()).err());
        drop(state);
        drop(undelivered);
        true
    }

    /// Forgets an ended call and sends the next one of its session.
    pub(crate) fn release(&self, call: &Arc<Call>, tell_agent: bool) {
        let mut undelivered = Vec::new();
        let mut state = self.state.lock();
        if state
            .open
            .get(&call.request)
            .is_none_or(|open| open.id != call.id)
        {
            return;
        }
        state.open.remove(&call.request);
        let stage = call.clock.lock().stage;
        match stage {
            Stage::Waiting => state.waiting.retain(|waiting| waiting.id != call.id),
            Stage::Queued => {
                if let Some(queue) = state.sessions.get_mut(&call.agent_session) {
                    queue.retain(|queued| queued.id != call.id);
                }
            }
            Stage::Placed | Stage::Sent => {
                if tell_agent
                    && stage == Stage::Sent
                    && let Some(link) = &state.link
                {
                    link.cancel(call);
                }
                state.next_of_session(&call.agent_session, &self.placed, &mut undelivered);
            }
        }
        drop(state);
        drop(undelivered);
    }
}

impl State {
    fn check_hold(&mut self, now: Instant, limit: usize) -> Result<(), Failure> {
        while self
            .replaced
            .front()
            .is_some_and(|at| now.saturating_duration_since(*at) > HOLD)
        {
            self.replaced.pop_front();
        }
        if self.link.is_some() && self.replaced.len() >= limit {
            self.replaced.clear();
            self.held = Some(now + HOLD);
        }
        if self.held.is_some_and(|until| now < until) {
            let text =
                "two programs register this id in turn; it is held for a minute: stop one of them";
            return Err(Failure::new(Reason::RateLimited, text));
        }
        self.held = None;
        Ok(())
    }

    /// Sends a call on, or lets it wait for its agent or its session.
    fn dispatch(&mut self, call: &Arc<Call>, placed: &Notify, undelivered: &mut Vec<Serving>) {
        let now = Instant::now();
        let Some(link) = self.link.clone() else {
            call.clock.lock().enter(Stage::Waiting, now);
            self.waiting.push_back(call.clone());
            return;
        };
        if link.one_call_per_session() {
            if let Some(queue) = self.sessions.get_mut(&call.agent_session) {
                call.clock.lock().enter(Stage::Queued, now);
                queue.push_back(call.clone());
                return;
            }
            self.sessions
                .insert(call.agent_session.clone(), VecDeque::new());
        }
        self.hand_over(call, &link, placed, undelivered);
    }

    fn hand_over(
        &self,
        call: &Arc<Call>,
        link: &Arc<dyn Link>,
        placed: &Notify,
        undelivered: &mut Vec<Serving>,
    ) {
        match call.life {
            Life::Kept => {
                call.clock.lock().enter(Stage::Placed, Instant::now());
                placed.notify_waiters();
            }
            Life::Live => {
                call.clock.lock().enter(Stage::Sent, Instant::now());
                undelivered.extend(link.deliver(call.serve()).err());
            }
        }
    }

    fn next_of_session(
        &mut self,
        session: &SessionId,
        placed: &Notify,
        undelivered: &mut Vec<Serving>,
    ) {
        let Some(queue) = self.sessions.get_mut(session) else {
            return;
        };
        match (queue.pop_front(), self.link.clone()) {
            (Some(next), Some(link)) => self.hand_over(&next, &link, placed, undelivered),
            (Some(next), None) => {
                self.sessions.remove(session);
                self.dispatch(&next, placed, undelivered);
            }
            (None, _) => {
                self.sessions.remove(session);
            }
        }
    }

    /// The agent is gone for good: its calls fail, but those that may wait for it wait.
    fn lose(&mut self) -> Vec<Arc<Call>> {
        let now = Instant::now();
        self.sessions.clear();
        self.waiting.clear();
        let mut lost = Vec::new();
        let mut open: Vec<_> = self.open.values().cloned().collect();
        // Ids sort by time: calls that wait keep their order.
        open.sort_by_key(|call| call.id);
        for call in open {
            let mut clock = call.clock.lock();
            let unsent = clock.stage != Stage::Sent;
            if unsent && clock.wait_until.is_some() {
                // Placed ones come here by themselves, see `send`.
                if clock.stage != Stage::Placed {
                    clock.enter(Stage::Waiting, now);
                    self.waiting.push_back(call.clone());
                }
            } else {
                drop(clock);
                lost.push(call.clone());
            }
        }
        lost
    }
}
