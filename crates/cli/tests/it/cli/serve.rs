//! `serve` as a process: its output, and how it stops.

use jackfield_testkit::Raw;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run::{Cli, Running};

/// A hub in a separate process.
pub(crate) struct Served {
    pub(crate) process: Running,
    pub(crate) cli: Cli,
    pub(crate) addr: std::net::SocketAddr,
}

impl Served {
    /// Starts a hub on a free port, and makes it the client's hub.
    pub(crate) async fn start(cli: Cli, args: &[&str]) -> Self {
        let all = [
            &["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"],
            args,
        ]
        .concat();
        let process = cli.start(&all);
        Self::of(process, cli).await
    }

    /// Wraps a started hub.
    pub(crate) async fn of(mut process: Running, cli: Cli) -> Self {
        let line = process.line().await.expect("it listens");
        let url = line
            .strip_prefix("jackfield listens on ")
            .expect("the first line says where");
        let addr = url
            .strip_prefix("http://")
            .and_then(|addr| addr.parse().ok());
        let addr = addr.expect("an address");
        let cli = cli.at_hub(url);
        Self { process, cli, addr }
    }

    pub(crate) async fn agora(&self, id: &str) -> Raw {
        let mut agent = Raw::connect(self.addr, "/ws").await;
        agent.register(id).await;
        agent
    }
}

fn home(config: &str) -> Cli {
    let cli = Cli::at("");
    std::fs::write(cli.home().join("jackfield.toml"), config).expect("a file");
    cli
}

#[tokio::test]
async fn it_says_where_it_listens_and_ends_well_on_sigterm() {
    let mut served = Served::start(home(""), &[]).await;
    served.process.until_it_says("its data is in data").await;
    #[cfg(feature = "p2p")]
    {
        let peers = served.process.until_it_says("peers reach it at ").await;
        assert!(peers.contains("/p2p/12D3"), "{peers}");
    }
    let healthy = served.cli.run(&["doctor", "--data-dir", "data"]).await.ok();
    assert!(healthy.out.contains("is ready"), "{healthy:?}");
    assert!(!healthy.out.contains("elsewhere"), "{healthy:?}");
    let wrong = served
        .cli
        .run(&["doctor", "--data-dir", "other"])
        .await
        .ok();
    assert!(wrong.out.contains("its data is elsewhere"), "{wrong:?}");
    served.process.signal(Signal::TERM);
    served.process.until_it_says("stopping").await;
    assert_eq!(served.process.end().await.ok().out, "");
}

#[tokio::test]
async fn who_comes_and_who_is_refused_is_in_the_log() {
    let mut served = Served::start(home(""), &[]).await;
    for (version, expected) in [(2, "agent registered"), (9, "agent refused")] {
        let mut agent = Raw::connect(served.addr, "/ws?agent_id=bob").await;
        agent
            .send(json!({"type": "register", "agent_id": "bob", "bridge_version": version}))
            .await;
        let line = served.process.until_it_says(expected).await;
        assert!(line.contains("bob"), "{line}");
    }
}

/// A wrong path or port produces a helpful error.
#[tokio::test]
async fn paths_and_ports_that_are_nobodys_say_what_is_where() {
    let mut served = Served::start(home(""), &[]).await;
    for (path, expected) in [
        ("/", "/openapi.json"),
        ("/ws/", "agents connect at /ws"),
        ("/bridge", "/ws"),
        ("/nope", "/a2a/agents/AGENT"),
    ] {
        let answer = reqwest::get(format!("http://{}{path}", served.addr)).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status().as_u16(), 404, "{path}");
        let body: Value = answer.json().await.expect("JSON");
        assert_eq!(body["error"], "not_found");
        let message = body["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{path}: {message}");
    }
    served.process.signal(Signal::TERM);
    served.process.until_it_says("stopping").await;
}

/// A port that accepts connections and doesn't speak HTTP, like libp2p.
#[tokio::test]
async fn what_answers_and_is_no_hub_is_told_from_nobody() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let cli = Cli::at(&url);
    let hang_up = async {
        loop {
            drop(listener.accept().await);
        }
    };
    tokio::select! {
        run = cli.run(&["ls"]) => drop(run.code(3).stderr_has("libp2p port is one above")),
        () = hang_up => {}
    }
}

