//! `jackfield mcp`, started like any MCP server; and published MCP clients as outside judges.

use std::process::Stdio;

use jackfield_testkit::{Raw, SOON, TestHub, judge};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    task::JoinSet,
    time::timeout,
};

use crate::cli::serve::Served;
use crate::run::Cli;

/// The program, with a test client at its pipes.
pub(crate) struct Mcp {
    child: Child,
    stdin: ChildStdin,
    out: Lines<BufReader<ChildStdout>>,
}

impl Mcp {
    fn start(cli: &Cli, environment: &[(&str, &str)]) -> Self {
        Self::start_with(cli, &["mcp"], environment)
    }

    pub(crate) fn start_with(cli: &Cli, args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = cli.command(args);
        command.envs(environment.iter().copied());
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it runs");
        let out = child.stdout.take().expect("it is piped");
        Self {
            stdin: child.stdin.take().expect("it is piped"),
            out: BufReader::new(out).lines(),
            child,
        }
    }

    /// Starts the program and initialises the session.
    pub(crate) async fn greeted(cli: &Cli, environment: &[(&str, &str)]) -> Self {
        Self::greeted_with(cli, &["mcp"], environment).await
    }

    /// The same, with these arguments.
    pub(crate) async fn greeted_with(
        cli: &Cli,
        args: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut mcp = Self::start_with(cli, args, environment);
        let client = json!({"name": "t", "version": "0"});
        let hello =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        mcp.request(0, "initialize", hello).await;
        let answer = mcp.next().await;
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-06-18",
            "{answer}"
        );
        mcp.write_message(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        mcp
    }

    async fn write_message(&mut self, message: &Value) {
        self.line(&message.to_string()).await;
    }

    async fn line(&mut self, line: &str) {
        let line = format!("{line}\n");
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.expect("it reads");
    }

