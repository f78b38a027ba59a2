//! The door of a hub: the state that its sessions and HTTP handlers share, and the connections of `/ws` that it takes.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Weak},
};

use axum::extract::Query;
use futures_util::future::BoxFuture;
use http::Uri;
use jackfield_core::{entry::Entry, hub::Hub, principal::Principal};
use jackfield_kit::{
    auth::Gatekeeper,
    door::SocketProtocol,
    files::Files,
    outbound::OutboundError,
    tasks::Tasks,
    ws_connection::{WsConnection, WsConnectionEvent},
};
use jackfield_model::{AgentId, Failure, Reason};
use jackfield_transfer::hub::{ArchiveRelays, Transfers};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, de::IgnoredAny};
use sha2::{Digest as _, Sha256};

use crate::{
    DOOR,
    callbacks::{CallbackPolicy, CallbackRules},
    files::rules::FileRules,
    limits::BridgeLimits,
    lineage::Lineages,
    relay::requests::PlatformRequests,
    secret::{SharedSecret, SharedSecrets},
    session::BridgeAgentSession,
    signals::PendingSignals,
};

/// The operator's settings for the platform that uses the HTTP API, and for file transfers.
#[derive(Debug, Default)]
pub struct PlatformSettings {
    /// Secrets that authenticate the platform, newest first. Two while one replaces the other; without any,
    /// the HTTP API refuses every request.
    pub secrets: Vec<SharedSecret>,
    /// Rules for calling the platform back; `None` refuses async relays.
    pub callbacks: Option<CallbackRules>,
    /// Rules for file transfers of the platform and all other callers.
    pub files: FileRules,
    /// Limits of sessions and of the HTTP API.
    pub limits: BridgeLimits,
    /// Registry of transfers; the default keeps transfers in memory only.
    pub transfers: Arc<Transfers>,
    /// Files under links; without them, files given as bytes become `data:` URLs.
    pub links: Option<Arc<Files>>,
}

/// The bridge door of a hub: the state shared by its sessions and HTTP handlers.
#[derive(Debug)]
pub struct Bridge {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) tasks: Tasks,
    /// Maximum nesting depth of fields in frames and bodies.
    pub(crate) max_depth: usize,
    /// Maximum number of bytes in one chunk of an agent's text.
    pub(crate) max_chunk: usize,
    /// Limits of this door alone.
    pub(crate) limits: BridgeLimits,
    /// Principal of the platform.
    pub(crate) platform: Principal,
    pub(crate) secrets: SharedSecrets,
    pub(crate) callbacks: Arc<CallbackPolicy>,
    /// Requests of the platform, see [`PlatformRequests`].
    pub(crate) requests: PlatformRequests,
    /// Signals from agents to HTTP callers about file transfers.
    pub(crate) signals: PendingSignals,
    /// Rules for file transfers.
    pub(crate) files: FileRules,
    /// Files under links, since the protocol knows only links.
    pub(crate) links: Arc<Files>,
    /// Transfers between agents and their callers.
    pub(crate) transfers: Arc<Transfers>,
    /// Archives relayed through the hub.
    pub(crate) relays: Arc<ArchiveRelays>,
    /// State handed on between connections that resume each other.
    pub(crate) lineages: Lineages,
    /// Last connection of each agent of the door, as long as the hub knows the agent.
    pub(crate) connections: Mutex<HashMap<AgentId, ConnectionRecord>>,
}

/// Number of remembered connections above which those of forgotten agents are removed.
const REMEMBERED: usize = 64;

/// Data about an agent's connection, available even after the connection ended.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionRecord {
    /// [`Entry`] of the agent in the hub.
    pub(crate) place: Weak<Entry>,
    /// SHA-256 of the token used for registration, in hex: see [`token_hash`].
    pub(crate) token_hash: Option<String>,
    /// Agent type stated by the agent.
    pub(crate) agent_type: String,
    /// Capabilities stated by the agent.
    pub(crate) capabilities: Vec<String>,
    /// Time of registration.
    pub(crate) connected_at: Option<Timestamp>,
    /// Time of the last heartbeat.
    pub(crate) last_heartbeat: Option<Timestamp>,
    /// Number of sessions stated by the agent.
    pub(crate) active_sessions: u64,
}

impl ConnectionRecord {
    /// Returns whether the hub still knows the agent.
    fn is_known(&self) -> bool {
        let place = self.place.upgrade();
        place.is_some_and(|place| !place.is_retired())
    }
}

