//! Outside judges: published clients of OpenAI's API call an Agora agent, a bridge agent, an agent of an A2A server and a
//! team. `cargo xtask test` installs them; without them their tests only print a notice.

use std::{ffi::OsString, path::Path, process::Command, sync::Arc};

use jackfield_sdk::InProcess;
use jackfield_testkit::{TestHub, judge};
use serde_json::json;
use tokio::{sync::Semaphore, task::JoinSet};

use crate::a2a::judges::{
    frames::{self, Dialect},
    handlers,
};

/// The models that the judges call.
const MODELS: [&str; 4] = ["agora", "bridge", "a2a", "team"];

/// A hub with an agent of every kind.
struct ModelsFixture {
    hub: TestHub,
    _elsewhere: TestHub,
    _in_process: InProcess,
    _working: JoinSet<()>,
}

impl ModelsFixture {
    async fn start() -> Self {
        let hub = TestHub::start_with(|config| config.allow_private_outbound = true).await;
        let releases = || Arc::new(Semaphore::new(0));
        let mut working = JoinSet::new();
        let extensions = ["resume", "artifacts", "input", "meta"];
        for (line, dialect) in [
            (hub.agora("agora").await, Dialect::Agora),
            (hub.agora("member").await, Dialect::Agora),
            (
                hub.bridge_with("bridge", &extensions).await,
                Dialect::Numbered,
            ),
        ] {
            working.spawn(frames::run(line, dialect, releases()));
        }
        let member = json!({"name": "first", "agent": "member"});
        let team = json!({"id": "team", "coordinator": "first", "members": [member]});
        let (status, made) = hub.web().post("/v1/teams", team).await;
        assert_eq!(status, 201, "{made}");
        // The A2A server is another hub.
        let elsewhere = TestHub::start().await;
        let agent = handlers::waiting("far", releases());
        let in_process = agent.attach_to(elsewhere.hub()).unwrap();
        let remote = json!({"id": "a2a", "url": elsewhere.url("/a2a/agents/far")});
        let (status, made) = hub.web().post("/v1/remotes", remote).await;
        assert_eq!(status, 201, "{made}");
        Self {
            hub,
            _elsewhere: elsewhere,
            _in_process: in_process,
            _working: working,
        }
    }
}

async fn run_judge(variable: &str, script: &str, program: impl FnOnce(OsString) -> Command) {
    let fixture = ModelsFixture::start().await;
    let url = fixture.hub.url("/v1");
    let command = |value, script: &Path| {
        let mut command = program(value);
        command.arg(script).arg(url).args(MODELS);
        command
    };
    judge(variable, &format!("openai/{script}"), command).await;
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
async fn openais_client_for_python_calls_agents_of_every_kind() {
    run_judge("JACKFIELD_JUDGE_OPENAI_PYTHON", "client.py", python).await;
}

#[tokio::test]
async fn openais_client_for_node_calls_agents_of_every_kind() {
    run_judge("JACKFIELD_JUDGE_OPENAI_NODE", "client.cjs", node).await;
}

#[tokio::test]
async fn the_vercel_ai_sdk_calls_agents_of_every_kind() {
    run_judge("JACKFIELD_JUDGE_OPENAI_NODE", "ai_sdk.cjs", node).await;
}

#[tokio::test]
async fn litellm_calls_agents_of_every_kind() {
    run_judge("JACKFIELD_JUDGE_LITELLM", "litellm_client.py", python).await;
}
