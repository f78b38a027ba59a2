//! The registry over HTTP, in raw JSON and in every shape that clients of the original read.

use axum::{Router, body::Body};
use http::{Request, StatusCode, header};
use jackfield_core::{
    agent::{Profile, Share},
    hub::{Hub, Wanted},
    limits::Limits,
    principal::Scopes,
    store::memory::MemoryStore,
};
use jackfield_kit::{
    auth::Gatekeeper,
    testing::{Manner, Scripted},
};
use jackfield_model::{AgentId, Skill};
use jackfield_peer::{
    allowed::Allowed,
    proof::{Statement, sign},
};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::*;

const HUB_PEER: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";

struct RegistryServer {
    hub: Hub,
    registry: Registry,
    router: Router,
}

async fn server(is_loopback: bool, allowed: Allowed) -> RegistryServer {
    let hub = Hub::open(Arc::new(MemoryStore::default()), Limits::default())
        .await
        .unwrap();
    let registry = registry();
    let (router, _) = router(RegistryService {
        registry: registry.clone(),
        hub: hub.clone(),
        allowed,
        gatekeeper: Gatekeeper::new(hub.clone(), is_loopback),
        hub_peer: hub_peer(&hub),
    });
    RegistryServer {
        hub,
        registry,
        router,
    }
}

/// The hub as a peer that shows all agents of the local owner.
fn hub_peer(hub: &Hub) -> HubPeer {
    let hub = hub.clone();
    HubPeer {
        peer_id: HUB_PEER.to_owned(),
        name: "Jackfield".to_owned(),
        addresses: Arc::new(|| vec![format!("/ip4/127.0.0.1/tcp/7412/p2p/{HUB_PEER}")]),
        agents: Arc::new(move || {
            let owner = Principal::person(Owner::local());
            let mut agents = hub.agents().discover(&owner, &Wanted::default());
            agents.retain(|view| hub.agents().find(&owner, view.id.as_str()).is_ok());
            agents
        }),
    }
}

async fn open_server() -> RegistryServer {
    server(true, Allowed::ThisMachine).await
}

struct TestResponse {
    status: StatusCode,
    tag: Option<String>,
    body: Value,
}

impl RegistryServer {
    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> TestResponse {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body)).unwrap();
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status();
        let tag = response.headers().get(header::ETAG);
        let tag = tag.map(|tag| tag.to_str().unwrap().to_owned());
        let body = axum::body::to_bytes(response.into_body(), 1 << 20)
            .await
            .unwrap();
        let body = match body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&body).unwrap(),
        };
        if status.is_client_error() {
            assert!(body["error"].is_string(), "{method} {path}: {body}");
        }
        TestResponse { status, tag, body }
    }

    async fn post(&self, path: &str, body: &Value) -> TestResponse {
        self.send("POST", path, &[], body.to_string()).await
    }

    async fn get(&self, path: &str) -> TestResponse {
        self.send("GET", path, &[], String::new()).await
    }

    async fn token(&self, owner: &str, scopes: &Scopes) -> String {
        let owner = Owner::parse(owner).unwrap();
        let token = self
            .hub
            .tokens()
            .create("t".into(), owner, scopes, None)
            .await
            .unwrap();
        format!("Bearer {}", token.secret)
    }

    fn agent(&self, owner: &str, id: &str, skill: &str, description: &str) -> Scripted {
        let owner = Principal::admin(Owner::parse(owner).unwrap());
        let profile = Profile {
            name: id.to_owned(),
            description: Some(description.to_owned()),
            skills: vec![Skill {
                id: skill.to_owned(),
                ..Skill::default()
            }],
            ..Profile::default()
        };
        let manner = Manner {
            door: "bridge",
            is_lively: false,
            ..Manner::default()
        };
        Scripted::attach(&self.hub, &owner, id, profile, manner)
    }
}

fn registers(pattern: &str) -> Scopes {
    Scopes::parse([format!("agent:{pattern}").as_str()]).unwrap()
}