/// Returns the hash by which the platform identifies a token.
pub(crate) fn token_hash(token: &str) -> String {
    let digest = Sha256::digest(token.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Bridge {
    /// Creates the door of a hub without a platform: the HTTP API refuses every request. Sessions run as part
    /// of `tasks`.
    pub fn new(hub: Hub, gatekeeper: Gatekeeper, tasks: Tasks) -> Arc<Self> {
        let platform = PlatformSettings::default();
        Self::assemble(hub, gatekeeper, tasks, platform, CallbackPolicy::none())
    }

    /// Creates the door of a hub with a [`PlatformSettings`]. Sessions run as part of `tasks`; the hub's courier
    /// delivers the callbacks.
    pub fn with_platform(
        hub: Hub,
        gatekeeper: Gatekeeper,
        tasks: Tasks,
        platform: PlatformSettings,
    ) -> Result<Arc<Self>, OutboundError> {
        let callbacks = match &platform.callbacks {
            Some(rules) => CallbackPolicy::new(rules)?,
            None => CallbackPolicy::none(),
        };
        Ok(Self::assemble(hub, gatekeeper, tasks, platform, callbacks))
    }

    fn assemble(
        hub: Hub,
        gatekeeper: Gatekeeper,
        tasks: Tasks,
        platform: PlatformSettings,
        callbacks: CallbackPolicy,
    ) -> Arc<Self> {
        let limits = hub.limits();
        let (max_depth, max_chunk) = (limits.json_depth, limits.chunk.0);
        hub.observe(platform.transfers.clone());
        let links = platform.links.unwrap_or_else(|| Files::for_hub(&hub));
        Arc::new(Self {
            hub,
            gatekeeper,
            tasks,
            max_depth,
            max_chunk,
            limits: platform.limits,
            platform: Principal::platform(),
            secrets: SharedSecrets::new(platform.secrets),
            callbacks: Arc::new(callbacks),
            requests: PlatformRequests::default(),
            signals: PendingSignals::default(),
            relays: Arc::new(ArchiveRelays::new(platform.files.max_relayed)),
            files: platform.files,
            links,
            transfers: platform.transfers,
            lineages: Lineages::default(),
            connections: Mutex::default(),
        })
    }

    /// Replaces the platform's secrets, as after a change by the operator.
    pub fn set_secrets(&self, secrets: Vec<SharedSecret>) {
        self.secrets.set(secrets);
    }

    /// Records the registration of an agent ([`ConnectionRecord`]).
    pub(crate) fn note_attached(&self, id: &AgentId, attachment: ConnectionRecord) {
        let mut attached = self.connections.lock();
        // Only each time that the number of connections has doubled, so that the cost per agent stays low. The capacity of
        // the map would not do: it depends on the hashes.
        let is_new = !attached.contains_key(id);
        if is_new && attached.len() >= REMEMBERED && attached.len().is_power_of_two() {
            attached.retain(|_, attachment| attachment.is_known());
        }
        attached.insert(id.clone(), attachment);
    }

    /// Records a heartbeat of an agent.
    pub(crate) fn note_heartbeat(&self, id: &AgentId, active_sessions: u64) {
        if let Some(attachment) = self.connections.lock().get_mut(id) {
            attachment.last_heartbeat = Some(Timestamp::now());
            attachment.active_sessions = active_sessions;
        }
    }

    /// Records that an agent went offline (not: was replaced). Its signals are dropped, its [`ConnectionRecord`]
    /// stays.
    pub(crate) fn note_left(&self, id: &AgentId) {
        self.signals.clear(id);
    }

    /// Runs a connection of an agent until its end. `agent_id` is the id in the URL, which `register` must
    /// repeat.
    pub fn run(
        self: &Arc<Self>,
        mut line: WsConnection,
        agent_id: Option<String>,
    ) -> impl Future<Output = ()> + Send + use<> {
        line.count_for_door(DOOR);
        let mut session = BridgeAgentSession::new(self.clone(), line, agent_id);
        async move { session.run().await }
    }
}

/// The query of a connection's URL.
#[derive(Debug, Deserialize)]
struct UrlQuery {
    agent_id: Option<String>,
}

fn agent_id(url: &Uri) -> Result<Option<String>, Failure> {
    let query = Query::<UrlQuery>::try_from_uri(url);
    let Query(query) = query.map_err(|error| Failure::new(Reason::Invalid, error.body_text()))?;
    Ok(query.agent_id)
}

impl SocketProtocol for Bridge {
    fn door(&self) -> &'static str {
        DOOR
    }

    fn claims_url(&self, url: &Uri) -> Result<bool, Failure> {
        agent_id(url).map(|id| id.is_some())
    }

    fn claims_first(&self, first: &WsConnectionEvent) -> bool {
        /// The fields of a first frame that identify the protocol.
        #[derive(Deserialize)]
        struct First<'a> {
            #[serde(rename = "type", borrow)]
            kind: Cow<'a, str>,
            agent_id: Option<IgnoredAny>,
            id: Option<IgnoredAny>,
        }
        let WsConnectionEvent::Text(text) = first else {
            return false;
        };
        let first = serde_json::from_str::<First<'_>>(text);
        first.is_ok_and(|first| {
            first.kind == "register" && first.agent_id.is_some() && first.id.is_none()
        })
    }

    fn run(self: Arc<Self>, line: WsConnection, url: &Uri) -> BoxFuture<'static, ()> {
        // An unreadable URL was refused before the connection was opened.
        let agent_id = agent_id(url).unwrap_or_default();
        Box::pin(Self::run(&self, line, agent_id))
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
                ..Manner::default()
            };
            let agent = Scripted::attach(&hub, &local, &id, Profile::default(), manner);
            let place = hub.agents().find(&local, &id).unwrap();
            let attachment = ConnectionRecord {
                place: Arc::downgrade(&place),
                ..ConnectionRecord::default()
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
        let attached = bridge.connections.lock();
        assert!(attached.len() <= 2 * REMEMBERED, "{}", attached.len());
        assert!(attached.contains_key("a-0"));
    }
}
