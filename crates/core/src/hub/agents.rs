//! [`AgentRegistry`]: the agents that a hub knows, who may see and call them, and how they are changed and forgotten. How
//! they are attached stands in `attach.rs`. Doors reach the registry by [`Hub::agents`](super::Hub::agents). The registry
//! opens no calls and knows no tasks.
//!
//! Locks: `forgetting`, then `agents`, then those of an [`Entry`]. See "Locks" in `docs/architecture.md`.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard, RwLock};

use super::{may_call, may_see, stopping};
use jackfield_model::{AgentId, Failure, Reason};

use crate::{
    agent::{Closing, Settings, Share},
    door,
    entry::{AgentView, Entry},
    limits::Limits,
    metrics::Metrics,
    principal::{Principal, Who},
    resolver::{Forgetting, Resolver},
    shared::Shared,
    store::{AgentRecord, Receipt, Store},
};

/// Filter for [`AgentRegistry::discover`].
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Skills that an agent must have, all of them.
    pub skills: Vec<String>,
    /// Whether offline agents are left out.
    pub online: bool,
}

/// The agents of a hub, attached or not, by id.
#[derive(Debug)]
pub struct AgentRegistry {
    pub(super) shared: Arc<Shared>,
    pub(super) store: Arc<dyn Store>,
    pub(super) resolver: Option<Arc<dyn Resolver>>,
    /// All known agents. Held for writing while an id is claimed or removed, in the store too.
    pub(super) agents: RwLock<HashMap<AgentId, Arc<Entry>>>,
    /// Held while an agent is forgotten: see [`AgentRegistry::lock_forgetting`].
    forgetting: Mutex<()>,
}

impl AgentRegistry {
    pub(super) fn new(
        shared: Arc<Shared>,
        store: Arc<dyn Store>,
        resolver: Option<Arc<dyn Resolver>>,
        records: Vec<AgentRecord>,
    ) -> Self {
        let entries = records.into_iter().map(|record| {
            let door = door::interned(&record.door);
            let entry = Entry::new(record, door, shared.clone());
            (entry.id.clone(), Arc::new(entry))
        });
        Self {
            agents: RwLock::new(entries.collect()),
            shared,
            store,
            resolver,
            forgetting: Mutex::default(),
        }
    }

