//! `jackfield acp`, started as editors do; two hubs joined by it; and published SDKs of the protocol as outside judges.

use std::process::{Command, Stdio};

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

/// The program, with a test editor at its pipes.
struct Acp {
    child: Child,
    stdin: ChildStdin,
    out: Lines<BufReader<ChildStdout>>,
}

impl Acp {
    fn start(cli: &Cli, agent: &str) -> Self {
        let mut command = cli.command(&["acp", agent]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("it runs");
        let out = child.stdout.take().expect("it is piped");
        Self {
            stdin: child.stdin.take().expect("it is piped"),
            out: BufReader::new(out).lines(),
            child,
        }
    }

    /// Starts the program, initializes the connection and begins a session.
    async fn open(cli: &Cli, agent: &str) -> (Self, String) {
        let mut acp = Self::start(cli, agent);
        acp.request(0, "initialize", json!({"protocolVersion": 1}))
            .await;
        let hello = acp.next().await;
        assert_eq!(hello["result"]["agentInfo"]["name"], agent, "{hello}");
        let new = json!({"cwd": "/", "mcpServers": []});
        acp.request(1, "session/new", new).await;
        let session = acp.next().await["result"]["sessionId"].clone();
        (acp, session.as_str().expect("it has an id").to_owned())
    }

    async fn line(&mut self, line: &str) {
        let line = format!("{line}\n");
        let written = self.stdin.write_all(line.as_bytes()).await;
        written.expect("it reads");
    }

    async fn request(&mut self, id: u32, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.line(&request.to_string()).await;
    }

    async fn prompt(&mut self, id: u32, session: &str, text: &str) {
        let prompt = json!([{"type": "text", "text": text}]);
        let params = json!({"sessionId": session, "prompt": prompt});
        self.request(id, "session/prompt", params).await;
    }

    /// Returns the next message; every printed line must be a message.
    async fn next(&mut self) -> Value {
        let line = timeout(SOON, self.out.next_line()).await;
        let line = line.expect("in time").expect("text").expect("a line");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    /// Returns the text of the answer to a prompt, and the response.
    async fn answer(&mut self, id: u32) -> (String, Value) {
        let mut text = String::new();
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return (text, message);
            }
            let update = &message["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                text += update["content"]["text"].as_str().unwrap_or_default();
            }
        }
    }

    /// Closes standard input; no further output may follow.
    async fn end(mut self) -> i32 {
        drop(self.stdin);
        let line = timeout(SOON, self.out.next_line()).await;
        assert_eq!(line.expect("in time").expect("text"), None);
        let status = timeout(SOON, self.child.wait()).await;
        let status = status.expect("it ends").expect("it runs");
        status.code().unwrap_or(-1)
    }
}

/// A bridge agent that echoes each message in two pieces, asks questions on request, and may never answer.
async fn play_bridge(mut agent: Raw) {
    loop {
        let frame = agent.frame().await;
        let request = frame["request_id"].clone();
        let for_request = |mut frame_json: Value| {
            frame_json["request_id"] = request.clone();
            frame_json["session_id"] = json!("s");
            frame_json
        };
        let ask = |kind: &str, text: &str| {
            for_request(
                json!({"type": "ask", "ask_id": kind, "kind": kind, "text": text, "tool_name": "rm"}),
            )
        };
        let content = frame["content"].as_str();
        let words = match (frame["type"].as_str(), content) {
            (Some("message"), Some("ask")) => {
                agent.send(ask("input", "which one?")).await;
                continue;
            }
            (Some("message"), Some("approve")) => {
                agent.send(ask("approval", "remove it?")).await;
                continue;
            }
            (Some("message"), Some("sleep")) => continue,
            (Some("message" | "answer"), Some(content)) => content,
            (Some("answer"), None) if frame["approved"] == true => "yes",
            (Some("answer"), None) => "no",
            _ => continue,
        };
        for delta in ["you said ", words] {
            agent
                .send(for_request(json!({"type": "chunk", "delta": delta})))
                .await;
        }
        let done = json!({"type": "done", "result": format!("you said {words}")});
        agent.send(for_request(done)).await;
    }
}

/// An Agora agent that echoes each message.
async fn play_agora(mut agent: Raw) {
    loop {
        echo(&mut agent).await;
    }
}

async fn echo(agent: &mut Raw) {
    let message = agent.frame().await;
    let said = message["payload"]["body"]["question"].clone();
    let said = said.as_str().unwrap_or_default();
    let payload = json!({"body": {"answer": format!("you said {said}")}});
    agent
        .send(json!({"type": "reply", "to": message["from"], "payload": payload}))
        .await;
}

/// A hub with a bridge agent `parrot`, an Agora agent `echo`, a dialled A2A server `far`, which is an agent of another hub, and
/// a team `crew`.
struct Agents {
    hub: TestHub,
    cli: Cli,
    _far: TestHub,
    _playing: JoinSet<()>,
}

const AGENTS: [&str; 4] = ["parrot", "echo", "far", "crew"];

impl Agents {
    async fn start() -> Self {
        let (hub, far) = (TestHub::start().await, TestHub::start().await);
        let mut playing = JoinSet::new();
        playing.spawn(play_bridge(hub.bridge_with("parrot", &["input"]).await));
        playing.spawn(play_bridge(hub.bridge_with("member", &["input"]).await));
        playing.spawn(play_agora(hub.agora("echo").await));
        playing.spawn(play_bridge(far.bridge_with("parrot", &["input"]).await));
        let cli = Cli::new(&hub);
        let url = far.url("/a2a/agents/parrot");
        cli.run(&["add", &url, "--as", "far"]).await.ok();
        let members = json!([{"name": "lead", "agent": "member"}]);
        let team = json!({"id": "crew", "name": "Crew", "coordinator": "lead", "members": members});
        let (status, made) = hub.web().post("/v1/teams", team).await;
        assert_eq!(status, 201, "{made}");
        Self {
            hub,
            cli,
            _far: far,
            _playing: playing,
        }
    }
}

