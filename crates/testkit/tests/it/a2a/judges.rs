//! Outside judges: published A2A clients of other authors call agents of every door. `cargo xtask test` installs those
//! in other languages; without them their tests only print a notice.

mod behaviour;
pub(crate) mod frames;
pub(crate) mod handlers;
mod rust;

use std::{ffi::OsString, path::Path, process::Command, sync::Arc};

use jackfield_sdk::{HubAddress, InProcess};
use jackfield_testkit::{TestHub, judge};
use serde_json::json;
use tokio::{
    sync::{Semaphore, oneshot},
    task::JoinSet,
};

use frames::Dialect;

/// A hub with an agent of every kind.
struct AgentsFixture {
    hub: TestHub,
    /// Agents that can't ask questions.
    agents: Vec<&'static str>,
    asking: Vec<&'static str>,
    /// Agents, of both lists, that receive the bytes of files.
    filing: Vec<&'static str>,
    _in_process: InProcess,
    _working: JoinSet<()>,
}

impl AgentsFixture {
    async fn start() -> Self {
        // The judges receive push notifications on this machine.
        let hub = TestHub::start_with(|config| config.allow_private_outbound = true).await;
        let mut working = JoinSet::new();
        let releases = || Arc::new(Semaphore::new(0));

        let extensions = ["resume", "artifacts", "input", "meta"];
        let first = hub.bridge_as("bridge-1", json!({"bridge_version": "1"}));
        for (line, dialect) in [
            (hub.agora("agora").await, Dialect::Agora),
            (first.await, Dialect::Bridge),
            (hub.bridge("bridge-2").await, Dialect::Bridge),
            (
                hub.bridge_with("bridge-extended", &extensions).await,
                Dialect::Numbered,
            ),
        ] {
            working.spawn(frames::run(line, dialect, releases()));
        }

        let attached = handlers::waiting("sdk", releases());
        let attached = attached.hub(HubAddress::new(&hub.url("")).unwrap());
        let (ready, is_ready) = oneshot::channel();
        let mut ready = Some(ready);
        working.spawn(async move {
            let on_attached = move || {
                if let Some(ready) = ready.take() {
                    ready.send(()).ok();
                }
            };
            attached.run_with(on_attached).await.ok();
        });
        is_ready.await.unwrap();
        let in_process = handlers::ending("in-process", releases());
        let in_process = in_process.attach_to(hub.hub()).unwrap();

        Self {
            hub,
            agents: vec!["bridge-1", "bridge-2"],
            asking: vec!["agora", "bridge-extended", "sdk", "in-process"],
            filing: vec!["sdk", "in-process"],
            _in_process: in_process,
            _working: working,
        }
    }

    /// Adds a team, whose coordinator is an agent of this hub, and an A2A server, which is an agent of another hub. Both ask
    /// questions.
    async fn add_team_and_server(&mut self, other: &Self) {
        let members = json!([{"name": "lead", "agent": "sdk"}]);
        let team = json!({"id": "team", "coordinator": "lead", "members": members});
        let server = json!({"id": "a2a", "url": other.url("in-process")});
        for (path, body) in [("/v1/teams", team), ("/v1/remotes", server)] {
            let (status, answer) = self.hub.web().post(path, body).await;
            assert_eq!(status, 201, "{answer}");
        }
        self.asking.extend(["team", "a2a"]);
    }

    /// The A2A URL of an agent.
    fn url(&self, id: &str) -> String {
        self.hub.url(&format!("/a2a/agents/{id}"))
    }

    /// Arguments of a judge: the transports, and the agents.
    fn arguments(&self, transports: &[&str]) -> Vec<String> {
        let transports = transports
            .iter()
            .map(|name| ("--transports", (*name).to_owned()));
        let agents = self.agents.iter().map(|id| ("--agents", self.url(id)));
        let asking = self.asking.iter().map(|id| ("--asking", self.url(id)));
        let filing = self.filing.iter().map(|id| ("--filing", self.url(id)));
        transports
            .chain(agents)
            .chain(asking)
            .chain(filing)
            .flat_map(|(name, value)| [name.to_owned(), value])
            .collect()
    }
}

async fn run_judges(
    variable: &str,
    script: &str,
    transports: &[&str],
    program: impl FnOnce(OsString) -> Command,
) {
    let fixture = AgentsFixture::start().await;
    run_judge(&fixture, variable, script, transports, program).await;
}

async fn run_judge(
    fixture: &AgentsFixture,
    variable: &str,
    script: &str,
    transports: &[&str],
    program: impl FnOnce(OsString) -> Command,
) {
    let arguments = fixture.arguments(transports);
    let command = |value, script: &Path| {
        let mut command = program(value);
        command.arg(script).args(arguments);
        command
    };
    judge(variable, &format!("a2a/{script}"), command).await;
}

fn python(python: OsString) -> Command {
    let mut python = Command::new(python);
    // Python would write bytecode beside the scripts.
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    python
}

fn node(modules: OsString) -> Command {
    let mut node = Command::new("node");
    node.env("NODE_PATH", modules);
    node
}

#[tokio::test]
async fn the_python_client_of_version_1_0_calls_agents_of_every_door() {
    let transports = ["JSONRPC", "HTTP+JSON"];
    run_judges(
        "JACKFIELD_JUDGE_A2A_PYTHON_1",
        "py_v1.py",
        &transports,
        python,
    )
    .await;
}

#[tokio::test]
async fn the_python_client_of_version_1_0_calls_agents_of_every_door_by_grpc() {
    run_judges(
        "JACKFIELD_JUDGE_A2A_PYTHON_1",
        "py_v1.py",
        &["GRPC"],
        python,
    )
    .await;
}

#[tokio::test]
async fn the_python_client_of_version_0_3_calls_agents_of_every_door() {
    let transports = ["JSONRPC", "HTTP+JSON"];
    run_judges(
        "JACKFIELD_JUDGE_A2A_PYTHON_03",
        "py_v03.py",
        &transports,
        python,
    )
    .await;
}

#[tokio::test]
async fn the_python_client_of_version_0_3_calls_agents_of_every_door_by_grpc() {
    let (other, mut fixture) = (AgentsFixture::start().await, AgentsFixture::start().await);
    fixture.add_team_and_server(&other).await;
    let variable = "JACKFIELD_JUDGE_A2A_PYTHON_03";
    run_judge(&fixture, variable, "py_v03.py", &["GRPC"], python).await;
}

#[tokio::test]
async fn the_client_of_agno_calls_agents_of_every_door() {
    let transports = ["rest", "json-rpc"];
    run_judges(
        "JACKFIELD_JUDGE_A2A_PYTHON_03",
        "agno_client.py",
        &transports,
        python,
    )
    .await;
}

#[tokio::test]
async fn the_javascript_client_of_version_1_0_calls_agents_of_every_door() {
    let transports = ["JSONRPC", "HTTP+JSON"];
    run_judges("JACKFIELD_JUDGE_A2A_NODE_1", "js_v1.cjs", &transports, node).await;
}

#[tokio::test]
async fn the_javascript_client_of_version_0_3_calls_agents_of_every_door() {
    let transports = ["JSONRPC", "HTTP+JSON"];
    run_judges(
        "JACKFIELD_JUDGE_A2A_NODE_03",
        "js_v03.cjs",
        &transports,
        node,
    )
    .await;
}
