//! [`Transfers`]: the registry of file transfers between agents and their callers: archives that an agent offered, and
//! archives that a caller announced. Signals about a transfer and fetches are checked here: a transfer belongs to its
//! two parties and to nobody else.
//!
//! The registry is a [`HubObserver`]: the end of a call may offer an archive. It is bounded: per agent and caller, per
//! agent, and in total. Entries are also kept in the store ([`saved`]), so that a transfer outlives the hub's process;
//! reads are from memory. The lock is held while entries are handed to the store, and otherwise is a leaf.

mod saved;

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use jackfield_core::{
    call::Call,
    observer::HubObserver,
    principal::{Principal, Who},
    store::{Store, StoreError},
};
use jackfield_model::{AgentId, End, Failure, Offer, Reason};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Time that a transfer is known: as long as the published client keeps its archive.
const KNOWN_FOR: Duration = Duration::from_secs(3600);
/// Largest number of transfers between an agent and one caller; the oldest are evicted.
const PER_CALLER: usize = 32;
/// Largest number of transfers per agent; the oldest are evicted.
const PER_AGENT: usize = 256;
/// Largest number of transfers in total: some megabytes. The agent with the most is evicted from.
const IN_ALL: usize = 16_384;

/// How often expired transfers are removed. Before that they are no longer found.
const EXPIRE_EVERY: Duration = Duration::from_secs(60);

/// Direction of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Toward {
    /// From the agent to its caller: offered by a `done`.
    Caller,
    /// From the caller to the agent: announced by the caller.
    Agent,
}

/// A transfer and its two parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// The agent.
    pub agent: AgentId,
    /// The caller, if the caller is an agent.
    pub peer: Option<AgentId>,
    /// Description of the archive.
    pub offer: Offer,
    /// Direction of the archive.
    pub toward: Toward,
    /// [`Principal::key`] of the caller.
    caller: String,
    until: Instant,
}

impl Transfer {
    fn new(
        agent: &AgentId,
        caller: &Principal,
        offer: Offer,
        toward: Toward,
        now: Instant,
    ) -> Self {
        let peer = match &caller.who {
            Who::Agent(id) => Some(id.clone()),
            Who::Person | Who::Platform | Who::Peer(_) => None,
        };
        Self {
            agent: agent.clone(),
            peer,
            offer,
            toward,
            caller: caller.key(),
            until: now + KNOWN_FOR,
        }
    }

    /// Whether `principal` is the caller. Nobody acts for the caller, neither its owner nor an admin: the
    /// files belong to the two parties.
    pub fn is_of(&self, principal: &Principal) -> bool {
        self.caller == principal.key()
    }
}

type Known = VecDeque<Arc<Transfer>>;

/// The transfers of a hub.
#[derive(Debug, Default)]
pub struct Transfers {
    index: Mutex<TransferIndex>,
    /// Store for the entries, if any. The hub owns the store: open calls, which hold this registry, do not
    /// keep it open.
    store: OnceLock<Weak<dyn Store>>,
}

#[derive(Debug, Default)]
struct TransferIndex {
    /// Transfers by the name under which the agent was called: its own, or an alias. Oldest first.
    agents: HashMap<AgentId, Known>,
    count: usize,
    /// Expired and evicted transfers (name and id) that the store still has.
    dropped: Vec<(AgentId, String)>,
    /// When all expired transfers were last removed.
    expired_at: Option<Instant>,
}

impl Transfers {
    /// Opens the registry on a store: loads the stored transfers, and stores new ones.
    pub async fn open(store: &Arc<dyn Store>) -> Result<Self, StoreError> {
        let (transfers, now) = (Self::default(), Instant::now());
        let saved = saved::load(&**store, now).await?;
        transfers.store.get_or_init(|| Arc::downgrade(store));
        {
            let mut index = transfers.index.lock();
            for (name, transfer) in saved {
                index.enter(&name, Arc::new(transfer), now);
            }
            transfers.write(&mut index, None);
        }
        Ok(transfers)
    }