#[tokio::test]
async fn an_editor_talks_to_agents_of_every_kind_and_reads_nothing_but_messages() {
    let agents = Agents::start().await;
    for agent in AGENTS {
        let (mut acp, session) = Acp::open(&agents.cli, agent).await;
        acp.prompt(2, &session, "hello").await;
        let (text, response) = acp.answer(2).await;
        assert_eq!(text, "you said hello", "{agent}");
        assert_eq!(response["result"]["stopReason"], "end_turn", "{agent}");
        // The hub answers, whatever a line is.
        acp.line("what?").await;
        assert_eq!(acp.next().await["error"]["code"], -32700);
        acp.line("").await;
        assert_eq!(acp.end().await, 0, "{agent}");
    }
}

#[tokio::test]
async fn an_unknown_agent_and_a_hub_that_is_away_are_told_at_once_and_not_on_standard_output() {
    let hub = TestHub::start().await;
    let _parrot = hub.bridge("parrot").await;
    let cli = Cli::new(&hub);
    let run = cli.run(&["acp", "parot"]).await;
    assert_eq!((run.code, &*run.out), (3, ""), "{}", run.err);
    assert!(run.err.contains("\"parrot\""), "{}", run.err);
    let run = cli
        .run(&["acp", "parrot", "--hub", "http://127.0.0.1:1"])
        .await;
    assert_eq!((run.code, &*run.out), (3, ""), "{}", run.err);
    assert!(run.err.contains("cannot reach the hub"), "{}", run.err);
}

#[tokio::test]
async fn a_hub_that_was_restarted_is_found_again_with_its_sessions() {
    let cli = Cli::at("").with_any_peer_port();
    let served = Served::start(cli, &[]).await;
    let mut ada = served.agora("ada").await;
    let (mut acp, session) = Acp::open(&served.cli, "ada").await;
    acp.prompt(2, &session, "one").await;
    echo(&mut ada).await;
    assert_eq!(acp.answer(2).await.0, "you said one");
    acp.prompt(3, &session, "two").await;
    ada.frame().await;
    served.process.signal(Signal::KILL);
    let (_, lost) = acp.answer(3).await;
    assert_eq!(lost["error"]["data"]["reason"], "offline", "{lost}");
    served.process.end().await;
    let listen = served.addr.to_string();
    let args = ["serve", "--listen", &listen, "--data-dir", "data"];
    let process = served.cli.start(&args);
    let served = Served::of(process, served.cli).await;
    let mut ada = served.agora("ada").await;
    acp.prompt(4, &session, "three").await;
    echo(&mut ada).await;
    let (text, response) = acp.answer(4).await;
    assert_eq!(text, "you said three", "{response}");
    assert_eq!(acp.end().await, 0);
}

#[tokio::test]
async fn losing_the_editor_cancels_its_prompt() {
    let hub = TestHub::start().await;
    let mut parrot = hub.bridge("parrot").await;
    let cli = Cli::new(&hub);
    let (mut acp, session) = Acp::open(&cli, "parrot").await;
    acp.prompt(2, &session, "work").await;
    let message = parrot.frame().await;
    acp.child.start_kill().expect("it runs");
    let cancel = parrot.frame().await;
    assert_eq!(cancel["type"], "cancel", "{cancel}");
    assert_eq!(cancel["request_id"], message["request_id"]);
}

#[tokio::test]
async fn two_hubs_are_joined_by_an_agent_of_one_that_is_an_editor_of_the_other() {
    let (near, far) = (TestHub::start().await, TestHub::start().await);
    let mut playing = JoinSet::new();
    playing.spawn(play_bridge(far.bridge_with("parrot", &["input"]).await));
    let cli = Cli::new(&near);
    let program = env!("CARGO_BIN_EXE_jackfield");
    let url = far.url("");
    let args = [
        "connect", "--as", "joined", "acp", "--", program, "acp", "parrot", "--hub", &url,
    ];
    let mut joined = cli.start(&args);
    assert_eq!(joined.line().await.as_deref(), Some("connected as joined"));
    let run = cli.run(&["call", "joined", "hello"]).await.ok();
    assert_eq!(run.out.trim(), "you said hello");
}

async fn run_judge(
    variable: &str,
    script: &str,
    command: impl FnOnce(std::ffi::OsString) -> Command,
) {
    let agents = Agents::start().await;
    judge(variable, script, |place, script| {
        let mut command = command(place);
        command.arg(script).arg(agents.hub.url(""));
        command.arg(env!("CARGO_BIN_EXE_jackfield"));
        command.args(AGENTS).current_dir(agents.cli.home());
        command
    })
    .await;
}

#[tokio::test]
async fn the_protocols_own_sdk_for_python_uses_agents_of_every_kind() {
    run_judge("JACKFIELD_JUDGE_ACP_PYTHON", "acp/client.py", Command::new).await;
}

#[tokio::test]
async fn the_protocols_own_sdk_for_typescript_uses_agents_of_every_kind() {
    run_judge("JACKFIELD_JUDGE_ACP_NODE", "acp/client.mjs", |folder| {
        let mut command = Command::new("node");
        command.env("NODE_PATH", folder);
        command
    })
    .await;
}