#[tokio::test]
async fn an_open_call_is_told_before_it_stops() {
    let config = "[limits]\nstop_grace = \"200ms\"\n";
    let served = Served::start(home(config), &[]).await;
    let mut agent = served.agora("bob").await;
    let call = served.cli.start(&["call", "bob", "x"]);
    assert_eq!(agent.frame().await["type"], "message");
    served.process.signal(Signal::TERM);
    call.end()
        .await
        .code(3)
        .stderr_has("the hub was stopped before the call was over");
    // The agent is told about the end of its call, then about the hub's stop.
    agent.closed().await;
    served.process.end().await.ok();
}

#[tokio::test]
async fn an_open_call_may_end_by_itself_meanwhile() {
    let mut served = Served::start(home(""), &[]).await;
    let mut agent = served.agora("bob").await;
    let call = served.cli.start(&["call", "bob", "x"]);
    let from = agent.frame().await["from"].clone();
    served.process.signal(Signal::TERM);
    let says = "stopping; 1 open call has 10s to end; SIGINT stops at once";
    served.process.until_it_says(says).await;
    agent
        .send(json!({"type": "reply", "to": from, "payload": {"body": {"answer": "in time"}}}))
        .await;
    assert_eq!(call.end().await.ok().out, "in time\n");
    served.process.end().await.ok();
}

#[tokio::test]
async fn a_second_ctrl_c_stops_at_once() {
    let mut served = Served::start(home("[limits]\nstop_grace = \"1h\"\n"), &[]).await;
    let mut agent = served.agora("bob").await;
    let _call = served.cli.start(&["call", "bob", "x"]);
    agent.frame().await;
    served.process.signal(Signal::INT);
    served.process.until_it_says("stopping").await;
    served.process.signal(Signal::INT);
    served.process.end().await.code(130);
}

