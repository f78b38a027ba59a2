//! Access without a token: for local programs, and never through a proxy. Raw requests to every door of a real hub on a
//! free port.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use jackfield_testkit::{Raw, TestHub, bridge_register};
use reqwest::{Client, Method};
use serde_json::{Value, json};

/// Headers of proxies and tunnels about their clients. The full list is in the gatekeeper.
const TRACES: [(&str, &str); 6] = [
    ("forwarded", "for=203.0.113.7"),
    ("via", "1.1 proxy"),
    ("x-forwarded-for", "203.0.113.7"),
    ("x-real-ip", "203.0.113.7"),
    ("cf-connecting-ip", "203.0.113.7"),
    ("x-original-url", "/"),
];

/// A request to each door that is served over HTTP.
fn requests() -> Vec<(Method, &'static str, Value)> {
    let send = json!({"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
    }});
    vec![
        (Method::GET, "/v1/agents", Value::Null),
        (
            Method::POST,
            "/v1/tokens",
            json!({"name": "mine", "owner": "me", "scopes": ["admin"]}),
        ),
        (Method::GET, "/v1/teams", Value::Null),
        (Method::GET, "/v1/remotes", Value::Null),
        (Method::GET, "/peers", Value::Null),
        (Method::GET, "/.well-known/agent-card.json", Value::Null),
        (Method::POST, "/a2a", send),
        (Method::GET, "/a2a/v1/tasks", Value::Null),
        (Method::POST, "/mcp", hello),
        (Method::GET, "/metrics", Value::Null),
        (Method::GET, "/openapi.json", Value::Null),
    ]
}

