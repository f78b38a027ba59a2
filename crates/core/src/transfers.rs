//! [`Transfers`]: the registry of file transfers between agents and their callers: archives that an agent offered, and archives that a caller announced. Signals about a transfer and fetches are checked here: a transfer belongs to its two parties and to nobody else.
//!
//! The registry is bounded: per agent and caller, per agent, and in total. Entries are also written to the
//! store, so that a transfer outlives the hub's process; reads are from memory. A call without an offer never
//! comes here. The lock is held while entries are handed to the store, and otherwise is a leaf.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, OnceLock, Weak},
    time::Duration,
};

use jackfield_model::{AgentId, Failure, Reason};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    principal::{Principal, Who},
    store::{Store, TransferRecord},
};
use jackfield_model::Offer;

/// Time that a transfer is known: as long as the published client keeps its archive.
pub const KNOWN_FOR: Duration = Duration::from_secs(3600);
/// Largest number of transfers between an agent and one caller; the oldest are evicted.
const PER_CALLER: usize = 32;
/// Largest number of transfers per agent; the oldest are evicted.
const PER_AGENT: usize = 256;
/// Largest number of transfers in total: some megabytes. The agent with the most is evicted from.
const IN_ALL: usize = 16_384;

/// Direction of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
}

impl Transfers {
    /// Loads the stored transfers, and stores new ones from now on.
    pub(crate) fn keep_in(
        &self,
        store: &Arc<dyn Store>,
        records: Vec<TransferRecord>,
        now: Instant,
    ) {
        let mut index = self.index.lock();
        for record in records {
            let left = record.until.duration_since(Timestamp::now());
            let Ok(left) = Duration::try_from(left) else {
                continue;
            };
            let TransferRecord {
                name,
                agent,
                peer,
                caller,
                toward,
                offer,
                ..
            } = record;
            let transfer = Transfer {
                agent,
                peer,
                offer,
                toward,
                caller,
                until: now + left.min(KNOWN_FOR),
            };
            index.enter(&name, Arc::new(transfer), now);
        }
        self.store.get_or_init(|| Arc::downgrade(store));
    }

    fn store(&self) -> Option<Arc<dyn Store>> {
        self.store.get().and_then(Weak::upgrade)
    }

    /// Stores an entry without waiting for the disk.
    fn write_down(&self, name: &AgentId, transfer: &Transfer) {
        let Some(store) = self.store() else {
            return;
        };
        let record = TransferRecord {
            name: name.clone(),
            agent: transfer.agent.clone(),
            peer: transfer.peer.clone(),
            caller: transfer.caller.clone(),
            toward: transfer.toward,
            offer: transfer.offer.clone(),
            until: Timestamp::now() + KNOWN_FOR,
        };
        drop(store.save_transfer(record));
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
        if agent != called {
            self.write_down(called, &transfer);
            index.enter(called, transfer.clone(), now);
        }
        self.write_down(agent, &transfer);
        index.enter(agent, transfer, now);
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
        self.write_down(agent, &transfer);
        index.enter(agent, transfer.clone(), now);
        Ok(transfer)
    }

    /// Removes an announcement that never reached the agent.
    pub fn withdraw(&self, transfer: &Transfer) {
        let mut index = self.index.lock();
        index.remove(&transfer.agent, |known| known.as_ref() == transfer);
        if let Some(store) = self.store() {
            let id = transfer.offer.transfer_id.clone();
            drop(store.remove_transfer(transfer.agent.clone(), id));
        }
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
    pub fn forget(&self, agent: &AgentId) {
        let mut index = self.index.lock();
        if let Some(known) = index.agents.remove(agent) {
            index.count -= known.len();
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
    fn find(&mut self, agent: &AgentId, id: &str, now: Instant) -> Option<Arc<Transfer>> {
        self.expire(agent, now);
        let known = self.agents.get(agent)?;
        let is_it = |transfer: &&Arc<Transfer>| transfer.offer.transfer_id == id;
        known.iter().find(is_it).cloned()
    }

    fn enter(&mut self, agent: &AgentId, transfer: Arc<Transfer>, now: Instant) {
        self.expire(agent, now);
        let id = transfer.offer.transfer_id.clone();
        self.remove(agent, |known| known.offer.transfer_id == id);
        let known = self.agents.get(agent);
        let is_same = |known: &&Arc<Transfer>| known.caller == transfer.caller;
        if known.is_some_and(|known| known.iter().filter(is_same).count() >= PER_CALLER) {
            self.remove(agent, |known| known.caller == transfer.caller);
        } else if known.is_some_and(|known| known.len() >= PER_AGENT) {
            self.remove(agent, |_| true);
        }
        if self.count >= IN_ALL {
            self.make_room(now);
        }
        let known = self.agents.entry(agent.clone()).or_default();
        known.push_back(transfer);
        self.count += 1;
    }

    /// Removes the oldest transfer that matches.
    fn remove(&mut self, agent: &AgentId, is_it: impl Fn(&Arc<Transfer>) -> bool) {
        let Some(known) = self.agents.get_mut(agent) else {
            return;
        };
        if let Some(at) = known.iter().position(is_it) {
            known.remove(at);
            self.count -= 1;
        }
        if known.is_empty() {
            self.agents.remove(agent);
        }
    }

    /// Removes expired transfers of one agent; the oldest are in front.
    fn expire(&mut self, agent: &AgentId, now: Instant) {
        let Some(known) = self.agents.get_mut(agent) else {
            return;
        };
        while known.front().is_some_and(|oldest| oldest.until <= now) {
            known.pop_front();
            self.count -= 1;
        }
        if known.is_empty() {
            self.agents.remove(agent);
        }
    }

    fn make_room(&mut self, now: Instant) {
        self.agents.retain(|_, known| {
            let had = known.len();
            known.retain(|transfer| now < transfer.until);
            self.count -= had - known.len();
            !known.is_empty()
        });
        let most = self.agents.iter().max_by_key(|(_, known)| known.len());
        if self.count >= IN_ALL
            && let Some(agent) = most.map(|(agent, _)| agent.clone())
        {
            self.remove(&agent, |_| true);
        }
    }
}

#[cfg(test)]
mod tests;
