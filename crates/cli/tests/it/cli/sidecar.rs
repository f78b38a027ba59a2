//! `p2p sidecar`: a process beside an HTTP agent.

use std::net::SocketAddr;

use axum::{Json, Router, routing::any};
use jackfield_testkit::TestHub;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::run::{Cli, Running};

/// An agent behind HTTP that echoes its requests.
struct Agent {
    url: String,
    _server: JoinSet<()>,
}

fn card() -> Value {
    json!({"name": "Parrot", "version": "1", "description": "Says it again.", "skills": [
        {"id": "say", "name": "Say", "description": "Says it.", "path": "/say", "method": "POST"}]})
}

impl Agent {
    async fn start() -> Self {
        Self::at("127.0.0.1:0".parse().expect("an address")).await
    }

    async fn at(addr: SocketAddr) -> Self {
        let listener = TcpListener::bind(addr).await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let app = Router::new()
            .route("/card", any(|| async { Json(card()) }))
            .route("/say", any(|body: String| async move { body }));
        let mut server = JoinSet::new();
        server.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            url,
            _server: server,
        }
    }
}

async fn relay() -> TestHub {
    TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.relay = true;
    })
    .await
}

/// Waits for an event of this kind in this state.
async fn until(sidecar: &mut Running, event: &str, state: &str) -> Value {
    loop {
        let line = sidecar.json().await;
        if line["event"] == event && line["state"] == state {
            return line;
        }
    }
}

/// The peer's id as an agent of a hub.
fn agent_id(peer: &str) -> String {
    format!("parrot@{}", &peer[peer.len() - 12..])
}

async fn found(hub: &TestHub) -> Vec<Value> {
    let (_, found) = hub.web().get("/peers?skill=say").await;
    found["peers"].as_array().expect("a list").clone()
}

#[tokio::test]
async fn an_http_agent_becomes_an_agent_of_the_hub_that_is_its_relay_and_leaves_with_sigterm() {
    let (hub, agent) = (relay().await, Agent::start().await);
    let cli = Cli::at("");
    let relay = hub.peer_addresses().remove(0);
    let mut sidecar = cli.start(&[
        "p2p",
        "sidecar",
        "--agent-url",
        &agent.url,
        "--relay",
        &relay,
        "--json",
    ]);
    let started = sidecar.json().await;
    assert_eq!(started["event"], "started");
    let peer = started["peer_id"].as_str().expect("an id").to_owned();
    let id = agent_id(&peer);
    let mut watch = hub.watch(&id);
    let here = until(&mut sidecar, "agent", "here").await;
    assert_eq!(
        (&here["name"], &here["skills"]),
        (&json!("Parrot"), &json!(["say"]))
    );
    let held = until(&mut sidecar, "relay", "held").await;
    assert_eq!(held["relay"], relay.as_str());
    let call = Cli::new(&hub).run(&["call", &id, "hello"]).await.ok();
    assert!(call.out.contains("hello"), "{call:?}");
    // The hub registered the sidecar by its connection, with a relayed address.
    let found_it = found(&hub).await;
    let through = format!("{relay}/p2p-circuit/p2p/{peer}");
    assert!(
        found_it[0]["addresses"].to_string().contains(&through),
        "{found_it:?}"
    );
    sidecar.signal(Signal::TERM);
    sidecar.end().await.ok();
    watch.until_offline().await;
}

#[tokio::test]
async fn a_sidecar_that_its_hub_has_blocked_says_so_until_it_is_let_in_again() {
    let (hub, agent) = (relay().await, Agent::start().await);
    let cli = Cli::new(&hub);
    let mut sidecar = cli.start(&["p2p", "sidecar", "--agent-url", &agent.url, "--json"]);
    let started = sidecar.json().await;
    let peer = started["peer_id"].as_str().expect("an id").to_owned();
    until(&mut sidecar, "hub", "callable").await;
    cli.run(&["p2p", "block", &peer]).await.ok();
    let told = until(&mut sidecar, "hub", "forbidden").await;
    let why = told["reason"].as_str().expect("a reason");
    assert!(why.contains("this hub refuses this peer"), "{told}");
    assert!(found(&hub).await.is_empty());
    cli.run(&["p2p", "unblock", &peer]).await.ok();
    until(&mut sidecar, "hub", "callable").await;
}

