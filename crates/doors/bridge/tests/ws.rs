//! An agent's connection as a scripted client meets it, frame by frame.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, extract::Query, routing::get};
use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_bridge::Bridge;
use jackfield_core::{
    call::{Replies, Reply},
    event::{ChunkKind, End, Event, Message as Said},
    failure::Reason,
    hub::{Hub, Request},
    id::{AgentId, RequestId, SessionId},
    limits::Limits,
    principal::Principal,
    store::memory::MemoryStore,
};
use jackfield_kit::{auth::Gatekeeper, server::Server, tasks::Tasks, upgrade::Upgrade};
use serde_json::{Value, json};
use std::collections::HashMap;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

const SOON: Duration = Duration::from_secs(20);

/// A hub with the agents' half of the bridge on a port of its own.
struct Door {
    hub: Hub,
    addr: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Door {
    async fn open() -> Self {
        let hub = Hub::open(Arc::new(MemoryStore::default()), Limits::default())
            .await
            .unwrap();
        let tasks = Tasks::new();
        let bridge = Bridge::new(
            hub.clone(),
            Gatekeeper::new(hub.clone(), true),
            tasks.clone(),
        );
        let take = move |Query(query): Query<HashMap<String, String>>, upgrade: Upgrade| async move {
            bridge.take(upgrade, None, query.get("agent_id").cloned())
        };
        let app = Router::new().route("/ws", get(take));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let mut running = JoinSet::new();
        running.spawn(async move {
            Server::new(vec![listener], app, tasks)
                .run(Duration::ZERO)
                .await;
        });
        Self {
            hub,
            addr,
            _tasks: running,
        }
    }

    async fn connect(&self, id: &str) -> Agent {
        let tcp = TcpStream::connect(self.addr).await.unwrap();
        let url = format!("ws://{}/ws?agent_id={id}", self.addr);
        Agent(tokio_tungstenite::client_async(url, tcp).await.unwrap().0)
    }

    async fn agent(&self, id: &str) -> Agent {
        let mut agent = self.connect(id).await;
        agent.send(register(id, &json!("1"))).await;
        assert_eq!(
            agent.frame().await,
            json!({"type": "registered", "status": "ok"})
        );
        agent
    }

    fn call(&self, id: &str, request: &str, text: &str) -> Replies {
        let target = AgentId::parse(id).unwrap();
        let mut asked = Request::new(Principal::local(), "local", target, Said::text(text));
        asked.request = Some(RequestId::parse(request).unwrap());
        asked.session = Some(SessionId::parse("s-1").unwrap());
        self.hub.call(asked).unwrap().replies()
    }
}

/// The register frame of the seed, in a version.
fn register(id: &str, version: &Value) -> Value {
    json!({
        "type": "register", "agent_id": id, "token": "ah_xxx", "bridge_version": version,
        "agent_type": "claude", "capabilities": ["code_review", "translation"],
    })
}

struct Agent(WebSocketStream<TcpStream>);

impl Agent {
    async fn send(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.unwrap();
    }

    async fn next(&mut self) -> Message {
        loop {
            let next = tokio::time::timeout(SOON, self.0.next())
                .await
                .expect("in time");
            match next.expect("open").expect("sound") {
                Message::Ping(_) | Message::Pong(_) => {}
                message => return message,
            }
        }
    }

    async fn frame(&mut self) -> Value {
        let Message::Text(text) = self.next().await else {
            panic!("not a text frame")
        };
        serde_json::from_str(&text).unwrap()
    }

    async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Message::Close(frame) = self.next().await {
                let frame = frame.expect("a code");
                return (frame.code.into(), frame.reason.to_string());
            }
        }
    }
}

async fn end_of(replies: &mut Replies) -> End {
    loop {
        match tokio::time::timeout(SOON, replies.next())
            .await
            .expect("in time")
            .expect("an end")
        {
            Reply::Event(_) => {}
            Reply::End(end) => return end,
        }
    }
}

#[tokio::test]
async fn both_versions_are_welcome_as_text_and_as_number() {
    let door = Door::open().await;
    for (n, version) in [json!("1"), json!(1), json!("2"), json!(2)]
        .into_iter()
        .enumerate()
    {
        let id = format!("a{n}");
        let mut agent = door.connect(&id).await;
        agent.send(register(&id, &version)).await;
        assert_eq!(
            agent.frame().await,
            json!({"type": "registered", "status": "ok"})
        );
    }
}

#[tokio::test]
async fn whoever_does_not_register_properly_is_told_and_closed() {
    let door = Door::open().await;
    let cases = [
        ("{".to_owned(), "Invalid JSON", "Invalid JSON"),
        (
            json!({"type": "heartbeat"}).to_string(),
            "First message must be register",
            "Expected register",
        ),
        (
            register("a", &json!("3")).to_string(),
            "Unsupported protocol version 3, expected 2",
            "Version mismatch",
        ),
        (
            register("b", &json!("2")).to_string(),
            "agent_id differs from the one in the URL",
            "Auth failed",
        ),
    ];
    for (text, error, reason) in cases {
        let mut agent = door.connect("a").await;
        agent.0.send(Message::text(text)).await.unwrap();
        assert_eq!(
            agent.frame().await,
            json!({"type": "registered", "status": "error", "error": error})
        );
        assert_eq!(agent.closed().await, (1008, reason.to_owned()));
    }
}

