//! A published server in a process of its own, behind a proxy that can cut the hub off.

use std::{
    env,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Stdio,
};

use jackfield_testkit::{FaultProxy, SOON, TestHub};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// Its id on the hub.
pub(crate) const ACTOR: &str = "actor";

/// What a server cannot say in the way that others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Its pieces are only told as what it does; the answer comes whole, at the end.
    Pieces,
    /// It asks nothing.
    Questions,
    Files,
    Data,
    /// It takes a run that failed for one that is completed.
    Failures,
    /// It gives up what nobody follows.
    Resuming,
    /// Every answer is a task.
    Messages,
}

/// A server that can be started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published {
    /// The variable that names its judge.
    pub(crate) variable: &'static str,
    /// In `judges/a2a/servers`.
    pub(crate) script: &'static str,
    /// The binding that its card shall offer, where there are several.
    pub(crate) binding: &'static str,
    /// Below its origin: where the agent is.
    pub(crate) path: &'static str,
    pub(crate) lacks: &'static [Lack],
}

impl Published {
    pub(crate) fn has(&self, what: Lack) -> bool {
        !self.lacks.contains(&what)
    }

    fn command(&self) -> Option<Command> {
        let Self {
            variable, script, ..
        } = self;
        let Some(judge) = env::var_os(variable) else {
            println!("{script} cannot be started: {variable} is not set; see `cargo xtask test`");
            return None;
        };
        let mut command = match script.ends_with(".cjs") {
            true => {
                let mut node = Command::new("node");
                node.env("NODE_PATH", judge);
                node
            }
            false => Command::new(judge),
        };
        // Python would put what it compiled beside the scripts.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("judges/a2a/servers");
        command.arg(scripts.join(script)).arg(self.binding);
        Some(command)
    }
}

/// One that runs, and a hub that has it as an agent.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) hub: TestHub,
    pub(crate) published: Published,
    /// Between the hub and the server.
    pub(crate) proxy: FaultProxy,
    said: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
    /// Ended when dropped.
    child: Child,
}

impl Stage {
    /// Starts it and adds it to a hub; nothing if it was not prepared.
    pub(crate) async fn start(published: Published) -> Option<Self> {
        let mut command = published.command()?;
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // What goes wrong on purpose fills pages.
        let command = command.stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("it starts");
        let mut said = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut input = child.stdin.take().expect("piped");
        let port = heard(&mut said).await.parse().expect("a port");
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let proxy = FaultProxy::start(addr).await;
        let line = format!("http://{}\n", proxy.addr());
        input.write_all(line.as_bytes()).await.expect("it reads");
        let stage = Self {
            hub: TestHub::start().await,
            published,
            proxy,
            said,
            input,
            child,
        };
        stage.add().await;
        Some(stage)
    }

    /// The URL at which an operator would find the agent.
    fn url(&self) -> String {
        format!("http://{}{}", self.proxy.addr(), self.published.path)
    }

    async fn add(&self) {
        let remote = json!({"url": self.url(), "id": ACTOR});
        let (status, answer) = self.hub.web().post("/v1/remotes", remote).await;
        assert_eq!((status, &answer["id"]), (201, &json!(ACTOR)), "{answer}");
    }

    /// Something on the hub that is JSON.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.hub.web().get(path).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The card, as the server shows it to somebody who comes the way that the hub does.
    pub(crate) async fn card(&self) -> String {
        let url = format!("{}/.well-known/agent-card.json", self.url());
        String::from_utf8(jackfield_testkit::fetch(&url).await).unwrap()
    }

    /// Lets one `count` go on.
    pub(crate) async fn release(&mut self) {
        self.input.write_all(b"\n").await.expect("it reads");
    }

    /// Ends the server.
    pub(crate) async fn leave(&mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Waits until the server says so: `stopped` when it has ended its work early, `fifteen` when it has counted to that.
    pub(crate) async fn says(&mut self, word: &str) {
        while heard(&mut self.said).await != word {}
    }
}

/// The next line that the server says.
async fn heard(said: &mut Lines<BufReader<ChildStdout>>) -> String {
    let line = tokio::time::timeout(SOON, said.next_line()).await;
    let line = line.expect("the server says something in time");
    line.expect("UTF-8").expect("the server runs")
}
