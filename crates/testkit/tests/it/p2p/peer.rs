//! A published peer in a separate process, controlled by lines of JSON.

use std::{collections::VecDeque, env, path::Path, process::Stdio};

use jackfield_testkit::{SOON, TestHub};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::mpsc,
    task::JoinSet,
};

use crate::p2p::tcp;

/// The program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Python,
    JavaScript,
}

pub(crate) const LANGUAGES: [Language; 2] = [Language::Python, Language::JavaScript];

/// Larger than the number of lines between two reads of a test.
const LINES: usize = 1024;

impl Language {
    fn command(self) -> Option<Command> {
        let (variable, script) = match self {
            Self::Python => ("JACKFIELD_JUDGE_P2P_PYTHON", "p2p/peer.py"),
            Self::JavaScript => ("JACKFIELD_JUDGE_P2P_NODE", "p2p/peer.mjs"),
        };
        let Some(judge) = env::var_os(variable) else {
            println!("{script} could not judge: {variable} is not set; see `cargo xtask test`");
            return None;
        };
        let mut command = match self {
            Self::Python => Command::new(judge),
            Self::JavaScript => {
                let mut node = Command::new("node");
                node.env("NODE_PATH", judge);
                node
            }
        };
        // Python would write bytecode beside the script.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let judges = Path::new(env!("CARGO_MANIFEST_DIR")).join("judges");
        command.arg(judges.join(script));
        Some(command)
    }
}

/// A running peer.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) language: Language,
    pub(crate) id: String,
    /// The listen address, with the peer id at its end.
    pub(crate) addr: String,
    name: String,
    commands: u64,
    /// Lines read while waiting for another line.
    pending: VecDeque<Value>,
    output: mpsc::Receiver<Value>,
    /// Reads the program's output.
    _reader: JoinSet<()>,
    input: ChildStdin,
    /// The process is killed when dropped.
    child: Child,
}

/// A card with these paths as skills; the first is the default of a call.
pub(crate) fn card(name: &str, paths: &[&str]) -> Value {
    let skills = paths.iter().map(|path| {
        let id = path.trim_matches(['/', '{', '}']);
        json!({"id": id, "name": format!("The {id}"), "description": format!("It does {id}."),
               "path": path, "method": "POST"})
    });
    let skills: Vec<_> = skills.collect();
    json!({"name": name, "version": "1.0.0", "description": "A peer.", "skills": skills})
}

impl Peer {
    /// Starts a peer with a card. Returns `None` if the program isn't installed.
    pub(crate) async fn start(language: Language, card: Value) -> Option<Self> {
        Self::start_as(language, card, json!({})).await
    }

    /// Starts a peer with a card and further options.
    pub(crate) async fn start_as(
        language: Language,
        card: Value,
        mut options: Value,
    ) -> Option<Self> {
        let mut command = language.command()?;
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Intended errors would print many pages.
        let command = command.stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("it starts");
        let (output_sender, output) = mpsc::channel(LINES);
        let mut peer = Self {
            language,
            id: String::new(),
            addr: String::new(),
            name: card["name"].as_str().expect("a name").to_owned(),
            commands: 0,
            pending: VecDeque::new(),
            output,
            _reader: read_output(child.stdout.take().expect("piped"), output_sender),
            input: child.stdin.take().expect("piped"),
            child,
        };
        options["card"] = card;
        options["reading"] = "json".into();
        peer.write(&options).await;
        let ready = peer.event("ready").await;
        peer.id = ready["peer_id"].as_str().expect("an id").to_owned();
        peer.addr = ready["addrs"][0].as_str().expect("an address").to_owned();
        Some(peer)
    }

    /// Starts a peer as an agent of the hub.
    pub(crate) async fn attach(language: Language, card: Value, hub: &TestHub) -> Option<Self> {
        let mut peer = Self::start(language, card).await?;
        peer.join(hub).await;
        Some(peer)
    }

    /// Connects to a hub, and waits until the peer is an agent there.
    pub(crate) async fn join(&mut self, hub: &TestHub) {
        let mut watch = hub.watch(&self.agent());
        self.ok(json!({"do": "connect", "addr": tcp(hub)})).await;
        watch.until_online().await;
    }

    /// The peer's id as an agent of a hub.
    pub(crate) fn agent(&self) -> String {
        format!("{}@{}", self.name, short(&self.id))
    }

    /// Begins a command; returns the number for its response.
    pub(crate) async fn begin(&mut self, mut command: Value) -> u64 {
        self.commands += 1;
        command["id"] = self.commands.into();
        self.write(&command).await;
        self.commands
    }

    /// Waits for the response to a command.
    pub(crate) async fn answer(&mut self, number: u64) -> Value {
        self.until(|line| line["id"] == number).await
    }

    /// Runs a command that must succeed.
    pub(crate) async fn ok(&mut self, command: Value) -> Value {
        let number = self.begin(command).await;
        let answer = self.answer(number).await;
        assert_eq!(answer["ok"], true, "{:?}: {answer}", self.language);
        answer
    }

    /// Hands off, and returns the body of the answer.
    pub(crate) async fn hand_off(&mut self, addr: &str, request: Value) -> String {
        let command = json!({"do": "handoff", "addr": addr, "request": request});
        let answer = self.ok(command).await;
        answer["body"].as_str().expect("text").to_owned()
    }

    /// Returns the next event with this name.
    pub(crate) async fn event(&mut self, name: &str) -> Value {
        self.until(|line| line["event"] == name).await
    }

    /// Whether an event with this name has arrived already.
    pub(crate) fn has_event(&mut self, name: &str) -> bool {
        while let Ok(line) = self.output.try_recv() {
            self.pending.push_back(line);
        }
        self.pending.iter().any(|line| line["event"] == name)
    }

    /// Lets a `/slow` answer, or a `/count` continue.
    pub(crate) async fn release(&mut self) {
        self.ok(json!({"do": "release"})).await;
    }

    /// Kills the process.
    pub(crate) async fn kill(&mut self) {
        self.child.kill().await.expect("it runs");
    }

    async fn write(&mut self, line: &Value) {
        let line = format!("{line}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .expect("it reads");
    }

    async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.pending.iter().position(&is_it) {
            return self.pending.remove(at).expect("it was found");
        }
        loop {
            let line = tokio::time::timeout(2 * SOON, self.output.recv()).await;
            let line = line.expect("the peer says something in time");
            let line = line.expect("the peer runs");
            if is_it(&line) {
                return line;
            }
            self.pending.push_back(line);
        }
    }
}

/// Reads the program's output immediately: a full pipe would block the program.
fn read_output(stdout: ChildStdout, output: mpsc::Sender<Value>) -> JoinSet<()> {
    let mut hearing = JoinSet::new();
    hearing.spawn(async move {
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let line = serde_json::from_str(&line).expect("JSON");
            if output.send(line).await.is_err() {
                return;
            }
        }
    });
    hearing
}

/// The part of a peer id that is in the ids of its agents.
pub(crate) fn short(peer: &str) -> &str {
    &peer[peer.len() - 12..]
}