#[tokio::test]
async fn a_message_reaches_the_agent_and_its_chunks_come_back_with_their_kinds() {
    let door = Door::open().await;
    let mut agent = door.agent("a").await;
    let mut replies = door.call("a", "r-1", "User's question here");
    assert_eq!(
        agent.frame().await,
        json!({
            "type": "message", "session_id": "s-1", "request_id": "r-1",
            "content": "User's question here", "attachments": [],
        })
    );
    let chunk = |kind: &str, delta: &str| json!({"type": "chunk", "session_id": "x", "request_id": "r-1", "delta": delta, "kind": kind, "tool_name": "Bash", "tool_call_id": "toolu_01abc"});
    let kinds = [
        "thinking",
        "tool_start",
        "tool_input",
        "tool_result",
        "status",
        "text",
    ];
    for kind in kinds {
        agent.send(chunk(kind, kind)).await;
    }
    agent
        .send(json!({"type": "chunk", "request_id": "not-mine", "delta": "injected"}))
        .await;
    agent
        .send(json!({
            "type": "done", "session_id": "x", "request_id": "r-1", "result": "all of it",
            "attachments": [{"name": "output.png", "url": "https://files.example/o", "type": "image/png"}],
        }))
        .await;
    agent.send(chunk("text", "late")).await;
    let mut seen = Vec::new();
    let end = loop {
        match replies.next().await.unwrap() {
            Reply::Event(Event::Chunk(chunk)) => seen.push((chunk.kind, chunk.text)),
            Reply::Event(other) => panic!("{other:?}"),
            Reply::End(end) => break end,
        }
    };
    let expected: Vec<_> = kinds
        .iter()
        .map(|kind| (ChunkKind::from_name(kind).unwrap(), (*kind).to_owned()))
        .collect();
    assert_eq!(seen, expected);
    let End::Done(done) = end else {
        panic!("{end:?}")
    };
    assert_eq!(done.result.as_deref(), Some("all of it"));
    assert_eq!(done.attachments[0].name.as_deref(), Some("output.png"));
}

#[tokio::test]
async fn an_agents_error_keeps_its_code_and_a_lost_caller_cancels() {
    let door = Door::open().await;
    let mut agent = door.agent("a").await;
    let mut replies = door.call("a", "r-1", "one");
    agent.frame().await;
    agent.send(json!({"type": "error", "request_id": "r-1", "code": "adapter_crash", "message": "died"})).await;
    let End::Failed(failure) = end_of(&mut replies).await else {
        panic!("not failed")
    };
    assert_eq!((failure.reason, &*failure.text), (Reason::Crashed, "died"));
    let replies = door.call("a", "r-2", "two");
    agent.frame().await;
    drop(replies);
    assert_eq!(
        agent.frame().await,
        json!({"type": "cancel", "session_id": "s-1", "request_id": "r-2"})
    );
}

#[tokio::test]
async fn agents_of_one_session_get_one_request_at_a_time() {
    let door = Door::open().await;
    let mut agent = door.agent("a").await;
    let (_one, _two) = (door.call("a", "r-1", "one"), door.call("a", "r-2", "two"));
    assert_eq!(agent.frame().await["request_id"], "r-1");
    agent.send(json!({"type": "discover_agents"})).await;
    assert_eq!(
        agent.frame().await["type"],
        "discover_agents_result",
        "the second waits"
    );
    agent
        .send(json!({"type": "done", "request_id": "r-1"}))
        .await;
    assert_eq!(agent.frame().await["request_id"], "r-2");
}

#[tokio::test]
async fn agents_find_and_call_each_other() {
    let door = Door::open().await;
    let (mut one, mut two) = (door.agent("one").await, door.agent("two").await);
    one.send(json!({"type": "discover_agents", "capability": "translation", "limit": 5}))
        .await;
    let found = one.frame().await;
    assert_eq!(found["agents"].as_array().unwrap().len(), 2);
    assert_eq!(found["agents"][1]["is_online"], true);
    one.send(json!({"type": "call_agent", "target_agent_id": "two", "task_description": "Translate", "call_id": "c-1"})).await;
    let message = two.frame().await;
    assert_eq!(
        (&message["request_id"], &message["content"]),
        (&json!("c-1"), &json!("Translate"))
    );
    two.send(json!({"type": "chunk", "request_id": "c-1", "delta": "ja"}))
        .await;
    two.send(json!({"type": "done", "request_id": "c-1"})).await;
    assert_eq!(
        one.frame().await,
        json!({"type": "call_agent_chunk", "call_id": "c-1", "delta": "ja"})
    );
    assert_eq!(
        one.frame().await,
        json!({"type": "call_agent_done", "call_id": "c-1"})
    );
    one.send(json!({"type": "call_agent", "target_agent_id": "nobody", "task_description": "x", "call_id": "c-2"})).await;
    let error = one.frame().await;
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("call_agent_error"), &json!("agent_offline"))
    );
}

#[tokio::test]
async fn a_newer_connection_takes_over_and_the_calls_of_the_old_one_fail() {
    let door = Door::open().await;
    let mut old = door.agent("a").await;
    let mut replies = door.call("a", "r-1", "hi");
    old.frame().await;
    let mut new = door.agent("a").await;
    assert_eq!(old.closed().await.0, 4001);
    let End::Failed(failure) = end_of(&mut replies).await else {
        panic!("not failed")
    };
    assert_eq!(failure.reason, Reason::Offline);
    let _replies = door.call("a", "r-2", "again");
    assert_eq!(new.frame().await["request_id"], "r-2");
}

#[tokio::test]
async fn signals_reach_the_other_agent_with_the_sender_stamped() {
    let door = Door::open().await;
    let (mut one, mut two) = (door.agent("one").await, door.agent("two").await);
    let signal = json!({"type": "rtc_signal", "transfer_id": "t", "target_agent_id": "two", "from_agent_id": "liar", "signal_type": "offer", "payload": "v=0"});
    one.send(signal).await;
    assert_eq!(
        two.frame().await,
        json!({"type": "rtc_signal_relay", "transfer_id": "t", "from_agent_id": "one", "signal_type": "offer", "payload": "v=0"})
    );
}
