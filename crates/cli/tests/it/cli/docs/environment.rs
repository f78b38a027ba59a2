//! The environment of a page: a hub as a separate process, the agents and other prerequisites that the page mentions,
//! and a shell for the page's commands.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Stdio,
};

use jackfield_testkit::SOON;
use rustix::process::Signal;
use serde_json::Value;
use tokio::{io::AsyncWriteExt as _, process::Command, time::timeout};

use super::{
    compare::is_match,
    page::{Page, PageCommand},
    prerequisites::{self, Servers},
    snippets,
};
use crate::cli::{connect::stand_ins, serve::Served};
use crate::run::{Cli, Run, Running};

/// The hub addresses used on the pages.
const HUBS: [&str; 4] = [
    "http://127.0.0.1:7411",
    "http://localhost:7411",
    "https://hub.example.com",
    "127.0.0.1:7411",
];
/// The peer id used on the pages.
const PEER: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";

/// The environment of a page.
pub(super) struct PageEnvironment {
    cli: Cli,
    hub: Running,
    hub_url: String,
    /// The hub for commands without one: the environment's own, or the hub of the last `demo`.
    current: String,
    /// Echo agents at the environment's own hub.
    pub(super) agents: &'static [&'static str],
    pub(super) servers: Servers,
    /// Replacements from the page's values to the test's values; the first match counts.
    replacements: Vec<(String, String)>,
    /// Processes that run until the page ends.
    kept: Vec<(String, Running)>,
    /// Programs from the pages, which may exit in any way.
    left: Vec<Running>,
}

