//! The hub: who is attached, who may see and call whom, and how a call gets on its way. Doors call it; it calls
//! nobody but links. A reply does not pass through here again: it goes from socket to socket by the call's pipe.

mod attach;
mod request;
mod right;
mod sweeper;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard, RwLock};
use tokio::time::{Instant, timeout, timeout_at};

pub use self::{
    attach::Attached,
    request::{Parent, Request},
    right::Access,
};
use self::{
    request::{Attachment, Origin},
    sweeper::TICK,
};
pub(crate) use self::{
    request::{LONGEST, Start},
    right::Right,
};
use jackfield_model::{AgentId, Answer, CallId, End, Failure, Json, Message, Reason, TaskId};

use crate::{
    agent::{Closing, Settings, Share},
    call::{Asking, Call, Life},
    chain::Chain,
    clock::Progress,
    door,
    entry::{AgentView, Entry},
    files::Files,
    limits::Limits,
    metrics::Metrics,
    outbox::Callbacks,
    principal::{Principal, Who},
    resolver::{Forgetting, Resolution, Resolver, Unresolved},
    shared::Shared,
    store::{Receipt, Store, StoreError, TaskRecord},
    tap::{TapFilter, Taps, Watching, may_watch},
    task::TaskBook,
    token::Tokens,
    transfers::Transfers,
};

/// How long the store is waited for, besides the grace, when the hub stops.
const STOP_WRITES: Duration = Duration::from_secs(5);
/// How long callers may take to read how their calls ended, before their connections are closed.
const STOP_READS: Duration = Duration::from_secs(1);

/// The hub. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Hub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    agents: RwLock<HashMap<AgentId, Arc<Entry>>>,
    tokens: Arc<Tokens>,
    tasks: TaskBook,
    resolver: Option<Arc<dyn Resolver>>,
    /// Held while an agent is forgotten: see [`Hub::hold_agents`].
    forgetting: Mutex<()>,
    store: Arc<dyn Store>,
    stopping: AtomicBool,
}

/// Which agents to look for.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only those that have all of these skills.
    pub skills: Vec<String>,
    /// Only those that are attached.
    pub online: bool,
}

impl Hub {
    /// A hub on a store: loads agents and tokens, and takes up unfinished tasks.
    pub async fn open(store: Arc<dyn Store>, limits: Limits) -> Result<Self, StoreError> {
        Self::open_resolved(store, limits, None).await
    }

    /// A hub that asks a resolver where calls are opened.
    pub async fn open_with(
        store: Arc<dyn Store>,
        limits: Limits,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, StoreError> {
        Self::open_resolved(store, limits, Some(resolver)).await
    }

    async fn open_resolved(
        store: Arc<dyn Store>,
        limits: Limits,
        resolver: Option<Arc<dyn Resolver>>,
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::new(limits));
        let agents = store.load_agents().await?;
        let tokens = Arc::new(Tokens::new(store.clone(), store.load_tokens().await?));
        let agents = agents
            .into_iter()
            .map(|record| {
                let door = door::interned(&record.door);
                (
                    record.id.clone(),
                    Arc::new(Entry::new(record, door, shared.clone())),
                )
            })
            .collect();
        let tasks = TaskBook::new(store.clone(), shared.clone(), tokens.clone());
        let inner = Inner {
            shared,
            agents: RwLock::new(agents),
            tokens,
            tasks,
            resolver,
            forgetting: Mutex::default(),
            store: store.clone(),
            stopping: AtomicBool::new(false),
        };
        let hub = Self(Arc::new(inner));
        let transfers = store.load_transfers().await?;
        hub.transfers().keep_in(&store, transfers, Instant::now());
        if let Some(resolver) = &hub.0.resolver {
            resolver.opened(&hub);
        }
        hub.take_up_tasks(store.reopen_tasks().await?).await?;
        Ok(hub)
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.0.shared.limits
    }