#[tokio::test]
async fn it_says_who_and_where_it_is_and_is_listed_by_its_hub_until_it_stops() {
    let (hub, agent) = (relay().await, Agent::start().await);
    let cli = Cli::new(&hub);
    let args = ["p2p", "sidecar", "--agent-url", &agent.url];
    let mut ids = Vec::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut sidecar = cli.start(&args);
        let first = sidecar.line().await.expect("a line");
        let peer = first.strip_prefix("jackfield sidecar is ").expect("an id");
        let address = sidecar.line().await.expect("a line");
        assert!(address.starts_with("/ip4/127.0.0.1/tcp/"), "{address}");
        assert!(address.ends_with(&format!("/p2p/{peer}")), "{address}");
        sidecar.until_it_says("listed in the registry").await;
        let found_it = found(&hub).await;
        assert_eq!(found_it.len(), 1, "{found_it:?}");
        assert_eq!(
            (&found_it[0]["agent_name"], &found_it[0]["peer_id"]),
            (&json!("Parrot"), &json!(peer))
        );
        assert!(found_it[0]["addrs"].to_string().contains(&address));
        sidecar.signal(signal);
        sidecar.end().await.ok();
        assert!(found(&hub).await.is_empty(), "it took leave");
        ids.push(peer.to_owned());
    }
    assert_eq!(ids[0], ids[1], "it keeps its id");
    // Another agent gets another peer id.
    let other = Agent::start().await;
    let mut sidecar = cli.start(&["p2p", "sidecar", "--agent-url", &other.url]);
    let first = sidecar.line().await.expect("a line");
    assert!(!first.ends_with(&ids[0]), "{first}");
}

#[tokio::test]
async fn the_agent_may_start_later_and_the_words_of_the_original_are_understood() {
    let (hub, before) = (relay().await, Agent::start().await);
    let addr = before.url.strip_prefix("http://").expect("a URL");
    let addr = addr.parse().expect("an address");
    let url = before.url.clone();
    drop(before);
    let cli = Cli::at("");
    std::fs::create_dir(cli.home().join("keys")).expect("a folder");
    let key = cli.home().join("keys/node.key");
    std::fs::write(&key, [7; 32]).expect("a file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&key, mode).expect("a mode");
    let mut command = cli.command(&["p2p", "sidecar", "--agent-url", &url, "--name", "Polly"]);
    command
        .env("P2P_RELAY_ADDR", hub.peer_addresses().remove(0))
        .env("P2P_KEYSTORE_PATH", "keys")
        .env("AI_REGISTRY_URL", hub.url(""));
    let mut sidecar = cli.start_command(command);
    let first = sidecar.line().await.expect("a line");
    // The peer id of the raw key.
    assert!(first.ends_with("12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az7"));
    let says = sidecar.until_it_says("shows no card").await;
    assert!(says.contains("127.0.0.1"), "{says}");
    sidecar.until_it_says("--agent-url").await;
    assert!(found(&hub).await.is_empty());
    let _agent = Agent::at(addr).await;
    sidecar.until_it_says("the agent Polly is ready: say").await;
    // The relayed address appears once the relay grants a reservation.
    sidecar.until_line(&hub.peer_addresses().remove(0)).await;
    let found_it = found(&hub).await;
    assert_eq!(found_it[0]["agent_name"], "Polly", "{found_it:?}");
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_the_next_step() {
    let cli = Cli::at("http://127.0.0.1:1");
    let url = "http://127.0.0.1:1";
    let peer = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";
    let circuit = format!("/ip4/127.0.0.1/tcp/1/p2p/{peer}/p2p-circuit/p2p/{peer}");
    for (args, says) in [
        (&["--agent-url", "localhost:8000"][..], "--agent-url"),
        (&["--agent-url", "ftp://localhost"], "http://"),
        (&["--agent-url", url, "--relay", "nonsense"], "--relay"),
        (
            &["--agent-url", url, "--relay", "/ip4/127.0.0.1/tcp/1"],
            "/p2p/",
        ),
        (&["--agent-url", url, "--relay", &circuit], "relay"),
        (&["--agent-url", url, "--listen", "0.0.0.0:1"], "--listen"),
        (&["--agent-url", url, "--external", "x"], "--external"),
        (&["--agent-url", url, "--allow", "bob"], "--allow"),
        (&["--agent-url", url, "--registry", "x"], "--registry"),
        (
            &["--agent-url", url, "--registry", "x", "--no-register"],
            "--no-register",
        ),
        (&[], "--agent-url"),
    ] {
        let all = [&["p2p", "sidecar"], args].concat();
        cli.run(&all).await.code(2).stderr_has(says);
    }
    // A taken port isn't a usage error.
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = taken.local_addr().expect("an address").port();
    let listen = format!("/ip4/127.0.0.1/tcp/{port}");
    let all = ["p2p", "sidecar", "--agent-url", url, "--listen", &listen];
    cli.run(&all).await.code(1).stderr_has("--listen");
}

#[tokio::test]
async fn a_registry_that_is_not_there_and_one_that_refuses_are_told_of_and_nothing_ends() {
    let agent = Agent::start().await;
    let cli = Cli::at("http://127.0.0.1:1");
    let args = ["p2p", "sidecar", "--agent-url", &agent.url];
    let mut sidecar = cli.start(&args);
    sidecar.until_it_says("not listed").await;
    sidecar.until_it_says("--no-register").await;
    sidecar.signal(Signal::TERM);
    sidecar.end().await.ok();

    let hub = TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.listen = "0.0.0.0:0".parse().expect("an address");
        config.allow_private_outbound = true;
    })
    .await;
    let cli = Cli::new(&hub);
    let mut sidecar = cli.start(&args);
    sidecar.until_it_says("not listed").await;
    sidecar.until_it_says("--token-file").await;
    sidecar.signal(Signal::TERM);
    sidecar.end().await.ok();
    let token = hub.token("ann", &["admin"]).await;
    std::fs::write(cli.home().join("token"), token).expect("a file");
    let mut sidecar = cli.start(&[&args[..], &["--token-file", "token"]].concat());
    sidecar.until_it_says("listed in the registry").await;
}

