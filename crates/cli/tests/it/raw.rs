//! A scripted peer: a node with a card, whose handoffs the test answers in raw JSON.

use jackfield_kit::tasks::Tasks;
use jackfield_peer::{
    CARD, HANDOFF, HANDOFF_STREAM,
    address::way_to_peer,
    exchange,
    identity::Identity,
    node::{Node, NodeConfig, NodeRole},
    streams::{Incoming, Stream},
};
use jackfield_testkit::{SOON, TestHub};
use serde_json::{Value, json};
use tokio::time::timeout;

/// A peer.
pub(super) struct RawPeer {
    node: Node,
    handoffs: Incoming,
    tasks: Tasks,
}

/// A received handoff.
pub(super) struct ReceivedHandoff {
    pub(super) request: Value,
    pub(super) stream: Stream,
    tasks: Tasks,
}

/// A card with a single skill.
pub(super) fn card(name: &str, skill: &str, path: &str) -> Value {
    json!({"name": name, "version": "1", "description": format!("It is the {name}."), "skills": [
        {"id": skill, "name": format!("The {skill}"), "description": format!("Does {skill}."),
         "path": path, "method": "POST"}]})
}

impl RawPeer {
    /// A peer without streaming: its answers come in a single body.
    pub(super) async fn unary(card: Value) -> Self {
        Self::start(card, false).await
    }

    /// A peer that answers in frames.
    pub(super) async fn streaming(card: Value) -> Self {
        Self::start(card, true).await
    }

    async fn start(card: Value, is_streaming: bool) -> Self {
        let tasks = Tasks::new();
        let config = NodeConfig {
            listen: vec!["/ip4/127.0.0.1/tcp/0".parse().expect("an address")],
            role: NodeRole::Sidecar,
            ..NodeConfig::default()
        };
        let node = Node::start(config, Identity::fresh(), &tasks).await;
        let node = node.expect("it listens");
        let mut cards = node.accept(CARD).expect("nobody else takes them");
        tasks.spawn(async move {
            while let Some(mut asked) = cards.next().await {
                exchange::answer(&mut asked.stream, card.to_string().as_bytes())
                    .await
                    .ok();
            }
        });
        let protocol = if is_streaming {
            HANDOFF_STREAM
        } else {
            HANDOFF
        };
        let handoffs = node.accept(protocol).expect("nobody else takes them");
        Self {
            node,
            handoffs,
            tasks,
        }
    }

    pub(super) fn id(&self) -> String {
        self.node.peer_id().to_string()
    }

    /// The peer's address, with its id at the end.
    pub(super) fn address(&self) -> String {
        self.node.addresses()[0].to_string()
    }

    /// Registers the peer under a name and a skill, independent of its card.
    pub(super) async fn register(&self, hub: &TestHub, name: &str, skill: &str) {
        register(hub, &self.id(), &self.address(), name, skill).await;
    }

    /// Connects to a hub as an agent; returns the agent's id.
    pub(super) async fn join(&self, hub: &TestHub, name: &str) -> String {
        let id = self.id();
        let agent = format!("{name}@{}", &id[id.len() - 12..]);
        let mut watch = hub.watch(&agent);
        let address = hub.peer_addresses()[0].parse().expect("an address");
        self.node.connect(address).await.expect("it is there");
        watch.until_online().await;
        agent
    }

    /// Requests the hub's card, or sends a request to the hub, over any connection.
    pub(super) async fn ask(&self, hub: &TestHub, request: Option<Value>) -> Value {
        let (protocol, request) = match request {
            None => (CARD, String::new()),
            Some(request) => (HANDOFF, request.to_string()),
        };
        let (id, address) = way_to_peer(&hub.peer_addresses()[0]).expect("an address");
        let opened = self.node.open(id, &[address], &[protocol]).await;
        let (mut stream, _) = opened.expect("the hub is there");
        let answer = exchange::ask(&mut stream, request.as_bytes(), 1 << 20, SOON).await;
        serde_json::from_slice(&answer.expect("an answer")).expect("JSON")
    }

    /// Returns the next handoff.
    pub(super) async fn next_handoff(&mut self) -> ReceivedHandoff {
        let next = async {
            let mut handed = self.handoffs.next().await.expect("the node runs");
            let request = exchange::read_json(&mut handed.stream, Default::default()).await;
            (request.expect("a request"), handed.stream)
        };
        let (request, stream) = timeout(SOON, next).await.expect("work comes");
        ReceivedHandoff {
            request: serde_json::from_slice(&request).expect("JSON"),
            stream,
            tasks: self.tasks.clone(),
        }
    }

    /// Whether no handoff is waiting.
    pub(super) fn has_no_handoff(&mut self) -> bool {
        use std::task::{Context, Poll, Waker};
        let next = std::pin::pin!(self.handoffs.next());
        matches!(
            next.poll(&mut Context::from_waker(Waker::noop())),
            Poll::Pending
        )
    }
}

impl ReceivedHandoff {
    /// Sends a part of the answer.
    pub(super) async fn send_text(&mut self, text: &str) {
        let said = exchange::write(&mut self.stream, text.as_bytes()).await;
        said.expect("somebody listens");
    }

    /// Ends the answer.
    pub(super) async fn end(mut self) {
        exchange::finish(&mut self.stream).await.ok();
    }

    /// Leaves the stream open forever.
    pub(super) fn leave_open(self) {
        let stop = self.tasks.stop_token().clone();
        let stream = self.stream;
        self.tasks.spawn(async move {
            stop.cancelled().await;
            drop(stream);
        });
    }
}

/// Registers a peer at a local hub.
pub(super) async fn register(hub: &TestHub, id: &str, address: &str, name: &str, skill: &str) {
    let body = json!({"agent_name": name, "peer_id": id, "addrs": [address], "skills": [skill]});
    let (status, answer) = hub.web().post("/register", body).await;
    assert_eq!(status, 200, "{answer}");
}
