//! Peers as agents of the hub: a peer that connects, and that may hand off here, is asked for its card; what the card
//! says becomes an agent, or several if the peer is another hub, as long as the connection lasts. Identity is the peer id
//! that the connection proved, never what a card says.

mod ask;
mod guest;
mod list;
mod work;

use std::{collections::HashMap, sync::Arc, time::Duration};

use jackfield_core::{
    agent::{Profile, Skill},
    hub::Hub,
    id::AgentId,
};
use jackfield_kit::tasks::Tasks;
use jackfield_wire::p2p::{Card, MAX_CARD, read_card, registry::Registration};
use libp2p::{Multiaddr, PeerId, multiaddr::Protocol};
use parking_lot::Mutex;
use tokio::{
    sync::broadcast::error::RecvError,
    time::{Instant, sleep},
};
use tokio_util::sync::CancellationToken;

use self::{guest::Guest, list::Listed};
use crate::{
    door::{CARD, HANDOFF, HANDOFF_STREAM},
    exchange,
    node::{Node, OpenError, PeerEvent},
    registry::{Claim, Registry},
    serve::Reception,
};

/// How long a peer has to show its card, or its list of agents.
const ANSWER: Duration = Duration::from_secs(10);
/// How often a peer is asked for its card again: what it can do changes rarely.
const REFRESH: Duration = Duration::from_secs(60);
/// How often a hub is asked again which agents it has, which come and go.
const REFRESH_HUB: Duration = Duration::from_secs(10);
/// How long to wait at most before a peer is dialled again that the operator named.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How many agents another hub may bring.
const MAX_GUESTS: usize = 1024;
/// How much of a peer id tells its agents from those of others: 12 characters of base 58 are some 70 bits.
const SHORT: usize = 12;

/// The peers of a hub.
#[derive(Debug, Clone)]
pub(crate) struct Peers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hub: Hub,
    node: Node,
    registry: Registry,
    reception: Reception,
    tasks: Tasks,
    /// Whether peers are reached through this hub.
    is_relay: bool,
    /// Those that are here, and what ends their visit.
    here: Mutex<HashMap<PeerId, CancellationToken>>,
}

impl Peers {
    pub(crate) fn new(
        hub: Hub,
        node: Node,
        registry: Registry,
        reception: Reception,
        tasks: Tasks,
        is_relay: bool,
    ) -> Self {
        Self(Arc::new(Inner {
            hub,
            node,
            registry,
            reception,
            tasks,
            is_relay,
            here: Mutex::default(),
        }))
    }

