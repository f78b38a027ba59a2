//! [`Entry`]: an agent on the hub. The entry outlives the agent's connections and owns its open calls, its session queues and the calls that wait for it to come back. A connection only holds the entry, by number (generation). [`AgentRegistry`](crate::hub::AgentRegistry) owns the entries.
//!
//! Placing, adopting and delivering a call happen under the entry's `state` lock. The end of a call takes
//! that lock too, so that no call is left behind. No call is ended and no handle is dropped under the lock:
//! both come back here.

mod alias;
mod attach;
mod quota;
mod state;

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{sync::SetOnce, time::Instant};

use self::{
    alias::AliasLink,
    quota::Quota,
    state::{State, Undelivered},
};
use jackfield_model::{AgentId, End, Failure, Owner, Reason};

use crate::{
    agent::{Link, Profile, Settings, Share},
    call::{Call, Draft},
    clock::Progress,
    principal::Who,
    shared::Shared,
    store::{AgentRecord, Receipt, Store},
    tap::Sight,
};

/// An agent on the hub, attached or not.
#[derive(Debug)]
pub struct Entry {
    /// Id of the agent.
    pub id: AgentId,
    owner: Owner,
    registered_at: Timestamp,
    /// Number of the newest connection; changes whenever the route to the agent does.
    generation: AtomicU64,
    state: Mutex<State>,
    shared: Arc<Shared>,
    /// Set once the agent is forgotten, under the `state` lock.
    retired: SetOnce<()>,
    /// Whether the hub itself reaches the agent, which then never comes back on its own.
    is_reserved: AtomicBool,
    /// Held while the agent is written to the store, so that the newest state is written last. True once the
    /// store was told to forget the agent: nothing is written after that. Taken before `state`.
    is_unkept: Mutex<bool>,
}

/// Public view of an agent.
#[derive(Debug, Clone)]
pub struct AgentView {
    /// Id of the agent.
    pub id: AgentId,
    /// Owner of the agent.
    pub owner: Owner,
    /// Door of the current or last connection.
    pub door: String,
    /// Profile that the agent gave.
    pub profile: Profile,
    /// Principals besides the owner that may see the agent.
    pub share: Share,
    /// Settings by the owner or the operator.
    pub settings: Settings,
    /// Whether the agent is attached and takes calls.
    pub online: bool,
    /// Whether the agent is attached and has not answered a ping for so long that its connection may be dead.
    pub silent: bool,
    /// Time since which the agent is online or offline.
    pub since: Timestamp,
    /// Time of the first registration.
    pub registered_at: Timestamp,
    /// Number of open and waiting calls.
    pub open_calls: usize,
}

impl Entry {
    pub(crate) fn new(record: AgentRecord, door: &'static str, shared: Arc<Shared>) -> Self {
        let state = State {
            door,
            profile: record.profile,
            share: record.share,
            settings: record.settings,
            link: None,
            is_away: false,
            stands_for: None,
            changed_at: Timestamp::now(),
            grace: None,
            is_resumable: false,
            finds_again: false,
            resume: record.resume,
            open: HashMap::new(),
            sessions: HashMap::new(),
            waiting: VecDeque::new(),
            replaced: VecDeque::new(),
            held: None,
            quota: Quota::default(),
        };
        Self {
            id: record.id,
            owner: record.owner,
            registered_at: record.registered_at,
            generation: AtomicU64::new(0),
            state: Mutex::new(state),
            shared,
            retired: SetOnce::new(),
            is_reserved: AtomicBool::new(false),
            is_unkept: Mutex::new(false),
        }
    }

    /// Whether the agent was forgotten while this entry was still held.
    pub fn is_retired(&self) -> bool {
        self.retired.initialized()
    }

    /// Resolves when the agent is forgotten.
    pub async fn retired(&self) {
        self.retired.wait().await;
    }

    /// Returns the owner of the agent.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Returns the number of the newest connection. Routes that were found under another number are stale.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Returns the link to the agent, if attached; for an alias, a link that only shows whether its agent is
    /// attached.
    pub fn link(&self) -> Option<Arc<dyn Link>> {
        let (link, stands_for, door) = {
            let state = self.state.lock();
            (state.link.clone(), state.stands_for.clone(), state.door)
        };
        match stands_for {
            None => link,
            Some(agent) => {
                let link = agent?.link()?;
                Some(Arc::new(AliasLink::new(link, door)))
            }
        }
    }

    /// Whether the agent is attached and takes calls; for an alias, whether its agent does.
    pub fn is_online(&self) -> bool {
        let (has_link, stands_for) = {
            let state = self.state.lock();
            (state.takes_calls(), state.stands_for.clone())
        };
        match stands_for {
            None => has_link,
            Some(agent) => agent.is_some_and(|agent| agent.is_online()),
        }
    }

