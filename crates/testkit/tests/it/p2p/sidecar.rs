//! Sidecars: agents behind HTTP that published peers reach through a hub's relay, and that are agents of the hub.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::any,
};
use jackfield_kit::{
    outbound::{Outbound, OutboundRules},
    tasks::Tasks,
};
use jackfield_peer::{
    address,
    allowed::Allowed,
    identity::Identity,
    node::{NodeConfig, ReservationState},
    serve::DEADLINE,
};
use jackfield_sidecar::{
    HubStatus, RegistryAt, Sidecar, SidecarAgentStatus, SidecarConfig, SidecarStatus,
};
use jackfield_testkit::{SOON, TestHub};
use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::p2p::{
    hub,
    peer::{LANGUAGES, Peer, card, short},
    tcp,
};

const CARD: &str = r#"{ "name": "Parrot", "version": "1", "description": "Says it again.", "colour": "green", "skills": [
    {"id": "say", "name": "Say", "description": "Says it.", "path": "/say/{mood}", "method": "POST"},
    {"id": "fly", "name": "Fly", "description": "Flies away.", "path": "/fly", "method": "GET"}] }"#;

/// An agent behind HTTP. Dropping it stops it.
struct Agent {
    addr: SocketAddr,
    card: Arc<Mutex<String>>,
    _server: JoinSet<()>,
}

async fn say(uri: axum::http::Uri, body: String) -> String {
    format!("{}: {body}", uri.path())
}

async fn fly() -> Response {
    (StatusCode::FOUND, [(header::LOCATION, "/say/away")]).into_response()
}

impl Agent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let card = Arc::new(Mutex::new(CARD.to_owned()));
        let shown = card.clone();
        let app = Router::new()
            .route("/card", any(async move || shown.lock().clone()))
            .route("/say/{mood}", any(say))
            .route("/fly", any(fly));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            addr,
            card,
            _server: server,
        }
    }
}

/// A sidecar that's reachable only through this relay.
async fn beside(agent: &Agent, relay: &str) -> Sidecar {
    let setting = SidecarConfig {
        relays: vec![address::parse(relay).unwrap()],
        ..setting(agent)
    };
    Sidecar::open(setting).await.unwrap()
}

fn setting(agent: &Agent) -> SidecarConfig {
    let folder = tempfile::tempdir().unwrap();
    SidecarConfig {
        tasks: Tasks::new(),
        key: Identity::load_or_create(folder.path()).unwrap(),
        node: NodeConfig::default(),
        outbound: Outbound::new(&OutboundRules::default()).unwrap(),
        agent_url: format!("http://{}", agent.addr),
        name: None,
        allowed: Allowed::Everyone,
        relays: Vec::new(),
        deadline: DEADLINE,
        registry: None,
        hub: None,
    }
}

async fn until_held(sidecar: &Sidecar, is_held: bool) {
    let mut standing = sidecar.status();
    let is_so = |it: &SidecarStatus| (it.relays[0].1 == ReservationState::Held) == is_held;
    let so = tokio::time::timeout(SOON, standing.wait_for(is_so)).await;
    so.expect("in time").unwrap();
}

fn agent_id(sidecar: &Sidecar) -> String {
    format!("parrot@{}", short(&sidecar.peer_id().to_string()))
}

async fn relay(listen: &str) -> TestHub {
    TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.relay = true;
        config.p2p.listen = vec![listen.to_owned()];
    })
    .await
}

const ANYWHERE: &str = "/ip4/127.0.0.1/tcp/0";

fn said(words: &str) -> Value {
    json!({"method": "POST", "path": "/say/{mood}", "params": {"mood": "very loud"}, "input_data": words})
}

