//! `connect`: a local agent at a hub. A stand-in for Claude Code prints the documented lines, since the real program
//! can't run in tests.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use jackfield_testkit::{SOON, TestHub};
use rustix::process::{Signal, kill_process};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    process::Command,
    time::timeout,
};

use crate::cli::{fake::FakeHub, terminal::Terminal};
use crate::run::{Cli, Running};

/// The folder of the stand-ins.
pub(crate) fn stand_ins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../connect/tests/stand_ins")
}

/// `connect` with these arguments, with the stand-in as `claude`.
pub(crate) fn connect(cli: &Cli, args: &[&str]) -> Command {
    let stand_ins = stand_ins();
    let mut command = cli.command(&[&["connect"][..], args].concat());
    command.env("PATH", format!("{}:/usr/bin:/bin", stand_ins.display()));
    command
}

/// Starts `connect` and waits for the connection.
async fn connected(cli: &Cli, args: &[&str]) -> Running {
    let mut running = cli.start_command(connect(cli, args));
    assert_eq!(running.line().await.as_deref(), Some("connected as bob"));
    running
}

async fn end(cli: &Cli, args: &[&str]) -> crate::run::Run {
    cli.start_command(connect(cli, args)).end().await
}

#[tokio::test]
async fn a_command_is_an_agent_until_ctrl_c() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut bob = connected(
        &cli,
        &[
            "--as", "bob", "--name", "Bob", "--skill", "shout", "exec", "tr", "a-z", "A-Z",
        ],
    )
    .await;
    assert_eq!(cli.run(&["call", "bob", "hello"]).await.ok().out, "HELLO\n");
    bob.until_it_says("calls, conversation").await;
    bob.until_it_says("done for").await;
    let shown = cli.run(&["show", "bob", "--json"]).await.ok().json();
    assert_eq!(shown["name"], "Bob");
    assert_eq!(shown["skills"][0]["id"], "shout");
    assert_eq!(shown["agent_type"], "exec");
    bob.signal(Signal::INT);
    bob.end().await.ok().stderr_has("disconnecting");
    cli.run(&["call", "bob", "hello"]).await.code(3);
}

#[tokio::test]
async fn what_cannot_work_is_told_before_anything_else() {
    let cli = Cli::at("http://127.0.0.1:1");
    for (args, code, says) in [
        (&["exec", "no-such-program"][..], 3, "install it"),
        (&["exec", "./here"][..], 3, "no program"),
        (&["--dir", "/nowhere", "exec", "cat"][..], 2, "--dir"),
        (
            &["claude", "--", "--dangerously-skip-permissions"][..],
            2,
            "--trust",
        ),
        (
            &["--max", "0", "exec", "cat"][..],
            2,
            "number of at least 1",
        ),
        (&["openai", "nonsense"][..], 2, "https://HOST"),
        (&["--setup", "nonsense", "exec", "cat"][..], 2, "invite"),
        (
            &["--setup", "http://127.0.0.1:1/invite/x", "exec", "cat"][..],
            3,
            "cannot reach",
        ),
    ] {
        end(&cli, args).await.code(code).stderr_has(says);
    }
}

#[tokio::test]
async fn a_hub_that_is_not_there_is_tried_until_it_is() {
    let hub = TestHub::start().await;
    let addr = hub.addr();
    hub.stop(Duration::ZERO).await;
    let cli = Cli::at(&format!("http://{addr}"));
    let mut bob = cli.start_command(connect(&cli, &["--as", "bob", "exec", "cat"]));
    bob.until_it_says("retrying (start a hub").await;
    let _hub = TestHub::start_with(|config| config.listen = addr).await;
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    bob.signal(Signal::TERM);
    bob.end().await.ok();
}

#[tokio::test]
async fn a_hub_that_restarts_is_come_back_to() {
    let hub = TestHub::start().await;
    let addr = hub.addr();
    let cli = Cli::new(&hub);
    let mut bob = connected(&cli, &["--as", "bob", "exec", "cat"]).await;
    hub.stop(Duration::ZERO).await;
    bob.until_it_says("; retrying").await;
    let _hub = TestHub::start_with(|config| config.listen = addr).await;
    bob.until_it_says("reconnected").await;
    assert_eq!(cli.run(&["call", "bob", "hi"]).await.ok().out, "hi\n");
}