    /// Receives peers until the node stops, and keeps a connection with those that the operator named.
    pub(crate) async fn run(self, wanted: Vec<Multiaddr>) {
        let mut news = self.0.node.watch();
        for address in wanted {
            let node = self.0.node.clone();
            self.0.tasks.spawn(stay_connected(node, address));
        }
        loop {
            match news.recv().await {
                Ok(PeerEvent::Identified { peer, .. }) => self.meet(peer),
                Ok(PeerEvent::Disconnected { peer }) => self.part(peer),
                Ok(PeerEvent::Connected { .. }) => {}
                Err(RecvError::Lagged(_)) => self.look_around(),
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Some of the news was missed.
    fn look_around(&self) {
        let connected: Vec<_> = self.0.node.connected();
        let gone: Vec<_> = {
            let here = self.0.here.lock();
            let is_gone = |peer: &&PeerId| !connected.iter().any(|it| it.peer == **peer);
            here.keys().filter(is_gone).copied().collect()
        };
        gone.into_iter().for_each(|peer| self.part(peer));
        for connected in connected {
            self.meet(connected.peer);
        }
    }

    fn meet(&self, peer: PeerId) {
        let knows = self.0.node.peer(peer).is_some_and(|it| {
            let speaks = |protocol| it.protocols.contains(&protocol);
            speaks(CARD) && (speaks(HANDOFF) || speaks(HANDOFF_STREAM))
        });
        let terms = self.0.reception.terms();
        if !knows || !terms.allowed.includes(&peer.to_string()) {
            return;
        }
        let over = {
            let mut here = self.0.here.lock();
            if here.contains_key(&peer) {
                return;
            }
            let over = self.0.tasks.stop_token().child_token();
            here.insert(peer, over.clone());
            over
        };
        let visit = self.clone().visit(peer, over.clone());
        self.0
            .tasks
            .spawn(async move { over.run_until_cancelled(visit).await });
    }

    fn part(&self, peer: PeerId) {
        let over = self.0.here.lock().remove(&peer);
        if let Some(over) = over {
            over.cancel();
        }
    }

    /// Looks at a peer's card now and then, as long as it is here. Its agents are attached meanwhile.
    async fn visit(self, peer: PeerId, over: CancellationToken) {
        let mut guests: HashMap<AgentId, Guest> = HashMap::new();
        loop {
            match self.agents_of(peer).await {
                Ok(listed) => {
                    guests.retain(|id, _| listed.iter().any(|it| it.id == *id));
                    for listed in listed {
                        self.seat(&mut guests, peer, listed, &over);
                    }
                }
                Err(why) => tracing::debug!(%peer, why, "the peer is no agent"),
            }
            let pause = if self.is_hub(peer) {
                REFRESH_HUB
            } else {
                REFRESH
            };
            sleep(pause).await;
        }
    }

    fn seat(
        &self,
        guests: &mut HashMap<AgentId, Guest>,
        peer: PeerId,
        listed: Listed,
        over: &CancellationToken,
    ) {
        if let Some(guest) = guests.get_mut(&listed.id) {
            guest.refresh(&self.0.hub, listed);
            return;
        }
        let id = listed.id.clone();
        let owner = &self.0.reception.terms().owner;
        let seated = Guest::seat(&self.0.hub, owner, &self.0.node, peer, listed, over);
        match seated {
            Ok((guest, serving)) => {
                // A peer that can be called is not let go because nobody calls it.
                self.0.node.keep(peer);
                self.0.tasks.spawn(serving);
                tracing::info!(agent = %id, %peer, "peer attached");
                guests.insert(id, guest);
            }
            Err(failure) => tracing::warn!(agent = %id, %peer, %failure, "peer not attached"),
        }
    }

    /// What a peer is as agents: those of another hub, or itself.
    async fn agents_of(&self, peer: PeerId) -> Result<Vec<Listed>, String> {
        let card = fetch_card(&self.0.node, peer, &[]).await?;
        self.note(peer, &card);
        let mut listed = Vec::new();
        if self.is_hub(peer) {
            let list = list::fetch(&self.0.node, peer).await?;
            listed.extend(list.into_iter().take(MAX_GUESTS));
        } else {
            listed.extend(Listed::of_card(peer, card));
        }
        Ok(listed)
    }

    fn is_hub(&self, peer: PeerId) -> bool {
        let said = self.0.node.peer(peer).and_then(|it| it.agent);
        said.is_some_and(|said| said.starts_with("jackfield/"))
    }

    /// A peer that is connected and showed its card can be found.
    fn note(&self, peer: PeerId, card: &Card) {
        let listens = self.0.node.peer(peer).map(|it| it.listens);
        let mut addresses: Vec<_> = listens.unwrap_or_default();
        if self.0.is_relay {
            // It can take a place here, and is reached by it then.
            let own = self.0.node.addresses().into_iter();
            addresses.extend(own.map(|it| it.with(Protocol::P2pCircuit).with(Protocol::P2p(peer))));
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
        if let Err(failure) = self.0.registry.register(&registration, Claim::Peer) {
            tracing::debug!(%peer, %failure, "a connected peer cannot be registered");
        }
    }
}

/// The card of a peer.
pub async fn fetch_card(
    node: &Node,
    peer: PeerId,
    addresses: &[Multiaddr],
) -> Result<Card, String> {
    let opened = node.open(peer, addresses, &[CARD]).await;
    let (mut stream, _) = opened.map_err(|error| error.to_string())?;
    let answer = exchange::ask(&mut stream, b"", MAX_CARD, ANSWER).await;
    let answer = answer.map_err(|trouble| trouble.to_string())?;
    read_card(&answer).map_err(|no_card| format!("{no_card:?}"))
}

/// The end of a peer id, which is where ids differ.
fn short(peer: PeerId) -> String {
    let text = peer.to_string();
    text[text.len().saturating_sub(SHORT)..].to_owned()
}

/// Dials a peer that the operator named, again and again.
async fn stay_connected(node: Node, address: Multiaddr) {
    let mut pause = Duration::from_secs(1);
    loop {
        let begun = Instant::now();
        match node.connect(address.clone()).await {
            Ok(peer) => {
                pause = Duration::from_secs(1);
                while node.peer(peer).is_some() {
                    sleep(Duration::from_secs(1)).await;
                }
            }
            Err(OpenError::Stopped) => return,
            Err(error) => tracing::debug!(%address, %error, "a peer cannot be reached"),
        }
        sleep(pause.saturating_sub(begun.elapsed())).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// What a card says of an agent.
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