#[tokio::test]
async fn a_sidecar_is_callable_at_its_hub_and_runs_once() {
    let hub = TestHub::start_with(|config| config.p2p.enabled = true).await;
    let (cli, agent) = (Cli::new(&hub), Agent::start().await);
    let args = ["p2p", "sidecar", "--agent-url", &agent.url];
    let mut sidecar = cli.start(&args);
    let first = sidecar.line().await.expect("a line");
    let peer = first.strip_prefix("jackfield sidecar is ").expect("an id");
    let id = agent_id(peer);
    sidecar
        .until_it_says(&format!("callable as {id} at the hub"))
        .await;
    let call = cli.run(&["call", &id, "hello"]).await.ok();
    assert!(call.out.contains("hello"), "{call:?}");
    let second = cli.run(&args).await.code(1);
    assert!(
        second.err.contains("a sidecar for this URL runs already"),
        "{second:?}"
    );
    assert_eq!(found(&hub).await.len(), 1, "the first one is listed still");
    sidecar.signal(Signal::TERM);
    sidecar.end().await.ok();
    // A stopped sidecar releases the key.
    let mut third = cli.start(&args);
    assert_eq!(third.line().await.expect("a line"), first);
    third.signal(Signal::TERM);
    third.end().await.ok();
}

#[tokio::test]
async fn what_is_wrong_with_the_way_to_a_relay_is_told_and_not_blamed_on_it() {
    let hub = TestHub::start_with(|config| config.p2p.enabled = true).await;
    let (cli, agent) = (Cli::at(""), Agent::start().await);
    let address = hub.peer_addresses().remove(0);
    let (way, peer) = address.rsplit_once("/p2p/").expect("an id");
    let http = format!("/ip4/127.0.0.1/tcp/{}/p2p/{peer}", hub.addr().port());
    let another = format!("{way}/p2p/12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN");
    for (relay, words) in [
        (
            &http,
            "a hub's libp2p port is one above its HTTP port".to_owned(),
        ),
        (&another, format!("another peer answers there: {peer}")),
        (&address, "which is no relay".to_owned()),
    ] {
        let args = [
            "p2p",
            "sidecar",
            "--agent-url",
            &agent.url,
            "--relay",
            relay,
        ];
        let mut sidecar = cli.start(&args);
        sidecar.until_it_says(&words).await;
        sidecar.signal(Signal::TERM);
        sidecar.end().await.ok();
    }
}
