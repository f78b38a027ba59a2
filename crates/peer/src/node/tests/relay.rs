//! Nodes that connect through a relay.

use super::*;

async fn relay(key: Keypair, address: &str) -> TestNode {
    let config = NodeConfig {
        relay_server: Some(RelayLimits::default()),
        ..config(address)
    };
    TestNode::with(config, key).await
}

/// The address of a peer through a relay.
fn through(relay: &TestNode, peer: PeerId) -> Multiaddr {
    relay.node.addresses()[0]
        .clone()
        .with(Protocol::P2pCircuit)
        .with(Protocol::P2p(peer))
}

/// A node that can't be dialled.
async fn hidden() -> TestNode {
    TestNode::with(NodeConfig::default(), Keypair::generate_ed25519()).await
}

#[tokio::test]
async fn a_peer_that_nobody_can_dial_is_called_through_a_relay() {
    in_time(async {
        let relay = relay(Keypair::generate_ed25519(), TCP).await;
        let (relayed, caller) = (hidden().await, hidden().await);
        relayed.echo();
        relay.node.allow_relay(relayed.node.peer_id(), true);
        let mut reservation = relayed
            .node
            .reserve(relay.node.addresses()[0].clone())
            .unwrap();
        assert!(reservation.held().await);
        let at = through(&relay, relayed.node.peer_id());
        assert!(
            relayed.node.addresses().contains(&at),
            "{:?}",
            relayed.node.addresses()
        );

        let peer = relayed.node.peer_id();
        let request = json(MIB);
        let answer = echo_through(&caller.node, peer, &[at], &request).await;
        assert!(answer == request);
        assert!(caller.node.peer(peer).unwrap().is_relayed);
        assert!(relayed.node.peer(caller.node.peer_id()).unwrap().is_relayed);
    })
    .await;
}

#[tokio::test]
async fn behind_a_relay_the_source_of_a_stream_is_unknown() {
    in_time(async {
        let relay = relay(Keypair::generate_ed25519(), TCP).await;
        let (relayed, caller) = (hidden().await, hidden().await);
        let mut incoming = relayed.node.accept(ECHO).unwrap();
        relay.node.allow_relay(relayed.node.peer_id(), true);
        let mut reservation = relayed
            .node
            .reserve(relay.node.addresses()[0].clone())
            .unwrap();
        assert!(reservation.held().await);
        let at = through(&relay, relayed.node.peer_id());
        let peer = relayed.node.peer_id();
        let _stream = caller.node.open(peer, &[at], &[ECHO]).await.unwrap();
        let inbound = incoming.next().await.unwrap();
        assert_eq!(inbound.peer, caller.node.peer_id());
        assert_eq!(inbound.source, None);
    })
    .await;
}

#[tokio::test]
async fn a_relay_has_places_only_for_those_it_knows() {
    in_time(async {
        let relay = relay(Keypair::generate_ed25519(), TCP).await;
        let stranger = hidden().await;
        let at = relay.node.addresses()[0].clone();
        let reservation = stranger.node.reserve(at).unwrap();
        let mut state = reservation.watch();
        let lost = state
            .wait_for(|state| matches!(state, ReservationState::Lost(_)))
            .await;
        drop(lost.unwrap());
        assert!(stranger.node.addresses().is_empty());
        // The node asks for a reservation again, and gets it.
        relay.node.allow_relay(stranger.node.peer_id(), true);
        let mut reservation = reservation;
        assert!(reservation.held().await);
    })
    .await;
}

#[tokio::test]
async fn whoever_the_operator_lets_in_has_a_place_before_anybody_knows_it() {
    in_time(async {
        let relayed = hidden().await;
        let limits = RelayLimits {
            allowed: Allowed::only(&[relayed.node.peer_id().to_string()]).unwrap(),
            ..RelayLimits::default()
        };
        let config = NodeConfig {
            relay_server: Some(limits),
            ..config(TCP)
        };
        let relay = TestNode::with(config, Keypair::generate_ed25519()).await;
        let at = relay.node.addresses()[0].clone();
        let reservation = relayed.node.reserve(at).unwrap();
        let mut state = reservation.watch();
        let first = state.wait_for(|state| *state != ReservationState::Asking);
        assert_eq!(*first.await.unwrap(), ReservationState::Held);
    })
    .await;
}

