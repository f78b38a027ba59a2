//! What only a session of this door knows: tokens, heartbeats, signals. Requests without sockets.

use axum::body::{Body, to_bytes};
use jackfield_core::{
    agent::{Closing, Link, Profile},
    call::{AgentHandle, Call},
    hub::{Attached, Hub},
    principal::Principal,
    store::memory::MemoryStore,
};
use jackfield_kit::{auth::Gatekeeper, tasks::Tasks};
use jackfield_model::AgentId;
use jackfield_wire::bridge::{downlink::HTTP_CALLER, uplink::RtcSignal};
use serde_json::{Value, json, value::RawValue};
use tokio::time::Instant;
use tower::ServiceExt as _;

use super::*;
use crate::{
    door::{ConnectionRecord, PlatformSettings, token_hash},
    secret::SharedSecret,
};

#[derive(Debug)]
struct Silent;

impl Link for Silent {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        Err(call)
    }
    fn cancel(&self, _: &Arc<Call>) {}
    fn close(&self, _: Closing) {}
    fn alive(&self, _: &Call) -> bool {
        true
    }
    fn door(&self) -> &'static str {
        DOOR
    }
}

async fn bridge() -> Arc<Bridge> {
    let store = Arc::new(MemoryStore::default());
    let hub = Hub::open(store, Default::default()).await.unwrap();
    let gatekeeper = Gatekeeper::new(hub.clone(), true);
    let platform = PlatformSettings {
        secrets: SharedSecret::new("s").into_iter().collect(),
        ..PlatformSettings::default()
    };
    Bridge::with_platform(hub, gatekeeper, Tasks::new(), platform).unwrap()
}

fn agent(id: &str) -> AgentId {
    AgentId::parse(id).unwrap()
}

/// An agent as its session makes it known.
fn attach(bridge: &Bridge, id: &str, token: Option<&str>) -> Attached {
    let id = agent(id);
    let profile = Profile::default();
    let attached =
        bridge
            .hub
            .agents()
            .attach(&Principal::local(), &id, profile, Arc::new(Silent), false);
    let now = "2026-03-04T05:06:07.089Z".parse().ok();
    let attachment = ConnectionRecord {
        place: Default::default(),
        token_hash: token.map(token_hash),
        agent_type: "claude".into(),
        capabilities: vec!["translation".into()],
        connected_at: now,
        last_heartbeat: now,
        active_sessions: 0,
    };
    bridge.note_attached(&id, attachment);
    attached.unwrap()
}

async fn ask(bridge: &Arc<Bridge>, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(secret::HEADER, "s")
        .body(Body::from(body));
    let response = router(bridge.clone())
        .0
        .oneshot(request.unwrap())
        .await
        .unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_status_says_what_the_agent_said_and_most_of_it_outlives_the_connection() {
    let bridge = bridge().await;
    let attached = attach(&bridge, "amy", None);
    let (_, status) = ask(&bridge, Method::GET, "/api/agents/amy/status", &Value::Null).await;
    let expected = json!({
        "online": true, "agent_type": "claude", "capabilities": ["translation"],
        "connected_at": "2026-03-04T05:06:07.089Z", "last_heartbeat": "2026-03-04T05:06:07.089Z",
        "active_sessions": 0, "user_id": "local",
    });
    assert_eq!(status, expected);
    bridge.note_heartbeat(&agent("amy"), 3);
    drop(attached);
    bridge.note_left(&agent("amy"));
    let (_, status) = ask(&bridge, Method::GET, "/api/agents/amy/status", &Value::Null).await;
    let last = status["last_heartbeat"].as_str().unwrap();
    assert!(
        last > "2026-03-04T05:06:07.089Z" && last.len() == 24 && last.ends_with('Z'),
        "{last}"
    );
    let expected = json!({
        "online": false, "agent_type": "claude", "capabilities": ["translation"],
        "connected_at": "2026-03-04T05:06:07.089Z", "last_heartbeat": last,
        "active_sessions": 3, "user_id": "",
    });
    assert_eq!(status, expected);
}

#[tokio::test]
async fn agents_are_found_by_the_hash_of_their_token_while_they_are_connected() {
    let bridge = bridge().await;
    let _bob = attach(&bridge, "bob", Some("ah_one"));
    let amy = attach(&bridge, "amy", Some("ah_one"));
    let _eve = attach(&bridge, "eve", Some("ah_two"));
    let _joe = attach(&bridge, "joe", None);
    // printf ah_one | sha256sum
    let hash = "68615823d1dba791331a59dbb80407b16126d22be045b1a931858642f36c459e";
    let find = async |hash: &str| {
        let body = json!({"token_hash": hash});
        let (status, answer) = ask(&bridge, Method::POST, "/api/agents-by-token", &body).await;
        assert_eq!(status, 200);
        answer["agents"].clone()
    };
    let claude = |id: &str| json!({"agent_id": id, "agent_type": "claude"});
    assert_eq!(find(hash).await, json!([claude("amy"), claude("bob")]));
    assert_eq!(
        find(&hash.to_uppercase()).await,
        json!([claude("amy"), claude("bob")])
    );
    drop(amy);
    assert_eq!(find(hash).await, json!([claude("bob")]));
    let nobodys = token_hash("");
    assert_eq!(
        find(&nobodys).await,
        json!([]),
        "an agent without a token has no empty one"
    );
}

#[tokio::test]
async fn what_an_agent_says_to_an_http_caller_is_fetched_by_a_poll_even_when_it_is_away() {
    let bridge = bridge().await;
    let (amy, now) = (agent("amy"), Instant::now());
    let payload: Box<RawValue> = serde_json::from_str(r#""v=0\r\n""#).unwrap();
    let signal = |payload| RtcSignal {
        transfer_id: "t1".into(),
        target_agent_id: HTTP_CALLER.into(),
        signal_type: "answer".into(),
        payload,
        extra: Vec::new(),
    };
    assert!(bridge.signals.push(&amy, &signal(Some(&*payload)), now));
    assert!(bridge.signals.push(&amy, &signal(None), now));
    let poll = async || {
        let body = json!({"transfer_id": "t1", "signal_type": "poll", "payload": ""});
        ask(&bridge, Method::POST, "/api/rtc-signal/amy", &body).await
    };
    let answer = json!({"signal_type": "answer", "payload": "v=0\r\n"});
    let signals = json!([answer, {"signal_type": "answer"}]);
    assert_eq!(poll().await, (200, json!({"ok": true, "signals": signals})));
    assert_eq!(poll().await, (200, json!({"ok": true, "signals": []})));
    assert!(bridge.signals.push(&amy, &signal(None), now));
    bridge.note_left(&amy);
    assert_eq!(poll().await, (200, json!({"ok": true, "signals": []})));
}