    /// What calls and doors share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.0.shared
    }

    /// The counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.0.shared.metrics
    }

    /// The taps.
    pub fn taps(&self) -> &Arc<Taps> {
        &self.0.shared.taps
    }

    /// The files that have a link.
    pub fn files(&self) -> &Arc<Files> {
        &self.0.shared.files
    }

    /// The same; what is linked through it counts for the owner of whoever started a task.
    pub fn files_of(&self, task: &TaskRecord) -> Arc<Files> {
        match Principal::from_key(&task.principal) {
            Some(principal) => self.files().of(&principal.owner),
            None => self.files().clone(),
        }
    }

    /// The transfers between agents and their callers.
    pub fn transfers(&self) -> &Transfers {
        &self.0.shared.transfers
    }

    /// The tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.0.tokens
    }

    /// The kept calls.
    pub fn tasks(&self) -> &TaskBook {
        &self.0.tasks
    }

    /// The callbacks of kept calls that are over.
    pub fn callbacks(&self) -> &Callbacks {
        self.0.tasks.callbacks()
    }

    /// Whether it takes no more calls.
    pub fn is_stopping(&self) -> bool {
        self.0.stopping.load(Ordering::Acquire)
    }

    /// An agent that the principal may call. Foreign and unknown ones look the same.
    pub fn find(&self, principal: &Principal, id: &str) -> Result<Arc<Entry>, Failure> {
        let entry = self.0.agents.read().get(id).cloned();
        entry
            .filter(|entry| may_call(principal, entry))
            .ok_or_else(|| Failure::no_such_agent(id))
    }

    /// An agent, whoever may call it: for resolvers, and for those who have checked the right otherwise.
    pub fn entry(&self, id: &str) -> Option<Arc<Entry>> {
        self.0.agents.read().get(id).cloned()
    }

    /// The agents behind an id that stands for several, and the id itself, if the principal may know them.
    pub fn members(&self, principal: &Principal, id: &str) -> Result<Vec<AgentId>, Failure> {
        let resolver = self.0.resolver.as_ref();
        let resolver = resolver.ok_or_else(|| Failure::no_such_agent(id))?;
        resolver.members(self, principal, id)
    }

    /// No agent is forgotten as long as the guard lives. For resolvers that come to depend on an agent: what
    /// [`Resolver::check_forget`] finds under the same lock is the last word. Never held across an await.
    pub fn hold_agents(&self) -> MutexGuard<'_, ()> {
        self.0.forgetting.lock()
    }

    /// The agents that the principal may see, by id.
    pub fn discover(&self, principal: &Principal, wanted: &Wanted) -> Vec<AgentView> {
        let entries: Vec<_> = self.0.agents.read().values().cloned().collect();
        let has = |view: &AgentView, skill: &String| {
            view.profile.skills.iter().any(|had| had.id == *skill)
        };
        let mut views: Vec<_> = entries
            .iter()
            .filter(|entry| may_see(principal, entry))
            .map(|entry| entry.view())
            .filter(|view| {
                (view.online || !wanted.online)
                    && wanted.skills.iter().all(|skill| has(view, skill))
            })
            .collect();
        views.sort_by(|a, b| a.id.cmp(&b.id));
        views
    }

    /// The ids of those agents that the principal may see and that `is_wanted` holds for, in no order. Costs little for
    /// each agent that is not wanted.
    pub fn visible_ids(
        &self,
        principal: &Principal,
        is_wanted: impl Fn(&AgentId) -> bool,
    ) -> Vec<AgentId> {
        let wanted: Vec<_> = {
            let agents = self.0.agents.read();
            let wanted = agents.values().filter(|entry| is_wanted(&entry.id));
            wanted.cloned().collect()
        };
        let is_visible = |entry: &&Arc<Entry>| may_see(principal, entry);
        let visible = wanted.iter().filter(is_visible);
        visible.map(|entry| entry.id.clone()).collect()
    }

    /// Shares an agent, or changes what is set for it; only its owner and admins may.
    pub fn change(
        &self,
        principal: &Principal,
        id: &AgentId,
        share: Option<Share>,
        settings: Option<Settings>,
    ) -> Result<(AgentView, Receipt), Failure> {
        let entry = self.owned(principal, id)?;
        entry.set(share, settings);
        let saved = entry.save_to(&*self.0.store);
        let saved = saved.ok_or_else(|| Failure::no_such_agent(id.as_str()))?;
        Ok((entry.view(), saved))
    }

    /// Forgets an agent and who owned it; only its owner and admins may. If it is attached, it is told to go.
    pub fn forget(&self, principal: &Principal, id: &AgentId) -> Result<Receipt, Failure> {
        let entry = self.owned(principal, id)?;
        let receipt = {
            let _held = self.hold_agents();
            self.check_forget(id, Forgetting::Wanted)?;
            self.remove_entry(&entry)?
        };
        entry.retire();
        Ok(receipt)
    }

    /// Takes an agent out of all that is known here. Fails if another one has its id by now.
    fn remove_entry(&self, entry: &Arc<Entry>) -> Result<Receipt, Failure> {
        let id = &entry.id;
        // Held until all is gone, so that whoever claims the id anew comes after it, in the store too.
        let mut agents = self.0.agents.write();
        let known = agents.get(id);
        if !known.is_some_and(|known| Arc::ptr_eq(known, entry)) {
            return Err(Failure::no_such_agent(id.as_str()));
        }
        agents.remove(id);
        if let Some(resolver) = &self.0.resolver {
            resolver.forgotten(id);
        }
        self.transfers().forget(id);
        Ok(entry.remove_from(&*self.0.store))
    }

    /// Forgets an agent that nobody would miss: it is away, nothing waits for it, it is shared with nobody, nothing was set
    /// for it, and the resolver does not need it. Otherwise nothing happens.
    pub fn forget_unmissed(&self, id: &AgentId) -> Option<Receipt> {
        let _held = self.hold_agents();
        self.check_forget(id, Forgetting::Unused).ok()?;
        let mut agents = self.0.agents.write();
        let entry = agents.get(id)?.clone();
        if !entry.retire_unmissed() {
            return None;
        }
        agents.remove(id);
        self.transfers().forget(id);
        Some(entry.remove_from(&*self.0.store))
    }

    fn check_forget(&self, id: &AgentId, why: Forgetting) -> Result<(), Failure> {
        let resolver = self.0.resolver.as_ref();
        resolver.map_or(Ok(()), |resolver| resolver.check_forget(id, why))
    }

    /// An agent of the principal's, or any for admins.
    pub fn owned(&self, principal: &Principal, id: &AgentId) -> Result<Arc<Entry>, Failure> {
        let entry = self.find(principal, id.as_str())?;
        let is_owner = principal.is_admin()
            || (principal.owner == *entry.owner() && principal.who == Who::Person);
        if is_owner {
            Ok(entry)
        } else {
            Err(Failure::new(
                Reason::Unauthorized,
                "only the owner of an agent may do this",
            ))
        }
    }

    /// Opens a live call: its one reader is the returned end, and losing that cancels it.
    pub fn call(&self, request: Request) -> Result<Asking, Failure> {
        let start = Start::new(Life::Live);
        self.start(request, &start).map(Asking::new)
    }

    pub(crate) fn start(&self, request: Request, start: &Start) -> Result<Arc<Call>, Failure> {
        let shared = &self.0.shared;
        if self.is_stopping() {
            return Err(stopping());
        }
        self.check_size(&request.message)?;
        let account = shared.budget.account(&request.principal.owner);
        let weight = request.message.weight();
        // What was accepted before a restart is not refused after it.
        let held = if start.is_allowed {
            account.hold(weight)
        } else {
            account.take(weight)?
        };
        let entry = self.0.agents.read().get(&request.target).cloned();
        let may = |entry: &Arc<Entry>| match (&self.0.resolver, &request.hint) {
            _ if start.is_allowed => true,
            (Some(resolver), Some(_)) => resolver.admits(&request, entry),
            _ => may_call(&request.principal, entry),
        };
        let addressed = entry
            .filter(may)
            .ok_or_else(|| Failure::no_such_agent(request.target.as_str()))?;
        // After a restart nobody knows any more for which call it was made; it was no loop then.
        let origin = if start.is_allowed {
            Origin::Root(Chain::default())
        } else {
            self.origin_of(&request)
        };
        let explicit = origin.explicit().cloned();
        let id = start.id.unwrap_or_else(CallId::new);
        let Resolution {
            serve_at,
            observers,
            context,
            right,
        } = match &self.0.resolver {
            None => Resolution::default(),
            Some(resolver) => {
                let unresolved = Unresolved {
                    call: id,
                    request: &request,
                    addressed: &addressed,
                    parent: origin.parent(),
                    kept: start.context.get(resolver.name()),
                };
                resolver.resolve(self, &unresolved)?
            }
        };
        let entry = serve_at.unwrap_or_else(|| addressed.clone());
        let right = Right {
            addressed,
            extra: right,
        };
        let attached = Attachment { observers, context };
        let served = (&*entry, attached);
        let draft = request.draft(id, served, (right, held), origin, start, &shared.limits)?;
        let call = entry.open(draft)?;
        // `stop` ends all calls that it finds; it may have missed this one.
        if self.is_stopping() {
            call.finish(End::Failed(stopped()), true);
            return Err(stopping());
        }
        if let Some(parent) = explicit
            && !parent.adopt(&call)
        {
            call.finish(End::Cancelled, true);
        }
        Ok(call)
    }

    /// What the resolver keeps of a call with its task.
    pub(crate) fn kept_context(&self, call: &Call) -> BTreeMap<String, Json> {
        let resolver = self.0.resolver.as_ref();
        let kept = call.context().and_then(|context| context.kept());
        let kept = resolver.zip(kept);
        kept.map(|(resolver, kept)| (resolver.name().to_owned(), kept))
            .into_iter()
            .collect()
    }

    pub(crate) fn check_size(&self, message: &Message) -> Result<(), Failure> {
        let limit = self.limits().message;
        if message.weight() <= limit.0 {
            return Ok(());
        }
        let text = format!("a message may have at most {limit}");
        Err(Failure::new(Reason::TooLarge, text))
    }

    /// An open call that the principal made.
    pub fn open_call(&self, principal: &Principal, id: CallId) -> Option<Arc<Call>> {
        let call = self.0.shared.calls.lock().get(&id).cloned();
        call.filter(|call| principal.may_act_for(&call.principal.key()))
    }

    /// The open calls that wait for an approval of the principal's, whoever made them; the oldest first.
    pub fn waiting_for(&self, principal: &Principal) -> Vec<Arc<Call>> {
        let mut calls: Vec<_> = self.0.shared.calls.lock().values().cloned().collect();
        calls.retain(|call| !call.decisions(principal).is_empty());
        calls.sort_by_key(|call| call.id);
        calls
    }

    /// Cancels a call of the principal's. The agent is told at once.
    pub fn cancel(&self, principal: &Principal, id: CallId) -> Result<(), Failure> {
        let call = self.open_call(principal, id);
        let call = call.ok_or_else(|| Failure::new(Reason::NotFound, "no such call is open"))?;
        if call.finish(End::Cancelled, true) {
            return Ok(());
        }
        Err(Failure::new(Reason::Conflict, "the call has ended already"))
    }

    /// The calls that are open at an agent, whoever made them, oldest first: those that it has and those that wait for it.
    /// Only its owner and admins may know of them.
    pub fn calls_at(&self, principal: &Principal, id: &AgentId) -> Result<Vec<Arc<Call>>, Failure> {
        let entry = self.owned(principal, id)?;
        Ok(entry.open_calls())
    }

    /// Cancels a call at an agent of the principal's, whoever made it, by its own id or that of its task. The agent and
    /// the caller are told.
    pub fn cancel_at_agent(&self, principal: &Principal, id: TaskId) -> Result<(), Failure> {
        let open: Vec<_> = self.0.shared.calls.lock().values().cloned().collect();
        let is_owned = |agent: &AgentId| self.owned(principal, agent).is_ok();
        let call = open
            .into_iter()
            .filter(|call| id == TaskId::from(call.id) || call.task == Some(id))
            .find(|call| is_owned(&call.target) || is_owned(&call.addressed));
        let call = call.ok_or_else(|| Failure::new(Reason::NotFound, "no such call is open"))?;
        if call.finish(End::Cancelled, true) {
            return Ok(());
        }
        Err(Failure::new(Reason::Conflict, "the call has ended already"))
    }

    /// Answers an ask: the caller answers for input, the owner of the asking agent for approval. First answer wins.
    pub fn answer(
        &self,
        principal: &Principal,
        id: CallId,
        ask_id: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let call = self.0.shared.calls.lock().get(&id).cloned();
        let call =
            call.ok_or_else(|| Failure::new(Reason::NotFound, "no such question is open"))?;
        call.answer(principal, ask_id, answer.clone())?;
        self.0.tasks.answered(&call, ask_id, answer);
        Ok(())
    }

    /// Answers an ask of a call for somebody of whom the resolver knows that they may: an approval in the owner's place
    /// (`for_owner`), or as one who may answer and can only say yes or no.
    pub fn decide_ask(
        &self,
        principal: &Principal,
        call: &Arc<Call>,
        ask_id: &str,
        answer: Answer,
        for_owner: bool,
    ) -> Result<(), Failure> {
        if for_owner {
            call.answer_approval(ask_id, answer.clone())?;
        } else {
            call.decide(principal, ask_id, answer.clone())?;
        }
        self.0.tasks.answered(call, ask_id, answer);
        Ok(())
    }

    /// Starts to watch what the principal may see.
    pub fn watch(&self, principal: Principal, filter: TapFilter) -> Watching {
        self.0.shared.taps.watch(principal, filter)
    }

    /// Takes no more calls, gives the open ones some time, then ends them and tells every agent. Kept calls of agents
    /// that may resume them are left to the next hub.
    pub async fn stop(&self, grace: Duration) {
        self.0.stopping.store(true, Ordering::Release);
        if let Some(resolver) = &self.0.resolver {
            resolver.stopping();
        }
        self.wait_for_calls(Instant::now() + grace).await;
        self.0.tasks.send_no_more();
        let mut calls: Vec<_> = self.0.shared.calls.lock().values().cloned().collect();
        // Kept calls that were not sent yet stay in the store and go out after the next start.
        // So do those that were, and that their agents may resume.
        calls.retain(|call| call.life == Life::Live || call.is_sent());
        calls.retain(|call| !call.may_be_resumed());
        // Those that wait end first, so that none of them gets its turn when another one ends.
        calls.sort_by_cached_key(|call| call.is_sent());
        for call in calls {
            call.finish(End::Failed(stopped()), true);
        }
        self.0.tasks.stop(grace + STOP_WRITES).await;
        let readers = &self.0.shared.readers;
        readers.close();
        // Whoever takes longer learns from the close that the hub stops.
        timeout(STOP_READS, readers.wait()).await.ok();
        let entries: Vec<_> = self.0.agents.read().values().cloned().collect();
        for link in entries.iter().filter_map(|entry| entry.link()) {
            link.close(Closing::Stopping);
        }
    }

    /// Resolves when no call is open any more that somebody works on, at the latest at `until`.
    async fn wait_for_calls(&self, until: Instant) {
        loop {
            // Before the look, so that no end comes between the two unheard.
            let ended = self.0.shared.ended.notified();
            let now = Instant::now();
            if now >= until || self.awaited() == 0 {
                return;
            }
            // That a call has come to wait for its agent is no end of it: such are found a look later, like clocks.
            timeout_at(until.min(now + TICK), ended).await.ok();
        }
    }

    /// How many open calls a stop gives some time: those that neither wait for their agent nor are left to the next hub.
    pub fn awaited(&self) -> usize {
        let calls: Vec<_> = self.0.shared.calls.lock().values().cloned().collect();
        let is_awaited = |call: &&Arc<Call>| {
            call.clock.lock().progress != Progress::Waiting && !call.may_be_resumed()
        };
        calls.iter().filter(is_awaited).count()
    }
}