impl PageEnvironment {
    /// Starts everything.
    pub(super) async fn set(page: &Page, agents: &'static [&'static str]) -> Self {
        let cli = Cli::at("");
        prerequisites::programs(&cli.home().join("bin"));
        // The origin of the web page for which a page makes a ticket.
        let mut config = "allowed_origins = [\"http://127.0.0.1:8000\"]\n".to_owned();
        if cfg!(feature = "p2p") {
            config += "[p2p]\nrelay = true\n";
        }
        fs::write(cli.home().join("jackfield.toml"), config).expect("a file");
        let mut serve = cli.command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
        serve.env("TRAVEL_TOKEN", "t");
        let process = cli.start_command(serve);
        let Served { process, cli, addr } = Served::of(process, cli).await;
        let hub_url = format!("http://{addr}");
        let mut environment = Self {
            cli,
            hub: process,
            current: hub_url.clone(),
            hub_url,
            agents,
            servers: Servers::default(),
            replacements: Vec::new(),
            kept: Vec::new(),
            left: Vec::new(),
        };
        if snippets::name(page, "8000") {
            environment.call_it("8000", free_port());
        }
        snippets::write(page, environment.home(), |text| environment.adapt(text));
        for agent in agents {
            environment.servers.echo(&environment.hub_url, agent).await;
        }
        let commands = page.commands();
        let names = |text: &str| commands.iter().any(|shown| shown.command.contains(text));
        for (name, path) in [
            ("http://localhost:9999", ""),
            ("https://agents.example.com/travel", ""),
            ("http://127.0.0.1:11434", ""),
            ("http://gpu:8000/v1", "/v1"),
        ] {
            if names(name) {
                let url = environment.servers.model(path).await;
                environment.call_it(name, url);
            }
        }
        if names("http://localhost:8000") && !snippets::name(page, "8000") {
            let url = environment.servers.weather().await;
            environment.call_it("http://localhost:8000", url);
        }
        if names(" weather ") && !names("p2p sidecar") {
            environment.start_weather_peer().await;
        }
        if names(PEER) {
            environment.start_peers().await;
        }
        environment
    }

    /// Starts a weather agent and registers it for peers.
    async fn start_weather_peer(&mut self) {
        let url = self.servers.weather().await;
        let mut sidecar = self.start(&format!("jackfield p2p sidecar --agent-url {url}"));
        sidecar.until_it_says("callable as").await;
        self.keep("the weather's sidecar", sidecar);
    }

    /// Starts a second hub, with the environment's own hub as the relay.
    async fn start_peers(&mut self) {
        let far = Cli::at("");
        let Served { process, cli, .. } = Served::start(far, &[]).await;
        let address = peer_address(&cli).await;
        let far_id = address.rsplit('/').next().expect("an id").to_owned();
        self.call_it(
            &format!("/dns4/hub.example.com/tcp/7412/p2p/{PEER}"),
            address,
        );
        let own = peer_address(&self.cli).await;
        self.call_it(&format!("/ip4/192.0.2.7/tcp/7412/p2p/{PEER}"), own);
        self.replacements.push((PEER.to_owned(), far_id));
        self.keep("another hub", process);
    }

    fn call_it(&mut self, name: &str, value: String) {
        self.replacements.insert(0, (name.to_owned(), value));
    }

    /// Replaces the page's values in a text.
    pub(super) fn adapt(&self, text: &str) -> String {
        let hubs = HUBS.map(|name| {
            let url = if name.contains("://") {
                &self.current
            } else {
                self.current.trim_start_matches("http://")
            };
            (name.to_owned(), url.to_owned())
        });
        let replacements = self.replacements.iter().chain(&hubs);
        replacements.fold(text.to_owned(), |text, (name, value)| {
            text.replace(name, value)
        })
    }

    /// Whether a printed line matches the page. Remembers the full form of shortened values (`6d1f…`).
    pub(super) fn is_shown(&mut self, shown: &str, printed: &str) -> bool {
        if !is_match(&self.adapt(shown), printed) {
            return false;
        }
        for (word, value) in shown.split_whitespace().zip(printed.split_whitespace()) {
            if word.contains('…') {
                self.call_it(word, value.to_owned());
            }
        }
        true
    }

    /// A shell command, with our program and the stand-ins in the path.
    fn shell(&self, line: &str) -> Command {
        let (python, node_path) = snippets::interpreters();
        let program = Path::new(env!("CARGO_BIN_EXE_jackfield"));
        let folders = [
            program.parent().map(|folder| folder.as_os_str().to_owned()),
            Some(self.cli.home().join("bin").into()),
            Some(stand_ins().into()),
            python,
        ];
        let folders = folders.into_iter().flatten();
        let folders: Vec<_> = folders.map(|folder| folder.display().to_string()).collect();
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .env_clear()
            .env("HOME", self.cli.home())
            .env(
                "PATH",
                format!("{}:/usr/local/bin:/usr/bin:/bin", folders.join(":")),
            )
            .env("NODE_PATH", node_path.unwrap_or_default())
            .env("JACKFIELD_HUB", &self.current)
            .env("JACKFIELD_DATA_DIR", self.data_dir())
            .current_dir(self.cli.home())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn data_dir(&self) -> PathBuf {
        self.cli.home().join("data")
    }

    /// The working directory of the commands.
    pub(super) fn home(&self) -> &Path {
        self.cli.home()
    }

    /// A URL of the current hub.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.current)
    }

    /// Whether commands go to the environment's own hub.
    pub(super) fn is_own(&self) -> bool {
        self.current == self.hub_url
    }

    /// Sends the following commands to this hub; `None` selects the environment's own.
    pub(super) fn switch_hub(&mut self, hub: Option<&str>) {
        self.current = hub.unwrap_or(&self.hub_url).to_owned();
    }

    /// Runs a command to its end, with this standard input.
    pub(super) async fn run_on(&self, input: &str, line: &str) -> Run {
        let mut child = self
            .shell(line)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A program may ignore its standard input.
        stdin.write_all(input.as_bytes()).await.ok();
        drop(stdin);
        let output = timeout(SOON, child.wait_with_output()).await;
        let output = output.unwrap_or_else(|_| panic!("`{line}` does not end"));
        let output = output.expect("it runs");
        Run {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }

    /// Runs a command to its end.
    pub(super) async fn run(&self, line: &str) -> Run {
        self.run_on("", line).await
    }

    /// Starts a long-running command.
    pub(super) fn start(&self, line: &str) -> Running {
        // Replaces the shell, so that signals reach the program.
        self.cli.start_command(self.shell(&format!("exec {line}")))
    }

    /// Starts a hub by a command, with its own folder and port.
    pub(super) fn start_hub(&self, line: &str) -> Running {
        let folder = self.cli.home().join("served");
        fs::create_dir_all(&folder).expect("a folder");
        let line = line.replace(":7411", ":0");
        let mut command = self.shell(&format!("exec {line}"));
        command
            .env("JACKFIELD_LISTEN", "127.0.0.1:0")
            .env("JACKFIELD_DATA_DIR", folder.join("data"))
            .current_dir(folder);
        self.cli.start_command(command)
    }

    /// Keeps a process until the page ends.
    pub(super) fn keep(&mut self, name: &str, running: Running) {
        self.kept.push((name.to_owned(), running));
    }

    /// Keeps another author's program until the page ends.
    pub(super) fn leave(&mut self, running: Running) {
        self.left.push(running);
    }

    /// Takes back a kept process by its name.
    pub(super) fn take(&mut self, name: &str) -> Option<Running> {
        let at = self.kept.iter().position(|(it, _)| it == name)?;
        Some(self.kept.remove(at).1)
    }

    /// Waits until a program has printed the lines of the page.
    pub(super) async fn until_shown(&mut self, running: &mut Running, shown: &PageCommand) {
        for expected in &shown.prints {
            loop {
                let line = running.line().await;
                let line = line.unwrap_or_else(|| {
                    panic!("{}: it ended without printing {expected:?}", shown.location)
                });
                if self.is_shown(expected, &line) {
                    break;
                }
            }
        }
    }

    /// Stops everything, newest first. All kept processes must exit successfully.
    pub(super) async fn end(self) {
        drop(self.left);
        for (name, running) in self.kept.into_iter().rev() {
            running.signal(Signal::INT);
            let run = running.end().await;
            assert_eq!(run.code, 0, "{name}: {run:?}");
        }
        self.hub.signal(Signal::TERM);
        self.hub.end().await.ok();
    }
}

/// A free port for a program from a page; the page's port may be taken.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string()
}

/// The libp2p address of a local hub.
async fn peer_address(cli: &Cli) -> String {
    let peers = cli
        .run(&["p2p", "peers", "--name", "Jackfield", "--json"])
        .await;
    let peers: Value = peers.ok().json();
    let address = peers["peers"][0]["addresses"][0].as_str();
    address.unwrap_or_else(|| panic!("{peers}")).to_owned()
}
