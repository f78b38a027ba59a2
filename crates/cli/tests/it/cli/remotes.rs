//! `add`, and the output of `show` and `rm` for dialled servers.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::State,
    http::{HeaderMap, StatusCode},
    response::{IntoResponse as _, Response},
    routing::{MethodRouter, get, post},
};
use jackfield_testkit::TestHub;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::cli::serve::Served;
use crate::run::Cli;

/// An A2A server of version 1.0; requires the key, if set.
struct Server {
    url: String,
    _running: JoinSet<()>,
}

type Shared = (SocketAddr, Option<&'static str>);

fn may_enter((_, key): Shared, headers: &HeaderMap) -> bool {
    key.is_none_or(|key| headers.get("x-key").is_some_and(|shown| shown == key))
}

async fn card(State(shared): State<Shared>, headers: HeaderMap) -> Response {
    if !may_enter(shared, &headers) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let url = format!("http://{}/rpc", shared.0);
    let interface = json!({"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    Json(json!({
        "name": "Far \u{1b}[31mEcho",
        "description": "says it again",
        "version": "3",
        "supportedInterfaces": [interface],
        "capabilities": {"streaming": false},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [{"id": "echo", "name": "Echo", "description": "again", "tags": ["talk"]}]
    }))
    .into_response()
}

async fn answer(Json(body): Json<Value>) -> Json<Value> {
    let text = body["params"]["message"]["parts"][0]["text"].clone();
    Json(json!({
        "jsonrpc": "2.0",
        "id": body["id"],
        "result": {"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}}
    }))
}

/// Work that sends a line, and a second line when released.
#[derive(Debug, Default)]
struct Slow {
    may_end: AtomicBool,
    messages: AtomicUsize,
}

impl Slow {
    fn answer(&self, body: &Value) -> Json<Value> {
        let artifact = |id: &str, text: &str| json!({"artifactId": id, "parts": [{"text": text}]});
        let mut artifacts = vec![artifact("first", "begin\n")];
        let mut state = "TASK_STATE_WORKING";
        if self.may_end.load(Ordering::Relaxed) {
            state = "TASK_STATE_COMPLETED";
            artifacts.push(artifact("last", "end\n"));
        }
        let status = json!({"state": state});
        let task = json!({"id": "t", "contextId": "c", "status": status, "artifacts": artifacts});
        let result = match body["method"].as_str() {
            Some("SendMessage") => {
                self.messages.fetch_add(1, Ordering::Relaxed);
                json!({"task": task})
            }
            Some("GetTask") => task,
            _ => panic!("not expected: {body}"),
        };
        Json(json!({"jsonrpc": "2.0", "id": body["id"], "result": result}))
    }
}

impl Server {
    async fn start(key: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        Self::serve(listener, (addr, key), post(answer))
    }

    /// Starts a server whose task runs until released.
    async fn start_slow(slow: Arc<Slow>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let work = async move |Json(body): Json<Value>| slow.answer(&body);
        Self::serve(listener, (addr, None), post(work))
    }

    fn serve(listener: TcpListener, shared: Shared, rpc: MethodRouter<Shared>) -> Self {
        let addr = shared.0;
        let app = Router::new()
            .route("/.well-known/agent-card.json", get(card))
            .route("/rpc", rpc)
            .with_state(shared);
        let mut running = JoinSet::new();
        running.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            url: format!("http://{addr}"),
            _running: running,
        }
    }
}

#[tokio::test]
async fn a_server_is_added_called_shown_and_forgotten() {
    let (hub, server) = (TestHub::start().await, Server::start(None).await);
    let cli = Cli::new(&hub);
    let added = cli.run(&["add", &server.url]).await.ok();
    let added = added
        .stderr_has("looking for")
        .stderr_has("jackfield call far-31mecho");
    for line in [
        "id\tfar-31mecho",
        "name\tFar  [31mEcho",
        "speaks\tA2A 1.0, JSONRPC, no streaming",
        "signature\tnone",
    ] {
        assert!(
            added.out.lines().any(|had| had == line),
            "{line:?}: {added:?}"
        );
    }
    let again = cli.run(&["add", &format!("{}/", server.url)]).await.ok();
    let again = again.stderr_has("is added already, as far-31mecho");
    assert_eq!(again.out, added.out);
    let other = ["add", &server.url, "--as", "other", "--json"];
    assert_eq!(cli.run(&other).await.ok().json()["id"], "other");
    cli.run(&["rm", "other"]).await.ok();
    let said = cli.run(&["call", "far-31mecho", "hello"]).await.ok();
    assert_eq!(said.out, "hello\n");
    let shown = cli.run(&["show", "far-31mecho"]).await.ok();
    assert!(
        shown.out.contains(&format!("url\t{}", server.url)),
        "{shown:?}"
    );
    assert!(shown.out.contains("dialled\tonline since"), "{shown:?}");
    let shown = cli
        .run(&["show", "far-31mecho", "--json"])
        .await
        .ok()
        .json();
    assert_eq!(shown["remote"]["card"]["version"], "1.0");
    let forgotten = cli.run(&["rm", "far-31mecho"]).await.ok();
    assert!(!forgotten.err.contains("comes back"), "{forgotten:?}");
    cli.run(&["show", "far-31mecho"]).await.code(3);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_added_only_if_it_is_meant() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let refused = cli.run(&["add", &url, "--as", "far"]).await.code(3);
    refused.stderr_has(&url).stderr_has("--keep");
    cli.run(&["show", "far"]).await.code(3);
    let kept = cli.run(&["add", &url, "--as", "far", "--keep"]).await.ok();
    assert!(kept.out.contains("dialled\toffline since"), "{kept:?}");
    assert!(kept.out.contains("last error\tcannot reach"), "{kept:?}");
    let shown = cli.run(&["show", "far"]).await.ok();
    assert!(shown.out.contains("last error\tcannot reach"), "{shown:?}");
    let twice = cli.run(&["add", &url, "--as", "far", "--keep"]).await;
    twice.code(1).stderr_has("--as ID");
}