    /// Returns the hub's limits.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Returns the hub's counters.
    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.shared.metrics
    }

    /// Finds an agent that `principal` may call. Unknown agents and agents of other owners give the same failure.
    pub fn find(&self, principal: &Principal, id: &str) -> Result<Arc<Entry>, Failure> {
        let entry = self.get(id);
        entry
            .filter(|entry| may_call(principal, entry))
            .ok_or_else(|| Failure::no_such_agent(id))
    }

    /// Returns an agent without checking any right: for resolvers, and for callers that have checked the right otherwise.
    pub fn get(&self, id: &str) -> Option<Arc<Entry>> {
        self.agents.read().get(id).cloned()
    }

    /// Finds an agent that `principal` owns; any agent for an admin.
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

    /// Returns the agents behind an id of the [`Resolver`], and the id itself, if `principal` may know them.
    pub fn members(&self, principal: &Principal, id: &str) -> Result<Vec<AgentId>, Failure> {
        let resolver = self.resolver.as_ref();
        let resolver = resolver.ok_or_else(|| Failure::no_such_agent(id))?;
        resolver.members(self, principal, id)
    }

    /// Keeps all agents from being forgotten while the guard lives. For resolvers that come to depend on an agent: the
    /// verdict of [`Resolver::check_forget`] under the same lock is final. Never held across an await.
    pub fn lock_forgetting(&self) -> MutexGuard<'_, ()> {
        self.forgetting.lock()
    }

    /// Lists the agents that `principal` may see and that match `wanted`, sorted by id.
    pub fn discover(&self, principal: &Principal, wanted: &Wanted) -> Vec<AgentView> {
        let has = |view: &AgentView, skill: &String| {
            view.profile.skills.iter().any(|had| had.id == *skill)
        };
        let mut views: Vec<_> = self
            .all()
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

    /// Lists the ids of those agents that `principal` may see and that match `is_wanted`, unsorted. Agents that do not
    /// match cost little.
    pub fn visible_ids(
        &self,
        principal: &Principal,
        is_wanted: impl Fn(&AgentId) -> bool,
    ) -> Vec<AgentId> {
        let wanted: Vec<_> = {
            let agents = self.agents.read();
            let wanted = agents.values().filter(|entry| is_wanted(&entry.id));
            wanted.cloned().collect()
        };
        let is_visible = |entry: &&Arc<Entry>| may_see(principal, entry);
        let visible = wanted.iter().filter(is_visible);
        visible.map(|entry| entry.id.clone()).collect()
    }

    /// Changes the share or the settings of an agent; only its owner and admins may.
    pub fn change(
        &self,
        principal: &Principal,
        id: &AgentId,
        share: Option<Share>,
        settings: Option<Settings>,
    ) -> Result<(AgentView, Receipt), Failure> {
        let entry = self.owned(principal, id)?;
        entry.set(share, settings);
        let saved = entry.save_to(&*self.store);
        let saved = saved.ok_or_else(|| Failure::no_such_agent(id.as_str()))?;
        Ok((entry.view(), saved))
    }

    /// Forgets an agent and its owner; only the owner and admins may. The connection of an attached agent is closed.
    pub fn forget(&self, principal: &Principal, id: &AgentId) -> Result<Receipt, Failure> {
        let entry = self.owned(principal, id)?;
        let receipt = {
            let _held = self.lock_forgetting();
            self.check_forget(id, Forgetting::Wanted)?;
            self.remove(&entry)?
        };
        entry.retire();
        Ok(receipt)
    }

    /// Removes an agent here, at the resolver, at the observers and from the store. Fails if the id belongs to another
    /// agent by now.
    pub(super) fn remove(&self, entry: &Arc<Entry>) -> Result<Receipt, Failure> {
        let id = &entry.id;
        // Held until all is gone, so that a new claim of the id comes after the removal, in the store too.
        let mut agents = self.agents.write();
        let known = agents.get(id);
        if !known.is_some_and(|known| Arc::ptr_eq(known, entry)) {
            return Err(Failure::no_such_agent(id.as_str()));
        }
        agents.remove(id);
        if let Some(resolver) = &self.resolver {
            resolver.forgotten(id);
        }
        self.shared
            .observers
            .tell(|observer| observer.forgotten(id));
        Ok(entry.remove_from(&*self.store))
    }

    /// Forgets an agent if it is evictable: offline, without open calls, shared with nobody, with default settings, and
    /// not needed by the resolver. Otherwise does nothing and returns `None`.
    pub fn forget_evictable(&self, id: &AgentId) -> Option<Receipt> {
        let _held = self.lock_forgetting();
        self.check_forget(id, Forgetting::Unused).ok()?;
        let mut agents = self.agents.write();
        let entry = agents.get(id)?.clone();
        if !entry.retire_evictable() {
            return None;
        }
        agents.remove(id);
        self.shared
            .observers
            .tell(|observer| observer.forgotten(id));
        Some(entry.remove_from(&*self.store))
    }

    fn check_forget(&self, id: &AgentId, why: Forgetting) -> Result<(), Failure> {
        let resolver = self.resolver.as_ref();
        resolver.map_or(Ok(()), |resolver| resolver.check_forget(id, why))
    }

    /// Returns all agents, unsorted.
    pub(super) fn all(&self) -> Vec<Arc<Entry>> {
        self.agents.read().values().cloned().collect()
    }

    /// Closes the connections of all agents, since the hub stops.
    pub(super) fn close_all(&self) {
        for link in self.all().iter().filter_map(|entry| entry.link()) {
            link.close(Closing::Stopping);
        }
    }

    pub(super) fn check_stopping(&self) -> Result<(), Failure> {
        match self.shared.is_stopping() {
            true => Err(stopping()),
            false => Ok(()),
        }
    }
}
