//! `add` for servers with several agents. The server answers as Google ADK was seen to answer.

use axum::{Json, Router, extract::Path, http::StatusCode, routing::get};
use jackfield_testkit::TestHub;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};

use crate::cli::terminal::Terminal;
use crate::run::Cli;

/// A server with the apps `dice`, `hello` and one without a card.
struct Adk {
    url: String,
    _running: JoinSet<()>,
}

async fn card(Path(app): Path<String>) -> Result<Json<Value>, StatusCode> {
    if app == "bare" {
        return Err(StatusCode::NOT_FOUND);
    }
    Ok(Json(json!({
        "name": app, "description": format!("the app {app}"), "version": "1",
        "url": format!("/a2a/{app}"), "protocolVersion": "0.3.0", "preferredTransport": "JSONRPC",
        "capabilities": {}, "skills": [],
    })))
}

impl Adk {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let apps = get(|| async { Json(json!(["dice", "hello", "bare"])) });
        let app = Router::new()
            .route("/list-apps", apps)
            .route("/a2a/{app}/.well-known/agent-card.json", get(card));
        let mut running = JoinSet::new();
        running.spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self {
            url,
            _running: running,
        }
    }
}

async fn remotes(hub: &TestHub) -> Vec<String> {
    let (_, listed) = hub.web().get("/v1/remotes").await;
    let remotes = listed["remotes"].as_array().expect("a list").iter();
    remotes
        .map(|it| it["id"].as_str().expect("an id").to_owned())
        .collect()
}

#[tokio::test]
async fn without_a_terminal_the_agents_are_listed_with_the_line_to_run_and_nothing_is_added() {
    let (hub, adk) = (TestHub::start().await, Adk::start().await);
    let cli = Cli::new(&hub);
    let listed = cli.run(&["add", &adk.url]).await.code(2);
    let listed = listed
        .stderr_has("is a server of Google ADK with 3 agents")
        .stderr_has(&format!("jackfield add {} --all", adk.url))
        .stderr_has("--only dice,hello");
    let rows: Vec<Vec<_>> = listed
        .out
        .lines()
        .map(|it| it.split('\t').collect())
        .collect();
    assert_eq!(
        rows[0],
        ["dice", "dice", "A2A 0.3, JSONRPC", "new", "the app dice"]
    );
    assert_eq!(rows[2][3], "unusable");
    assert!(rows[2][4].contains("404 Not Found"), "{rows:?}");
    let found = cli.run(&["add", &adk.url, "--json"]).await.code(2).json();
    assert_eq!(found["remotes"][1]["url"], format!("{}/a2a/hello", adk.url));
    assert!(
        found["hint"]
            .as_str()
            .is_some_and(|it| it.contains("agent.json")),
        "{found}"
    );
    assert!(remotes(&hub).await.is_empty());
}

#[tokio::test]
async fn all_agents_are_added_and_those_that_were_are_left_as_they_are() {
    let (hub, adk) = (TestHub::start().await, Adk::start().await);
    let cli = Cli::new(&hub);
    let one = cli.run(&["add", &adk.url, "--only", "HELLO"]).await.ok();
    assert!(one.out.contains("id\thello\n"), "{one:?}");
    let all = cli.run(&["add", &adk.url, "--all"]).await.ok();
    let all = all
        .stderr_has("left out: bare")
        .stderr_has("hello is added already, as hello")
        .stderr_has("jackfield call dice");
    assert_eq!(all.out, format!("dice\tonline\t{}/a2a/dice\n", adk.url));
    assert_eq!(remotes(&hub).await, ["dice", "hello"]);
    let again = cli
        .run(&["add", &adk.url, "--all", "--json"])
        .await
        .ok()
        .json();
    let known = again["known"].as_array().map(Vec::len);
    assert_eq!((&again["added"], known), (&json!([]), Some(2)));
}

#[tokio::test]
async fn where_one_fails_the_others_are_added_and_it_is_named() {
    let (hub, adk) = (TestHub::start().await, Adk::start().await);
    let cli = Cli::new(&hub);
    let some = ["add", &adk.url, "--only", "bare,dice", "--json"];
    let some = cli
        .run(&some)
        .await
        .code(1)
        .stderr_has("bare was not added")
        .json();
    assert_eq!(some["added"][0]["id"], "dice");
    assert_eq!(
        (&some["failed"][0]["id"], &some["failed"][0]["error"]),
        (&json!("bare"), &json!("offline"))
    );
    assert_eq!(remotes(&hub).await, ["dice"]);
}

#[tokio::test]
async fn a_name_that_is_not_there_and_one_id_for_several_are_refused() {
    let (hub, adk) = (TestHub::start().await, Adk::start().await);
    let cli = Cli::new(&hub);
    let wrong = ["add", &adk.url, "--only", "dize"];
    cli.run(&wrong)
        .await
        .code(2)
        .stderr_has("dice, hello, bare");
    let as_one = ["add", &adk.url, "--all", "--as", "x"];
    cli.run(&as_one)
        .await
        .code(2)
        .stderr_has("--as x names one agent, and 2 were picked");
    let both = ["add", &adk.url, "--all", "--only", "dice"];
    cli.run(&both).await.code(2);
    assert!(remotes(&hub).await.is_empty());
    let named = ["add", &adk.url, "--only", "dice", "--as", "x"];
    cli.run(&named).await.ok();
    assert_eq!(remotes(&hub).await, ["x"]);
}

#[tokio::test]
async fn on_a_terminal_the_command_asks() {
    let (hub, adk) = (TestHub::start().await, Adk::start().await);
    let cli = Cli::new(&hub);
    let mut terminal = Terminal::start_wide(cli.command(&["add", &adk.url]), 120);
    terminal.until("which of them?").await;
    terminal.type_in("2\n");
    let (code, screen) = terminal.end().await;
    assert_eq!(code, Some(0), "{screen}");
    assert_eq!(remotes(&hub).await, ["hello"]);
    let mut terminal = Terminal::start_wide(cli.command(&["add", &adk.url]), 120);
    terminal.until("which of them?").await;
    terminal.type_in("\n");
    let (code, screen) = terminal.end().await;
    assert_eq!(code, Some(0), "{screen}");
    assert!(screen.contains("nothing was added"), "{screen}");
}

#[tokio::test]
async fn a_server_without_agents_is_refused_with_everything_that_was_tried() {
    let (hub, far, adk) = (
        TestHub::start().await,
        TestHub::start().await,
        Adk::start().await,
    );
    let cli = Cli::new(&hub);
    let url = format!("{}/nothing", adk.url);
    let refused = cli.run(&["add", &url]).await.code(3);
    refused
        .stderr_has("/nothing/.well-known/agent-card.json (404 Not Found)")
        .stderr_has("/nothing/list-apps (404 Not Found)");
    let empty = far.url("");
    let refused = cli.run(&["add", empty.trim_end_matches('/')]).await.code(3);
    refused.stderr_has("is a hub with 0 agents");
}