fn body(peer: &Peer, name: &str) -> Value {
    json!({"agent_name": name, "peer_id": peer.id.to_string(), "addrs": [peer.address()]})
}

#[tokio::test]
async fn a_client_of_the_original_registers_and_is_found_in_every_shape() {
    let (server, peer) = (open_server().await, Peer::new());
    let mut registration = body(&peer, "poet");
    registration["capabilities"] = json!(["poem"]);
    let response = server.post("/register", &registration).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.body["status"], "registered");
    assert_eq!(response.body["peer_id"], peer.id.to_string());
    let until: Timestamp = response.body["expires_at"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!(until > Timestamp::now());

    let listed = server.get("/peers").await.body;
    let entry = listed["peers"]
        .as_array()
        .unwrap()
        .iter()
        .find(|entry| entry["agent_name"] == "poet");
    let entry = entry.unwrap().clone();
    for name in ["addrs", "addresses", "multiaddresses"] {
        assert_eq!(entry[name], json!([peer.address()]), "{name}");
    }
    assert_eq!(entry["capabilities"], json!(["poem"]));
    assert!(entry["registered_at"].is_string());

    for path in ["/peers?agent_name=poet", "/peers?poet"] {
        let one = server.get(path).await.body;
        assert_eq!(one["peer_id"], peer.id.to_string(), "{path}");
        assert_eq!(one["addresses"], json!([peer.address()]));
        assert_eq!(one["peers"], json!([entry]));
    }
    assert_eq!(
        server.get("/peers?agent_name=poet&format=list").await.body,
        json!([entry])
    );
    assert_eq!(
        server.get("/peers?skill=poem").await.body,
        json!({"peers": [entry]})
    );
    assert_eq!(
        server.get("/peers?q=poems").await.body,
        json!({"peers": [entry]})
    );
    assert_eq!(server.get("/peers?agent_name=nobody").await.status, 404);
    assert_eq!(
        server
            .get("/peers?agent_name=nobody&format=list")
            .await
            .body,
        json!([])
    );
    assert_eq!(
        server.get("/peers?skill=nothing").await.body,
        json!({"peers": []})
    );
}