#[tokio::test]
async fn a_secret_is_named_and_never_typed() {
    let (hub, server) = (TestHub::start().await, Server::start(Some("s3cret")).await);
    let cli = Cli::new(&hub);
    cli.run(&["add", &server.url])
        .await
        .code(3)
        .stderr_has("401");
    std::fs::write(cli.home().join("key"), "s3cret\n").expect("it is written");
    let typed = ["add", &server.url, "--header", "X-Key=s3cret"];
    cli.run(&typed).await.code(2).stderr_has("env:VAR");
    let named = ["add", &server.url, "--header", "X-Key=file:key", "--json"];
    let added = cli.run(&named).await.ok().json();
    assert_eq!(added["state"], "online");
    let file = added["auth"]["headers"]["X-Key"]["file"].as_str();
    assert!(file.is_some_and(|file| file.starts_with('/')), "{added}");
    assert!(!added.to_string().contains("s3cret"), "{added}");
    let oauth = ["add", &server.url, "--oauth-token-url", "http://a.example"];
    cli.run(&oauth)
        .await
        .code(2)
        .stderr_has("--oauth-client-id");
    let both = ["--bearer-env", "A", "--bearer-file", "b"];
    let both = [&["add", &server.url][..], &both[..]].concat();
    cli.run(&both).await.code(2);
    cli.run(&["add", "ftp://a.example"]).await.code(2);
}

#[tokio::test]
async fn a_server_in_the_file_is_an_agent_and_comes_back() {
    let server = Server::start(None).await;
    let config = format!(
        "[[agent]]\nid = \"far\"\nurl = \"{}\"\nshare = \"everyone\"\ntimeout = \"90s\"\n",
        server.url
    );
    let cli = Cli::at("");
    std::fs::write(cli.home().join("jackfield.toml"), config).expect("it is written");
    let Served { process, cli, .. } = Served::start(cli, &[]).await;
    let called = cli
        .run(&["call", "far", "hello", "--wait-online", "20s"])
        .await
        .ok();
    assert_eq!(called.out, "hello\n");
    let shown = cli.run(&["show", "far"]).await.ok();
    assert!(shown.out.contains("shared\twith everyone"), "{shown:?}");
    assert!(shown.out.contains("idle=90s"), "{shown:?}");
    cli.run(&["rm", "far"]).await.ok().stderr_has("comes back");
    process.signal(Signal::TERM);
    process.end().await.ok();
}

#[tokio::test]
async fn a_call_to_a_dialled_server_survives_kill_9_of_the_hub() {
    let slow = Arc::new(Slow::default());
    let server = Server::start_slow(slow.clone()).await;
    let cli = Cli::at("").with_any_peer_port();
    let Served { process, cli, addr } = Served::start(cli, &[]).await;
    cli.run(&["add", &server.url, "--as", "far"]).await.ok();
    let mut call = cli.start(&["call", "far", "x"]);
    assert_eq!(call.line().await.as_deref(), Some("begin"));
    process.signal(Signal::KILL);
    process.end().await;
    let listen = addr.to_string();
    let mut process = cli.start(&["serve", "--listen", &listen, "--data-dir", "data"]);
    process.line().await.expect("it listens again");
    slow.may_end.store(true, Ordering::Relaxed);
    assert_eq!(call.line().await.as_deref(), Some("end"));
    call.end().await.ok();
    assert_eq!(slow.messages.load(Ordering::Relaxed), 1);
}
