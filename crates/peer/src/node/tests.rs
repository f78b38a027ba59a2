//! Nodes that communicate over loopback sockets.

use std::{future::Future, time::Duration};

use libp2p::futures::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::{sync::watch, task::JoinSet};

use super::*;
use crate::wire::BodyLimits;
use crate::{
    address::with_peer,
    exchange::{answer, ask, read_json},
    permits::{ExchangeKind, Permits},
    streams::Inbound,
};

mod pings;
mod relay;
mod unreached;

const ECHO: StreamProtocol = StreamProtocol::new("/test/echo/1.0.0");
const NEWER: StreamProtocol = StreamProtocol::new("/test/echo/1.1.0");
const TCP: &str = "/ip4/127.0.0.1/tcp/0";
const QUIC: &str = "/ip4/127.0.0.1/udp/0/quic-v1";

/// Timeout that only a failing test reaches.
const WAIT: Duration = Duration::from_secs(60);

/// A node with its tasks, which stop when dropped.
struct TestNode {
    node: Node,
    tasks: Tasks,
}

impl TestNode {
    async fn with(config: NodeConfig, key: Keypair) -> Self {
        let tasks = Tasks::new();
        let node = Node::start(config, key, &tasks).await.unwrap();
        Self { node, tasks }
    }

    async fn listening(address: &str) -> Self {
        Self::with(config(address), Keypair::generate_ed25519()).await
    }

    /// Echoes each JSON request.
    fn echo(&self) {
        let mut incoming = self.node.accept(ECHO).unwrap();
        let tasks = self.tasks.clone();
        self.tasks.spawn(async move {
            while let Some(inbound) = incoming.next().await {
                tasks.spawn(echo_one(inbound));
            }
        });
    }

    async fn stop(self) {
        assert_eq!(self.tasks.stop(WAIT).await, 0);
    }
}

async fn echo_one(mut inbound: Inbound) {
    let limits = BodyLimits {
        max_bytes: 2 * MIB,
        ..BodyLimits::default()
    };
    let request = read_json(&mut inbound.stream, limits).await.unwrap();
    answer(&mut inbound.stream, &request).await.unwrap();
}

fn config(address: &str) -> NodeConfig {
    NodeConfig {
        listen: vec![address.parse().unwrap()],
        ..NodeConfig::default()
    }
}

const MIB: usize = 1024 * 1024;

/// A JSON value of this size in bytes.
fn json(bytes: usize) -> Vec<u8> {
    let mut text = vec![b'x'; bytes];
    text[0] = b'"';
    text[bytes - 1] = b'"';
    text
}

async fn in_time<T>(work: impl Future<Output = T>) -> T {
    timeout(WAIT, work).await.expect("the test hangs")
}

async fn echo_through(from: &Node, to: PeerId, addresses: &[Multiaddr], request: &[u8]) -> Vec<u8> {
    let (mut stream, protocol) = from.open(to, addresses, &[ECHO]).await.unwrap();
    assert_eq!(protocol, ECHO);
    ask(&mut stream, request, 2 * MIB, WAIT).await.unwrap()
}

#[test]
fn addresses_of_this_machine_are_tried_before_others_of_their_kind() {
    let relayed = format!("/ip4/127.0.0.1/tcp/1/p2p/{}/p2p-circuit", PeerId::random());
    let ordered = [
        "/ip4/127.0.0.1/tcp/1",
        "/ip4/10.0.0.1/tcp/1",
        "/ip4/127.0.0.1/udp/1/quic-v1",
        "/ip4/10.0.0.1/udp/1/quic-v1",
        &relayed,
    ];
    let ordered = ordered.map(|it| it.parse::<Multiaddr>().unwrap());
    let mut shuffled = ordered.clone();
    shuffled.reverse();
    assert_eq!(ways_to(&shuffled), ordered.map(|it| vec![it]));
}

