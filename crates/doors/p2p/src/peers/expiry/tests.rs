//! Which agents are forgotten, and when; the peers are made up, and so is the time.

use std::{collections::BTreeSet, sync::Arc};

use jackfield_core::{
    agent::{Profile, Share},
    hub::Hub,
    limits::Limits,
    store::{Store, memory::MemoryStore},
};
use jackfield_kit::{files::Files, tasks::Tasks};
use jackfield_model::AgentId;
use jackfield_peer::{
    Multiaddr,
    keys::Keypair,
    known::{KnownPeers, PeerStore as _, SavedPeer},
    node::{Node, NodeConfig},
};
use jackfield_registry::{Registry, RegistryRules};

use super::*;
use crate::{
    saved::StoredPeers,
    serve::{HandoffTerms, HubHost},
};

/// A hub on a store, and its peers, of which these are kept.
async fn open(store: &Arc<MemoryStore>, kept: &[PeerId]) -> (Hub, PeerTracker) {
    let tasks = Tasks::new();
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    let key = Keypair::generate_ed25519();
    let node = Node::start(NodeConfig::default(), key, &tasks)
        .await
        .unwrap();
    let kept = kept.iter().map(|peer| {
        let address = format!("/ip4/127.0.0.1/tcp/1/p2p/{peer}");
        address.parse::<Multiaddr>().unwrap()
    });
    let registry = Registry::new(RegistryRules {
        allow_private: true,
    });
    let stored = Arc::new(StoredPeers(store.clone()));
    let saved = stored.load().await.unwrap();
    let known = KnownPeers::open(node.clone(), stored, tasks.clone(), saved, kept.collect());
    let peers = PeerTracker::new(
        hub.clone(),
        node,
        registry,
        HubHost::new(
            hub.clone(),
            Files::for_hub(&hub),
            HandoffTerms::default(),
            [],
        ),
        known,
        tasks,
        false,
    );
    (hub, peers)
}

fn id(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

/// An agent that a peer brought.
fn bring(hub: &Hub, name: &str, peer: PeerId, door: &'static str) {
    let profile = Profile {
        endpoint: Some(format!("/p2p/{peer}")),
        ..Profile::default()
    };
    let owner = Principal::admin(HandoffTerms::default().owner);
    hub.agents()
        .reserve(&owner, &id(name), &profile, door)
        .unwrap();
}

fn listed(hub: &Hub) -> BTreeSet<String> {
    let all = hub
        .agents()
        .discover(&Principal::local(), &Wanted::default());
    all.iter().map(|it| it.id.to_string()).collect()
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.map(str::to_owned).into()
}

async fn seen(store: &Arc<MemoryStore>, peer: PeerId, at: Timestamp) {
    let saved = SavedPeer {
        peer,
        address: None,
        is_blocked: false,
        seen_at: Some(at),
    };
    StoredPeers(store.clone()).save(saved).await.unwrap();
}

async fn kept(store: &Arc<MemoryStore>) -> Vec<SavedPeer> {
    StoredPeers(store.clone()).load().await.unwrap()
}

fn hours(hours: i64) -> SignedDuration {
    SignedDuration::from_hours(hours)
}

#[tokio::test]
async fn agents_of_a_peer_that_is_away_for_a_day_are_forgotten_and_the_peer_with_them() {
    let store = Arc::new(MemoryStore::default());
    let now = Timestamp::now();
    let (old, recent) = (PeerId::random(), PeerId::random());
    let (hub, _) = open(&store, &[]).await;
    bring(&hub, "old", old, DOOR);
    bring(&hub, "recent", recent, DOOR);
    seen(&store, old, now - hours(25)).await;
    seen(&store, recent, now - hours(23)).await;
    // A hub that was started just now knows it too.
    let (hub, peers) = open(&store, &[]).await;
    peers.forget_gone(now);
    assert_eq!(listed(&hub), names(["recent"]));
    let left = kept(&store).await;
    assert_eq!(left.iter().map(|it| it.peer).collect::<Vec<_>>(), [recent]);
    let agents = store.load_agents().await.unwrap();
    assert_eq!(agents.len(), 1, "the store has forgotten it as well");
}

#[tokio::test]
async fn agents_of_whom_nobody_wrote_down_when_they_were_here_have_a_day_from_now() {
    let store = Arc::new(MemoryStore::default());
    let (hub, peers) = open(&store, &[]).await;
    bring(&hub, "guest", PeerId::random(), DOOR);
    let now = Timestamp::now();
    peers.forget_gone(now);
    assert_eq!(kept(&store).await[0].seen_at, Some(now));
    // However often the hub is started meanwhile.
    let (hub, peers) = open(&store, &[]).await;
    peers.forget_gone(now + hours(23));
    assert_eq!(listed(&hub), names(["guest"]));
    let (hub, peers) = open(&store, &[]).await;
    peers.forget_gone(now + hours(25));
    assert_eq!(listed(&hub), names([]));
    assert!(kept(&store).await.is_empty());
}

#[tokio::test]
async fn agents_that_somebody_wants_and_agents_of_other_doors_stay() {
    let store = Arc::new(MemoryStore::default());
    let kept = PeerId::random();
    let (hub, peers) = open(&store, &[kept]).await;
    bring(&hub, "kept", kept, DOOR);
    bring(&hub, "shared", PeerId::random(), DOOR);
    bring(&hub, "boaster", PeerId::random(), "agora");
    let share = Some(Share::Everyone);
    let changed = hub
        .agents()
        .change(&Principal::local(), &id("shared"), share, None);
    changed.unwrap();
    peers.forget_gone(Timestamp::now() + hours(1000));
    assert_eq!(listed(&hub), names(["kept", "shared", "boaster"]));
}
