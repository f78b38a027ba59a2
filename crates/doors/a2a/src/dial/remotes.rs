//! All remotes of a hub, from the configuration file and added later. A task per remote keeps the agent
//! attached.

use std::{collections::BTreeMap, sync::Arc};

use jackfield_core::{
    agent::{Profile, Settings},
    hub::Hub,
    principal::Principal,
    store::{Store, StoreError},
};
use jackfield_kit::{
    api::{invalid, store_failure},
    dial::record::{self, StoredRemote},
    outbound::Outbound,
    tasks::Tasks,
};
use jackfield_model::{AgentId, Failure, Reason, SessionId};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{
    agent_ids::id_of,
    card_access::{CardAccess, OwnKeyId},
    find::{CardFetchError, FoundCard},
    remote::{Remote, RemoteInit, RemoteState},
    spec::RemoteSpec,
    switchboard,
};
use crate::{A2aDoor, DOOR};

/// Error while starting the remotes of a hub.
#[derive(Debug, thiserror::Error)]
pub enum RemotesStartError {
    /// The database cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A remote of the configuration file cannot become an agent.
    #[error("agent {id}: {why}")]
    Configured {
        /// Agent id.
        id: AgentId,
        /// Reason.
        why: String,
    },
}

/// Request to add a remote.
#[derive(Debug)]
pub(super) struct AddRemote {
    /// Agent id; derived from the card's name if absent.
    pub(super) id: Option<AgentId>,
    /// Operator's description.
    pub(super) spec: RemoteSpec,
    /// True to add the remote even if unreachable now.
    pub(super) keep: bool,
}

/// All remotes of a hub. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Remotes(Arc<RemotesState>);

#[derive(Debug)]
struct RemotesState {
    hub: Hub,
    store: Arc<dyn Store>,
    outbound: Outbound,
    tasks: Tasks,
    known: Mutex<BTreeMap<AgentId, Arc<Remote>>>,
    own: OwnKeyId,
}

impl Remotes {
    /// Starts the remotes of a hub: the configured remotes, which belong to the owner `local`, and the stored
    /// remotes, unless the configuration has a remote of the same id. The remotes are dialled in the
    /// background until `tasks` stop. See [`RemotesStartError`] for the failures.
    pub async fn start(
        hub: Hub,
        store: Arc<dyn Store>,
        outbound: Outbound,
        tasks: Tasks,
        configured: Vec<(AgentId, RemoteSpec)>,
    ) -> Result<Self, RemotesStartError> {
        let remotes = Self(Arc::new(RemotesState {
            hub,
            store,
            outbound,
            tasks,
            known: Mutex::default(),
            own: OwnKeyId::default(),
        }));
        for (id, spec) in configured {
            let started = remotes.start_configured(&id, spec).await;
            started.map_err(|failure| RemotesStartError::Configured {
                id,
                why: failure.text.into_owned(),
            })?;
        }
        for (id, stored) in record::load(&*remotes.0.store, DOOR).await? {
            if remotes.get(&id).is_none() {
                remotes.start_stored(&id, stored);
            }
        }
        Ok(remotes)
    }

    /// Sets the door that serves the hub's own cards. The hub refuses to dial a card signed with the key of
    /// [`A2aDoor`].
    pub fn set_own_door(&self, a2a: &A2aDoor) {
        if let Some(key) = a2a.cards.key_id() {
            // The hub has a single A2A door, so the key is set at most once.
            self.0.own.set(key.to_owned()).ok();
        }
    }

    async fn start_configured(&self, id: &AgentId, spec: RemoteSpec) -> Result<(), Failure> {
        let described = self.describe(spec, true)?;
        let principal = Principal::local();
        let remote = self.take(
            &principal,
            IdChoice::Known(id),
            &Profile::default(),
            described,
        )?;
        self.set(&principal, &remote).await?;
        self.run(&remote, None);
        Ok(())
    }