#[tokio::test]
async fn a_relay_for_programs_of_this_machine_has_no_place_for_whom_it_dialled_itself() {
    in_time(async {
        let limits = RelayLimits {
            allowed: Allowed::ThisMachine,
            ..RelayLimits::default()
        };
        let config_of_relay = NodeConfig {
            relay_server: Some(limits),
            ..config(TCP)
        };
        let relay = TestNode::with(config_of_relay, Keypair::generate_ed25519()).await;
        let at = relay.node.addresses()[0].clone();
        let (came, dialled) = (hidden().await, TestNode::listening(TCP).await);
        let there = dialled.node.addresses()[0].clone();
        relay.node.connect(there).await.unwrap();
        for (relayed, is_granted) in [(came, true), (dialled, false)] {
            let reservation = relayed.node.reserve(at.clone()).unwrap();
            let mut state = reservation.watch();
            let first = state.wait_for(|state| *state != ReservationState::Asking);
            assert_eq!(*first.await.unwrap() == ReservationState::Held, is_granted);
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_that_is_no_relay_gives_no_place() {
    in_time(async {
        let (plain, relayed) = (TestNode::listening(TCP).await, hidden().await);
        plain.node.allow_relay(relayed.node.peer_id(), true);
        let reservation = relayed
            .node
            .reserve(plain.node.addresses()[0].clone())
            .unwrap();
        let mut state = reservation.watch();
        let no_relay = state.wait_for(|state| *state == ReservationState::NoRelay);
        drop(no_relay.await.unwrap());
        assert!(relayed.node.peer(plain.node.peer_id()).is_some());
    })
    .await;
}

#[tokio::test]
async fn a_place_is_taken_again_after_the_relay_restarts() {
    in_time(async {
        let key = Keypair::generate_ed25519();
        let first = relay(key.clone(), TCP).await;
        let (relayed, caller) = (hidden().await, hidden().await);
        relayed.echo();
        let peer = relayed.node.peer_id();
        first.node.allow_relay(peer, true);
        let at = first.node.addresses()[0].clone();
        let mut reservation = relayed.node.reserve(at.clone()).unwrap();
        assert!(reservation.held().await);
        first.stop().await;
        let mut state = reservation.watch();
        let lost = state
            .wait_for(|state| matches!(state, ReservationState::Lost(_)))
            .await;
        drop(lost.unwrap());
        assert!(relayed.node.addresses().is_empty());

        let second = relay(key, &at.to_string()).await;
        second.node.allow_relay(peer, true);
        assert!(reservation.held().await);
        let at = through(&second, peer);
        assert_eq!(
            echo_through(&caller.node, peer, &[at], b"[2]").await,
            b"[2]"
        );
    })
    .await;
}

#[tokio::test]
async fn a_place_that_is_given_up_leads_nowhere() {
    in_time(async {
        let relay = relay(Keypair::generate_ed25519(), TCP).await;
        let (relayed, caller) = (hidden().await, hidden().await);
        relayed.echo();
        let peer = relayed.node.peer_id();
        relay.node.allow_relay(peer, true);
        let mut peer_events = relay.node.watch();
        let mut reservation = relayed
            .node
            .reserve(relay.node.addresses()[0].clone())
            .unwrap();
        assert!(reservation.held().await);
        let at = through(&relay, peer);
        drop(reservation);
        relayed.node.disconnect(relay.node.peer_id());
        while !matches!(
            next_event(&mut peer_events).await,
            PeerEvent::Disconnected { peer: it, .. } if it == peer
        ) {}
        let opened = caller.node.open(peer, &[at], &[ECHO]).await;
        assert!(
            matches!(opened, Err(StreamOpenError::Unreachable(_))),
            "{opened:?}"
        );
    })
    .await;
}