#[tokio::test]
async fn published_peers_read_the_card_and_hand_off_through_the_relay() {
    let (hub, agent) = (relay(ANYWHERE).await, Agent::start().await);
    let sidecar = beside(&agent, &tcp(&hub)).await;
    until_held(&sidecar, true).await;
    let at = format!("{}/p2p-circuit/p2p/{}", tcp(&hub), sidecar.peer_id());
    let mut callers = Vec::new();
    for language in LANGUAGES {
        callers.extend(Peer::start(language, card("caller", &["/echo"])).await);
    }
    for caller in &mut callers {
        let read = caller.ok(json!({"do": "card", "addr": at})).await;
        let (body, end) = (&read["body"], &read["end"]);
        assert_eq!((body, end), (&json!(CARD), &json!("fin")), "{read}");
        let answer = caller.hand_off(&at, said("hello")).await;
        assert_eq!(answer, "/say/very%20loud: \"hello\"");
        for (method, path, code) in [
            ("POST", "/admin", 404),
            ("DELETE", "/say/it", 405),
            ("POST", "/say/../admin", 400),
            ("GET", "/fly", 502),
        ] {
            let request = json!({"method": method, "path": path, "input_data": "x"});
            let body = caller.hand_off(&at, request).await;
            let body: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(body["code"], code, "{path}: {body}");
        }
        // Frames, for callers that request them.
        let mut request = said("hello");
        request["stream"] = true.into();
        let lines = caller.hand_off(&at, request).await;
        let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
        assert_eq!(last["type"], "result", "{lines}");
    }
    drop(agent);
    for caller in &mut callers {
        let body = caller.hand_off(&at, said("hello?")).await;
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["code"], 504, "{body}");
    }
}

/// Waits until the agent is online at the hub, which is a moment after the sidecar has its place at the relay.
async fn until_online(hub: &TestHub, id: &str) {
    let mut watch = hub.watch(id);
    let (_, agents) = hub.web().get("/v1/agents").await;
    let is_online = |it: &Value| it["id"] == *id && it["state"] == "online";
    if !agents["agents"].as_array().unwrap().iter().any(is_online) {
        watch.until_online().await;
    }
}

#[tokio::test]
async fn an_agent_with_a_sidecar_is_called_from_other_doors() {
    let (hub, agent) = (relay(ANYWHERE).await, Agent::start().await);
    let sidecar = beside(&agent, &tcp(&hub)).await;
    let id = agent_id(&sidecar);
    until_online(&hub, &id).await;
    let body = json!({"text": "hello", "stream": false});
    let (status, answer) = hub
        .web()
        .post(&format!("/v1/agents/{id}/calls"), body)
        .await;
    assert_eq!(
        (status, &answer["text"]),
        (200, &json!("/say/hello: \"hello\"")),
        "{answer}"
    );
    let request = hub.web().ask(Method::POST, &format!("/a2a/agents/{id}"));
    let request = request.header("a2a-version", "1.0").json(&json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}}
    }));
    let answer: Value = request.send().await.unwrap().json().await.unwrap();
    assert!(answer.to_string().contains("/say/hi"), "{answer}");
    let mut watch = hub.watch(&id);
    sidecar.close(Duration::from_secs(5)).await;
    watch.until_offline().await;
}

#[tokio::test]
async fn a_relay_that_restarts_has_its_guest_again_and_the_hub_its_agent() {
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        free.local_addr().unwrap().port()
    };
    let hub = relay(&format!("/ip4/127.0.0.1/tcp/{port}")).await;
    let (address, agent) = (tcp(&hub), Agent::start().await);
    let sidecar = beside(&agent, &address).await;
    until_held(&sidecar, true).await;
    let id = agent_id(&sidecar);
    let hub = hub.restart().await;
    assert_eq!(tcp(&hub), address, "the same peer at the same place");
    until_online(&hub, &id).await;
    until_held(&sidecar, true).await;
    let at = format!("{address}/p2p-circuit/p2p/{}", sidecar.peer_id());
    for language in LANGUAGES {
        let Some(mut caller) = Peer::start(language, card("caller", &["/echo"])).await else {
            continue;
        };
        let answer = caller.hand_off(&at, said("back?")).await;
        assert_eq!(answer, "/say/very%20loud: \"back?\"");
    }
}