    pub(crate) async fn request(&mut self, id: u32, method: &str, params: Value) {
        self.write_message(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}),
        )
        .await;
    }

    /// Sends a request of version 2026-07-28, as a client that takes tasks.
    pub(crate) async fn modern(&mut self, id: u32, method: &str, mut params: Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": {
                "extensions": {"io.modelcontextprotocol/tasks": {}},
            },
        });
        self.request(id, method, params).await;
    }

    pub(crate) async fn tool(&mut self, id: u32, name: &str, arguments: Value) {
        self.request(
            id,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        )
        .await;
    }

    /// Returns the next message; every printed line must be a message.
    async fn next(&mut self) -> Value {
        let line = timeout(SOON, self.out.next_line()).await;
        let line = line.expect("in time").expect("text").expect("a line");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Returns the result of a tool call.
    pub(crate) async fn result(&mut self, id: u32) -> Value {
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    /// Closes standard input; no further output may follow.
    pub(crate) async fn end(mut self) -> i32 {
        drop(self.stdin);
        let line = timeout(SOON, self.out.next_line()).await;
        assert_eq!(line.expect("in time").expect("text"), None);
        let status = timeout(SOON, self.child.wait()).await;
        status
            .expect("it ends")
            .expect("it runs")
            .code()
            .unwrap_or(-1)
    }
}

/// Answers a message to an agent, from an Agora caller or another protocol.
async fn answer(agent: &mut Raw, text: &str) {
    let message = agent.frame().await;
    let payload = json!({"body": {"answer": text}});
    agent
        .send(json!({"type": "reply", "to": message["from"], "payload": payload}))
        .await;
}

#[tokio::test]
async fn a_model_finds_and_calls_agents_of_other_doors() {
    let hub = TestHub::start().await;
    let (mut ada, mut bob) = (hub.agora("ada").await, hub.bridge("bob").await);
    let mut mcp = Mcp::greeted(&Cli::new(&hub), &[]).await;
    mcp.request(1, "tools/list", json!({})).await;
    let tools = mcp.result(1).await["tools"].clone();
    let names: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(
        json!(names),
        json!(["find_agents", "call_agent", "task", "cancel"])
    );
    mcp.tool(2, "find_agents", json!({"online": true})).await;
    let found = mcp.result(2).await["structuredContent"].clone();
    let of = |index: usize| {
        (
            &found["agents"][index]["id"],
            &found["agents"][index]["door"],
        )
    };
    assert_eq!(of(0), (&json!("ada"), &json!("agora")));
    assert_eq!(of(1), (&json!("bob"), &json!("bridge")));
    mcp.tool(3, "call_agent", json!({"agent": "ada", "message": "hi"}))
        .await;
    answer(&mut ada, "hello").await;
    // Without a progress token, only the result is sent.
    assert_eq!(mcp.result(3).await["structuredContent"]["text"], "hello");
    let params = json!({
        "name": "call_agent", "arguments": {"agent": "bob", "message": "hi"}, "_meta": {"progressToken": 9},
    });
    mcp.request(4, "tools/call", params).await;
    let request = bob.expect_message("hi").await;
    let accepted = mcp.next().await;
    assert_eq!(accepted["method"], "notifications/progress");
    bob.send(json!({"type": "chunk", "request_id": request, "session_id": "s", "delta": "hel"}))
        .await;
    let progress = mcp.next().await["params"].clone();
    assert_eq!(
        (&progress["message"], &progress["progressToken"]),
        (&json!("hel"), &json!(9))
    );
    bob.send(json!({"type": "done", "request_id": request, "session_id": "s", "result": "hello"}))
        .await;
    assert_eq!(
        mcp.result(4).await["structuredContent"]["state"],
        "completed"
    );
    assert_eq!(mcp.end().await, 0);
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_the_next_one_is_read() {
    let hub = TestHub::start().await;
    let mut mcp = Mcp::start(&Cli::new(&hub), &[]);
    for (line, code) in [("no JSON", -32700), ("[1]", -32600), ("\u{0}", -32700)] {
        mcp.line(line).await;
        let answer = mcp.next().await;
        assert_eq!(answer["error"]["code"], code, "{line:?}: {answer}");
        assert_eq!(answer["id"], Value::Null);
    }
    mcp.line("").await;
    mcp.line(r#"{"jsonrpc": "2.0", "id": 5, "result": {}}"#)
        .await;
    mcp.line(&format!(r#"{{"x": "{}"}}"#, "y".repeat(10 << 20)))
        .await;
    assert_eq!(mcp.next().await["error"]["code"], -32600);
    mcp.request(1, "no/such/method", json!({})).await;
    let answer = mcp.next().await;
    assert_eq!(
        (&answer["id"], &answer["error"]["code"]),
        (&json!(1), &json!(-32601))
    );
    assert_eq!(mcp.end().await, 0);
    for (name, value) in [
        ("JACKFIELD_CALL", "x"),
        ("JACKFIELD_AGENT", "a b"),
        ("JACKFIELD_TOKEN_FILE", "none"),
    ] {
        let run = Cli::new(&hub).run_with(name, value, &["mcp"]).await;
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{name}: {}", run.err);
    }
}

#[tokio::test]
async fn a_token_that_the_hub_does_not_take_is_an_error_with_a_remedy() {
    let hub = TestHub::start_with(|config| config.listen = "0.0.0.0:0".parse().unwrap()).await;
    let mut mcp = Mcp::start(&Cli::new(&hub), &[]);
    mcp.request(1, "tools/list", json!({})).await;
    let answer = mcp.next().await;
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(text.contains("jackfield token create"), "{text}");
    let token = hub.token("ann", &[]).await;
    let cli = Cli::new(&hub);
    std::fs::write(cli.home().join("token"), token).unwrap();
    let mut mcp = Mcp::start(&cli, &[("JACKFIELD_TOKEN_FILE", "token")]);
    mcp.request(1, "tools/list", json!({})).await;
    assert!(mcp.result(1).await["tools"].is_array());
}

#[tokio::test]
async fn a_cancel_reaches_the_agent() {
    let hub = TestHub::start().await;
    let mut bob = hub.bridge("bob").await;
    let mut mcp = Mcp::greeted(&Cli::new(&hub), &[]).await;
    mcp.tool(1, "call_agent", json!({"agent": "bob", "message": "hi"}))
        .await;
    let request = bob.expect_message("hi").await;
    mcp.write_message(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
    )
    .await;
    let frame = bob.frame().await;
    assert_eq!(
        (&frame["type"], &frame["request_id"]),
        (&json!("cancel"), &json!(request))
    );
    // No further message about the call follows.
    mcp.request(2, "ping", json!({})).await;
    assert_eq!(mcp.next().await["id"], 2);
    assert_eq!(mcp.end().await, 0);
}

#[tokio::test]
async fn a_hub_that_is_killed_costs_one_answer_and_is_found_again() {
    let cli = Cli::at("").with_any_peer_port();
    let served = Served::start(cli, &[]).await;
    let mut ada = served.agora("ada").await;
    let mut mcp = Mcp::greeted(&served.cli, &[]).await;
    mcp.tool(1, "call_agent", json!({"agent": "ada", "message": "hi"}))
        .await;
    ada.frame().await;
    let listed = served.cli.run(&["task", "ls", "--json"]).await.ok();
    served.process.signal(Signal::KILL);
    let lost = mcp.next().await;
    let error = &lost["error"];
    assert_eq!(
        (&lost["id"], &error["code"]),
        (&json!(1), &json!(-32000)),
        "{lost}"
    );
    let id = error["data"]["task"].as_str().unwrap();
    assert!(listed.out.contains(id), "{}", listed.out);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("call the tool task")
    );
    served.process.end().await;
    let listen = served.addr.to_string();
    let args = ["serve", "--listen", &listen, "--data-dir", "data"];
    let process = served.cli.start(&args);
    let served = Served::of(process, served.cli).await;
    // The task is still known; whether its agent reconnects is a separate matter.
    mcp.tool(2, "task", json!({"task": id, "wait_seconds": 0}))
        .await;
    let answered = mcp.result(2).await;
    assert_eq!(answered["structuredContent"]["task"], id, "{answered}");
    let mut ada = served.agora("ada").await;
    mcp.tool(3, "call_agent", json!({"agent": "ada", "message": "hi"}))
        .await;
    answer(&mut ada, "hello").await;
    assert_eq!(mcp.result(3).await["structuredContent"]["text"], "hello");
    assert_eq!(mcp.end().await, 0);
}

#[tokio::test]
async fn a_task_and_its_result_survive_a_hub_that_is_killed() {
    let cli = Cli::at("").with_any_peer_port();
    let served = Served::start(cli, &[]).await;
    let mut ada = served.agora("ada").await;
    let mut mcp = Mcp::start(&served.cli, &[]);
    let arguments = json!({"agent": "ada", "message": "hi"});
    let call = json!({"name": "call_agent", "arguments": arguments});
    mcp.modern(1, "tools/call", call).await;
    let created = mcp.result(1).await;
    assert_eq!(created["resultType"], "task", "{created}");
    let task = json!({"taskId": created["taskId"]});
    mcp.modern(2, "tasks/get", task.clone()).await;
    assert_eq!(mcp.result(2).await["status"], "working");
    answer(&mut ada, "hello").await;
    let mut id = 2;
    let mut ended = Value::Null;
    while ended["status"] != "completed" {
        id += 1;
        mcp.modern(id, "tasks/get", task.clone()).await;
        ended = mcp.result(id).await;
    }
    served.process.signal(Signal::KILL);
    served.process.end().await;
    let listen = served.addr.to_string();
    let args = ["serve", "--listen", &listen, "--data-dir", "data"];
    let process = served.cli.start(&args);
    let _served = Served::of(process, served.cli).await;
    mcp.modern(id + 1, "tasks/get", task).await;
    let found = mcp.result(id + 1).await;
    assert_eq!(found["status"], "completed", "{found}");
    assert_eq!(found["result"]["structuredContent"]["text"], "hello");
    assert_eq!(mcp.end().await, 0);
}

#[tokio::test]
async fn a_hub_that_is_not_there_is_named() {
    let cli = Cli::at("http://127.0.0.1:1");
    let mut mcp = Mcp::start(&cli, &[]);
    mcp.request(1, "tools/list", json!({})).await;
    let answer = mcp.next().await;
    let text = answer["error"]["message"].as_str().unwrap();
    assert!(
        text.contains("http://127.0.0.1:1") && text.contains("jackfield serve"),
        "{text}"
    );
}

#[tokio::test]
async fn calls_know_for_which_they_are_made_and_a_circle_is_cut() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let (mut ada, mut bob) = (hub.agora("ada").await, hub.bridge("bob").await);
    let args = ["call", "ada", "go", "--detach"];
    let mut call = cli.run(&args).await.ok().out.trim().to_owned();
    ada.frame().await;
    let mut refused = Value::Null;
    for hop in 0..8 {
        let (from, to) = [("ada", "bob"), ("bob", "ada")][hop % 2];
        let environment = [("JACKFIELD_CALL", &*call), ("JACKFIELD_AGENT", from)];
        let mut mcp = Mcp::greeted(&cli, &environment).await;
        let arguments = json!({"agent": to, "message": "go on", "wait_seconds": 0});
        mcp.tool(1, "call_agent", arguments).await;
        let result = mcp.result(1).await;
        if result["isError"] == true {
            refused = result;
            break;
        }
        let agent = if to == "ada" { &mut ada } else { &mut bob };
        agent.frame().await;
        let task = result["structuredContent"]["task"].as_str().unwrap();
        let shown = cli.run(&["task", "show", task, "--json"]).await.ok().json();
        assert_eq!(shown["parent"], call, "{shown}");
        let shown = cli.run(&["show", task]).await.ok();
        assert!(shown.out.contains(&call), "{}", shown.out);
        call = shown_call(&cli, task).await;
    }
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("loop: "), "{text}");
}

/// The call id of a task.
async fn shown_call(cli: &Cli, task: &str) -> String {
    let shown = cli.run(&["task", "show", task, "--json"]).await.ok().json();
    shown["call"].as_str().expect("it has one").to_owned()
}

/// A bridge agent that echoes each message in two pieces, asks a question on request, and may never answer.
async fn play(mut agent: Raw) {
    loop {
        let frame = agent.frame().await;
        let request = frame["request_id"].clone();
        let for_request = |mut frame_json: Value| {
            frame_json["request_id"] = request.clone();
            frame_json["session_id"] = json!("s");
            frame_json
        };
        match (frame["type"].as_str(), frame["content"].as_str()) {
            (Some("message"), Some("ask")) => {
                let ask =
                    json!({"type": "ask", "ask_id": "q", "kind": "input", "text": "which one?"});
                agent.send(for_request(ask)).await;
            }
            (Some("message"), Some("sleep")) => {}
            (Some("message" | "answer"), Some(content)) => {
                agent
                    .send(for_request(json!({"type": "chunk", "delta": "you said "})))
                    .await;
                agent
                    .send(for_request(json!({"type": "chunk", "delta": content})))
                    .await;
                let done = json!({"type": "done", "result": format!("you said {content}")});
                agent.send(for_request(done)).await;
            }
            _ => {}
        }
    }
}

async fn run_judge(variable: &str) {
    let hub = TestHub::start().await;
    let agent = hub.bridge_with("parrot", &["input"]).await;
    let mut playing = JoinSet::new();
    playing.spawn(play(agent));
    let cli = Cli::new(&hub);
    judge(variable, "mcp_client.py", |python, script| {
        let mut command = std::process::Command::new(python);
        command.arg(script).arg(hub.url("/mcp"));
        command.arg(env!("CARGO_BIN_EXE_jackfield"));
        command.arg(hub.url("")).current_dir(cli.home());
        command
    })
    .await;
}

/// An Agora agent that does the same as [`play`].
async fn play_agora(mut agent: Raw) {
    loop {
        let frame = agent.frame().await;
        let payload = &frame["payload"];
        let question = payload["body"]["question"].as_str();
        let said = payload["body"]["content"].as_str().or(question);
        let payload = match (frame["type"].as_str(), said) {
            (Some("message"), Some("ask")) => {
                json!({"input_required": {"id": "q", "text": "which one?"}})
            }
            (Some("message"), Some(text)) if text != "sleep" => {
                json!({"body": {"answer": format!("you said {text}")}})
            }
            _ => continue,
        };
        let reply = json!({"type": "reply", "to": frame["from"], "payload": payload});
        agent.send(reply).await;
    }
}

#[tokio::test]
async fn the_protocols_package_for_tasks_calls_agents_of_every_kind() {
    let (hub, far) = (
        TestHub::start_with(|config| config.allow_private_outbound = true).await,
        TestHub::start().await,
    );
    let mut playing = JoinSet::new();
    playing.spawn(play_agora(hub.agora("ada").await));
    for hub in [&hub, &far] {
        let agent = hub.bridge_with("parrot", &["input"]).await;
        playing.spawn(play(agent));
    }
    let members = json!([{"name": "lead", "agent": "parrot"}]);
    let team = json!({"id": "flock", "coordinator": "lead", "members": members});
    let remote = json!({"id": "far", "url": far.url("/a2a/agents/parrot")});
    for (path, body) in [("/v1/teams", team), ("/v1/remotes", remote)] {
        let (status, answer) = hub.web().post(path, body).await;
        assert_eq!(status, 201, "{answer}");
    }
    judge(
        "JACKFIELD_JUDGE_MCP_TASKS_NODE",
        "mcp_tasks.cjs",
        |modules, script| {
            let mut command = std::process::Command::new("node");
            command.env("NODE_PATH", modules).arg(script);
            command
                .arg(hub.url("/mcp"))
                .args(["ada", "parrot", "flock", "far"]);
            command
        },
    )
    .await;
}

#[tokio::test]
async fn the_protocols_own_client_for_python_calls_agents() {
    run_judge("JACKFIELD_JUDGE_MCP_PYTHON_1").await;
}

#[tokio::test]
async fn its_second_edition_which_needs_no_handshake_does_too() {
    run_judge("JACKFIELD_JUDGE_MCP_PYTHON_2").await;
}