/// The response status of a request with these headers.
async fn status(
    hub: &TestHub,
    (method, path, body): &(Method, &'static str, Value),
    headers: &[(&'static str, &str)],
) -> u16 {
    let mut request = Client::new()
        .request(method.clone(), hub.url(path))
        .header("accept", "application/json, text/event-stream");
    if !body.is_null() {
        request = request.json(body);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap().status().as_u16()
}

/// The gRPC status number of a call with these headers.
async fn grpc(hub: &TestHub, headers: &[(&'static str, &str)]) -> String {
    let mut request = Client::new()
        .post(hub.url("/lf.a2a.v1.A2AService/ListTasks"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(vec![0; 5]);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let status = response.headers().get("grpc-status");
    status.map_or_else(String::new, |status| status.to_str().unwrap().to_owned())
}

/// Whether agents of both doors, and an unregistered client, are accepted without a token.
async fn sockets(hub: &TestHub, headers: &[(&'static str, &str)]) -> [bool; 3] {
    let mut agora = Raw::connect_with(hub.addr(), "/ws", headers).await.unwrap();
    agora.send(json!({"type": "list"})).await;
    let is_listed = agora.frame().await["type"] == "agents";
    agora.send(json!({"type": "register", "id": "a"})).await;
    let is_of_agora = agora.frame().await["type"] == "registered";
    let mut bridge = Raw::connect_with(hub.addr(), "/ws", headers).await.unwrap();
    bridge.send(bridge_register("b")).await;
    let is_of_bridge = bridge.frame().await["status"] == "ok";
    [is_listed, is_of_agora, is_of_bridge]
}

async fn viewer(hub: &TestHub, headers: &[(&'static str, &str)]) -> u16 {
    let viewed = Raw::connect_with(hub.addr(), "/ws/agent-team/none", headers).await;
    viewed.err().unwrap_or(101)
}

#[tokio::test]
async fn what_a_proxy_passes_on_needs_a_token_at_every_door() {
    let hub = TestHub::start_with(|config| config.p2p.enabled = true).await;
    let admin = format!("Bearer {}", hub.token("root", &["admin", "agent:*"]).await);
    let all = requests();
    for request in &all {
        assert_ne!(status(&hub, request, &[]).await, 401, "{request:?}");
    }
    assert_eq!(grpc(&hub, &[]).await, "");
    assert_eq!(sockets(&hub, &[]).await, [true; 3]);
    assert_ne!(viewer(&hub, &[]).await, 401);
    for trace in TRACES {
        for request in &all {
            let passed_on = status(&hub, request, &[trace]).await;
            assert_eq!(passed_on, 401, "{trace:?} {request:?}");
            let shown = [trace, ("authorization", &admin)];
            assert_ne!(status(&hub, request, &shown).await, 401, "{request:?}");
            // An unknown token doesn't help either.
            let unknown = [trace, ("authorization", "Bearer ah_from_elsewhere")];
            assert_eq!(status(&hub, request, &unknown).await, 401, "{request:?}");
        }
        assert_eq!(grpc(&hub, &[trace]).await, "16", "{trace:?}");
        assert_eq!(sockets(&hub, &[trace]).await, [false; 3], "{trace:?}");
        assert_eq!(viewer(&hub, &[trace]).await, 401, "{trace:?}");
    }
}

/// Runs an action as another local user (`nobody`). Returns `None` unless run as root.
async fn as_another_user<T: Send + 'static>(
    work: impl AsyncFnOnce() -> T + Send + 'static,
) -> Option<T> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can act as another user");
        return None;
    }
    let thread = tokio::task::spawn_blocking(|| {
        // Only this thread changes its user, and ends afterwards.
        let thread = std::thread::spawn(move || {
            let nobody = rustix::process::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build().unwrap();
            runtime.block_on(work())
        });
        thread.join().unwrap()
    });
    Some(thread.await.unwrap())
}

#[tokio::test]
async fn another_user_of_this_machine_needs_a_token_at_every_door() {
    let hub = TestHub::start_with(|config| config.p2p.enabled = true).await;
    let admin = format!("Bearer {}", hub.token("root", &["admin", "agent:*"]).await);
    let hub = std::sync::Arc::new(hub);
    let others = hub.clone();
    let refused = as_another_user(async move || {
        let hub = others;
        for request in &requests() {
            assert_eq!(status(&hub, request, &[]).await, 401, "{request:?}");
            let unknown = [("authorization", "Bearer ah_from_elsewhere")];
            assert_eq!(status(&hub, request, &unknown).await, 401, "{request:?}");
            let shown = [("authorization", admin.as_str())];
            assert_ne!(status(&hub, request, &shown).await, 401, "{request:?}");
        }
        assert_eq!(grpc(&hub, &[]).await, "16");
        assert_eq!(sockets(&hub, &[]).await, [false; 3]);
        assert_eq!(viewer(&hub, &[]).await, 401);
        let http2 = Client::builder().http2_prior_knowledge().build().unwrap();
        let listed = http2.get(hub.url("/v1/agents")).send().await.unwrap();
        assert_eq!(listed.status(), 401);
        listed.text().await.unwrap()
    });
    let Some(told) = refused.await else {
        return;
    };
    assert!(told.contains("another user"), "{told}");
    // The hub's own user still needs no token.
    for request in &requests() {
        assert_ne!(status(&hub, request, &[]).await, 401, "{request:?}");
    }
}

#[tokio::test]
async fn a_hub_that_is_known_elsewhere_asks_everybody_for_a_token_and_keeps_one_for_its_user() {
    let by_url = TestHub::start_with(|config| {
        config.public_url = Some("https://hub.example.com".to_owned());
    });
    let by_name = TestHub::start_with(|config| {
        config.allowed_hosts = vec!["hub.example.com".to_owned()];
    });
    for hub in [by_url.await, by_name.await] {
        for host in ["hub.example.com", "127.0.0.1"] {
            for request in requests().iter().filter(|(_, path, _)| *path != "/peers") {
                let got = status(&hub, request, &[("host", host)]).await;
                assert_eq!(got, 401, "{host} {request:?}");
            }
            assert_eq!(grpc(&hub, &[]).await, "16");
            assert_eq!(sockets(&hub, &[("host", host)]).await, [false; 3]);
            assert_eq!(viewer(&hub, &[("host", host)]).await, 401);
        }
        let kept = std::fs::read_to_string(hub.data_dir().join("admin-token")).unwrap();
        let (status, who) = hub.web_of(kept.trim()).get("/v1/whoami").await;
        assert_eq!((status, &who["admin"]), (200, &json!(true)), "{who}");
    }
}

#[tokio::test]
async fn the_operator_may_let_everybody_in() {
    let hub = TestHub::start_with(|config| {
        config.public_url = Some("https://hub.example.com".to_owned());
        config.insecure = true;
    })
    .await;
    let headers = [("host", "hub.example.com"), TRACES[2]];
    for request in requests().iter().filter(|(_, path, _)| *path != "/peers") {
        assert_ne!(status(&hub, request, &headers).await, 401, "{request:?}");
    }
    assert_eq!(sockets(&hub, &headers).await, [true; 3]);
}

#[tokio::test]
async fn doors_say_which_bodies_they_check_themselves() {
    let hub = TestHub::start().await;
    let sent = async |path: &str, headers: &[(&'static str, &str)]| {
        let mut request = Client::new().post(hub.url(path)).body("{}");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap().text().await.unwrap()
    };
    let plain = ("content-type", "text/plain");
    let guard = "unsupported_media_type";
    for (path, headers, is_refused) in [
        ("/v1/agents/a/calls", &[plain][..], true),
        ("/api/relay", &[plain], true),
        ("/api/relay", &[plain, ("x-platform-secret", "x")], false),
        ("/a2a", &[plain], false),
        ("/a2a/agents/a", &[plain], false),
        ("/a2a-x", &[plain], true),
    ] {
        let answer = sent(path, headers).await;
        assert_eq!(answer.contains(guard), is_refused, "{path}: {answer}");
    }
}