    /// Starts a stored remote. A failure is only logged, for the operator: the other remotes must still
    /// start.
    fn start_stored(&self, id: &AgentId, stored: StoredRemote<RemoteSpec>) {
        let entry = self.0.hub.agents().get(id.as_str());
        let entry = entry.ok_or_else(|| Failure::no_such_agent(id.as_str()));
        let started = entry.and_then(|entry| {
            let described = RemoteInit {
                added_at: stored.added_at,
                ..self.describe(stored.spec, false)?
            };
            let principal = Principal::admin(entry.owner().clone());
            let id = IdChoice::Known(id);
            self.take(&principal, id, &Profile::default(), described)
        });
        match started {
            Ok(remote) => self.run(&remote, None),
            Err(failure) => {
                tracing::error!(agent = %id, why = %failure.text, "remote cannot be dialled");
            }
        }
    }

    /// Adds a remote for a principal. The hub tries to reach the remote once before returning.
    pub(super) async fn add_remote(
        &self,
        principal: &Principal,
        wanted: AddRemote,
    ) -> Result<Arc<Remote>, Failure> {
        let described = self.describe(wanted.spec, false)?;
        // Check the id before any request goes out.
        if let Some(id) = wanted.id.as_ref().filter(|id| self.is_taken(id.as_str())) {
            return Err(taken(id));
        }
        let looked = match described.way.find().await {
            // The hub would stay its own remote forever.
            Err(trouble @ CardFetchError::Itself { .. }) => {
                return Err(invalid(trouble.to_string()));
            }
            Err(trouble) if !wanted.keep => return Err(described.way.refusal(trouble).await),
            looked => looked,
        };
        let profile = match &looked {
            Ok(found) => {
                switchboard::refuse(found)?;
                found.profile.clone()
            }
            Err(_) => Profile::default(),
        };
        let names = [profile.name.clone(), described.way.host().to_owned()];
        let id = wanted
            .id
            .as_ref()
            .map_or(IdChoice::Of(&names), IdChoice::Free);
        let remote = self.take(principal, id, &profile, described)?;
        if let Err(failure) = self.save(principal, &remote).await {
            // The remote is not visible yet: remove all traces.
            self.0.hub.agents().forget(principal, &remote.id).ok();
            self.0.known.lock().remove(&remote.id);
            return Err(failure);
        }
        tracing::info!(agent = %remote.id, by = %principal.owner, "remote added");
        self.run(&remote, Some(looked));
        remote.settled().await;
        Ok(remote)
    }

    /// Waits until the first attempt to reach the remote is finished. Returns the agent's [`Profile`], or the
    /// reason why the remote cannot be called.
    pub async fn wait_until_tried(&self, id: &AgentId) -> Result<Profile, Failure> {
        let remote = self.get(id);
        let remote = remote.ok_or_else(|| Failure::no_such_agent(id.as_str()))?;
        remote.settled().await;
        let known = remote.known();
        match (known.state, known.found) {
            (RemoteState::Online, Some(found)) => Ok(found.profile.clone()),
            (RemoteState::Offline(why) | RemoteState::Refused(why), _) => {
                Err(Failure::new(Reason::Offline, why))
            }
            (RemoteState::Trying | RemoteState::Online, _) => Err(Failure::agent_offline()),
        }
    }

    /// Returns the remote's context id of a conversation.
    pub fn context(&self, id: &AgentId, session: &SessionId) -> Option<String> {
        self.get(id)?.contexts.get(session)
    }

    /// Records the context id of a conversation that the remote already knows.
    pub fn set_context(&self, id: &AgentId, session: &SessionId, name: String) {
        if let Some(remote) = self.get(id) {
            remote.contexts.put(session, name);
        }
    }

    /// Returns the [`Remote`] with this id.
    pub(super) fn get(&self, id: &AgentId) -> Option<Arc<Remote>> {
        let known = self.0.known.lock();
        known.get(id).filter(|remote| remote.is_there()).cloned()
    }

    /// Returns all remotes, ordered by id.
    pub(super) fn all(&self) -> Vec<Arc<Remote>> {
        let known = self.0.known.lock();
        let there = known.values().filter(|remote| remote.is_there());
        there.cloned().collect()
    }

    /// Removes a remote and its agent.
    pub(super) async fn remove_remote(
        &self,
        principal: &Principal,
        remote: &Remote,
    ) -> Result<(), Failure> {
        if remote.is_configured {
            let text =
                "it stands in the hub's configuration file; remove it there, and restart the hub";
            return Err(Failure::new(Reason::Conflict, text));
        }
        let forgotten = self.0.hub.agents().forget(principal, &remote.id)?.await;
        forgotten.map_err(|error| store_failure(&error))?;
        tracing::info!(agent = %remote.id, by = %principal.owner, "remote removed");
        Ok(())
    }

