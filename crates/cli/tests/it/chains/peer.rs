//! The peer at the end of the tree, controlled by the test, which streams its answer in frames. The hub connects
//! to the peer through a proxy.

use jackfield_peer::exchange::{self, StreamWriteError};
use jackfield_testkit::{FaultProxy, SOON};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::chains::hub::Hub;
use crate::raw::{RawPeer, ReceivedHandoff, card};

/// The peer.
pub(crate) struct ScriptedPeer {
    pub(crate) proxy: FaultProxy,
    /// The peer's id as an agent of the hub.
    pub(crate) id: String,
    peer: RawPeer,
}

impl ScriptedPeer {
    pub(crate) async fn join(hub: &Hub) -> Self {
        let peer = RawPeer::streaming(card("guest", "ask", "/ask")).await;
        let address = peer.address();
        let port = address.split('/').nth(4).and_then(|port| port.parse().ok());
        let port: u16 = port.expect("a port");
        let proxy = FaultProxy::start(([127, 0, 0, 1], port).into()).await;
        let name = peer.id();
        let id = format!("guest@{}", &name[name.len() - 12..]);
        let through = format!("/ip4/127.0.0.1/tcp/{}/p2p/{name}", proxy.addr().port());
        hub.cli.run(&["add", &through]).await.ok();
        hub.until_online(&[&id]).await;
        Self { proxy, id, peer }
    }

    /// Returns the next handoff, which must have this text.
    pub(crate) async fn next_request(&mut self, words: &str) -> PeerAnswer {
        let work = self.peer.next_handoff().await;
        assert_eq!(work.request["input_data"], words, "{}", work.request);
        PeerAnswer {
            work,
            sent_chunks: 0,
        }
    }
}

/// An answer of the peer.
pub(crate) struct PeerAnswer {
    work: ReceivedHandoff,
    sent_chunks: u64,
}

impl PeerAnswer {
    async fn frame(&mut self, frame: Value) {
        self.work.send_text(&format!("{frame}\n")).await;
    }

    /// Sends a piece.
    pub(crate) async fn send(&mut self, piece: &str) {
        let frame = json!({"type": "chunk", "seq": self.sent_chunks, "data": piece});
        self.sent_chunks += 1;
        self.frame(frame).await;
    }

    /// Ends the answer.
    pub(crate) async fn ends(mut self) {
        self.frame(json!({"type": "result"})).await;
        self.work.end().await;
    }

    /// Waits until writes fail: the stream is reset, or the connection is closed.
    pub(crate) async fn until_hung_up(mut self) {
        let frame = b"{\"type\":\"heartbeat\"}\n";
        let hung_up = async {
            loop {
                match exchange::write(&mut self.work.stream, frame).await {
                    Ok(()) => tokio::task::yield_now().await,
                    Err(StreamWriteError::Broken(_)) => return,
                    Err(StreamWriteError::TooSlow) => panic!("it is open, and nobody reads"),
                }
            }
        };
        let hung_up = timeout(SOON, hung_up).await;
        hung_up.expect("the hub hangs up in time");
    }
}