#[tokio::test]
async fn small_and_large_requests_are_answered_whole_over_tcp_and_quic() {
    in_time(async {
        for address in [TCP, QUIC] {
            let (server, client) = (
                TestNode::listening(address).await,
                TestNode::listening(TCP).await,
            );
            server.echo();
            let (peer, at) = (server.node.peer_id(), server.node.addresses());
            for bytes in [2, 100, MIB] {
                let request = json(bytes);
                let answer = echo_through(&client.node, peer, &at, &request).await;
                assert!(answer == request, "{bytes} bytes over {address}");
            }
            client.stop().await;
            server.stop().await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_caller_that_never_closes_its_side_gets_its_answer_and_the_end() {
    in_time(async {
        for address in [TCP, QUIC] {
            let (server, client) = (
                TestNode::listening(address).await,
                TestNode::listening(TCP).await,
            );
            server.echo();
            let (peer, at) = (server.node.peer_id(), server.node.addresses());
            let (mut stream, _) = client.node.open(peer, &at, &[ECHO]).await.unwrap();
            stream.write_all(br#"{"goal":1}"#).await.unwrap();
            stream.flush().await.unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).await.unwrap();
            assert_eq!(received, br#"{"goal":1}"#, "{address}");
        }
    })
    .await;
}

#[tokio::test]
async fn the_addresses_of_a_node_name_it_and_show_tcp_before_quic() {
    let test_node = TestNode::with(
        NodeConfig {
            listen: vec![QUIC.parse().unwrap(), TCP.parse().unwrap()],
            external: vec!["/dns4/hub.example/tcp/7412".parse().unwrap()],
            relay_server: None,
            ..NodeConfig::default()
        },
        Keypair::generate_ed25519(),
    )
    .await;
    let listed: Vec<_> = test_node
        .node
        .addresses()
        .iter()
        .map(ToString::to_string)
        .collect();
    let name = format!("/p2p/{}", test_node.node.peer_id());
    assert!(
        listed.iter().all(|address| address.ends_with(&name)),
        "{listed:?}"
    );
    assert_eq!(listed.len(), 3);
    assert!(
        listed[0].starts_with("/dns4/hub.example/tcp/"),
        "{listed:?}"
    );
    assert!(listed[1].starts_with("/ip4/127.0.0.1/tcp/"), "{listed:?}");
    assert!(!listed[1].contains("/tcp/0/"), "{listed:?}");
    assert!(listed[2].contains("/quic-v1/"), "{listed:?}");
}

#[tokio::test]
async fn an_address_in_use_is_said_at_start() {
    let first = TestNode::listening(TCP).await;
    let taken = first.node.addresses()[0]
        .to_string()
        .replace(&format!("/p2p/{}", first.node.peer_id()), "");
    let key = Keypair::generate_ed25519();
    let error = Node::start(config(&taken), key, &Tasks::new())
        .await
        .unwrap_err();
    assert!(error.to_string().contains(&taken), "{error}");
}

#[tokio::test]
async fn the_first_protocol_that_the_peer_knows_is_taken() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        let none = client.node.open(peer, &at, &[NEWER, ECHO]).await;
        assert_eq!(none.unwrap_err(), StreamOpenError::Unsupported);
        let mut old = server.node.accept(ECHO).unwrap();
        let (_stream, protocol) = client.node.open(peer, &at, &[NEWER, ECHO]).await.unwrap();
        assert_eq!(protocol, ECHO);
        assert_eq!(old.next().await.unwrap().protocol, ECHO);
        let mut new = server.node.accept(NEWER).unwrap();
        let (_stream, protocol) = client.node.open(peer, &at, &[NEWER, ECHO]).await.unwrap();
        assert_eq!(protocol, NEWER);
        let inbound = new.next().await.unwrap();
        assert_eq!(inbound.peer, client.node.peer_id());
        assert_eq!(inbound.source, Some("127.0.0.1".parse().unwrap()));
        assert_eq!(server.node.accept(ECHO).unwrap_err(), AlreadyAccepted);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_200_handoffs_at_once_some_are_done_and_every_other_one_is_told() {
    in_time(async {
        for address in [TCP, QUIC] {
            let (server, client) = (
                TestNode::listening(address).await,
                TestNode::listening(TCP).await,
            );
            let (go, wait) = watch::channel(false);
            serve_with_permits(&server, wait);
            let (peer, at) = (server.node.peer_id(), server.node.addresses());
            client.node.connect(at[0].clone()).await.unwrap();
            let mut asking = JoinSet::new();
            for _ in 0..200 {
                let node = client.node.clone();
                asking.spawn(async move {
                    // Like a foreign peer, without our own limit of streams.
                    let (mut stream, _) = node.open_here(peer, &[ECHO]).await.unwrap();
                    ask(&mut stream, b"{}", MIB, WAIT).await.unwrap()
                });
            }
            let mut refused = 0;
            while refused < 200 - limits::HANDOFFS_PER_PEER {
                let answer = asking.join_next().await.unwrap().unwrap();
                assert_eq!(answer, br#"{"error":"too many","code":429}"#);
                refused += 1;
            }
            go.send(true).unwrap();
            while let Some(answer) = asking.join_next().await {
                assert_eq!(answer.unwrap(), br#"{"done":true}"#);
            }
            assert_eq!(server.node.connected().len(), 1, "the connection lives");
        }
    })
    .await;
}

/// Answers requests with a permit when `go` is set, all others at once.
fn serve_with_permits(server: &TestNode, go: watch::Receiver<bool>) {
    let mut incoming = server.node.accept(ECHO).unwrap();
    let tasks = server.tasks.clone();
    let permits = Permits::new();
    server.tasks.spawn(async move {
        while let Some(mut inbound) = incoming.next().await {
            let permit = permits.take(inbound.peer, inbound.source, ExchangeKind::Handoff);
            let mut go = go.clone();
            tasks.spawn(async move {
                let text = match &permit {
                    Ok(_) => {
                        go.wait_for(|go| *go).await.unwrap();
                        r#"{"done":true}"#
                    }
                    Err(_) => r#"{"error":"too many","code":429}"#,
                };
                answer(&mut inbound.stream, text.as_bytes()).await.unwrap();
            });
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_nobody_takes_yet_are_not_lost() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        let mut incoming = server.node.accept(ECHO).unwrap();
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        client.node.connect(at[0].clone()).await.unwrap();
        let mut opening = JoinSet::new();
        for _ in 0..200 {
            let node = client.node.clone();
            opening.spawn(async move { node.open_here(peer, &[ECHO]).await.unwrap() });
        }
        let streams = opening.join_all().await;
        assert_eq!(streams.len(), 200);
        for _ in 0..200 {
            incoming.next().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn more_streams_than_allowed_to_one_peer_are_refused_here_and_the_connection_lives() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        let _incoming = server.node.accept(ECHO).unwrap();
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        let mut held = Vec::new();
        for _ in 0..limits::STREAMS_TO_PEER {
            held.push(client.node.open(peer, &at, &[ECHO]).await.unwrap());
        }
        let next = client.node.open(peer, &at, &[ECHO]).await;
        assert_eq!(next.unwrap_err(), StreamOpenError::TooMany);
        held.pop();
        client.node.open(peer, &at, &[ECHO]).await.unwrap();
    })
    .await;
}

/// Returns the next event, skipping events about protocols.
async fn next_event(peer_events: &mut broadcast::Receiver<PeerEvent>) -> PeerEvent {
    loop {
        let event = peer_events.recv().await.unwrap();
        if !matches!(event, PeerEvent::Identified { .. }) {
            return event;
        }
    }
}

#[tokio::test]
async fn a_peer_that_restarts_is_reached_again_and_both_are_told() {
    in_time(async {
        let client = TestNode::listening(TCP).await;
        let mut peer_events = client.node.watch();
        let key = Keypair::generate_ed25519();
        let server = TestNode::with(config(TCP), key.clone()).await;
        server.echo();
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        echo_through(&client.node, peer, &at, b"{}").await;
        let event = next_event(&mut peer_events).await;
        assert!(
            matches!(event, PeerEvent::Connected { peer: it, is_relayed: false, .. } if it == peer)
        );
        server.stop().await;
        let event = next_event(&mut peer_events).await;
        assert!(matches!(event, PeerEvent::Disconnected { peer: it, .. } if it == peer));
        assert!(client.node.connected().is_empty());

        let again = TestNode::with(config(&at[0].to_string()), key).await;
        again.echo();
        echo_through(&client.node, peer, &at, b"{}").await;
        let event = next_event(&mut peer_events).await;
        assert!(matches!(event, PeerEvent::Connected { peer: it, .. } if it == peer));
    })
    .await;
}

#[tokio::test]
async fn peers_say_which_program_they_are_and_what_they_know() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        server.echo();
        let mut peer_events = client.node.watch();
        let at = server.node.addresses();
        let peer = client.node.connect(at[0].clone()).await.unwrap();
        loop {
            if let PeerEvent::Identified { protocols, .. } = peer_events.recv().await.unwrap() {
                assert!(protocols.contains(&ECHO), "{protocols:?}");
                break;
            }
        }
        let agent = client.node.peer(peer).unwrap().agent.unwrap();
        assert!(agent.starts_with("jackfield/"), "{agent}");
    })
    .await;
}

#[tokio::test]
async fn a_dead_address_does_not_hide_a_living_one() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(QUIC).await,
            TestNode::listening(TCP).await,
        );
        server.echo();
        // A port that was just released has no listener.
        let gone = TestNode::listening(TCP).await;
        let dead = gone.node.addresses()[0].to_string();
        let dead: Multiaddr = dead[..dead.find("/p2p/").unwrap()].parse().unwrap();
        gone.stop().await;
        let peer = server.node.peer_id();
        let mut at = server.node.addresses();
        at.push(with_peer(dead, peer));
        assert_eq!(echo_through(&client.node, peer, &at, b"[1]").await, b"[1]");
    })
    .await;
}

#[tokio::test]
async fn who_answers_at_an_address_must_be_the_peer_that_was_meant() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        server.echo();
        let bare = server.node.addresses()[0].to_string();
        let bare: Multiaddr = bare[..bare.find("/p2p/").unwrap()].parse().unwrap();
        let meant = PeerId::random();
        let opened = client
            .node
            .open(meant, std::slice::from_ref(&bare), &[ECHO])
            .await;
        assert!(
            matches!(opened, Err(StreamOpenError::Unreachable(_))),
            "{opened:?}"
        );
        assert_eq!(
            client.node.connect(bare).await.unwrap_err(),
            StreamOpenError::NoAddress
        );
        let unknown = client.node.open(meant, &[], &[ECHO]).await;
        assert_eq!(unknown.unwrap_err(), StreamOpenError::NoAddress);
    })
    .await;
}