    /// Removes the dropped entries from the store and saves a transfer under its names, without waiting for the disk.
    fn write(&self, index: &mut TransferIndex, saved: Option<(&[&AgentId], &Transfer)>) {
        let dropped = std::mem::take(&mut index.dropped);
        let Some(store) = self.store.get().and_then(Weak::upgrade) else {
            return;
        };
        if !dropped.is_empty() {
            saved::remove(&*store, dropped);
        }
        if let Some((names, transfer)) = saved {
            saved::save(&*store, names, transfer);
        }
    }

    /// Adds an archive that an agent offered to its caller, under the name by which the agent was called.
    pub fn offered(
        &self,
        agent: &AgentId,
        called: &AgentId,
        caller: &Principal,
        offer: Offer,
        now: Instant,
    ) {
        let transfer = Transfer::new(agent, caller, offer, Toward::Caller, now);
        let transfer = Arc::new(transfer);
        let mut index = self.index.lock();
        let names = if agent == called {
            &[agent][..]
        } else {
            &[called, agent]
        };
        for name in names {
            index.enter(name, transfer.clone(), now);
        }
        self.write(&mut index, Some((names, &transfer)));
    }

    /// Adds an archive that a caller announced to an agent. Fails for an id that another caller has there, or
    /// that goes the other way.
    pub fn announced(
        &self,
        agent: &AgentId,
        caller: &Principal,
        offer: Offer,
        now: Instant,
    ) -> Result<Arc<Transfer>, Failure> {
        let mut index = self.index.lock();
        if let Some(known) = index.find(agent, &offer.transfer_id, now)
            && !(known.is_of(caller) && known.toward == Toward::Agent)
        {
            return Err(not_yours());
        }
        let transfer = Transfer::new(agent, caller, offer, Toward::Agent, now);
        let transfer = Arc::new(transfer);
        index.enter(agent, transfer.clone(), now);
        self.write(&mut index, Some((&[agent], &transfer)));
        Ok(transfer)
    }

    /// Removes an announcement that never reached the agent.
    pub fn withdraw(&self, transfer: &Transfer) {
        let mut index = self.index.lock();
        index.drop_first(&transfer.agent, |known| known.as_ref() == transfer);
        self.write(&mut index, None);
    }

    /// Finds a transfer with this agent, whoever the other party is.
    pub fn find(&self, agent: &AgentId, id: &str, now: Instant) -> Option<Arc<Transfer>> {
        self.index.lock().find(agent, id, now)
    }

    /// Finds a transfer of this caller with this agent. Unknown transfers and those of other callers give the
    /// same failure.
    pub fn of_caller(
        &self,
        caller: &Principal,
        agent: &AgentId,
        id: &str,
        now: Instant,
    ) -> Result<Arc<Transfer>, Failure> {
        let found = self.find(agent, id, now);
        found
            .filter(|transfer| transfer.is_of(caller))
            .ok_or_else(not_yours)
    }

    /// Removes the transfers of a forgotten agent; the store removes them with the agent.
    fn forget(&self, agent: &AgentId) {
        let mut index = self.index.lock();
        if let Some(known) = index.agents.remove(agent) {
            index.count -= known.len();
        }
    }
}

impl HubObserver for Transfers {
    /// Registers the archive that a reply offers, before the caller sees the offer. An unreadable offer is passed
    /// on all the same, but cannot be fetched through the hub.
    fn ending(&self, call: &Call, end: &End) {
        let End::Done(done) = end else {
            return;
        };
        let Some(offer) = &done.file_transfer_offer else {
            return;
        };
        match Offer::read(offer.get()) {
            Some(offer) => {
                let (agent, called) = (&call.target, &call.addressed);
                self.offered(agent, called, &call.principal, offer, Instant::now());
            }
            None => {
                tracing::debug!(call = %call.id, agent = %call.target, "an unreadable offer of files")
            }
        }
    }