#[tokio::test]
async fn who_is_replaced_does_not_come_back() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let first = connected(&cli, &["--as", "bob", "exec", "cat"]).await;
    let _second = connected(&cli, &["--as", "bob", "exec", "cat"]).await;
    first.end().await.code(1).stderr_has("another id");
}

#[tokio::test]
async fn a_token_that_is_refused_or_revoked_ends_it() {
    let hub = TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    let cli = Cli::new(&hub);
    let args = ["--as", "bob", "exec", "cat"];
    let mut command = connect(&cli, &args);
    command.env("JACKFIELD_TOKEN", "wrong");
    let refused = cli.start_command(command).end().await;
    refused.code(4).stderr_has("token create");
    let token = hub.token("ann", &["agent:bob"]).await;
    let mut command = connect(&cli, &args);
    command.env("JACKFIELD_TOKEN", &token);
    let mut bob = cli.start_command(command);
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    let tokens = hub.hub().tokens();
    let of_ann = tokens.list().into_iter();
    let of_ann = of_ann.filter(|token| token.owner.as_str() == "ann");
    for token in of_ann {
        tokens.revoke(token.id).await.unwrap();
    }
    let ended = bob.end().await.code(4).stderr_has("revoked");
    let which = "the token sent is the one in JACKFIELD_TOKEN";
    ended.stderr_has("jackfield invite bob").stderr_has(which);
    // The same for a program that starts with the revoked token.
    let mut command = connect(&cli, &args);
    command.env("JACKFIELD_TOKEN", &token);
    let refused = cli.start_command(command).end().await.code(4);
    refused
        .stderr_has("revoked")
        .stderr_has("jackfield invite bob")
        .stderr_has(which);
}

#[tokio::test]
async fn the_token_is_passed_on_only_if_it_is_named() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let script = "echo token=$JACKFIELD_TOKEN agent=$JACKFIELD_AGENT odd=$ODD";
    for (flags, shown) in [
        (&[][..], "token= agent=bob odd=\n"),
        (
            &["--env", "JACKFIELD_TOKEN", "--env", "ODD"][..],
            "token=t agent=bob odd=o\n",
        ),
    ] {
        let args = [&["--as", "bob"][..], flags, &["exec", "sh", "-c", script]].concat();
        let mut command = connect(&cli, &args);
        command.env("JACKFIELD_TOKEN", "t").env("ODD", "o");
        let mut bob = cli.start_command(command);
        bob.line().await;
        assert_eq!(cli.run(&["call", "bob", "x"]).await.ok().out, shown);
        bob.signal(Signal::INT);
        bob.end().await.ok();
    }
}

#[tokio::test]
async fn a_command_gets_a_token_that_is_its_agent_and_nothing_else_of_its_owners() {
    let hub = TestHub::start().await;
    let addr = hub.addr();
    hub.stop(Duration::ZERO).await;
    let hub = TestHub::start_with(|config| {
        config.listen = ([0, 0, 0, 0], addr.port()).into();
        config.public_url = Some(format!("http://{addr}"));
    })
    .await;
    let cli = Cli::new(&hub);
    let token = hub.token("ann", &["admin"]).await;
    let script = r#"curl -s -H "Authorization: Bearer $(cat $JACKFIELD_TOKEN_FILE)" $JACKFIELD_HUB/v1/whoami"#;
    let whoami = async |flags: &[&str]| {
        let exec = ["exec", "sh", "-c", script];
        let mut command = connect(&cli, &[&["--as", "bob"], flags, &exec].concat());
        command.env("JACKFIELD_TOKEN", &token);
        let mut bob = cli.start_command(command);
        assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
        let called = cli.run_with("JACKFIELD_TOKEN", &token, &["call", "bob", "x"]);
        let answer = called.await.ok().out;
        bob.signal(Signal::KILL);
        drop(bob);
        answer
    };
    for _ in 0..2 {
        let answer = whoami(&[]).await;
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let (agent, admin) = (&answer["agent"], &answer["admin"]);
        assert_eq!((agent, admin), (&json!("bob"), &json!(false)), "{answer}");
    }
    // All starts share one token, and a killed process leaves no copy of the owner's token.
    let tokens = hub.hub().tokens().list();
    let of_bob = tokens.iter().filter(|token| token.agent.is_some());
    assert_eq!(of_bob.count(), 1);
    let state = cli.home().join(".local/state/jackfield");
    let found = Command::new("grep")
        .arg("-r")
        .arg(&token)
        .arg(&state)
        .output();
    let found = found.await.unwrap();
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    let refused = whoami(&["--no-mcp"]).await;
    assert!(refused.contains("unauthorized"), "{refused}");
}

