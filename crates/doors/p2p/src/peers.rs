//! Peers as agents of the hub. A connected peer that may hand off here, or that is kept, is asked for its
//! card. The card becomes an agent, or several if the peer is another hub, as long as the connection lasts.
//! Identity is the peer id that the connection proved, never a claim of a card.

mod agent;
mod ask;
mod expiry;
mod list;
mod tracking;
mod work;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jackfield_core::{agent::Profile, hub::Hub};
use jackfield_kit::tasks::Tasks;
use jackfield_model::{AgentId, Skill};
use jackfield_peer::{
    CARD, HANDOFF, HANDOFF_STREAM, Multiaddr, PeerId,
    address::{ip_of, is_relayed},
    inquire::fetch_card,
    known::{KnownPeers, PastError},
    multiaddr::Protocol,
    node::{Node, PeerEvent},
    origin::Origin,
    wire::{PeerCard, registry::Registration},
};
use jackfield_registry::{Registry, placed};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{
    sync::{broadcast::error::RecvError, watch},
    time::{Instant, interval_at, sleep, timeout},
};

pub(crate) use self::tracking::PeerStatus;
use self::{agent::PeerAgent, list::RemoteAgent, tracking::Tracking};
use crate::serve::HubHost;

/// Interval of fetches of a peer's card: skills change rarely.
const REFRESH: Duration = Duration::from_secs(60);
/// Interval of fetches of another hub's list, whose agents come and go.
const REFRESH_HUB: Duration = Duration::from_secs(10);
/// Longest wait of an administrator who adds a peer until its agents are attached: the peer has to report its
/// protocols, its card and its list of agents.
const FIRST_LOOK: Duration = Duration::from_secs(25);
/// Delay of the first sweep of offline agents: peers that return after a restart have done so by then.
const FIRST_SWEEP: Duration = Duration::from_secs(5 * 60);
/// Interval of sweeps of offline agents.
const SWEEP: Duration = Duration::from_secs(60 * 60);
/// Most agents of another hub.
const MAX_AGENTS: usize = 1024;

/// Tracker of the peers that are agents of a hub. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct PeerTracker(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hub: Hub,
    node: Node,
    registry: Registry,
    host: HubHost,
    known: KnownPeers,
    tasks: Tasks,
    /// Whether this hub relays calls to peers.
    is_relay: bool,
    /// Tracked peers, all of them connected.
    tracked: Mutex<HashMap<PeerId, Arc<Tracking>>>,
    /// Signals that a tracked peer was added, looked at, or removed.
    changes: watch::Sender<()>,
}

impl PeerTracker {
    pub(crate) fn new(
        hub: Hub,
        node: Node,
        registry: Registry,
        host: HubHost,
        known: KnownPeers,
        tasks: Tasks,
        is_relay: bool,
    ) -> Self {
        Self(Arc::new(Inner {
            hub,
            node,
            registry,
            host,
            known,
            tasks,
            is_relay,
            tracked: Mutex::default(),
            changes: watch::Sender::default(),
        }))
    }