#[tokio::test]
async fn a_sidecar_is_an_agent_of_the_hub_that_it_is_told_of_and_says_under_which_id() {
    let (hub, agent) = (hub().await, Agent::start().await);
    let setting = SidecarConfig {
        hub: Some(RegistryAt {
            url: hub.url(""),
            token: None,
        }),
        ..setting(&agent)
    };
    let sidecar = Sidecar::open(setting).await.unwrap();
    let id = agent_id(&sidecar);
    let callable = HubStatus::Callable(id.as_str().into());
    let until = async |wanted: &HubStatus| {
        let mut standing = sidecar.status();
        let is_so = |it: &SidecarStatus| it.hub == *wanted;
        let so = tokio::time::timeout(SOON, standing.wait_for(is_so)).await;
        so.expect("in time").unwrap();
    };
    until(&callable).await;
    let calls = format!("/v1/agents/{id}/calls");
    let body = json!({"text": "hello", "stream": false});
    let (status, answer) = hub.web().post(&calls, body.clone()).await;
    assert_eq!(
        (status, &answer["text"]),
        (200, &json!("/say/hello: \"hello\""))
    );

    // A caller of a new skill makes the sidecar fetch the card again, well before the next periodic
    // check.
    *agent.card.lock() = CARD
        .replace("\"id\": \"fly\"", "\"id\": \"sing\"")
        .replace("/fly", "/say/song");
    let body = json!({"text": "la", "stream": false, "metadata": {"skill": "sing"}});
    let asking = async {
        loop {
            let (status, answer) = hub.web().post(&calls, body.clone()).await;
            if status == 200 {
                return answer;
            }
            assert_eq!(answer["error"], "unsupported", "{answer}");
            // No event shows when the next fetch is allowed; faster requests would exceed the sidecar's limit per
            // peer.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    // The sidecar fetches the card once a second at most.
    let answer = tokio::time::timeout(SOON, asking).await.expect("in time");
    assert_eq!(answer["text"], "/say/song: ", "{answer}");
}

#[tokio::test]
async fn a_peer_that_registers_anew_is_looked_at_again() {
    let hub = hub().await;
    let agent = Agent::start().await;
    let setting = SidecarConfig {
        hub: Some(RegistryAt {
            url: hub.url(""),
            token: None,
        }),
        ..setting(&agent)
    };
    let sidecar = Sidecar::open(setting).await.unwrap();
    let mut standing = sidecar.status();
    let is_taken = |it: &SidecarStatus| matches!(it.hub, HubStatus::Callable(_));
    let taken = tokio::time::timeout(SOON, standing.wait_for(is_taken)).await;
    drop(taken.expect("in time").unwrap());
    *agent.card.lock() = CARD.replace("\"id\": \"fly\"", "\"id\": \"sing\"");
    let id = agent_id(&sidecar);
    let register = json!({"peer_id": sidecar.peer_id().to_string(), "agent_name": "Parrot",
        "addresses": [format!("/ip4/127.0.0.1/tcp/1/p2p/{}", sidecar.peer_id())]});
    let looking = async {
        loop {
            let (status, _) = hub.web().post("/register", register.clone()).await;
            assert_eq!(status, 200);
            let (_, shown) = hub.web().get(&format!("/v1/agents/{id}")).await;
            if shown["skills"].to_string().contains("sing") {
                return;
            }
        }
    };
    tokio::time::timeout(SOON, looking).await.expect("in time");
}

#[tokio::test]
async fn a_peer_whose_card_has_no_skills_is_told_to_be_no_agent() {
    let (hub, agent) = (hub().await, Agent::start().await);
    *agent.card.lock() = r#"{"name": "Parrot", "skills": []}"#.to_owned();
    let setting = SidecarConfig {
        hub: Some(RegistryAt {
            url: hub.url(""),
            token: None,
        }),
        ..setting(&agent)
    };
    let sidecar = Sidecar::open(setting).await.unwrap();
    let path = format!("/v1/peers/{}", sidecar.peer_id());
    let looking = async {
        while hub.web().get(&path).await.1["error"]["message"] != "its card has no skills" {}
    };
    tokio::time::timeout(SOON, looking).await.expect("in time");
    let standing = sidecar.status();
    let SidecarAgentStatus::Here { remarks, .. } = &standing.borrow().agent else {
        panic!("the agent is there");
    };
    assert!(remarks[0].contains("no agent"), "{remarks:?}");
}