    fn forgotten(&self, agent: &AgentId) {
        self.forget(agent);
    }

    fn sweep(&self, now: Instant) {
        let mut index = self.index.lock();
        let expired_at = *index.expired_at.get_or_insert(now);
        if now.saturating_duration_since(expired_at) >= EXPIRE_EVERY {
            index.expired_at = Some(now);
            index.expire_all(now);
            self.write(&mut index, None);
        }
    }
}

/// Returns the failure for principals that are no party, so that unknown and foreign transfers look the same.
pub fn not_yours() -> Failure {
    Failure::new(
        Reason::Unauthorized,
        "no transfer of yours has this id, or the hub no longer knows it; call the agent again",
    )
}

impl TransferIndex {
    fn find(&self, agent: &AgentId, id: &str, now: Instant) -> Option<Arc<Transfer>> {
        let known = self.agents.get(agent)?;
        let is_it =
            |transfer: &&Arc<Transfer>| transfer.offer.transfer_id == id && now < transfer.until;
        known.iter().find(is_it).cloned()
    }

    fn enter(&mut self, agent: &AgentId, transfer: Arc<Transfer>, now: Instant) {
        self.expire(agent, now);
        let id = transfer.offer.transfer_id.clone();
        // The store overwrites a transfer with the same id.
        self.remove(agent, |known| known.offer.transfer_id == id);
        let known = self.agents.get(agent);
        let is_same = |known: &&Arc<Transfer>| known.caller == transfer.caller;
        if known.is_some_and(|known| known.iter().filter(is_same).count() >= PER_CALLER) {
            self.drop_first(agent, |known| known.caller == transfer.caller);
        } else if known.is_some_and(|known| known.len() >= PER_AGENT) {
            self.drop_first(agent, |_| true);
        }
        if self.count >= IN_ALL {
            self.make_room(now);
        }
        let known = self.agents.entry(agent.clone()).or_default();
        known.push_back(transfer);
        self.count += 1;
    }

    /// Removes the oldest transfer that matches.
    fn remove(
        &mut self,
        agent: &AgentId,
        is_it: impl Fn(&Arc<Transfer>) -> bool,
    ) -> Option<Arc<Transfer>> {
        let known = self.agents.get_mut(agent)?;
        let at = known.iter().position(is_it)?;
        let removed = known.remove(at);
        self.count -= 1;
        if known.is_empty() {
            self.agents.remove(agent);
        }
        removed
    }

    /// Removes the oldest transfer that matches, here and later in the store.
    fn drop_first(&mut self, agent: &AgentId, is_it: impl Fn(&Arc<Transfer>) -> bool) {
        if let Some(removed) = self.remove(agent, is_it) {
            let id = removed.offer.transfer_id.clone();
            self.dropped.push((agent.clone(), id));
        }
    }

    /// Removes expired transfers of one agent; the oldest are in front.
    fn expire(&mut self, agent: &AgentId, now: Instant) {
        let is_over = |oldest: &Arc<Transfer>| oldest.until <= now;
        while self
            .agents
            .get(agent)
            .and_then(VecDeque::front)
            .is_some_and(is_over)
        {
            self.drop_first(agent, |_| true);
        }
    }

    /// Removes all expired transfers.
    fn expire_all(&mut self, now: Instant) {
        let agents: Vec<_> = self.agents.keys().cloned().collect();
        for agent in agents {
            self.expire(&agent, now);
        }
    }

    fn make_room(&mut self, now: Instant) {
        self.expire_all(now);
        let most = self.agents.iter().max_by_key(|(_, known)| known.len());
        if self.count >= IN_ALL
            && let Some(agent) = most.map(|(agent, _)| agent.clone())
        {
            self.drop_first(&agent, |_| true);
        }
    }
}

#[cfg(test)]
mod tests;
