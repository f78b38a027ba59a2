//! Error messages for unreachable peers; and dialling further addresses of a connected peer.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::origin::Origin;

/// The error for an address that doesn't lead to the peer.
async fn dial_error(client: &Node, at: &str, peer: PeerId) -> String {
    let at: Multiaddr = format!("{at}/p2p/{peer}").parse().unwrap();
    let text = client.connect_by(at).await.unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[tokio::test]
async fn who_dials_in_vain_is_told_why_in_one_line() {
    in_time(async {
        let (server, client) = (TestNode::listening(TCP).await, TestNode::listening(TCP).await);
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = http.local_addr().unwrap().port();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            loop {
                let (mut tcp, _) = http.accept().await.unwrap();
                tcp.read_exact(&mut [0; 8]).await.unwrap();
                let response = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\ndate: Mon, 16 Nov 2026 12:00:00 GMT\r\n\r\n";
                tcp.write_all(response).await.unwrap();
                // Waits until the client has read the response and disconnects.
                tokio::io::copy(&mut tcp, &mut tokio::io::sink()).await.ok();
            }
        });
        let at = format!("/ip4/127.0.0.1/tcp/{port}");
        let wanted = PeerId::random();
        assert_eq!(
            dial_error(&client.node, &at, wanted).await,
            format!(
                "cannot connect with {at}/p2p/{wanted}: what answers there does not speak libp2p; a hub's libp2p port is one above its HTTP port"
            )
        );
        let at = server.node.addresses()[0].to_string();
        let at = &at[..at.find("/p2p/").unwrap()];
        let another = dial_error(&client.node, at, wanted).await;
        let id = server.node.peer_id();
        assert!(another.ends_with(&format!("another peer answers there: {id}")), "{another}");
        server.stop().await;
        let refused = dial_error(&client.node, at, wanted).await;
        assert!(refused.ends_with("nobody listens there"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn an_address_is_tried_although_the_peer_is_connected_by_another() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        server.echo();
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        client.node.connect(at[0].clone()).await.unwrap();
        let wrong = format!("/ip4/127.0.0.1/tcp/1/p2p/{peer}");
        let wrong: Multiaddr = wrong.parse().unwrap();
        let tried = client.node.connect_by(wrong.clone()).await;
        assert!(
            matches!(tried, Err(StreamOpenError::Unreachable(_))),
            "{tried:?}"
        );
        // Connecting to the peer itself succeeds: it's already connected.
        client.node.connect(wrong).await.unwrap();
        for _ in 0..2 * limits::CONNECTIONS_PER_PEER {
            client.node.connect_by(at[0].clone()).await.unwrap();
        }
        assert_eq!(echo_through(&client.node, peer, &[], b"[1]").await, b"[1]");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_is_trusted_as_before_while_one_of_its_addresses_is_tried() {
    in_time(async {
        let (here, program) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        let mut news = here.node.watch();
        program
            .node
            .connect(here.node.addresses()[0].clone())
            .await
            .unwrap();
        let connected = news.recv().await.unwrap();
        assert!(
            matches!(connected, PeerEvent::Connected { .. }),
            "{connected:?}"
        );
        let origin = || here.node.peer(program.node.peer_id()).map(|it| it.origin);
        assert_eq!(origin(), Some(Origin::ThisMachine));
        let at = program.node.addresses()[0].clone();
        for _ in 0..2 * limits::CONNECTIONS_PER_PEER {
            here.node.connect_by(at.clone()).await.unwrap();
            assert_eq!(origin(), Some(Origin::ThisMachine));
        }
    })
    .await;
}

#[tokio::test]
async fn a_peer_that_closes_a_connection_at_once_is_dialled_once_again() {
    in_time(async {
        let (server, client) = (
            TestNode::listening(TCP).await,
            TestNode::listening(TCP).await,
        );
        server.echo();
        let server_addr = ip_and_port(&server.node.addresses()[0]);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let mut keeping = JoinSet::new();
        keeping.spawn(async move {
            // Published peers do the same with connections beyond their rate limit.
            drop(listener.accept().await.unwrap());
            let (mut outer, _) = listener.accept().await.unwrap();
            let mut inner = TcpStream::connect(server_addr).await.unwrap();
            copy_bidirectional(&mut outer, &mut inner).await.ok();
            listener
        });
        let peer = server.node.peer_id();
        let at: Multiaddr = format!("/ip4/127.0.0.1/tcp/{}/p2p/{peer}", at.port())
            .parse()
            .unwrap();
        assert_eq!(
            echo_through(&client.node, peer, &[at], b"[1]").await,
            b"[1]"
        );
    })
    .await;
}

#[tokio::test]
async fn a_door_that_is_always_closed_at_once_is_told_so() {
    in_time(async {
        let client = TestNode::listening(TCP).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = format!(
            "/ip4/127.0.0.1/tcp/{}",
            listener.local_addr().unwrap().port()
        );
        let mut keeping = JoinSet::new();
        keeping.spawn(async move {
            loop {
                drop(listener.accept().await.unwrap());
            }
        });
        let text = dial_error(&client.node, &at, PeerId::random()).await;
        assert!(text.contains("closed there at once"), "{text}");
    })
    .await;
}

#[tokio::test]
async fn what_a_relay_has_no_way_to_is_told_in_our_own_words() {
    in_time(async {
        let config = NodeConfig {
            relay_server: Some(RelayLimits::default()),
            ..config(TCP)
        };
        let relay = TestNode::with(config, Keypair::generate_ed25519()).await;
        let client = TestNode::listening(TCP).await;
        let at = relay.node.addresses()[0].to_string();
        let text = dial_error(&client.node, &format!("{at}/p2p-circuit"), PeerId::random()).await;
        assert!(text.ends_with("it is not connected with it"), "{text}");
        relay.stop().await;
        let text = dial_error(&client.node, &format!("{at}/p2p-circuit"), PeerId::random()).await;
        assert!(text.ends_with("or never was"), "{text}");
    })
    .await;
}

fn ip_and_port(address: &Multiaddr) -> String {
    let text = address.to_string();
    let parts: Vec<_> = text.split('/').collect();
    format!("{}:{}", parts[2], parts[4])
}