#[tokio::test]
async fn a_conversation_outlives_kill_9() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let bob = connected(&cli, &["--as", "bob", "claude"]).await;
    cli.run(&["call", "bob", "one"]).await.ok();
    bob.signal(Signal::KILL);
    bob.end().await;
    let _bob = connected(&cli, &["--as", "bob", "claude"]).await;
    let again = cli.run(&["call", "bob", "-c", "what did I say?"]).await;
    assert_eq!(again.ok().out.trim(), "before: one");
}

#[tokio::test]
async fn json_tells_every_event() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let args = ["--as", "bob", "--json", "exec", "false"];
    let mut bob = cli.start_command(connect(&cli, &args));
    assert_eq!(
        bob.json().await,
        json!({"type": "connected", "agent": "bob", "hub": hub.url("")})
    );
    cli.run(&["call", "bob", "x"]).await.code(6);
    assert_eq!(bob.json().await["type"], "call");
    let failed = bob.json().await;
    assert_eq!(failed["type"], "failed");
    assert_eq!(failed["code"], "adapter_crash");
}

#[tokio::test]
async fn the_owner_approves_at_the_terminal() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut terminal = Terminal::start(connect(&cli, &["--as", "bob", "claude"]));
    terminal.until("connected as bob").await;
    let call = cli.start(&["call", "bob", "use a tool", "--json"]);
    terminal.until("may I use Bash?").await;
    terminal.until(r#"Bash {"command":"rm x"}"#).await;
    terminal.until("approve?").await;
    terminal.type_in("y\n");
    let call = call.end().await.ok();
    assert!(call.out.contains("removed"), "{call:?}");
    // The next question gets its own answer.
    let call = cli.start(&["call", "bob", "use a tool", "--json"]);
    terminal.until_again("approve?").await;
    terminal.type_in("not today\n");
    let call = call.end().await.ok();
    assert!(call.out.contains("denied:"), "{call:?}");
    assert!(call.out.contains("not "), "{call:?}");
    kill_process(terminal.pid(), Signal::INT).unwrap();
    assert_eq!(terminal.end().await.0, Some(0));
}

#[tokio::test]
async fn a_question_that_was_answered_elsewhere_is_withdrawn() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut terminal = Terminal::start(connect(&cli, &["--as", "bob", "claude"]));
    terminal.until("connected as bob").await;
    let mut call = cli.start(&["call", "bob", "use a tool", "--json"]);
    let id = call.json().await["id"].as_str().unwrap().to_owned();
    terminal.until("approve?").await;
    let answer = ["task", "answer", &id, "ask-1", "--deny", "--reason", "no"];
    cli.run(&answer).await.ok();
    terminal.until("(answered elsewhere)").await;
    let call = call.end().await.ok();
    assert!(call.out.contains("denied:"), "{call:?}");
}

#[tokio::test]
async fn without_a_terminal_it_says_how_to_answer() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut bob = connected(&cli, &["--as", "bob", "claude"]).await;
    let call = cli.start(&["call", "bob", "use a tool", "--json"]);
    let line = bob.until_it_says("jackfield task answer").await;
    let words: Vec<_> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "task").unwrap();
    assert_eq!(words[at + 4], "--approve");
    cli.run(&words[at..at + 5]).await.ok();
    let call = call.end().await.ok();
    assert!(call.out.contains("removed"), "{call:?}");
}