/// Why nothing new is taken.
pub fn stopping() -> Failure {
    Failure::new(
        Reason::Stopping,
        "the hub is stopping; try again in a moment",
    )
}

/// How calls end that the hub does not wait for any longer. It may be read when the hub is up again.
pub(crate) fn stopped() -> Failure {
    Failure::new(
        Reason::Stopping,
        "the hub was stopped before the call was over; call again",
    )
}

/// An agent is its owner's until shared: visible to and callable by its owner, tokens whose scopes match, and admins.
pub fn may_call(principal: &Principal, entry: &Entry) -> bool {
    may_call_if_shared(principal, entry, || entry.share())
}

/// The same for an agent that is shared like this.
fn may_call_if_shared(principal: &Principal, entry: &Entry, share: impl FnOnce() -> Share) -> bool {
    principal.is_admin()
        || principal.owner == *entry.owner()
        || principal
            .grant
            .scopes
            .call
            .iter()
            .any(|pattern| pattern.matches(entry.id.as_str()))
        || match share() {
            Share::Nobody => false,
            Share::With(owners) => owners.contains(&principal.owner),
            Share::Everyone => true,
        }
}

/// Whether a list shows the agent: whoever may call it or watch it sees it.
pub fn may_see(principal: &Principal, entry: &Entry) -> bool {
    may_call(principal, entry) || may_watch(principal, &entry.id, entry.owner())
}

#[cfg(test)]
mod tests;