    /// Returns the access to the card that a description names.
    pub(super) fn card_access(&self, spec: &RemoteSpec) -> Result<CardAccess, Failure> {
        let max = self.0.hub.limits().message;
        let way = CardAccess::new(&self.0.outbound, spec, max, self.0.own.clone());
        way.map_err(invalid)
    }

    fn describe(&self, spec: RemoteSpec, is_configured: bool) -> Result<RemoteInit, Failure> {
        Ok(RemoteInit {
            way: self.card_access(&spec)?,
            spec,
            is_configured,
            added_at: Timestamp::now(),
        })
    }

    /// Reserves the agent id for a remote.
    fn take(
        &self,
        principal: &Principal,
        id: IdChoice<'_>,
        profile: &Profile,
        described: RemoteInit,
    ) -> Result<Arc<Remote>, Failure> {
        let mut known = self.0.known.lock();
        let id = match id {
            IdChoice::Known(id) => id.clone(),
            IdChoice::Free(id) if self.is_taken(id.as_str()) => return Err(taken(id)),
            IdChoice::Free(id) => id.clone(),
            IdChoice::Of(names) => id_of(names, |id| self.is_taken(id)),
        };
        let hub = &self.0.hub;
        let mut profile = profile.clone();
        if profile.name.is_empty() {
            id.as_str().clone_into(&mut profile.name);
        }
        // The pending write of the entry is not awaited: going online writes the entry again.
        let (entry, _) = hub.agents().reserve(principal, &id, &profile, DOOR)?;
        let remote = Arc::new(Remote::new(hub.clone(), entry, described));
        known.insert(id, remote.clone());
        Ok(remote)
    }

    /// Returns whether the hub has an agent of this id.
    pub(super) fn is_taken(&self, id: &str) -> bool {
        let anybody = Principal::local();
        self.0.hub.agents().find(&anybody, id).is_ok()
    }

    /// Applies the operator's [`Settings`] to an agent.
    async fn set(&self, principal: &Principal, remote: &Remote) -> Result<(), Failure> {
        let RemoteSpec { share, timeout, .. } = &remote.spec;
        if share.is_none() && timeout.is_none() {
            return Ok(());
        }
        let settings = timeout.map(|timeout| Settings {
            idle: Some(timeout),
            ..remote.entry().settings()
        });
        let hub = &self.0.hub;
        let (_, saved) = hub
            .agents()
            .change(principal, &remote.id, share.clone(), settings)?;
        saved.await.map_err(|error| store_failure(&error))
    }

    async fn save(&self, principal: &Principal, remote: &Remote) -> Result<(), Failure> {
        self.set(principal, remote).await?;
        let stored = StoredRemote {
            spec: &remote.spec,
            added_at: remote.added_at,
        };
        let saved = record::save(&*self.0.store, DOOR, &remote.id, &stored);
        saved.await.map_err(|error| store_failure(&error))
    }

    /// Spawns the task that keeps a remote attached, until the remote is removed or the hub stops.
    fn run(&self, remote: &Arc<Remote>, looked: Option<Result<FoundCard, CardFetchError>>) {
        let (inner, remote) = (self.0.clone(), remote.clone());
        let stop = self.0.tasks.stop_token().clone();
        self.0.tasks.spawn(async move {
            remote.clone().run(looked, stop).await;
            let mut known = inner.known.lock();
            // A newer remote may have the id by now.
            if known
                .get(&remote.id)
                .is_some_and(|it| Arc::ptr_eq(it, &remote))
            {
                known.remove(&remote.id);
            }
        });
    }
}

/// Choice of the agent id for a remote.
#[derive(Debug, Clone, Copy)]
enum IdChoice<'a> {
    /// The id already belongs to the remote.
    Known(&'a AgentId),
    /// The id, if not taken.
    Free(&'a AgentId),
    /// Id derived from the first suitable name.
    Of(&'a [String]),
}

fn taken(id: &AgentId) -> Failure {
    let text = format!("there is an agent {id} already; choose another id, or remove that one");
    Failure::new(Reason::Conflict, text)
}