#[tokio::test]
async fn logs_are_json_when_asked() {
    let served = Served::start(home(""), &["--log-format", "json", "--log", "debug"]).await;
    let agent = served.agora("bob").await;
    served
        .cli
        .run(&["token", "create", "--owner", "ann", "--scope", "admin"])
        .await
        .ok();
    agent.close().await;
    served.process.signal(Signal::TERM);
    let run = served.process.end().await.ok();
    let lines: Vec<Value> = run
        .err
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}")))
        .collect();
    assert!(
        lines.iter().any(|line| line["message"] == "token made"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn text_logs_have_no_colours_in_a_file() {
    let served = Served::start(home(""), &[]).await;
    served.process.signal(Signal::TERM);
    let run = served.process.end().await.ok();
    assert!(
        !run.err.is_empty() && !run.err.contains('\u{1b}'),
        "{run:?}"
    );
}

#[tokio::test]
async fn a_second_hub_on_the_same_data_is_refused() {
    let served = Served::start(home(""), &[]).await;
    let second = served
        .cli
        .run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"])
        .await;
    second.code(1).stderr_has("--data-dir");
    let addr = served.addr.to_string();
    let third = served
        .cli
        .run(&["serve", "--listen", &addr, "--data-dir", "other"])
        .await;
    third.code(1).stderr_has("--listen");
    assert!(
        !served.cli.home().join("other").exists(),
        "a hub that cannot listen makes neither database nor secrets"
    );
}

#[tokio::test]
async fn each_call_has_one_line_in_the_log_that_says_how_it_ended() {
    let mut served = Served::start(home(""), &[]).await;
    let mut agent = served.agora("bob").await;
    let call = served.cli.start(&["call", "bob", "the secret of the day"]);
    let from = agent.frame().await["from"].clone();
    agent
        .send(json!({"type": "reply", "to": from, "payload": {"body": {"answer": "hi"}}}))
        .await;
    call.end().await.ok();
    let line = served.process.until_it_says("call ended").await;
    for fact in ["from", "local", "bob", "own", "agora", "done"] {
        assert!(line.contains(fact), "{fact}: {line}");
    }
    assert!(!line.contains("secret of the day"), "{line}");
}

#[tokio::test]
async fn with_log_debug_every_step_of_a_call_bears_its_id() {
    let mut served = Served::start(home(""), &["--log", "debug"]).await;
    let mut agent = served.agora("bob").await;
    let attached = served.process.until_it_says("agent attached").await;
    assert!(attached.contains("connection{"), "{attached}");
    let call = served.cli.start(&["call", "bob", "the secret of the day"]);
    let from = agent.frame().await["from"].clone();
    let opened = served.process.until_it_says("}: opened").await;
    let id = opened.split("call{call=").nth(1);
    let id = id.and_then(|rest| rest.split(' ').next()).expect("an id");
    agent
        .send(json!({"type": "reply", "to": from, "payload": {"body": {"answer": "hi"}}}))
        .await;
    for step in [
        "sent to the agent",
        "first event of the reply",
        "call ended",
    ] {
        let line = served.process.until_it_says(step).await;
        assert!(line.contains(id), "{step}: {line}");
        assert!(!line.contains("secret of the day"), "{line}");
    }
    call.end().await.ok();
}

#[tokio::test]
async fn behind_a_proxy_it_says_what_it_listens_on_and_what_others_use() {
    let args = ["--public-url", "https://hub.example.com"];
    let mut served = Served::start(home(""), &args).await;
    let others = "other machines reach it at https://hub.example.com";
    served.process.until_it_says(others).await;
    // Commands use another data directory.
    let token = served
        .process
        .until_it_says("every request needs a token")
        .await;
    let data = served.cli.home().join("data");
    let how = format!("find it with JACKFIELD_DATA_DIR={}", data.display());
    assert!(token.contains(&how), "{token}");
}

/// Sends a request as a local proxy forwards it.
async fn ask_through_a_proxy(served: &Served) {
    let asked = reqwest::Client::new()
        .get(format!("http://{}/v1/agents", served.addr))
        .header("x-forwarded-for", "203.0.113.7");
    let answer = asked.send().await.expect("an answer");
    assert_eq!(answer.status().as_u16(), 401);
}

#[tokio::test]
async fn a_proxy_before_a_hub_without_a_public_url_is_told_once_in_the_log() {
    let mut served = Served::start(home(""), &[]).await;
    ask_through_a_proxy(&served).await;
    let warned = served.process.until_it_says("came through a proxy").await;
    for expected in ["WARN", "public_url", "http://127.0.0.1:", "require_token"] {
        assert!(warned.contains(expected), "{expected}: {warned}");
    }
    ask_through_a_proxy(&served).await;
    served.process.signal(Signal::TERM);
    let rest = served.process.end().await.ok().err;
    assert!(!rest.contains("came through a proxy"), "{rest}");
}

#[tokio::test]
async fn a_proxy_is_no_news_where_public_url_is_set() {
    let args = ["--public-url", "https://hub.example.com"];
    let served = Served::start(home(""), &args).await;
    ask_through_a_proxy(&served).await;
    served.process.signal(Signal::TERM);
    let log = served.process.end().await.ok().err;
    assert!(!log.contains("came through a proxy"), "{log}");
}

#[tokio::test]
async fn a_public_url_of_this_machine_only_asks_for_no_token_and_a_warning_says_so() {
    let args = ["--public-url", "http://localhost:8080"];
    let mut served = Served::start(home(""), &args).await;
    let warned = served.process.until_it_says("http://localhost:8080").await;
    assert!(
        warned.contains("WARN") && warned.contains("--require-token"),
        "{warned}"
    );
}

#[tokio::test]
async fn a_hub_that_requires_tokens_asks_programs_of_this_machine_too() {
    let cli = home("require_token = true\n");
    let served = Served::start(cli, &["--public-url", "http://localhost:8080"]).await;
    // The data directory isn't the commands' default.
    served.cli.run(&["ls"]).await.code(4).stderr_has("token");
    let with = [("JACKFIELD_DATA_DIR", "data")];
    let listed = served.cli.run_with(with[0].0, with[0].1, &["ls"]);
    listed.await.ok();
    let doctor = ["doctor", "--data-dir", "data", "--json"];
    let report = served.cli.run(&doctor).await.ok().json();
    let checks = report["checks"].as_array().expect("a list");
    let access = checks.iter().find(|check| check["check"] == "access");
    assert_eq!(access.expect("it is there")["verdict"], "ok", "{report}");
    served.process.signal(Signal::TERM);
    let log = served.process.end().await.ok().err;
    assert!(!log.contains("WARN"), "{log}");
}
