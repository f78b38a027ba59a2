//! The same between two nodes, over loopback sockets.

use jackfield_kit::{files::Files, tasks::Tasks, testing::soon};
use jackfield_peer::{
    StreamProtocol,
    exchange::{ask, write},
    keys::Keypair,
    limits::MAX_ANSWER,
    node::{Node, NodeConfig, PeerEvent},
    serve::serve_peers,
    streams::Stream,
    wire::{PROTOCOL_CARD, PROTOCOL_HANDOFF, PROTOCOL_HANDOFF_STREAM},
};
use tokio::task::JoinSet;

use super::*;

const TCP: &str = "/ip4/127.0.0.1/tcp/0";
const QUIC: &str = "/ip4/127.0.0.1/udp/0/quic-v1";

/// A hub with its node, and a peer that it allows.
struct Rig {
    hub: Hub,
    node: Node,
    peer: Node,
    tasks: Tasks,
}

impl Rig {
    async fn start(address: &str) -> Self {
        let key = Keypair::generate_ed25519();
        let peer = key.public().to_peer_id().to_string();
        Self::with(address, Allowed::Only(HashSet::from([peer])), key).await
    }

    async fn with(address: &str, allowed: Allowed, key: Keypair) -> Self {
        let (hub, tasks) = (hub().await, Tasks::new());
        let terms = HandoffTerms {
            allowed,
            // No clock is to end what a peer should.
            deadline: Duration::from_secs(3600),
            ..HandoffTerms::default()
        };
        let host = HubHost::new(hub.clone(), Files::for_hub(&hub), terms, []);
        let config = NodeConfig {
            listen: vec![address.parse().unwrap()],
            ..NodeConfig::default()
        };
        let node = Node::start(config, Keypair::generate_ed25519(), &tasks)
            .await
            .unwrap();
        serve_peers(&node, &host, &tasks);
        let config = NodeConfig {
            listen: vec![address.parse().unwrap()],
            ..NodeConfig::default()
        };
        let peer = Node::start(config, key, &tasks).await.unwrap();
        Self {
            hub,
            node,
            peer,
            tasks,
        }
    }

    async fn open(&self, protocol: &'static str) -> Stream {
        let protocols = [StreamProtocol::new(protocol)];
        let (hub, addresses) = (self.node.peer_id(), self.node.addresses());
        let opened = self.peer.open(hub, &addresses, &protocols).await;
        opened.unwrap().0
    }

    async fn ask(&self, protocol: &'static str, request: &[u8]) -> String {
        let mut stream = self.open(protocol).await;
        let answer = ask(&mut stream, request, MAX_ANSWER, DEADLINE * 2).await;
        String::from_utf8(answer.unwrap()).unwrap()
    }
}

fn request() -> Vec<u8> {
    let request = json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"});
    request.to_string().into_bytes()
}

#[tokio::test]
async fn a_peer_gets_the_card_hands_off_and_streams_over_tcp_and_quic() {
    for address in [TCP, QUIC] {
        let rig = Rig::start(address).await;
        let mut writer = agent(&rig.hub, "writer", &[]);
        for word in [&b""[..], b"GET_CARD"] {
            let card: Value = serde_json::from_str(&rig.ask(PROTOCOL_CARD, word).await).unwrap();
            assert_eq!(card["skills"][0]["path"], "/agents/writer/ask");
        }
        let long = "ä".repeat(1 << 19);
        let serve = async {
            for _ in 0..2 {
                let call = writer.next_call().await;
                call.push(Event::text(long.clone()));
                call.finish(End::done());
            }
        };
        let asked = async {
            let plain = rig.ask(PROTOCOL_HANDOFF, &request()).await;
            assert_eq!(plain.len(), 1 << 20, "all of it");
            rig.ask(PROTOCOL_HANDOFF_STREAM, &request()).await
        };
        let (streamed, ()) = soon(async { tokio::join!(asked, serve) }).await;
        let lines: Vec<Value> = streamed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let chunks = lines.iter().filter_map(|line| line["data"].as_str());
        assert_eq!(chunks.collect::<String>(), long);
        assert_eq!(lines.first().unwrap()["type"], "accepted");
        assert_eq!(lines.last().unwrap(), &json!({"type": "result"}));
        assert!(streamed.lines().all(|line| line.len() < 64 << 10));
    }
}