#[tokio::test]
async fn a_blocked_peer_is_cut_off_and_comes_in_again_when_it_is_unblocked() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        server.echo();
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        let mut peer_events = client.node.watch();
        client.node.connect(at[0].clone()).await.unwrap();
        next_event(&mut peer_events).await;
        server.node.block(client.node.peer_id(), true);
        assert!(matches!(
            next_event(&mut peer_events).await,
            PeerEvent::Disconnected { .. }
        ));
        // The client connects, and is disconnected before its first message.
        let opened = client.node.open(peer, &at, &[ECHO]).await;
        assert!(opened.is_err(), "{opened:?}");
        server.node.block(client.node.peer_id(), false);
        // Commands run in order, so the block is lifted once this command has returned.
        server
            .node
            .open(PeerId::random(), &[], &[ECHO])
            .await
            .unwrap_err();
        echo_through(&client.node, peer, &at, b"{}").await;
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_is_sent_away_is_gone_on_both_sides() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        let (mut here, mut there) = (client.node.watch(), server.node.watch());
        let at = server.node.addresses();
        let peer = client.node.connect(at[0].clone()).await.unwrap();
        next_event(&mut here).await;
        next_event(&mut there).await;
        client.node.disconnect(peer);
        for peer_events in [&mut here, &mut there] {
            assert!(matches!(
                next_event(peer_events).await,
                PeerEvent::Disconnected { .. }
            ));
        }
    })
    .await;
}