    /// Returns the door of the current or last connection.
    pub fn door(&self) -> &'static str {
        self.state.lock().door
    }

    /// Returns the settings of the agent.
    pub fn settings(&self) -> Settings {
        self.state.lock().settings.clone()
    }

    /// Returns who besides the owner may see and call the agent.
    pub fn share(&self) -> Share {
        self.state.lock().share.clone()
    }

    /// Returns the public view of the agent.
    pub fn view(&self) -> AgentView {
        let silent = self.link().is_some_and(|link| link.is_silent());
        let agent = self.stands_for();
        let agent = agent.map(|agent| agent.view_for(&self.id));
        let state = self.state.lock();
        let is_alias = state.stands_for.is_some();
        let (online, since, open_calls) = match agent {
            Some(agent) => agent,
            None => (
                state.takes_calls() && !is_alias,
                state.changed_at,
                state.open.len(),
            ),
        };
        AgentView {
            id: self.id.clone(),
            owner: self.owner.clone(),
            door: state.door.to_owned(),
            profile: state.profile.clone(),
            share: state.share.clone(),
            settings: state.settings.clone(),
            online,
            silent: online && silent,
            since,
            registered_at: self.registered_at,
            open_calls,
        }
    }

    /// Returns what the alias `id` shows of this agent: whether it is online, since when, and the number of
    /// calls made to the alias.
    fn view_for(&self, id: &AgentId) -> (bool, Timestamp, usize) {
        let state = self.state.lock();
        let calls = state.open.values();
        let calls = calls.filter(|call| call.addressed == *id).count();
        (state.takes_calls(), state.changed_at, calls)
    }

    /// Returns the stored form of the agent.
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
            resume: self.state.lock().resume,
        }
    }

    /// Writes the agent to the store. Returns `None` if the agent was forgotten.
    pub(crate) fn save_to(&self, store: &dyn Store) -> Option<Receipt> {
        let is_unkept = self.is_unkept.lock();
        (!*is_unkept).then(|| store.save_agent(self.record()))
    }

    /// Removes the agent from the store.
    pub(crate) fn remove_from(&self, store: &dyn Store) -> Receipt {
        let mut is_unkept = self.is_unkept.lock();
        *is_unkept = true;
        store.remove_agent(self.id.clone())
    }

    pub(crate) fn set(&self, share: Option<Share>, settings: Option<Settings>) {
        let mut state = self.state.lock();
        if let Some(share) = share {
            state.share = share;
            // Routes that were found under the old share are looked up and checked again.
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        if let Some(settings) = settings {
            state.settings = settings;
        }
    }

    /// Sets the profile of the agent. Returns false if it is the same as before.
    pub(crate) fn set_profile(&self, profile: Profile) -> bool {
        let mut state = self.state.lock();
        let changed = state.profile != profile;
        state.profile = profile;
        changed
    }

    /// Returns the delivered calls, for finding the parent and the longest chain of a new call.
    pub(crate) fn sent_calls(&self) -> Vec<Arc<Call>> {
        let state = self.state.lock();
        state
            .open
            .values()
            .filter(|call| call.is_sent())
            .cloned()
            .collect()
    }

    /// Lists the open calls, delivered or waiting, oldest first; for an alias, the calls that were made to
    /// it.
    pub(crate) fn open_calls(&self) -> Vec<Arc<Call>> {
        let mut calls: Vec<_> = match self.stands_for() {
            None => self.state.lock().open.values().cloned().collect(),
            Some(agent) => agent.open_calls(),
        };
        calls.retain(|call| [&call.target, &call.addressed].contains(&&self.id));
        calls.sort_by_key(|call| call.id);
        calls
    }

    /// Returns an open call by the request id that the agent knows; for an alias, a call that was made to it.
    pub fn open_call(&self, request: &str) -> Option<Arc<Call>> {
        match self.stands_for() {
            None => self.state.lock().open.get(request).cloned(),
            Some(agent) => {
                let call = agent.open_call(request);
                call.filter(|call| call.addressed == self.id)
            }
        }
    }

    /// Opens a call. A live call is delivered at once or when its turn comes. A durable call only gets its
    /// turn: its task's `Delivery` delivers it by [`Entry::send`].
    pub(crate) fn open(self: &Arc<Self>, mut draft: Draft) -> Result<Arc<Call>, Failure> {
        let mut undelivered = Undelivered::default();
        let call = {
            let mut state = self.state.lock();
            if self.is_retired() {
                return Err(Failure::no_such_agent(self.id.as_str()));
            }
            let resumed = draft.resumed.is_some();
            if !state.takes_calls()
                && state.grace.is_none()
                && draft.clock.wait_until.is_none()
                && !resumed
            {
                return Err(Failure::agent_offline());
            }
            let from_agent = matches!(draft.principal.who, Who::Agent(_)) && !draft.is_allowed;
            if from_agent {
                state.check_agents(&self.id)?;
            }
            if state.open.len() >= self.shared.limits.pending_per_agent {
                let text = format!(
                    "agent {} has {} open calls, its limit; try again later",
                    self.id,
                    state.open.len()
                );
                return Err(Failure::new(Reason::Busy, text));
            }
            if let Some(wanted) = &draft.wanted {
                let bears = |open: &&Arc<Call>| {
                    open.request == *wanted || open.wanted.as_ref() == Some(wanted)
                };
                let key = draft.principal.key();
                if state
                    .open
                    .values()
                    .filter(bears)
                    .any(|open| open.principal.key() == key)
                {
                    let text = format!("request {wanted} is open already; use a new id");
                    return Err(Failure::new(Reason::Conflict, text));
                }
                // If the id is taken by another caller, the agent sees the hub's own id instead.
                if !state.open.contains_key(wanted) {
                    draft.request = wanted.clone();
                }
            }
            if from_agent {
                state.quota.count(Instant::now());
            }
            let call = Call::new(draft, self.clone(), self.shared.clone());
            // Before the agent can reply, so that taps and observers see the beginning first.
            let started = || Sight::Started {
                caller: call.principal.label().to_owned(),
                door: call.door,
                message: call.message.clone(),
            };
            let taps = &self.shared.taps;
            taps.see(&self.id, &self.owner, Some(call.id), started);
            if let Some(observers) = &call.observers {
                observers.tell(|observer| observer.opened(&call));
                for ask in call.all_open_asks() {
                    observers.tell(|observer| observer.asked(&call, &ask));
                }
            }
            state.open.insert(call.request.clone(), call.clone());
            self.shared.open_calls.lock().insert(call.id, call.clone());
            self.shared.metrics.call_started();
            if resumed {
                state.await_resume(&call, self.shared.limits.resume_grace.0);
            } else {
                state.dispatch(&call, &mut undelivered);
            }
            call
        };
        drop(undelivered);
        Ok(call)
    }

    /// Delivers a durable call after the store has it as sent. Returns false if the agent has left meanwhile:
    /// the call then waits for the agent if it may, and fails otherwise.
    pub(crate) fn send(&self, call: &Arc<Call>) -> bool {
        let mut state = self.state.lock();
        if call.is_ended() {
            return true;
        }
        // The right may have changed while the call waited and was written.
        if let Err(failure) = call.check_right(&state.share) {
            drop(state);
            call.finish(End::Failed(failure), false);
            return true;
        }
        let mut is_full = false;
        if let Some(link) = state.way() {
            call.mark_sent(Instant::now());
            match link.deliver(call.serve()) {
                Ok(()) => return true,
                Err(serving) => {
                    is_full = serving.is_turned_away();
                    serving.undo();
                }
            }
        }
        state.set_aside(call);
        let may_wait = state.grace.is_some() || call.clock.lock().wait_until.is_some();
        drop(state);
        if is_full {
            // It would wait for an agent that is there.
            call.finish(End::Failed(Failure::agent_queue_full()), false);
        } else if !may_wait {
            call.finish(End::Failed(Failure::agent_offline()), false);
        }
        false
    }

    /// Takes back a call that the agent's connection got but could not pass on, so that the agent never saw
    /// it: the call waits for the agent, if its caller allows. Returns false otherwise.
    pub(crate) fn take_back(&self, call: &Arc<Call>) -> bool {
        let mut state = self.state.lock();
        if call.is_ended() || call.clock.lock().wait_until.is_none() {
            return false;
        }
        call.next_turn();
        state.set_aside(call);
        // The store has a durable call as sent; its `Delivery` corrects that.
        call.placed.notify_waiters();
        true
    }

    /// Whether no call is open, queued or waiting.
    pub fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.open.is_empty() && state.sessions.is_empty() && state.waiting.is_empty()
    }

    /// Removes an ended call and sends the next call of its session.
    pub(crate) fn release(&self, call: &Arc<Call>, tell_agent: bool) {
        let mut undelivered = Undelivered::default();
        let mut state = self.state.lock();
        if state
            .open
            .get(&call.request)
            .is_none_or(|open| open.id != call.id)
        {
            return;
        }
        state.open.remove(&call.request);
        let progress = call.clock.lock().progress;
        match progress {
            Progress::Waiting => state.waiting.retain(|waiting| waiting.id != call.id),
            Progress::Queued => {
                if let Some(session) = state.sessions.get_mut(&call.agent_session) {
                    session.queue.retain(|queued| queued.id != call.id);
                }
            }
            Progress::Placed | Progress::Sent => {
                if tell_agent
                    && progress == Progress::Sent
                    && let Some(link) = &state.link
                {
                    link.cancel(call);
                }
                state.next_of_session(call, &mut undelivered);
            }
        }
        drop(state);
        drop(undelivered);
    }
}