#[tokio::test]
async fn a_stream_that_a_peer_drops_cancels_the_call_at_the_agent() {
    for address in [TCP, QUIC] {
        let rig = Rig::start(address).await;
        let mut writer = agent(&rig.hub, "writer", &[]);
        for protocol in [PROTOCOL_HANDOFF, PROTOCOL_HANDOFF_STREAM] {
            let mut stream = rig.open(protocol).await;
            write(&mut stream, &request()).await.unwrap();
            let call = writer.next_call().await;
            drop(stream);
            assert_eq!(writer.next_cancel().await, call.call().id);
        }
    }
}

#[tokio::test]
async fn of_100_handoffs_at_once_some_are_done_and_every_other_one_is_told() {
    let rig = Arc::new(Rig::start(TCP).await);
    let mut writer = agent(&rig.hub, "writer", &[]);
    let mut asked = JoinSet::new();
    for _ in 0..100 {
        let rig = rig.clone();
        asked.spawn(async move { rig.ask(PROTOCOL_HANDOFF, &request()).await });
    }
    let serve = async {
        loop {
            let call = writer.next_call().await;
            call.push(Event::text("done"));
            call.finish(End::done());
        }
    };
    let answers = tokio::select! {
        answers = asked.join_all() => answers,
        () = serve => unreachable!(),
    };
    let (done, others): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer == "done");
    assert!(!done.is_empty() && !others.is_empty());
    for answer in others {
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["code"], 429);
    }
}

#[tokio::test]
async fn a_peer_that_is_not_allowed_is_told_so() {
    let rig = Rig::start(TCP).await;
    let writer = agent(&rig.hub, "writer", &[]);
    let stranger = Node::start(
        NodeConfig::default(),
        Keypair::generate_ed25519(),
        &rig.tasks,
    );
    let stranger = Rig {
        peer: stranger.await.unwrap(),
        ..rig
    };
    let answer = stranger.ask(PROTOCOL_HANDOFF, &request()).await;
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["code"], 401);
    let card: Value = serde_json::from_str(&stranger.ask(PROTOCOL_CARD, b"").await).unwrap();
    assert_eq!(card["skills"], json!([]));
    assert!(writer.has_nothing_to_do());
}

#[tokio::test]
async fn of_this_machine_is_who_connects_from_it_and_not_who_was_dialled_on_it() {
    for address in [TCP, QUIC] {
        let rig = Rig::with(address, Allowed::ThisMachine, Keypair::generate_ed25519()).await;
        let writer = agent(&rig.hub, "writer", &[]);
        let mut news = rig.peer.watch();
        let there = rig.peer.addresses()[0].clone();
        rig.node.connect(there).await.unwrap();
        // It has no connection of its own, and needs none.
        while !matches!(soon(news.recv()).await, Ok(PeerEvent::Connected { .. })) {}
        for protocol in [PROTOCOL_HANDOFF, PROTOCOL_HANDOFF_STREAM] {
            let answer = rig.ask(protocol, &request()).await;
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["code"], 401, "{answer}");
        }
        let card: Value = serde_json::from_str(&rig.ask(PROTOCOL_CARD, b"").await).unwrap();
        assert_eq!(card["skills"], json!([]));
        assert!(writer.has_nothing_to_do());

        rig.node.disconnect(rig.peer.peer_id());
        while !matches!(soon(news.recv()).await, Ok(PeerEvent::Disconnected { .. })) {}
        // It comes by itself now.
        let card: Value = serde_json::from_str(&rig.ask(PROTOCOL_CARD, b"").await).unwrap();
        assert_eq!(card["skills"][0]["path"], "/agents/writer/ask");
    }
}