#[tokio::test]
async fn a_heartbeat_renews_and_a_delete_forgets() {
    let (server, peer) = (open_server().await, Peer::new());
    let heartbeat = json!({"peer_id": peer.id.to_string(), "ttl": 999_999_999});
    assert_eq!(server.post("/heartbeat", &heartbeat).await.status, 404);
    server.post("/register", &body(&peer, "a")).await;
    let response = server.post("/heartbeat", &heartbeat).await;
    assert_eq!(response.status, 200);
    let until: Timestamp = response.body["expires_at"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let day = jiff::SignedDuration::from_hours(24);
    assert!(until <= Timestamp::now() + day, "a day at most");
    assert_eq!(
        server
            .send(
                "DELETE",
                &format!("/register/{}", peer.id),
                &[],
                String::new()
            )
            .await
            .status,
        204
    );
    assert_eq!(server.get("/peers?a").await.status, 404);
    assert_eq!(
        server
            .send(
                "DELETE",
                &format!("/register/{}", peer.id),
                &[],
                String::new()
            )
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn bad_bodies_are_refused_by_field_and_change_nothing() {
    let (server, peer, other) = (open_server().await, Peer::new(), Peer::new());
    let change = |change: fn(&mut Value)| {
        let mut body = body(&peer, "a");
        change(&mut body);
        body
    };
    for (body, expected) in [
        (
            change(|body| body["peer_id"] = json!("nonsense")),
            "peer_id",
        ),
        (
            change(|body| body["peer_id"] = json!("../../etc/passwd")),
            "peer_id",
        ),
        (change(|body| body["peer_id"] = Value::Null), "peer_id"),
        (change(|body| body["agent_name"] = json!(" ")), "agent_name"),
        (change(|body| body["addrs"] = json!([])), "addresses"),
        (change(|body| body["addrs"] = json!("x")), "addrs"),
        (
            change(|body| body["addrs"] = json!(["http://169.254.169.254/"])),
            "addresses[0]",
        ),
        (change(|body| body["ttl"] = json!(-1)), "ttl"),
        (change(|body| body["card"] = json!({"skills": 1})), "card"),
        (change(|body| body["signature"] = json!("x")), "challenge"),
    ] {
        let response = server.post("/register", &body).await;
        assert_eq!(response.status, 400, "{body}");
        assert!(
            response.body["error"].as_str().unwrap().contains(expected),
            "{body} -> {}",
            response.body
        );
    }
    let foreign =
        json!({"agent_name": "a", "peer_id": peer.id.to_string(), "addrs": [other.address()]});
    assert_eq!(
        server.post("/register", &foreign).await.status,
        400,
        "an address of another peer"
    );
    let many = json!({"agent_name": "a", "peer_id": peer.id.to_string(), "addrs": vec![peer.address(); 17]});
    assert_eq!(server.post("/register", &many).await.status, 413);
    let large = "x".repeat(65 << 10);
    assert_eq!(
        server.send("POST", "/register", &[], large).await.status,
        413
    );
    let deep = format!("{{\"card\": {}{}}}", "[".repeat(100), "]".repeat(100));
    assert_eq!(
        server.send("POST", "/register", &[], deep).await.status,
        400
    );
    for path in [
        "/peers?limit=0",
        "/peers?limit=x",
        "/peers?nme=a&x=b",
        "/peers?format=xml",
        "/peers?agent_name=a&agent_name=b",
    ] {
        assert_eq!(server.get(path).await.status, 400, "{path}");
    }
    assert_eq!(
        server
            .send("PUT", "/register", &[], String::new())
            .await
            .status,
        405
    );
    assert!(server.registry.find(&PeerQuery::default()).is_empty());
}

#[tokio::test]
async fn elsewhere_a_peer_needs_a_token_or_its_signature_and_the_operators_leave() {
    let (peer, stranger) = (Peer::new(), Peer::new());
    let allowed = Allowed::Only([peer.id.to_string()].into());
    let server = server(false, allowed).await;
    for path in ["/peers", "/agents"] {
        assert_eq!(server.get(path).await.status, 401, "{path}");
    }
    for path in ["/agents/find", "/tools/find"] {
        assert_eq!(
            server.post(path, &json!({"goal": "x"})).await.status,
            401,
            "{path}"
        );
    }

    for (registrant, status) in [(&peer, 200), (&stranger, 401)] {
        let plain = body(registrant, "a");
        let response = server.post("/register", &plain).await;
        assert_eq!(response.status, 401);
        let challenge = response.body["challenge"].as_str().unwrap();
        let addresses = [registrant.address()];
        let statement = Statement::Register {
            name: "a",
            addresses: &addresses,
        };
        let proof = sign(&registrant.key, challenge, &statement).unwrap();
        let mut signed = plain;
        signed["challenge"] = json!(proof.challenge);
        signed["signature"] = json!(proof.signature);
        assert_eq!(server.post("/register", &signed).await.status, status);
    }
    assert!(server.registry.has(&peer.id) && !server.registry.has(&stranger.id));

    // A token may register any peer, but can't replace the peer's own signed registration.
    let token = server.token("ann", &registers("*")).await;
    let with = [("authorization", token.as_str())];
    let response = server
        .send("POST", "/register", &with, body(&peer, "anns").to_string())
        .await;
    assert_eq!(response.status, 401);
    assert!(response.body["challenge"].is_string());
    let response = server
        .send(
            "POST",
            "/register",
            &with,
            body(&stranger, "anns").to_string(),
        )
        .await;
    assert_eq!(response.status, 200);

    // The peer removes its entry by its signature.
    let path = format!("/register/{}", peer.id);
    let challenge = server.get(&path).await.body["challenge"]
        .as_str()
        .unwrap()
        .to_owned();
    let proof = sign(&peer.key, &challenge, &Statement::Remove).unwrap();
    let removal = json!({"peer_id": peer.id.to_string(), "challenge": proof.challenge, "signature": proof.signature});
    let mut others = removal.clone();
    others["peer_id"] = json!(stranger.id.to_string());
    assert_eq!(
        server
            .send("DELETE", &path, &[], others.to_string())
            .await
            .status,
        400
    );
    assert_eq!(
        server
            .send("DELETE", &path, &[], String::new())
            .await
            .status,
        401
    );
    assert_eq!(
        server.post("/heartbeat", &removal).await.status,
        401,
        "it was signed for something else"
    );
    assert_eq!(
        server
            .send("DELETE", &path, &[], removal.to_string())
            .await
            .status,
        204
    );
    assert!(!server.registry.has(&peer.id));
}

#[tokio::test]
async fn who_proves_nothing_does_not_learn_which_peers_are_blocked() {
    let (blocked, other) = (Peer::new(), Peer::new());
    let listed = [&blocked, &other].map(|peer| peer.id.to_string());
    let server = server(false, Allowed::only(&listed).unwrap()).await;
    server.registry.refuse(blocked.id, true);
    let token = server.token("ann", &Scopes::default()).await;
    let with = [("authorization", token.as_str())];
    for peer in [&blocked, &other] {
        let (path, plain) = (format!("/register/{}", peer.id), body(peer, "a"));
        let removal = json!({"peer_id": peer.id.to_string()});
        for (method, path, body) in [
            ("POST", "/register", plain.to_string()),
            ("POST", "/heartbeat", removal.to_string()),
            ("DELETE", &path, String::new()),
        ] {
            let response = server.send(method, path, &[], body).await;
            assert_eq!(response.status, 401, "{method} {path}: {}", response.body);
            assert!(response.body["challenge"].is_string(), "{}", response.body);
        }
        let response = server.get(&path).await;
        assert_eq!(response.status, 200);
        let challenge = response.body["challenge"].as_str().unwrap();

        // Only the blocked peer itself and token holders see the error.
        let status = if peer.id == blocked.id { 403 } else { 200 };
        let addresses = [peer.address()];
        let statement = Statement::Register {
            name: "a",
            addresses: &addresses,
        };
        let proof = sign(&peer.key, challenge, &statement).unwrap();
        let mut signed = plain.clone();
        signed["challenge"] = json!(proof.challenge);
        signed["signature"] = json!(proof.signature);
        let response = server.post("/register", &signed).await;
        assert_eq!(response.status, status, "{}", response.body);
        assert_eq!(
            server.send("GET", &path, &with, String::new()).await.status,
            status
        );
    }
    let response = server
        .send("POST", "/register", &with, body(&blocked, "a").to_string())
        .await;
    assert_eq!(response.status, 403);
    assert!(!server.registry.has(&blocked.id));
}

#[tokio::test]
async fn a_wrong_signature_is_refused_on_loopback_too() {
    let (server, peer, attacker) = (open_server().await, Peer::new(), Peer::new());
    let path = format!("/register/{}", peer.id);
    let challenge = server.get(&path).await.body["challenge"]
        .as_str()
        .unwrap()
        .to_owned();
    let addresses = [peer.address()];
    let statement = Statement::Register {
        name: "a",
        addresses: &addresses,
    };
    let proof = sign(&attacker.key, &challenge, &statement).unwrap();
    let mut forged = body(&peer, "a");
    forged["challenge"] = json!(proof.challenge);
    forged["signature"] = json!(proof.signature);
    assert_eq!(server.post("/register", &forged).await.status, 401);
    assert!(!server.registry.has(&peer.id));
}

#[tokio::test]
async fn the_hub_and_the_agents_that_peers_reach_are_found_too() {
    let (server, peer) = (open_server().await, Peer::new());
    let _writer = server.agent("local", "writer", "poem", "Writes poems and songs.");
    let _secret = server.agent("ann", "secret", "poem", "Writes poems for Ann.");
    let mut registration = body(&peer, "translator");
    registration["card"] = json!({
        "name": "translator", "version": "3", "description": "Translates.",
        "skills": [{"id": "translate", "name": "Translate", "description": "Translates texts.", "path": "/t", "input_schema": {"type": "string"}}],
    });
    assert_eq!(server.post("/register", &registration).await.status, 200);

    let hub = json!({"name": "writer", "description": "Writes poems and songs.", "version": "", "endpoint": format!("/ip4/127.0.0.1/tcp/7412/p2p/{HUB_PEER}"), "peer_id": HUB_PEER});
    let own = json!({"name": "translator", "description": "Translates.", "version": "3", "endpoint": peer.address(), "peer_id": peer.id.to_string()});
    assert_eq!(server.get("/agents?skill=poem").await.body, json!([hub]));
    assert_eq!(
        server.get("/agents?skill=translate").await.body,
        json!([own])
    );
    assert_eq!(
        server
            .post("/agents/find", &json!({"goal": "write a song about poems"}))
            .await
            .body,
        json!([hub])
    );
    assert_eq!(
        server
            .post("/agents/find", &json!({"goal": "translate this"}))
            .await
            .body,
        json!([own])
    );
    assert_eq!(
        server
            .post("/agents/find", &json!({"goal": "bake"}))
            .await
            .body,
        json!([])
    );
    assert_eq!(server.post("/agents/find", &json!({})).await.status, 400);

    let tools = server
        .post("/tools/find", &json!({"goal": "translate"}))
        .await
        .body;
    assert_eq!(tools[0]["name"], "translate");
    assert_eq!(tools[0]["parameters_spec"], json!({"type": "string"}));
    assert_eq!(
        tools[0]["openai_function_spec"]["function"]["name"],
        "translate"
    );
    assert_eq!(
        server
            .post("/tools/find", &json!({"goal": "poem"}))
            .await
            .body[0]["name"],
        "poem"
    );

    let one = server.get("/peers?skill=poem").await.body;
    assert_eq!(one["peers"][0]["peer_id"], HUB_PEER);
    assert_eq!(one["peers"][0]["capabilities"], json!(["writer", "poem"]));
    assert_eq!(
        server.get("/peers?Jackfield").await.body["peer_id"],
        HUB_PEER
    );
    let admin = Principal::local();
    let secret = AgentId::parse("secret").unwrap();
    server
        .hub
        .agents()
        .change(&admin, &secret, Some(Share::Everyone), None)
        .unwrap();
    let found = server.get("/agents?skill=poem").await.body;
    assert_eq!(
        found.as_array().unwrap().len(),
        2,
        "what is shared with everybody is reached by peers"
    );
}

#[tokio::test]
async fn lists_come_in_pages_and_are_known_again_by_their_tag() {
    let server = open_server().await;
    for n in 0..5 {
        server
            .post("/register", &body(&Peer::new(), &format!("peer-{n}")))
            .await;
    }
    let page = server.get("/peers?limit=2&offset=2&format=list").await;
    let names: Vec<_> = page
        .body
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| &entry["agent_name"])
        .collect();
    assert_eq!(names, ["peer-1", "peer-2"], "the hub itself comes first");
    let tag = page.tag.unwrap();
    for known in [tag.clone(), format!("\"other\", W/{tag}")] {
        let same = server
            .send(
                "GET",
                "/peers?limit=2&offset=2&format=list",
                &[("if-none-match", known.as_str())],
                String::new(),
            )
            .await;
        assert_eq!(
            (same.status, same.body),
            (StatusCode::NOT_MODIFIED, Value::Null)
        );
    }
    let with = [("if-none-match", tag.as_str())];
    let other = server.send("GET", "/peers", &with, String::new()).await;
    assert_eq!(other.status, 200);
}

#[tokio::test]
async fn every_route_is_described() {
    let server = open_server().await;
    let (_, api) = router(RegistryService {
        registry: server.registry.clone(),
        hub: server.hub.clone(),
        allowed: Allowed::nobody(),
        gatekeeper: Gatekeeper::new(server.hub.clone(), true),
        hub_peer: hub_peer(&server.hub),
    });
    let spec = serde_json::to_value(&api).unwrap();
    let mut paths: Vec<_> = spec["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "/agents",
            "/agents/find",
            "/heartbeat",
            "/peers",
            "/register",
            "/register/{peer}",
            "/tools/find"
        ]
    );
    jackfield_kit::testing::spec::references_lead_somewhere(&spec);
}

#[tokio::test]
async fn the_token_of_an_agent_registers_no_peers_for_its_owner() {
    let server = server(false, Allowed::Only([].into())).await;
    let (ann, amy) = (Owner::parse("ann").unwrap(), AgentId::parse("amy").unwrap());
    let agents = server.hub.tokens().create_for(amy, "t".into(), ann).await;
    let agents = format!("Bearer {}", agents.unwrap().secret);
    let owners = server.token("ann", &registers("*")).await;
    let (peer, send) = (Peer::new(), |token: String, peer: &Peer| {
        let (server, body) = (&server, body(peer, "p").to_string());
        async move {
            let headers = [("authorization", &*token)];
            server
                .send("POST", "/register", &headers, body)
                .await
                .status
        }
    });
    assert_eq!(send(agents.clone(), &peer).await, StatusCode::UNAUTHORIZED);
    assert!(send(owners, &peer).await.is_success());
    assert_eq!(send(agents, &peer).await, StatusCode::UNAUTHORIZED);
}

/// The body of a registration, signed by the peer.
async fn signed(server: &RegistryServer, peer: &Peer, name: &str) -> Value {
    let response = server.get(&format!("/register/{}", peer.id)).await;
    let challenge = response.body["challenge"].as_str().unwrap();
    let addresses = [peer.address()];
    let statement = Statement::Register {
        name,
        addresses: &addresses,
    };
    let proof = sign(&peer.key, challenge, &statement).unwrap();
    let mut signed = body(peer, name);
    signed["challenge"] = json!(proof.challenge);
    signed["signature"] = json!(proof.signature);
    signed
}

#[tokio::test]
async fn a_token_registers_only_names_that_its_scopes_cover() {
    let server = server(false, Allowed::Only([].into())).await;
    let calls = Scopes::parse(["call:*", "watch:*"]).unwrap();
    for (scopes, is_allowed) in [
        (Scopes::default(), false),
        (calls, false),
        (registers("other"), false),
        (registers("weather"), true),
        (registers("wea*"), true),
        (registers("weather@*"), true),
        (Scopes::admin(), true),
    ] {
        let token = server.token("ann", &scopes).await;
        let with = [("authorization", token.as_str())];
        let (plain, by_key) = (Peer::new(), Peer::new());
        for body in [
            body(&plain, "weather"),
            signed(&server, &by_key, "weather").await,
        ] {
            let response = server
                .send("POST", "/register", &with, body.to_string())
                .await;
            let status = if is_allowed { 200 } else { 401 };
            assert_eq!(response.status, status, "{scopes:?}: {}", response.body);
            if !is_allowed {
                let error = response.body["error"].as_str().unwrap();
                assert!(error.contains("scope agent:"), "{error}");
            }
        }
        let has = [&plain, &by_key].map(|peer| server.registry.has(&peer.id));
        assert_eq!(has, [is_allowed; 2], "{scopes:?}");
    }
}

#[tokio::test]
async fn nobody_registers_the_hub_itself() {
    let server = open_server().await;
    let address = format!("/ip4/8.8.8.8/tcp/4001/p2p/{HUB_PEER}");
    let theft = json!({"agent_name": "hub", "peer_id": HUB_PEER, "addrs": [address]});
    let response = server.post("/register", &theft).await;
    assert_eq!(response.status, 400, "{}", response.body);
    assert!(
        response.body["error"]
            .as_str()
            .unwrap()
            .contains("\"peer_id\"")
    );
    let listed = server.get("/peers").await;
    let listed = listed.body["peers"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["agent_name"], "Jackfield");
}
