//! The same tree with programs of other authors: a server of the published A2A library for Python, which calls the team
//! with the library's client, and a peer of the published libp2p for JavaScript. `cargo xtask test` installs both;
//! without them the tests only print a notice.

use std::{env, path::Path, process::Stdio};

use jackfield_testkit::SOON;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::chains::{
    hub::Hub,
    laptop::{self, Laptop},
    root::Root,
    team::{CLOSING_TEXT, TEAM, TestTeam},
};

/// The question of the root; the peer counts regardless of the question.
const QUESTION: &str = "count";

/// A program that reads and writes lines.
struct Program {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// The process is killed when dropped.
    _child: Child,
}

impl Program {
    /// Starts a script of an outside judge. Returns `None` if the judge isn't installed.
    fn start(variable: &str, script: &str, args: &[&str]) -> Option<Self> {
        let Some(judge) = env::var_os(variable) else {
            println!("{script} cannot be started: {variable} is not set; see `cargo xtask test`");
            return None;
        };
        let mut command = match script.ends_with(".mjs") {
            true => {
                let mut node = Command::new("node");
                node.env("NODE_PATH", judge);
                node
            }
            false => Command::new(judge),
        };
        let judges = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testkit/judges");
        let mut child = command
            // Python would write bytecode beside the scripts.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .arg(judges.join(script))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("it starts");
        Some(Self {
            input: child.stdin.take().expect("piped"),
            output: BufReader::new(child.stdout.take().expect("piped")).lines(),
            _child: child,
        })
    }

    async fn write(&mut self, line: impl std::fmt::Display) {
        let line = format!("{line}\n");
        let written = self.input.write_all(line.as_bytes()).await;
        written.expect("it reads");
    }

    async fn line(&mut self) -> String {
        let line = timeout(SOON, self.output.next_line()).await;
        let line = line.expect("it says something in time").expect("text");
        line.expect("it runs")
    }

    /// Waits for the line of JSON with this event.
    async fn until(&mut self, event: &str) -> Value {
        loop {
            let line: Value = serde_json::from_str(&self.line().await).expect("JSON");
            if line["event"] == event {
                return line;
            }
        }
    }
}

/// A hub with all of these programs.
struct Published {
    hub: Hub,
    laptop: Laptop,
    server: Program,
    team: TestTeam,
    peer: Program,
}

impl Published {
    async fn start() -> Option<Self> {
        let mut peer = Program::start("JACKFIELD_JUDGE_P2P_NODE", "p2p/peer.mjs", &[])?;
        let hub = Hub::start().await;
        let team = format!("{}/a2a/agents/{TEAM}", hub.url());
        let script = "a2a/servers/py_v1_asking.py";
        let mut server = Program::start("JACKFIELD_JUDGE_A2A_PYTHON_1", script, &[&team])?;
        let skill = json!({"id": "count", "name": "Count", "description": "Counts.", "path": "/count", "method": "POST"});
        let card =
            json!({"name": "guest", "version": "1", "description": "A peer.", "skills": [skill]});
        peer.write(json!({"card": card, "reading": "json"})).await;
        let ready = peer.until("ready").await;
        let (name, address) = (ready["peer_id"].as_str(), ready["addrs"][0].as_str());
        let (name, address) = (name.expect("an id"), address.expect("an address"));
        let agent_id = format!("guest@{}", &name[name.len() - 12..]);
        hub.cli.run(&["add", address]).await.ok();
        hub.until_online(&[&agent_id]).await;
        let team = TestTeam::join(&hub, &agent_id).await;
        let url = format!("http://127.0.0.1:{}", server.line().await);
        server.write(&url).await;
        let add = ["add", &*url, "--as", laptop::CALLS];
        hub.cli.run(&add).await.ok();
        Some(Self {
            laptop: Laptop::join(&hub).await,
            hub,
            server,
            team,
            peer,
        })
    }

    /// Starts a call. Returns after the first number, with the id of the team's call.
    async fn begun(&mut self) -> (Root, String) {
        let mut root = Root::live(&self.hub, QUESTION).await;
        root.expect_piece("1 ").await;
        (root, self.team.next_request().await)
    }
}

#[tokio::test]
async fn published_programs_stream_to_the_root_piece_by_piece() {
    let Some(mut all) = Published::start().await else {
        return;
    };
    let (mut root, call) = all.begun().await;
    let at_team = all.hub.call(&call).await;
    let parent = at_team["parent"].as_str().expect("the server passed it on");
    assert_eq!(all.hub.call(parent).await["agent"], laptop::CALLS);
    for piece in ["2 ", "3 "] {
        all.peer.write(json!({"id": 1, "do": "release"})).await;
        root.expect_piece(piece).await;
    }
    all.team.may_end();
    root.expect_rest(CLOSING_TEXT).await;
    all.hub.wait_until_idle().await;
}

#[tokio::test]
async fn published_programs_are_told_that_the_root_has_hung_up() {
    let Some(mut all) = Published::start().await else {
        return;
    };
    let (root, _) = all.begun().await;
    drop(root);
    all.laptop.until_cancelled().await;
    assert_eq!(all.server.line().await, "cancelled");
    all.team.until_stopped().await;
    all.peer.until("lost").await;
    all.hub.wait_until_idle().await;
}
