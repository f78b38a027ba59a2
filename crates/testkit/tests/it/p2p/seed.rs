//! Peers with the handlers of the original specification: they write their card or their answer, and never close
//! the stream.

use jackfield_kit::tasks::Tasks;
use jackfield_peer::{
    CARD, HANDOFF,
    identity::Identity,
    node::{Node, NodeConfig, NodeRole},
    streams::{Incoming, Stream},
};
use jackfield_testkit::{Events, SOON, TestHub};
use libp2p::futures::{AsyncReadExt as _, AsyncWriteExt as _};
use serde_json::json;
use tokio::time::timeout;

use crate::p2p::{
    hub,
    peer::{card, short},
    tcp,
};

/// A peer that is an agent of a hub, and leaves every stream open.
struct SpecificationPeer {
    handoffs: Incoming,
    agent: String,
    /// Open request streams; dropping a stream would end it.
    open: Vec<Stream>,
    _node: Node,
    _tasks: Tasks,
}

async fn write(stream: &mut Stream, text: &str) {
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
}

async fn show_card(mut asked: Incoming) {
    let card = card("weather", &["/forecast"]).to_string();
    let mut open = Vec::new();
    while let Some(mut inbound) = asked.next().await {
        write(&mut inbound.stream, &card).await;
        open.push(inbound.stream);
    }
}

impl SpecificationPeer {
    async fn attach(hub: &TestHub) -> Self {
        let tasks = Tasks::new();
        let config = NodeConfig {
            role: NodeRole::Sidecar,
            ..NodeConfig::default()
        };
        let node = Node::start(config, Identity::fresh(), &tasks)
            .await
            .unwrap();
        tasks.spawn(show_card(node.accept(CARD).unwrap()));
        let handoffs = node.accept(HANDOFF).unwrap();
        let agent = format!("weather@{}", short(&node.peer_id().to_string()));
        let mut watch = hub.watch(&agent);
        node.connect(tcp(hub).parse().unwrap()).await.unwrap();
        watch.until_online().await;
        Self {
            handoffs,
            agent,
            open: Vec::new(),
            _node: node,
            _tasks: tasks,
        }
    }

    /// Begins a call to the peer, and reads the handoff to the end of the request, as the
    /// specification does.
    async fn call(&mut self, hub: &TestHub) -> (Events, &mut Stream) {
        let path = format!("/v1/agents/{}/calls", self.agent);
        let events = hub.web().stream(&path, json!({"text": "Paris"})).await;
        let inbound = timeout(SOON, self.handoffs.next()).await;
        let mut stream = inbound.expect("a handoff comes in time").unwrap().stream;
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        self.open.push(stream);
        (events, self.open.last_mut().unwrap())
    }
}

#[tokio::test]
async fn words_of_a_peer_that_never_closes_arrive_as_it_says_them() {
    let hub = hub().await;
    let mut seed = SpecificationPeer::attach(&hub).await;
    let (mut events, stream) = seed.call(&hub).await;
    // The event of the opened call.
    events.next().await;
    for words in ["sunny ", "in Paris"] {
        write(stream, words).await;
        let event = events.next().await;
        assert_eq!(
            (&event["type"], &event["text"]),
            (&json!("chunk"), &json!(words))
        );
    }
    let event = events.rest().await;
    assert_eq!(event.len(), 1, "{event:?}");
    assert_eq!(event[0]["type"], "done", "{event:?}");
}

#[tokio::test]
async fn json_of_a_peer_that_never_closes_is_its_answer() {
    let hub = hub().await;
    let mut seed = SpecificationPeer::attach(&hub).await;
    let answer = r#"{"weather": "sunny"}"#;
    let (mut events, stream) = seed.call(&hub).await;
    write(stream, answer).await;
    let event = events.rest().await;
    let end = event.last().unwrap();
    assert_eq!(
        (&end["type"], &end["result"]),
        (&json!("done"), &json!(answer))
    );

    let (mut events, stream) = seed.call(&hub).await;
    write(stream, r#"{"error": "HTTP error: 404", "code": 404}"#).await;
    let event = events.rest().await;
    assert_eq!(event.last().unwrap()["type"], "failed", "{event:?}");
}
