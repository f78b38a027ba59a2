//! Reservations at relays.

use jackfield_peer::{multiaddr::Protocol, node::RelayLimits};

use super::*;

struct Relay {
    node: Node,
    tasks: Tasks,
}

impl Relay {
    async fn start(key: &Keypair, listen: &str, allowed_peer: Option<PeerId>) -> Self {
        let config = NodeConfig {
            listen: vec![listen.parse().unwrap()],
            relay_server: Some(RelayLimits::default()),
            ..NodeConfig::default()
        };
        let tasks = Tasks::new();
        let node = Node::start(config, key.clone(), &tasks).await.unwrap();
        if let Some(allowed_peer) = allowed_peer {
            node.allow_relay(allowed_peer, true);
        }
        Self { node, tasks }
    }

    fn address(&self) -> Multiaddr {
        self.node.addresses()[0].clone()
    }
}

fn is_held(status: &SidecarStatus) -> bool {
    status.relays[0].1 == ReservationState::Held
}

#[tokio::test]
async fn an_agent_that_nobody_can_dial_is_reached_through_the_relay_which_may_restart() {
    let agent = Agent::start().await;
    let relay_key = Keypair::generate_ed25519();
    let mut setting = setting(&agent.url);
    let peer = setting.key.public().to_peer_id();
    let relay = Relay::start(&relay_key, LISTEN, Some(peer)).await;
    let address = relay.address();
    setting.node.listen.clear();
    setting.relays = vec![address.clone()];
    let sidecar = Sidecar::open(setting).await.unwrap();
    let status = until(&sidecar, is_held).await;
    let through = address
        .clone()
        .with(Protocol::P2pCircuit)
        .with(Protocol::P2p(peer));
    assert!(status.addresses.contains(&through), "{status:?}");
    let caller = Caller::start().await;
    let at = [through];
    let card = caller.ask_at(peer, &at, PROTOCOL_CARD, "").await;
    assert_eq!(card, CARD);

    relay.tasks.stop(Duration::from_secs(5)).await;
    until(&sidecar, |it| !is_held(it)).await;
    let direct = address.iter().filter(|it| !matches!(it, Protocol::P2p(_)));
    let listen = direct.collect::<Multiaddr>().to_string();
    let relay = Relay::start(&relay_key, &listen, Some(peer)).await;
    assert_eq!(relay.address(), address);
    until(&sidecar, is_held).await;
    let caller = Caller::start().await;
    let request = json!({"method": "GET", "path": "/items"}).to_string();
    let answer = caller.ask_at(peer, &at, PROTOCOL_HANDOFF, &request).await;
    assert_eq!(answer, "{\"ok\": true}");
}

#[tokio::test]
async fn no_place_is_asked_for_before_the_agent_was_seen() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let mut setting = setting(&format!("http://{addr}/base"));
    let peer = setting.key.public().to_peer_id();
    let relay = Relay::start(&Keypair::generate_ed25519(), LISTEN, Some(peer)).await;
    setting.relays = vec![relay.address()];
    let sidecar = Sidecar::open(setting).await.unwrap();
    until(&sidecar, |it| {
        matches!(it.agent, SidecarAgentStatus::Gone(_))
    })
    .await;
    // A whole exchange takes longer than a connection to the relay would take.
    assert!(Caller::start().await.card(&sidecar).await.contains("504"));
    assert!(relay.node.connected().is_empty());
    let _agent = Agent::at(TcpListener::bind(addr).await.unwrap());
    until(&sidecar, is_held).await;
}

#[tokio::test]
async fn a_relay_that_refuses_is_told_of() {
    let agent = Agent::start().await;
    let relay = Relay::start(&Keypair::generate_ed25519(), LISTEN, None).await;
    let setting = SidecarConfig {
        relays: vec![relay.address()],
        ..setting(&agent.url)
    };
    let peer = setting.key.public().to_peer_id();
    let sidecar = Sidecar::open(setting).await.unwrap();
    let is_lost = |it: &SidecarStatus| matches!(it.relays[0].1, ReservationState::Lost(_));
    until(&sidecar, is_lost).await;
    // The sidecar stays connected: a hub accepts it as an agent with or without a reservation.
    assert!(relay.node.peer(peer).is_some());
    relay.node.allow_relay(peer, true);
    until(&sidecar, is_held).await;
}

#[tokio::test]
async fn an_address_that_is_no_relays_is_refused() {
    let relay = PeerId::random();
    for address in [
        "/ip4/127.0.0.1/tcp/1".to_owned(),
        format!("/ip4/127.0.0.1/tcp/1/p2p/{relay}/p2p-circuit"),
        format!("/ip4/127.0.0.1/tcp/1/p2p/{relay}/p2p-circuit/p2p/{relay}"),
    ] {
        let setting = SidecarConfig {
            relays: vec![address.parse().unwrap()],
            ..setting("http://127.0.0.1:1")
        };
        let refused = Sidecar::open(setting).await.unwrap_err();
        assert!(matches!(refused, SidecarError::Relay(_)), "{refused}");
    }
}
