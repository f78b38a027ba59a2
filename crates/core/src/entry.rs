//! An agent's place on the hub. It outlives the agent's connections and owns its open calls, its session queues and
//! its mail for when it comes back; a connection only holds it, by number (generation).
//!
//! Placing, adopting and delivering a call happen under the entry's lock, which the end of a call takes too, so that
//! no call is left behind. Nothing is finished or dropped under the lock: ends come back here.

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
use tokio::{
    sync::{Notify, SetOnce},
    time::Instant,
};

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
    /// Set once the agent is forgotten, under the lock.
    retired: SetOnce<()>,
    /// The hub reaches the agent by itself, so that it does not come back of its own accord.
    is_reserved: AtomicBool,
    /// Held while the store is handed what is kept of the agent, so that what was read last is written last. True once
    /// the store was told to forget the agent: nothing is written of it after that. Taken before `state`.
    is_unkept: Mutex<bool>,
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
    /// Whether it is attached and has not answered a ping for so long that its connection may be dead.
    pub silent: bool,
    /// Since when it is online or offline.
    pub since: Timestamp,
    /// When it first registered.
    pub registered_at: Timestamp,
    /// How many calls are open or queued there.
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
            placed: Notify::new(),
            retired: SetOnce::new(),
            is_reserved: AtomicBool::new(false),
            is_unkept: Mutex::new(false),
        }
    }

    /// Whether the agent was forgotten: whoever still finds its place here comes too late.
    pub fn is_retired(&self) -> bool {
        self.retired.initialized()
    }

    /// Resolves when the agent is forgotten.
    pub async fn retired(&self) {
        self.retired.wait().await;
    }

    /// Whose it is.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// The number of its newest connection. A way to the agent that was found under another number is stale.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// The way to the agent, if it is attached; of an id that stands for an agent, a sign that the agent is.
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

    /// Whether it is attached and takes calls, or the agent that it stands for.
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

    /// What an id that stands for it shows of it: whether it is there, since when, and how many of its calls were made to
    /// that id.
    fn view_for(&self, id: &AgentId) -> (bool, Timestamp, usize) {
        let state = self.state.lock();
        let calls = state.open.values();
        let calls = calls.filter(|call| call.addressed == *id).count();
        (state.takes_calls(), state.changed_at, calls)
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
            resume: self.state.lock().resume,
        }
    }

    /// Hands what is kept of it to the store. Nothing if the agent was forgotten.
    pub(crate) fn save_to(&self, store: &dyn Store) -> Option<Receipt> {
        let is_unkept = self.is_unkept.lock();
        (!*is_unkept).then(|| store.save_agent(self.record()))
    }

    /// Lets the store forget it.
    pub(crate) fn remove_from(&self, store: &dyn Store) -> Receipt {
        let mut is_unkept = self.is_unkept.lock();
        *is_unkept = true;
        store.remove_agent(self.id.clone())
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

    /// The calls that the agent has, for parents and for the longest way here.
    pub(crate) fn sent_calls(&self) -> Vec<Arc<Call>> {
        let state = self.state.lock();
        state
            .open
            .values()
            .filter(|call| call.is_sent())
            .cloned()
            .collect()
    }

    /// The calls that are open here, whether the agent has them or they wait for it, oldest first; of an id that stands for
    /// an agent those that were made to it.
    pub(crate) fn open_calls(&self) -> Vec<Arc<Call>> {
        let mut calls: Vec<_> = match self.stands_for() {
            None => self.state.lock().open.values().cloned().collect(),
            Some(agent) => agent.open_calls(),
        };
        calls.retain(|call| [&call.target, &call.addressed].contains(&&self.id));
        calls.sort_by_key(|call| call.id);
        calls
    }

    /// An open call by the id that the agent knows; of an id that stands for an agent, one that was made to it.
    pub fn open_call(&self, request: &str) -> Option<Arc<Call>> {
        match self.stands_for() {
            None => self.state.lock().open.get(request).cloned(),
            Some(agent) => {
                let call = agent.open_call(request);
                call.filter(|call| call.addressed == self.id)
            }
        }
    }

    /// Opens a call and sends it on its way.
    pub(crate) fn open(self: &Arc<Self>, mut draft: Draft) -> Result<Arc<Call>, Failure> {
        let mut undelivered = Undelivered::default();
        let call = {
            let mut state = self.state.lock();
            if self.is_retired() {
                return Err(Failure::no_such_agent(self.id.as_str()));
            }
            let taken_up = draft.taken_up.is_some();
            if !state.takes_calls()
                && state.grace.is_none()
                && draft.clock.wait_until.is_none()
                && !taken_up
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
                // If it is somebody else's, the agent sees the hub's own id instead.
                if !state.open.contains_key(wanted) {
                    draft.request = wanted.clone();
                }
            }
            if from_agent {
                state.quota.count(Instant::now());
            }
            let call = Call::new(draft, self.clone(), self.shared.clone());
            // Before anybody can answer it, so that taps and observers see the beginning first.
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
            self.shared.calls.lock().insert(call.id, call.clone());
            self.shared.metrics.call_started();
            if taken_up {
                state.await_resume(&call, self.shared.limits.resume_grace.0);
            } else {
                state.dispatch(&call, &self.placed, &mut undelivered);
            }
            call
        };
        drop(undelivered);
        Ok(call)
    }

    /// Hands a kept call to the agent after it was written down as sent. False if the agent has left meanwhile: then
    /// the call waits for it if it may, and has failed if not.
    pub(crate) fn send(&self, call: &Arc<Call>) -> bool {
        let mut state = self.state.lock();
        if call.is_ended() {
            return true;
        }
        // Much may have changed while it waited, and while it was written down.
        if let Err(failure) = call.check_right(&state.share) {
            drop(state);
            call.finish(End::Failed(failure), false);
            return true;
        }
        let mut is_full = false;
        if let Some(link) = state.way() {
            call.clock.lock().enter(Progress::Sent, Instant::now());
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
            call.finish(End::Failed(Failure::agent_full()), false);
        } else if !may_wait {
            call.finish(End::Failed(Failure::agent_offline()), false);
        }
        false
    }

    /// Takes back a call that the agent's connection got but could not say to anybody, so that the agent never saw it: it
    /// waits for the agent, if its caller wants that. False if not.
    pub(crate) fn take_back(&self, call: &Arc<Call>) -> bool {
        let mut state = self.state.lock();
        if call.is_ended() || call.clock.lock().wait_until.is_none() {
            return false;
        }
        call.next_turn();
        state.set_aside(call);
        // Whoever keeps it has written that it was sent.
        self.placed.notify_waiters();
        true
    }

    /// Whether nothing of any call is left here.
    pub fn is_idle(&self) -> bool {
        let state = self.state.lock();
        state.open.is_empty() && state.sessions.is_empty() && state.waiting.is_empty()
    }

    /// Forgets an ended call and sends the next one of its session.
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
                state.next_of_session(call, &self.placed, &mut undelivered);
            }
        }
        drop(state);
        drop(undelivered);
    }
}
