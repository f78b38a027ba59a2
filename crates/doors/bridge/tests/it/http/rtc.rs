//! `POST /api/rtc-signal/{id}` with a real agent at the other end: what is said reaches it as it was said, and what it
//! says is fetched.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};

use crate::http::harness::{BridgeHub, soon};

/// A connection whose frames the test writes itself.
struct Agent(WebSocketStream<TcpStream>);

impl Agent {
    async fn register(hub: &BridgeHub, id: &str) -> Self {
        let tcp = TcpStream::connect(hub.addr).await.unwrap();
        let url = format!("ws://{}/ws", hub.addr);
        let mut agent = Self(client_async(url, tcp).await.unwrap().0);
        let register =
            json!({"type": "register", "agent_id": id, "token": "t", "bridge_version": "2"});
        agent.send(register).await;
        assert_eq!(agent.frame().await["status"], "ok");
        agent
    }

    async fn send(&mut self, frame: Value) {
        let text = Message::text(frame.to_string());
        self.0.send(text).await.unwrap();
    }

    async fn frame(&mut self) -> Value {
        let next = soon(self.0.next()).await.unwrap().unwrap();
        serde_json::from_str(next.to_text().unwrap()).unwrap()
    }

    /// What was sent before this is done with.
    async fn settle(&mut self) {
        self.send(json!({"type": "discover_agents", "capability": "none"}))
            .await;
        let answer = json!({"type": "discover_agents_result", "agents": []});
        assert_eq!(self.frame().await, answer);
    }
}

fn fetched(signals: &Value) -> (u16, Value) {
    (200, json!({"ok": true, "signals": signals}))
}

async fn post(hub: &BridgeHub, body: Value) -> (u16, Value) {
    let (status, answer) = hub.post("/api/rtc-signal/amy", body).await;
    (status.as_u16(), answer)
}

#[tokio::test]
async fn a_transfer_is_negotiated_between_an_http_caller_and_an_agent() {
    let hub = BridgeHub::start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    let servers = json!([{"urls": ["turn:turn.example.com"], "username": "u", "credential": "c"}]);
    let offer = json!({
        "transfer_id": "t1", "signal_type": "offer", "payload": "v=0\r\n",
        "client_id": "c1", "ice_servers": servers, "from_agent_id": "mallory",
    });
    assert_eq!(post(&hub, offer).await, fetched(&json!([])));
    let relayed = json!({
        "type": "rtc_signal_relay", "transfer_id": "t1", "from_agent_id": "http-caller",
        "signal_type": "offer", "payload": "v=0\r\n", "client_id": "c1", "ice_servers": servers,
    });
    assert_eq!(amy.frame().await, relayed, "the sender is stamped");
    let say = |signal_type: &str, payload: &str| {
        json!({
            "type": "rtc_signal", "transfer_id": "t1", "target_agent_id": "http-caller",
            "signal_type": signal_type, "payload": payload,
        })
    };
    amy.send(say("answer", "v=1")).await;
    amy.send(say("candidate", "one")).await;
    amy.settle().await;
    let poll =
        |transfer: &str| json!({"transfer_id": transfer, "signal_type": "poll", "payload": ""});
    let said = json!([
        {"signal_type": "answer", "payload": "v=1"}, {"signal_type": "candidate", "payload": "one"},
    ]);
    assert_eq!(post(&hub, poll("t2")).await, fetched(&json!([])));
    assert_eq!(post(&hub, poll("t1")).await, fetched(&said));
    assert_eq!(post(&hub, poll("t1")).await, fetched(&json!([])));
    amy.send(say("candidate", "two")).await;
    amy.settle().await;
    let candidate = json!({"transfer_id": "t1", "signal_type": "candidate", "payload": "mine"});
    let said = json!([{"signal_type": "candidate", "payload": "two"}]);
    assert_eq!(
        post(&hub, candidate).await,
        fetched(&said),
        "who says something fetches too"
    );
    assert_eq!(amy.frame().await["payload"], "mine");
    amy.settle().await;
}

#[tokio::test]
async fn an_upload_is_announced_to_the_agent_as_it_was_written() {
    let hub = BridgeHub::start().await;
    let mut amy = Agent::register(&hub, "amy").await;
    let offer =
        r#"{"transfer_id":"t1","zip_size":5,"zip_sha256":"ab","file_count":1,"files":["ä.txt"]}"#;
    let announced = json!({
        "transfer_id": "t1", "signal_type": "prepare-upload", "payload": offer, "client_id": "c1",
    });
    assert_eq!(post(&hub, announced).await, fetched(&json!([])));
    let relayed = json!({
        "type": "rtc_signal_relay", "transfer_id": "t1", "from_agent_id": "http-caller",
        "signal_type": "prepare-upload", "payload": offer, "client_id": "c1",
    });
    assert_eq!(amy.frame().await, relayed);
}

#[tokio::test]
async fn a_signal_for_an_agent_that_is_away_or_of_another_door_is_404_but_a_poll_is_not() {
    let hub = BridgeHub::start().await;
    let _parrot = hub.attach_as(
        &jackfield_core::principal::Principal::local(),
        "parrot",
        "agora",
    );
    for agent in ["amy", "parrot"] {
        let path = format!("/api/rtc-signal/{agent}");
        let offer = json!({"transfer_id": "t1", "signal_type": "offer", "payload": "v=0"});
        let (status, answer) = hub.post(&path, offer).await;
        assert_eq!(
            (status.as_u16(), &answer["error"]),
            (404, &json!("agent_offline")),
            "{agent}"
        );
        let poll = json!({"transfer_id": "t1", "signal_type": "poll"});
        let (status, _) = hub.post(&path, poll).await;
        assert_eq!(status.as_u16(), 200, "{agent}");
    }
}