#[tokio::test]
async fn an_invite_connects_once_and_its_token_stays() {
    // A hub that requires a token, and knows its public address.
    let hub = TestHub::start().await;
    let addr = hub.addr();
    hub.stop(Duration::ZERO).await;
    let hub = TestHub::start_with(|config| {
        config.listen = ([0, 0, 0, 0], addr.port()).into();
        config.public_url = Some(format!("http://{addr}"));
    })
    .await;
    let cli = Cli::new(&hub);
    let token = hub.token("ann", &["admin"]).await;
    let invite = ["invite", "bob", "--type", "exec", "--json"];
    let invite = cli.run_with("JACKFIELD_TOKEN", &token, &invite).await.ok();
    let url = invite.json()["url"].as_str().unwrap().to_owned();
    let args = ["--setup", &url, "exec", "cat"];
    let mut bob = cli.start_command(connect(&cli, &args));
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    let next = bob.until_it_says("next time").await;
    bob.signal(Signal::INT);
    bob.end().await.ok();
    end(&cli, &args)
        .await
        .code(4)
        .stderr_has("jackfield invite");
    let words: Vec<_> = next.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "connect").unwrap();
    let args = [&words[at + 1..], &["exec", "cat"]].concat();
    let _bob = connected(&cli, &args).await;
}

#[tokio::test]
async fn an_invite_to_what_a_shell_would_read_is_refused_and_not_repeated() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/t", listener.local_addr().unwrap());
    let bridge = "ws://127.0.0.1:1/$(touch PWNED)\u{1b}[2J/ws";
    let body = json!({"agent_id": "bob", "token": "t", "bridge_url": bridge}).to_string();
    let inviting = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = vec![0; 4096];
        assert!(stream.read(&mut asked).await.unwrap() > 0);
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).await.unwrap();
    };
    let cli = Cli::at("");
    let args = ["--setup", &url, "exec", "cat"];
    let (run, ()) = tokio::join!(end(&cli, &args), inviting);
    let run = run.code(1).stderr_has("bridge_url");
    assert!(
        !run.err.contains("touch") && !run.err.contains('\u{1b}'),
        "{run:?}"
    );
}

#[tokio::test]
async fn whoever_lets_callers_write_a_shells_script_is_warned() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let args = ["--as", "bob", "exec", "sh", "-c", "echo {prompt}"];
    let mut bob = connected(&cli, &args).await;
    let warned = bob.until_it_says("warning:").await;
    assert!(
        warned.contains(r#"sh -c '… "$1" …' sh '{prompt}'"#),
        "{warned}"
    );
    bob.signal(Signal::INT);
    bob.end().await.ok();
    let args = [
        "--as",
        "bob",
        "exec",
        "sh",
        "-c",
        "echo \"$1\"",
        "sh",
        "{prompt}",
    ];
    let bob = connected(&cli, &args).await;
    assert_eq!(cli.run(&["call", "bob", "; id"]).await.ok().out, "; id\n");
    bob.signal(Signal::INT);
    let ended = bob.end().await.ok();
    assert!(!ended.err.contains("warning"), "{ended:?}");
}

/// A hub as a separate process, at this address.
async fn served(cli: &Cli, listen: &str) -> (Running, String) {
    let mut hub = cli.start(&["serve", "--listen", listen, "--data-dir", "data"]);
    let line = hub.until_line("jackfield listens on ").await;
    let (_, url) = line.split_once("http://").expect("its address");
    (hub, url.to_owned())
}