#[tokio::test]
async fn a_node_that_stops_lets_the_answer_under_way_go_out_first() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        let mut incoming = server.node.accept(ECHO).unwrap();
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        let (mut stream, _) = client.node.open(peer, &at, &[ECHO]).await.unwrap();
        let mut inbound = incoming.next().await.unwrap();
        let stop = server.tasks.stop_token().clone();
        let asking = ask(&mut stream, b"{}", 2 * MIB, WAIT);
        let answering = async {
            stop.cancel();
            // The node notices and accepts no more streams.
            assert!(incoming.next().await.is_none());
            answer(&mut inbound.stream, &json(MIB)).await.unwrap();
            drop(inbound);
        };
        let (received, ()) = tokio::join!(asking, answering);
        assert_eq!(received.unwrap().len(), MIB);
        server.stop().await;
        let after = client.node.open(peer, &at, &[ECHO]).await;
        assert!(
            matches!(after, Err(StreamOpenError::Unreachable(_))),
            "{after:?}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_stopped_node_says_so() {
    in_time(async {
        let test_node = TestNode::listening(TCP).await;
        let node = test_node.node.clone();
        test_node.stop().await;
        let opened = node.open(PeerId::random(), &[], &[ECHO]).await;
        assert_eq!(opened.unwrap_err(), StreamOpenError::Stopped);
    })
    .await;
}