    /// Tracks peers until the node or the hub stops.
    pub(crate) async fn run(self) {
        let mut news = self.0.node.watch();
        let mut registered = self.0.registry.watch_registered();
        // Some peers may be connected already.
        self.look_around();
        let mut sweeps = interval_at(Instant::now() + FIRST_SWEEP, SWEEP);
        loop {
            tokio::select! {
                () = self.0.tasks.stop_token().cancelled() => return,
                event = news.recv() => match event {
                    Ok(PeerEvent::Identified { peer, .. }) => self.on_connected(peer),
                    Ok(PeerEvent::Disconnected { peer, why }) => {
                        self.on_disconnected(peer, why.as_deref().unwrap_or("the connection was closed here"));
                    }
                    Ok(PeerEvent::Connected { .. }) => {}
                    Err(RecvError::Lagged(_)) => self.look_around(),
                    Err(RecvError::Closed) => return,
                },
                registered = registered.recv() => match registered {
                    Ok(peer) => self.look_again(peer),
                    // Missed peers are looked at in their turn.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                _ = sweeps.tick() => self.forget_gone(Timestamp::now()),
            }
            self.0.changes.send_replace(());
        }
    }

    /// Returns the [`PeerStatus`] of a tracked peer.
    pub(crate) fn shown(&self, peer: PeerId) -> Option<PeerStatus> {
        let tracked = self.0.tracked.lock();
        tracked
            .get(&peer)
            .map(|tracking| tracking.shown.lock().clone())
    }

    /// Waits until a dialled peer is an agent, or is known not to be one.
    pub(crate) async fn looked_at(&self, peer: PeerId) {
        let mut changes = self.0.changes.subscribe();
        let looking = async {
            while !self.is_looked_at(peer) {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        // After the timeout the caller gets the present state.
        timeout(FIRST_LOOK, looking).await.ok();
    }

    fn is_looked_at(&self, peer: PeerId) -> bool {
        if let Some(shown) = self.shown(peer) {
            return shown.is_looked_at;
        }
        // The peer is gone, or has reported its protocols and is no agent.
        let connected = self.0.node.peer(peer);
        connected.is_none_or(|it| it.agent.is_some() && !self.is_agent(peer))
    }

    /// Reads all connections again after missed events.
    fn look_around(&self) {
        let connected: Vec<_> = self.0.node.connected();
        let gone: Vec<_> = {
            let tracked = self.0.tracked.lock();
            let is_gone = |peer: &&PeerId| !connected.iter().any(|it| it.peer == **peer);
            tracked.keys().filter(is_gone).copied().collect()
        };
        for peer in gone {
            self.on_disconnected(peer, "the connection ended");
        }
        for connected in connected {
            self.on_connected(connected.peer);
        }
    }

    /// Returns whether a connected peer speaks the protocols of an agent.
    fn is_agent(&self, peer: PeerId) -> bool {
        self.0.node.peer(peer).is_some_and(|it| {
            let speaks = |protocol| it.protocols.contains(&protocol);
            speaks(CARD) && (speaks(HANDOFF) || speaks(HANDOFF_STREAM))
        })
    }

    /// Returns whether a peer may hand off, by any of its connections.
    pub(crate) fn may_hand_off(&self, peer: PeerId) -> bool {
        let connected = self.0.node.peer(peer);
        let origin = connected.map_or(Origin::Elsewhere, |it| it.origin);
        let terms = self.0.host.terms();
        terms.allowed.includes(&peer.to_string(), origin)
    }

    /// Begins to track a connected peer, if it can be an agent and is wanted: because it may hand off here,
    /// or because the operator keeps it.
    pub(crate) fn on_connected(&self, peer: PeerId) {
        let is_wanted = self.may_hand_off(peer) || self.0.known.is_kept(peer);
        if !is_wanted || !self.is_agent(peer) {
            return;
        }
        let tracking = {
            let mut tracked = self.0.tracked.lock();
            if tracked.contains_key(&peer) {
                return;
            }
            let tracking = Arc::new(Tracking::new(self.0.tasks.stop_token().child_token()));
            tracked.insert(peer, tracking.clone());
            tracking
        };
        let over = tracking.over.clone();
        let tracking = self.clone().track(peer, tracking);
        self.0
            .tasks
            .spawn(async move { over.run_until_cancelled(tracking).await });
    }

    /// Ends the tracking of a peer: its agents are detached, for this reason.
    pub(crate) fn on_disconnected(&self, peer: PeerId, why: &str) {
        let tracking = self.0.tracked.lock().remove(&peer);
        if let Some(tracking) = tracking {
            tracking.over.cancel();
            for agent in &tracking.shown.lock().agents {
                tracing::info!(%agent, %peer, why, "peer detached");
            }
            self.0.registry.connection_ended(&peer);
        }
    }

    /// Looks at a tracked peer again, because it has registered something new.
    fn look_again(&self, peer: PeerId) {
        if let Some(tracking) = self.0.tracked.lock().get(&peer) {
            tracking.again.notify_one();
        }
    }

    /// Fetches a peer's card at intervals while tracked, and keeps its agents attached.
    async fn track(self, peer: PeerId, tracking: Arc<Tracking>) {
        let mut agents: HashMap<AgentId, PeerAgent> = HashMap::new();
        loop {
            let listed = self.agents_of(peer, &tracking).await;
            let error = match &listed {
                Err(why) => Some(why.as_str()),
                Ok(none) if none.is_empty() && !self.is_hub(peer) => Some("its card has no skills"),
                Ok(_) => None,
            };
            let error = error.map(|why| {
                tracing::debug!(%peer, why, "the peer is no agent");
                PastError::now(why.to_owned())
            });
            if let Ok(listed) = listed {
                agents.retain(|id, _| listed.iter().any(|it| it.id == *id));
                for listed in listed {
                    self.attach(&mut agents, peer, listed, &tracking);
                }
            }
            if !agents.is_empty() {
                self.0.known.seen(peer, Timestamp::now());
            }
            let mut ids: Vec<_> = agents.keys().cloned().collect();
            ids.sort();
            {
                let mut shown = tracking.shown.lock();
                shown.agents = ids;
                shown.error = error;
                shown.is_looked_at = true;
            }
            self.0.changes.send_replace(());
            let pause = if self.is_hub(peer) {
                REFRESH_HUB
            } else {
                REFRESH
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = tracking.again.notified() => {}
            }
        }
    }

    fn attach(
        &self,
        agents: &mut HashMap<AgentId, PeerAgent>,
        peer: PeerId,
        listed: RemoteAgent,
        tracking: &Tracking,
    ) {
        if let Some(agent) = agents.get_mut(&listed.id) {
            agent.refresh(&self.0.hub, listed);
            return;
        }
        let id = listed.id.clone();
        let owner = &self.0.host.terms().owner;
        let (hub, files) = (&self.0.hub, self.0.host.files());
        let seated = PeerAgent::attach(hub, files, owner, &self.0.node, peer, listed, tracking);
        match seated {
            Ok((agent, serving)) => {
                // A peer that can be called stays connected although unused.
                self.0.node.keep(peer);
                self.0.tasks.spawn(serving);
                tracing::info!(agent = %id, %peer, "peer attached");
                agents.insert(id, agent);
            }
            Err(failure) => tracing::warn!(agent = %id, %peer, %failure, "peer not attached"),
        }
    }

    /// Returns the agents of a peer: those of another hub, or the peer itself.
    async fn agents_of(
        &self,
        peer: PeerId,
        tracking: &Tracking,
    ) -> Result<Vec<RemoteAgent>, String> {
        let card = fetch_card(&self.0.node, peer, &[]).await;
        let card = card.map_err(|failure| failure.to_string())?;
        let is_new = tracking
            .shown
            .lock()
            .name
            .replace(card.name.clone())
            .is_none();
        for remark in card.remarks().iter().filter(|_| is_new) {
            tracing::debug!(%peer, remark, "a peer's card is not as it should be");
        }
        self.note(peer, &card);
        let mut listed = Vec::new();
        if self.is_hub(peer) {
            let list = list::fetch(&self.0.node, peer).await?;
            listed.extend(list.into_iter().take(MAX_AGENTS));
        } else {
            listed.extend(RemoteAgent::of_card(peer, card));
        }
        Ok(listed)
    }

    fn is_hub(&self, peer: PeerId) -> bool {
        let connected = self.0.node.peer(peer);
        connected.is_some_and(|it| it.is_hub() == Some(true))
    }

    /// Lists a connected peer that showed its card in the registry.
    fn note(&self, peer: PeerId, card: &PeerCard) {
        let mut addresses = Vec::new();
        if let Some(seen) = self.0.node.peer(peer) {
            let from = ip_of(&seen.address);
            let listens = seen.listens.iter();
            addresses.extend(listens.map(|it| from.map_or(it.clone(), |from| placed(it, from))));
        }
        if self.0.is_relay {
            // The peer can reserve a place here, and is reached through it then.
            addresses.extend(places_for(peer, self.0.node.addresses()));
        }
        let registration = Registration {
            peer_id: peer.to_string(),
            agent_name: Some(card.name.clone()),
            addresses: addresses.iter().map(ToString::to_string).collect(),
            capabilities: card.skills.iter().map(|skill| skill.id.clone()).collect(),
            card: Some(card.clone()),
            ttl: 3 * REFRESH.as_secs(),
            proof: None,
        };
        if let Err(failure) = self.0.registry.note(&registration) {
            tracing::debug!(%peer, %failure, "a connected peer cannot be registered");
        }
    }
}

/// Returns the addresses of a peer with a reservation at a relay with these addresses. A relay that is itself
/// behind a relay grants none, since nobody dials through two.
fn places_for(peer: PeerId, relay: Vec<Multiaddr>) -> impl Iterator<Item = Multiaddr> {
    let direct = relay.into_iter().filter(|it| !is_relayed(it));
    direct.map(move |it| it.with(Protocol::P2pCircuit).with(Protocol::P2p(peer)))
}

/// Converts the description of a card to a profile.
fn profile(peer: PeerId, name: &str, description: &str, skills: Vec<Skill>) -> Profile {
    Profile {
        name: name.to_owned(),
        description: Some(description.to_owned()).filter(|text| !text.is_empty()),
        skills,
        endpoint: Some(format!("/p2p/{peer}")),
        ..Profile::default()
    }
}

#[cfg(test)]
mod tests;