#[tokio::test]
async fn ten_calls_outlive_kill_9_of_the_hub_and_none_is_run_twice() {
    let cli = Cli::at("").with_any_peer_port();
    let (hub, addr) = served(&cli, "127.0.0.1:0").await;
    let cli = cli.at_hub(&format!("http://{addr}"));
    let script = "read n || true; echo $n >>runs; echo begin $n; until [ -e go ]; do sleep 0.05; done; echo end $n";
    let mut bob = connected(&cli, &["--as", "bob", "exec", "sh", "-c", script]).await;
    let mut tasks = Vec::new();
    for number in 0..10 {
        let call = cli
            .run(&["call", "bob", &number.to_string(), "--detach"])
            .await;
        tasks.push(call.ok().out.trim().to_owned());
    }
    let runs = cli.home().join("runs");
    let count = || {
        std::fs::read_to_string(&runs)
            .unwrap_or_default()
            .lines()
            .count()
    };
    // Waits until all commands have started, which only their file shows.
    let all_begun = async {
        while count() < 10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(SOON, all_begun).await.expect("all begin");
    hub.signal(Signal::KILL);
    hub.end().await;
    bob.until_it_says("; retrying").await;
    let (_hub, _) = served(&cli, &addr).await;
    bob.until_it_says("reconnected").await;
    std::fs::write(cli.home().join("go"), "").unwrap();
    for (number, task) in tasks.iter().enumerate() {
        let waited = cli.run(&["task", "wait", task]).await.ok();
        assert_eq!(waited.out, format!("begin {number}\nend {number}\n"));
    }
    assert_eq!(count(), 10);
}

#[tokio::test]
async fn a_call_to_an_agent_that_can_resume_survives_kill_9_of_the_hub() {
    let cli = Cli::at("").with_any_peer_port();
    let (hub, addr) = served(&cli, "127.0.0.1:0").await;
    let cli = cli.at_hub(&format!("http://{addr}"));
    let script = "echo begin; until [ -e go ]; do sleep 0.05; done; echo end";
    let mut bob = connected(&cli, &["--as", "bob", "exec", "sh", "-c", script]).await;
    let mut call = cli.start(&["call", "bob", "x"]);
    assert_eq!(call.line().await.as_deref(), Some("begin"));
    hub.signal(Signal::KILL);
    hub.end().await;
    bob.until_it_says("; retrying").await;
    let (_hub, _) = served(&cli, &addr).await;
    bob.until_it_says("reconnected").await;
    std::fs::write(cli.home().join("go"), "").unwrap();
    assert_eq!(call.line().await.as_deref(), Some("end"));
    call.end().await.ok();
}

#[tokio::test]
async fn ctrl_c_cancels_a_call_that_is_kept_only_to_be_read() {
    let cli = Cli::at("");
    let (_hub, addr) = served(&cli, "127.0.0.1:0").await;
    let cli = cli.at_hub(&format!("http://{addr}"));
    let script = "echo begin; exec sleep 100";
    let _bob = connected(&cli, &["--as", "bob", "exec", "sh", "-c", script]).await;
    let mut call = cli.start(&["call", "bob", "x"]);
    assert_eq!(call.line().await.as_deref(), Some("begin"));
    call.signal(Signal::INT);
    call.end().await.code(130).stderr_has("cancelled");
    let tasks = cli.run(&["task", "ls", "--json"]).await.ok().json();
    // The agent is notified at once. The list shows the end after the write to disk, and `wait`
    // waits for it.
    let id = tasks["tasks"][0]["id"].as_str().expect("a task");
    cli.run(&["task", "wait", id]).await;
    let tasks = cli.run(&["task", "ls", "--json"]).await.ok().json();
    assert_eq!(tasks["tasks"][0]["state"], "cancelled", "{tasks}");
}

/// Responds to a WebSocket handshake that a proxy turned into an ordinary request.
async fn refuse_the_socket(hub: &FakeHub, path: &str) {
    let asked = hub.expect(&format!("GET {path}")).await;
    let why = "header Upgrade must contain \"websocket\"; this address speaks WebSocket only";
    let refusal = json!({"error": "invalid_handshake", "message": why});
    asked.answer(400, &refusal).await;
}

#[tokio::test]
async fn a_proxy_that_passes_no_websockets_is_told_alike_with_and_without_an_invite() {
    const HINT: &str = "a proxy in front of the hub must forward WebSockets at /ws";
    let hub = FakeHub::start().await;
    let cli = Cli::at(&hub.url());
    let args = ["--as", "bob", "exec", "cat"];
    let refusing = refuse_the_socket(&hub, "/ws?agent_id=bob");
    let (run, ()) = tokio::join!(end(&cli, &args), refusing);
    run.code(3)
        .stderr_has(&hub.url())
        .stderr_has("Upgrade")
        .stderr_has(HINT);
    let url = format!("{}/invite/t", hub.url());
    let args = ["--setup", &url, "exec", "cat"];
    let (run, ()) = tokio::join!(end(&cli, &args), refuse_the_socket(&hub, "/ws"));
    let run = run
        .code(3)
        .stderr_has(&hub.url())
        .stderr_has("Upgrade")
        .stderr_has(HINT);
    run.stderr_has("the invite is not used up");
}

#[tokio::test]
async fn a_server_that_is_no_hub_is_told_from_a_proxy_that_wants_a_login() {
    for (status, code, says) in [(404, 3, "forward WebSockets"), (401, 1, "401")] {
        let hub = FakeHub::start().await;
        let cli = Cli::at(&hub.url());
        let refusing = async {
            let asked = hub.expect("GET /ws?agent_id=bob").await;
            asked.answer(status, &json!("no such page")).await;
        };
        let run = end(&cli, &["--as", "bob", "exec", "cat"]);
        let (run, ()) = tokio::join!(run, refusing);
        run.code(code).stderr_has(says);
    }
}

#[tokio::test]
async fn an_invite_is_not_lost_where_the_hubs_public_url_leads_nowhere() {
    let hub = TestHub::start_with(|config| {
        config.public_url = Some("http://127.0.0.1:1".to_owned());
    })
    .await;
    let cli = Cli::new(&hub);
    let invite = ["invite", "bob", "--type", "exec", "--json"];
    let invite = cli.run(&invite).await.ok().json();
    let url = invite["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with("http://127.0.0.1:1/"), "{url}");
    // The printed URL leads nowhere, and the attempt doesn't use up the invite.
    let args = ["--setup", &url, "exec", "cat"];
    let run = end(&cli, &args).await.code(3).stderr_has("cannot reach");
    run.stderr_has("the invite is not used up");
    // The user corrects the address.
    let url = url.replace("http://127.0.0.1:1", &hub.url(""));
    let mut bob = connected(&cli, &["--setup", &url, "exec", "cat"]).await;
    let told = bob.until_it_says("http://127.0.0.1:1").await;
    assert!(told.contains("public_url"), "{told}");
    assert_eq!(cli.run(&["call", "bob", "hi"]).await.ok().out, "hi\n");
    bob.signal(Signal::INT);
    bob.end().await.ok();
    // The token is stored for the corrected address.
    let _bob = connected(&cli, &["--as", "bob", "exec", "cat"]).await;
    let tokens = hub.hub().tokens().list();
    assert_eq!(tokens.len(), 1, "{tokens:?}");
}

#[tokio::test]
async fn an_agent_comes_back_to_its_hub_that_needs_a_token_since_its_restart() {
    let cli = Cli::at("").with_any_peer_port();
    let mut hub = cli.start(&["serve", "--listen", "127.0.0.1:0"]);
    let line = hub.until_line("jackfield listens on ").await;
    let addr = line
        .split_once("http://")
        .expect("its address")
        .1
        .to_owned();
    let mut bob = connected(&cli, &["--as", "bob", "exec", "cat"]).await;
    hub.signal(Signal::TERM);
    hub.end().await.ok();
    let public = ["--public-url", "https://hub.example.com"];
    let mut hub = cli.start(&[&["serve", "--listen", &addr], &public[..]].concat());
    hub.until_line("jackfield listens on ").await;
    bob.until_it_says("reconnected").await;
    assert_eq!(cli.run(&["call", "bob", "hi"]).await.ok().out, "hi\n");
    // The agent uses its own token, not the administrator's.
    let tokens = cli.run(&["token", "ls"]).await.ok().out;
    assert!(tokens.contains("invite of bob"), "{tokens}");
    bob.signal(Signal::INT);
    bob.end().await.ok();
}
