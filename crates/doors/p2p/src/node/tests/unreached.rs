//! Why a peer is not reached, in one line; and addresses that are tried although the peer is connected.

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;

/// What is said of an address that does not lead to a peer.
async fn told(client: &Node, at: &str, peer: PeerId) -> String {
    let at: Multiaddr = format!("{at}/p2p/{peer}").parse().unwrap();
    let text = client.connect_by(at).await.unwrap_err().to_string();
    assert!(!text.contains('\n'), "{text}");
    text
}

#[tokio::test]
async fn who_dials_in_vain_is_told_why_in_one_line() {
    in_time(async {
        let (server, client) = (Rig::listening(TCP).await, Rig::listening(TCP).await);
        let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = http.local_addr().unwrap().port();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            loop {
                let (mut tcp, _) = http.accept().await.unwrap();
                tcp.read_exact(&mut [0; 8]).await.unwrap();
                tcp.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
            }
        });
        let at = format!("/ip4/127.0.0.1/tcp/{port}");
        let meant = PeerId::random();
        assert_eq!(
            told(&client.node, &at, meant).await,
            format!(
                "cannot connect with {at}/p2p/{meant}: what answers there does not speak libp2p; a hub's libp2p port is one above its HTTP port"
            )
        );
        let at = server.node.addresses()[0].to_string();
        let at = &at[..at.find("/p2p/").unwrap()];
        let another = told(&client.node, at, meant).await;
        let id = server.node.peer_id();
        assert!(another.ends_with(&format!("another peer answers there: {id}")), "{another}");
        server.stop().await;
        let nobody = told(&client.node, at, meant).await;
        assert!(nobody.ends_with("nobody listens there"), "{nobody}");
    })
    .await;
}

#[tokio::test]
async fn an_address_is_tried_although_the_peer_is_connected_by_another() {
    in_time(async {
        let (server, client) = (Rig::listening(TCP).await, Rig::listening(TCP).await);
        server.echo();
        let (peer, at) = (server.node.peer_id(), server.node.addresses());
        client.node.connect(at[0].clone()).await.unwrap();
        let wrong = format!("/ip4/127.0.0.1/tcp/1/p2p/{peer}");
        let wrong: Multiaddr = wrong.parse().unwrap();
        let tried = client.node.connect_by(wrong.clone()).await;
        assert!(matches!(tried, Err(OpenError::Unreachable(_))), "{tried:?}");
        // Whoever only wants the peer has it.
        client.node.connect(wrong).await.unwrap();
        for _ in 0..2 * limits::CONNECTIONS_PER_PEER {
            client.node.connect_by(at[0].clone()).await.unwrap();
        }
        assert_eq!(echo_through(&client.node, peer, &[], b"[1]").await, b"[1]");
    })
    .await;
}
