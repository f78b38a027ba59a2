//! A published server in a separate process, behind a proxy that can cut the connection to the hub.

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

/// The server's agent id at the hub.
pub(crate) const ACTOR: &str = "actor";

/// A missing capability of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Pieces appear as status only; the answer arrives complete, at the end.
    Pieces,
    /// Asks no questions.
    Questions,
    Files,
    Data,
    /// Reports failed runs as completed.
    Failures,
    /// Stops a task without subscribers.
    Resuming,
    /// Answers with tasks only.
    Messages,
}

/// A server that can be started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Published {
    /// The variable with the judge's interpreter.
    pub(crate) variable: &'static str,
    /// Path in `judges/a2a/servers`.
    pub(crate) script: &'static str,
    /// The binding on its card, for servers with several.
    pub(crate) binding: &'static str,
    /// The agent's path below the origin.
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
        // Python would write bytecode beside the scripts.
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("judges/a2a/servers");
        command.arg(scripts.join(script)).arg(self.binding);
        Some(command)
    }
}

/// A running server, and a hub that has it as an agent.
#[derive(Debug)]
pub(crate) struct RemoteFixture {
    pub(crate) hub: TestHub,
    pub(crate) published: Published,
    /// Between the hub and the server.
    pub(crate) proxy: FaultProxy,
    output: Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
    /// The process is killed when dropped.
    child: Child,
}

impl RemoteFixture {
    /// Starts the server and adds it to a hub. Returns `None` if the server isn't installed.
    pub(crate) async fn start(published: Published) -> Option<Self> {
        let fixture = Self::start_apart(published).await?;
        fixture.add().await;
        Some(fixture)
    }

    /// Starts the server, and a hub that does not have it yet.
    pub(crate) async fn start_apart(published: Published) -> Option<Self> {
        let mut command = published.command()?;
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Intended errors would print many pages.
        let command = command.stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut input = child.stdin.take().expect("piped");
        let port = read_line(&mut output).await.parse().expect("a port");
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let proxy = FaultProxy::start(addr).await;
        let line = format!("http://{}\n", proxy.addr());
        input.write_all(line.as_bytes()).await.expect("it reads");
        Some(Self {
            hub: TestHub::start().await,
            published,
            proxy,
            output,
            input,
            child,
        })
    }

    /// The URL that an operator would enter for the agent.
    fn url(&self) -> String {
        format!("http://{}{}", self.proxy.addr(), self.published.path)
    }

    async fn add(&self) {
        let remote = json!({"url": self.url(), "id": ACTOR});
        let (status, answer) = self.hub.web().post("/v1/remotes", remote).await;
        assert_eq!((status, &answer["id"]), (201, &json!(ACTOR)), "{answer}");
    }

    /// Gets JSON from the hub.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let (status, answer) = self.hub.web().get(path).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    /// The server's card, fetched through the proxy.
    pub(crate) async fn card(&self) -> String {
        let url = format!("{}/.well-known/agent-card.json", self.url());
        String::from_utf8(jackfield_testkit::fetch(&url).await).unwrap()
    }

    /// Continues one `count`.
    pub(crate) async fn release(&mut self) {
        self.input.write_all(b"\n").await.expect("it reads");
    }

    /// Stops the server.
    pub(crate) async fn leave(&mut self) {
        self.child.kill().await.expect("it runs");
    }

    /// Waits for a line of the server: `stopped` after an early end of its work, `fifteen` after counting that far.
    pub(crate) async fn wait_for_line(&mut self, word: &str) {
        while read_line(&mut self.output).await != word {}
    }
}

/// Returns the server's next line.
async fn read_line(output: &mut Lines<BufReader<ChildStdout>>) -> String {
    let line = tokio::time::timeout(SOON, output.next_line()).await;
    let line = line.expect("the server says something in time");
    line.expect("UTF-8").expect("the server runs")
}
