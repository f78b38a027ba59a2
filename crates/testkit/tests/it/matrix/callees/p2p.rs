//! A peer that streams its answer in frames, by 1.1.0.

use crate::matrix::protocol::Protocol;
use jackfield_peer::{
    CARD, HANDOFF_STREAM, PeerId,
    streams::{Incoming, Stream},
};
use jackfield_testkit::{SOON, TestHub};
use libp2p::futures::AsyncWriteExt as _;
use serde_json::{Value, json};

use crate::matrix::{
    callee::{Callee, EndNotice, FAILURE_WORDS, LINK, PIECE, piece},
    caller::QUESTION,
    event::FILE_NAME,
    node::{self, Peer},
    setup::Owner,
};

pub(crate) struct P2p {
    peer: Peer,
    hub: PeerId,
    id: String,
    handoffs: Incoming,
    stream: Option<Stream>,
    chunks: u64,
}

/// Sends the card on request.
async fn show_card(mut asked: Incoming) {
    let skill = json!({"id": "ask", "name": "Ask", "description": "Answers.", "path": "/ask", "method": "POST"});
    let card =
        json!({"name": "guest", "version": "1", "description": "A peer.", "skills": [skill]});
    while let Some(mut inbound) = asked.next().await {
        node::write(&mut inbound.stream, &card).await;
        inbound.stream.close().await.ok();
        node::read(&mut inbound.stream).await;
    }
}

impl P2p {
    async fn write(&mut self, frame: Value) -> bool {
        node::write(self.stream.as_mut().unwrap(), &frame).await
    }

    /// Writes the last frame, and ends the stream.
    async fn write_last(&mut self, frame: Value) {
        assert!(self.write(frame).await, "the stream is open");
        self.stream.as_mut().unwrap().close().await.unwrap();
    }

    async fn chunk(&mut self, words: &str) -> bool {
        let frame = json!({"type": "chunk", "seq": self.chunks, "data": words});
        self.chunks += 1;
        self.write(frame).await
    }
}

impl Callee for P2p {
    const PROTOCOL: Protocol = Protocol::P2p;
    const IS_ALWAYS_LOCAL: bool = true;

    async fn join(hub: &TestHub, _: &Owner) -> Self {
        let peer = Peer::start().await;
        peer.tasks.spawn(show_card(peer.node.accept(CARD).unwrap()));
        let handoffs = peer.node.accept(HANDOFF_STREAM).unwrap();
        let name = peer.node.peer_id().to_string();
        let id = format!("guest@{}", &name[name.len() - 12..]);
        let mut watch = hub.watch(&id);
        let hub = peer.connect(hub).await;
        watch.until_online().await;
        Self {
            peer,
            hub,
            id,
            handoffs,
            stream: None,
            chunks: 0,
        }
    }

    fn id(&self) -> String {
        self.id.clone()
    }

    async fn receive_call(&mut self) {
        let inbound = tokio::time::timeout(SOON, self.handoffs.next()).await;
        let mut stream = inbound.expect("a handoff comes in time").unwrap().stream;
        let mut request = Vec::new();
        let request: Value = loop {
            request.extend(node::read(&mut stream).await);
            if let Ok(request) = serde_json::from_slice(&request) {
                break request;
            }
        };
        assert_eq!(request["input_data"], QUESTION, "{request}");
        self.stream = Some(stream);
        // A short call may be over by now.
        self.write(json!({"type": "accepted"})).await;
    }

    fn call(&self) -> String {
        unreachable!("a peer does not learn it");
    }

    async fn answers_at_once(&mut self, words: &str) {
        self.write_last(json!({"type": "result", "data": words}))
            .await;
    }

    async fn send_text(&mut self, words: &str) {
        assert!(self.chunk(words).await, "the stream is open");
    }

    /// The protocol supports status only.
    async fn works(&mut self) {
        let status = json!({"type": "status", "kind": "status", "text": "reading"});
        assert!(self.write(status).await, "the stream is open");
    }

    async fn ends_with_file(&mut self) {
        let files = json!([{"name": FILE_NAME, "url": LINK}]);
        let data = json!({"text": "see", "files": files});
        self.write_last(json!({"type": "result", "data": data}))
            .await;
    }

    /// The protocol has no such frame.
    async fn asks(&mut self, question: &str) {
        let ask = json!({"type": "ask", "id": Self::ASK, "text": question});
        assert!(self.write(ask).await, "the stream is open");
    }

    async fn is_answered(&mut self) -> String {
        unreachable!("nobody hears what it asks");
    }

    async fn ends(&mut self) {
        self.write_last(json!({"type": "result"})).await;
    }

    async fn fails(&mut self) {
        self.write_last(json!({"type": "error", "error": FAILURE_WORDS, "code": 500}))
            .await;
    }

    async fn leaves(&mut self) {
        self.peer.node.disconnect(self.hub);
    }

    async fn end_notice(&mut self) -> EndNotice {
        let stream = self.stream.as_mut().unwrap();
        let more = node::read(stream).await;
        assert!(more.is_empty(), "the stream is over");
        EndNotice::Cancel
    }

    async fn floods(&mut self, bytes: usize) {
        let piece = piece();
        for _ in 0..bytes / PIECE {
            if !self.chunk(&piece).await {
                return;
            }
        }
    }
}
