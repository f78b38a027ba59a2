//! The scene of a page: a hub as a process of its own, the agents that the page talks of, and whatever else it names; and
//! running the page's lines there as a shell would.

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
    likeness::is_like,
    page::{Page, Shown},
    props::{self, Servers},
    snippets,
};
use crate::cli::{connect::stand_ins, serve::Served};
use crate::run::{Cli, Run, Running};

/// Where the pages have their hub.
const HUBS: [&str; 4] = [
    "http://127.0.0.1:7411",
    "http://localhost:7411",
    "https://hub.example.com",
    "127.0.0.1:7411",
];
/// The peer that the pages name.
const PEER: &str = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN";

/// A page's scene.
pub(super) struct Scene {
    cli: Cli,
    hub: Running,
    hub_url: String,
    /// Where commands go that name no hub: the scene's own, or that of the last `demo`.
    current: String,
    /// The agents at the scene's own hub, which say what they are told.
    pub(super) agents: &'static [&'static str],
    pub(super) servers: Servers,
    /// What the page calls something, and what that is here; the first that fits counts.
    swaps: Vec<(String, String)>,
    /// What was started and stays until the page ends.
    staying: Vec<(String, Running)>,
    /// Programs of the pages, which end as they like.
    left: Vec<Running>,
}

impl Scene {
    /// Puts everything in place.
    pub(super) async fn set(page: &Page, agents: &'static [&'static str]) -> Self {
        let cli = Cli::at("");
        props::programs(&cli.home().join("bin"));
        if cfg!(feature = "p2p") {
            let config = "[p2p]\nrelay = true\n";
            fs::write(cli.home().join("jackfield.toml"), config).expect("a file");
        }
        let mut serve = cli.command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", "data"]);
        serve.env("TRAVEL_TOKEN", "t");
        let process = cli.start_command(serve);
        let Served { process, cli, addr } = Served::of(process, cli).await;
        let hub_url = format!("http://{addr}");
        let mut scene = Self {
            cli,
            hub: process,
            current: hub_url.clone(),
            hub_url,
            agents,
            servers: Servers::default(),
            swaps: Vec::new(),
            staying: Vec::new(),
            left: Vec::new(),
        };
        if snippets::name(page, "8000") {
            scene.call_it("8000", free_port());
        }
        snippets::write(page, scene.home(), |text| scene.here(text));
        for agent in agents {
            scene.servers.echo(&scene.hub_url, agent).await;
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
                let url = scene.servers.model(path).await;
                scene.call_it(name, url);
            }
        }
        if names("http://localhost:8000") && !snippets::name(page, "8000") {
            let url = scene.servers.weather().await;
            scene.call_it("http://localhost:8000", url);
        }
        if names(" weather ") && !names("p2p sidecar") {
            scene.weather_is_a_peer().await;
        }
        if names(PEER) {
            scene.peers_are_there().await;
        }
        scene
    }

    /// An agent that knows the weather, to be found among peers.
    async fn weather_is_a_peer(&mut self) {
        let url = self.servers.weather().await;
        let mut sidecar = self.start(&format!("jackfield p2p sidecar --agent-url {url}"));
        sidecar.until_it_says("callable as").await;
        self.stay("the weather's sidecar", sidecar);
    }

    /// A second hub, and the scene's own as the relay.
    async fn peers_are_there(&mut self) {
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
        self.swaps.push((PEER.to_owned(), far_id));
        self.stay("another hub", process);
    }

    fn call_it(&mut self, name: &str, here: String) {
        self.swaps.insert(0, (name.to_owned(), here));
    }

    /// A text of the page in the words of this scene.
    pub(super) fn here(&self, text: &str) -> String {
        let hubs = HUBS.map(|name| {
            let url = if name.contains("://") {
                &self.current
            } else {
                self.current.trim_start_matches("http://")
            };
            (name.to_owned(), url.to_owned())
        });
        let swaps = self.swaps.iter().chain(&hubs);
        swaps.fold(text.to_owned(), |text, (name, here)| {
            text.replace(name, here)
        })
    }

    /// Whether a printed line is the one that the page shows. What the page shortens (`6d1f…`) is known from then on.
    pub(super) fn is_shown(&mut self, shown: &str, printed: &str) -> bool {
        if !is_like(&self.here(shown), printed) {
            return false;
        }
        for (word, here) in shown.split_whitespace().zip(printed.split_whitespace()) {
            if word.contains('…') {
                self.call_it(word, here.to_owned());
            }
        }
        true
    }

    /// A line as a shell runs it, with our program and the stand-ins in the path.
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

    /// The folder that the lines are run in.
    pub(super) fn home(&self) -> &Path {
        self.cli.home()
    }

    /// The URL that lines without a hub go to.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.current)
    }

    /// Whether lines go to the scene's own hub.
    pub(super) fn is_own(&self) -> bool {
        self.current == self.hub_url
    }

    /// From now on, lines go to this hub; without one, to the scene's own.
    pub(super) fn go_to(&mut self, hub: Option<&str>) {
        self.current = hub.unwrap_or(&self.hub_url).to_owned();
    }

    /// Runs a line to its end, with this on its standard input.
    pub(super) async fn run_on(&self, input: &str, line: &str) -> Run {
        let mut child = self
            .shell(line)
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut stdin = child.stdin.take().expect("it is piped");
        // A program that does not read its input is no fault.
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

    /// Runs a line to its end.
    pub(super) async fn run(&self, line: &str) -> Run {
        self.run_on("", line).await
    }

    /// Starts a line that goes on.
    pub(super) fn start(&self, line: &str) -> Running {
        // In the shell's place, so that signals reach the program.
        self.cli.start_command(self.shell(&format!("exec {line}")))
    }

    /// Starts a hub by a line: with a folder and a port of its own.
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

    /// Keeps what was started until the page ends.
    pub(super) fn stay(&mut self, name: &str, running: Running) {
        self.staying.push((name.to_owned(), running));
    }

    /// Keeps somebody else's program until the page ends.
    pub(super) fn leave(&mut self, running: Running) {
        self.left.push(running);
    }

    /// What stays under this name, if anything does, which then stays no longer.
    pub(super) fn take(&mut self, name: &str) -> Option<Running> {
        let at = self.staying.iter().position(|(it, _)| it == name)?;
        Some(self.staying.remove(at).1)
    }

    /// Waits until a program has printed what the page shows.
    pub(super) async fn until_shown(&mut self, running: &mut Running, shown: &Shown) {
        for expected in &shown.prints {
            loop {
                let line = running.line().await;
                let line = line.unwrap_or_else(|| {
                    panic!("{}: it ended without printing {expected:?}", shown.place)
                });
                if self.is_shown(expected, &line) {
                    break;
                }
            }
        }
    }

    /// Stops everything, newest first. Whatever stayed ends well when it is asked to.
    pub(super) async fn end(self) {
        drop(self.left);
        for (name, running) in self.staying.into_iter().rev() {
            running.signal(Signal::INT);
            let run = running.end().await;
            assert_eq!(run.code, 0, "{name}: {run:?}");
        }
        self.hub.signal(Signal::TERM);
        self.hub.end().await.ok();
    }
}

/// A port for a program of a page, whose own may be taken.
fn free_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener
        .local_addr()
        .expect("an address")
        .port()
        .to_string()
}

/// Where a hub of this machine is among peers.
async fn peer_address(cli: &Cli) -> String {
    let peers = cli
        .run(&["p2p", "peers", "--name", "Jackfield", "--json"])
        .await;
    let peers: Value = peers.ok().json();
    let address = peers["peers"][0]["addresses"][0].as_str();
    address.unwrap_or_else(|| panic!("{peers}")).to_owned()
}
