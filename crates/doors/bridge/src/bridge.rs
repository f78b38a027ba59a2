//! What the sessions and the HTTP handlers of this door share.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use jackfield_core::{entry::Entry, hub::Hub, principal::Principal};
use jackfield_kit::{auth::Gatekeeper, outbound::OutboundError, tasks::Tasks};
use jackfield_model::AgentId;
use jiff::Timestamp;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::{
    callbacks::{CallbackRules, Callbacks},
    files::{relays::Relays, rules::FileRules},
    lineage::Lineages,
    relay::open::Open,
    secret::{Secret, Secrets},
    signals::Signals,
};

/// What the operator set for the platform that uses the HTTP API, and for transfers of files.
#[derive(Debug, Default)]
pub struct Platform {
    /// The secrets that let it in, the newest first. Two while one replaces the other; with none, nobody is let in.
    pub secrets: Vec<Secret>,
    /// How it is called back; without it, no async relays are taken.
    pub callbacks: Option<CallbackRules>,
    /// What counts for transfers of files, the platform's and everybody's.
    pub files: FileRules,
}

/// What the sessions and the HTTP handlers of this door share.
#[derive(Debug)]
pub struct Bridge {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) tasks: Tasks,
    /// How deep the fields of frames and bodies may be nested.
    pub(crate) max_depth: usize,
    /// How much text of an agent goes on in one piece, in bytes.
    pub(crate) max_chunk: usize,
    /// Who calls when the platform does.
    pub(crate) platform: Principal,
    pub(crate) secrets: Secrets,
    pub(crate) callbacks: Arc<Callbacks>,
    /// The platform's requests.
    pub(crate) open: Open,
    /// What agents say to HTTP callers about file transfers.
    pub(crate) signals: Signals,
    /// What the operator set for transfers of files.
    pub(crate) files: FileRules,
    /// Archives that go through the hub.
    pub(crate) relays: Arc<Relays>,
    /// What connections that resume each other hand on.
    pub(crate) lineages: Lineages,
    /// The last connection of each agent of this door, as long as the hub knows the agent.
    pub(crate) attached: Mutex<HashMap<AgentId, Attachment>>,
}

/// How many connections are remembered before those of forgotten agents are looked for.
const REMEMBERED: usize = 64;

/// What is known of an agent's connection, and stays known when it is gone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attachment {
    /// The agent's place on the hub.
    pub(crate) place: Weak<Entry>,
    /// The SHA-256 of the token that it registered with, in hex: see [`token_hash`].
    pub(crate) token_hash: Option<String>,
    /// What it says it is.
    pub(crate) agent_type: String,
    /// What it says it can do.
    pub(crate) capabilities: Vec<String>,
    /// When it registered.
    pub(crate) connected_at: Option<Timestamp>,
    /// When it last gave a sign of life.
    pub(crate) last_heartbeat: Option<Timestamp>,
    /// How many sessions it says it has.
    pub(crate) active_sessions: u64,
}

impl Attachment {
    /// Whether the hub still knows the agent.
    fn is_known(&self) -> bool {
        let place = self.place.upgrade();
        place.is_some_and(|place| !place.is_retired())
    }
}

/// How a token is known to the platform.
pub(crate) fn token_hash(token: &str) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Bridge {
    /// The door of a hub without a platform: its HTTP API refuses everybody. Its sessions are among `tasks`.
    pub fn new(hub: Hub, gatekeeper: Gatekeeper, tasks: Tasks) -> Arc<Self> {
        let platform = Platform::default();
        Self::assemble(hub, gatekeeper, tasks, platform, Callbacks::none())
    }

    /// The door of a hub with a platform. Its sessions are among `tasks`; the hub's courier delivers its callbacks.
    pub fn with_platform(
        hub: Hub,
        gatekeeper: Gatekeeper,
        tasks: Tasks,
        platform: Platform,
    ) -> Result<Arc<Self>, OutboundError> {
        let callbacks = match &platform.callbacks {
            Some(rules) => Callbacks::new(rules)?,
            None => Callbacks::none(),
        };
        Ok(Self::assemble(hub, gatekeeper, tasks, platform, callbacks))
    }

    fn assemble(
        hub: Hub,
        gatekeeper: Gatekeeper,
        tasks: Tasks,
        platform: Platform,
        callbacks: Callbacks,
    ) -> Arc<Self> {
        let limits = hub.limits();
        let (max_depth, max_chunk) = (limits.json_depth, limits.chunk.0);
        Arc::new(Self {
            hub,
            gatekeeper,
            tasks,
            max_depth,
            max_chunk,
            platform: Principal::platform(),
            secrets: Secrets::new(platform.secrets),
            callbacks: Arc::new(callbacks),
            open: Open::default(),
            signals: Signals::default(),
            relays: Arc::new(Relays::new(platform.files.max_relayed)),
            files: platform.files,
            lineages: Lineages::default(),
            attached: Mutex::default(),
        })
    }

    /// Lets other secrets count from now on, as when the operator replaces one.
    pub fn set_secrets(&self, secrets: Vec<Secret>) {
        self.secrets.set(secrets);
    }

    /// An agent of this door registered.
    pub(crate) fn note_attached(&self, id: &AgentId, attachment: Attachment) {
        let mut attached = self.attached.lock();
        // Before the map would grow to twice its size, so that looking costs little for each agent.
        if attached.len() >= REMEMBERED && attached.len() == attached.capacity() {
            attached.retain(|_, attachment| attachment.is_known());
        }
        attached.insert(id.clone(), attachment);
    }

    /// An agent of this door gave a sign of life.
    pub(crate) fn note_heartbeat(&self, id: &AgentId, active_sessions: u64) {
        if let Some(attachment) = self.attached.lock().get_mut(id) {
            attachment.last_heartbeat = Some(Timestamp::now());
            attachment.active_sessions = active_sessions;
        }
    }

    /// An agent of this door went offline (not: was replaced). Its signals go, what is known of it stays.
    pub(crate) fn note_left(&self, id: &AgentId) {
        self.signals.clear(id);
    }
}

#[cfg(test)]
mod tests {
    use jackfield_core::{agent::Profile, limits::Limits, store::memory::MemoryStore};
    use jackfield_kit::testing::{Manner, Scripted};

    use super::*;

    #[tokio::test]
    async fn connections_of_agents_that_the_hub_forgot_are_forgotten_too() {
        let store = Arc::new(MemoryStore::default());
        let hub = Hub::open(store, Limits::default()).await.unwrap();
        let bridge = Bridge::new(
            hub.clone(),
            Gatekeeper::new(hub.clone(), true),
            Tasks::new(),
        );
        let local = Principal::local();
        let mut stays = None;
        for number in 0..1000 {
            let id = format!("a-{number}");
            let manner = Manner {
                door: crate::DOOR,
                is_lively: false,
                one_call_per_session: true,
            };
            let agent = Scripted::attach(&hub, &local, &id, Profile::default(), manner);
            let place = hub.agents().find(&local, &id).unwrap();
            let attachment = Attachment {
                place: Arc::downgrade(&place),
                ..Attachment::default()
            };
            bridge.note_attached(&place.id, attachment);
            // The first one stays.
            if number == 0 {
                stays = Some(agent);
            } else {
                drop(agent);
                hub.agents()
                    .forget(&local, &place.id)
                    .unwrap()
                    .await
                    .unwrap();
            }
        }
        assert!(stays.is_some());
        let attached = bridge.attached.lock();
        assert!(attached.len() <= 2 * REMEMBERED, "{}", attached.len());
        assert!(attached.contains_key("a-0"));
    }
}
