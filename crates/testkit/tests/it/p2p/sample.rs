//! The peers in the documentation, run unchanged: found, called, and back after a restart.

use std::{env, ffi::OsString, fs, os::unix::fs::symlink, path::Path, process::Stdio};

use jackfield_testkit::{SOON, TestHub};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::p2p::contacts::{keep, until_there};

/// A running program of the page; killed when dropped.
struct Sample {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

/// The installation for programs of a language; `None` if missing.
fn prepared(program: &str, variable: &str) -> Option<OsString> {
    let found = env::var_os(variable);
    if found.is_none() {
        println!("{program} could not judge: {variable} is not set");
    }
    found
}

impl Sample {
    /// Starts `tides.mjs` in a folder. Returns `None` if its packages aren't installed.
    fn tides(hub: &TestHub, folder: &Path, args: &[&str]) -> Option<Self> {
        let packages = prepared("tides.mjs", "JACKFIELD_JUDGE_P2P_NODE")?;
        let modules = folder.join("node_modules");
        if !modules.exists() {
            symlink(packages, modules).unwrap();
        }
        let mut node = Command::new("node");
        node.arg("tides.mjs").args(args);
        Some(Self::start(hub, folder, "// tides.mjs\n", node))
    }

    /// Starts `sky.py` in a folder. Returns `None` if its packages aren't installed.
    fn sky(hub: &TestHub, folder: &Path) -> Option<Self> {
        let interpreter = prepared("sky.py", "JACKFIELD_JUDGE_P2P_PYTHON")?;
        let mut python = Command::new(interpreter);
        python.arg("sky.py");
        Some(Self::start(hub, folder, "# sky.py\n", python))
    }

    /// Starts the program of the page with this first line, which names its file.
    fn start(hub: &TestHub, folder: &Path, first: &str, mut command: Command) -> Self {
        let page = include_str!("../../../../../docs/protocols/p2p.md");
        let (_, program) = page.split_once(first).expect("it is there");
        let (program, _) = program.split_once("\n```").expect("it ends");
        let usual = "http://127.0.0.1:7411";
        assert!(program.contains(usual));
        let program = program.replace(usual, hub.url("").trim_end_matches('/'));
        let file = first.split_whitespace().last().expect("a name");
        fs::write(folder.join(file), program).unwrap();
        let command = command.current_dir(folder).stdout(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self {
            lines,
            _child: child,
        }
    }

    /// The agent id that the program prints.
    async fn agent(&mut self) -> String {
        let line = timeout(2 * SOON, self.lines.next_line()).await;
        let line = line.expect("in time").unwrap().expect("it runs");
        line.strip_prefix("callable as ").unwrap().to_owned()
    }
}

async fn expect(hub: &TestHub, agent: &str, words: &str) {
    until_there(hub, agent).await;
    let calls = format!("/v1/agents/{agent}/calls");
    let mut events = hub.web().stream(&calls, json!({"text": "Dover"})).await;
    let replies = events.rest().await;
    assert_eq!(replies.last().unwrap()["type"], "done", "{replies:?}");
    let has_words = replies
        .iter()
        .any(|event| event.to_string().contains(words));
    assert!(has_words, "{replies:?}");
}

async fn expect_low_tide(hub: &TestHub, agent: &str) {
    expect(hub, agent, "low").await;
}

async fn listed(hub: &TestHub) -> Vec<String> {
    let (_, found) = hub.web().get("/peers?skill=tide&format=list").await;
    let addresses = found[0]["addresses"].as_array().expect("it is listed");
    let addresses = addresses.iter().map(|it| it.as_str().unwrap().to_owned());
    addresses.collect()
}

/// A hub that is a relay.
async fn relay() -> TestHub {
    TestHub::start_with(|config| {
        config.p2p.enabled = true;
        config.p2p.relay = true;
    })
    .await
}

#[tokio::test]
async fn the_peer_of_the_page_is_found_called_and_the_same_after_a_restart() {
    let hub = relay().await;
    let folder = tempfile::tempdir().unwrap();
    let Some(mut first) = Sample::tides(&hub, folder.path(), &[]) else {
        return;
    };
    let agent = first.agent().await;
    expect_low_tide(&hub, &agent).await;
    let addresses = listed(&hub).await;
    assert!(
        addresses.iter().any(|it| !it.contains("/p2p-circuit")),
        "{addresses:?}"
    );
    let mut watch = hub.watch(&agent);
    drop(first);
    watch.until_offline().await;
    let mut second = Sample::tides(&hub, folder.path(), &[]).expect("as before");
    assert_eq!(second.agent().await, agent);
    expect_low_tide(&hub, &agent).await;
}

#[tokio::test]
async fn the_peer_in_python_of_the_page_is_called_and_the_same_after_a_restart() {
    let hub = relay().await;
    let folder = tempfile::tempdir().unwrap();
    let Some(mut first) = Sample::sky(&hub, folder.path()) else {
        return;
    };
    let agent = first.agent().await;
    expect(&hub, &agent, "clear over Dover").await;
    // The peer only connected, and the hub lists it.
    let (_, found) = hub.web().get("/peers?skill=stars&format=list").await;
    assert_eq!(found[0]["agent_name"], "sky", "{found}");
    let mut watch = hub.watch(&agent);
    drop(first);
    watch.until_offline().await;
    let (_, found) = hub.web().get("/peers?skill=stars&format=list").await;
    assert_eq!(found, json!([]));
    let mut second = Sample::sky(&hub, folder.path()).expect("as before");
    assert_eq!(second.agent().await, agent);
    expect(&hub, &agent, "clear over Dover").await;
}

#[tokio::test]
async fn the_peer_of_the_page_takes_a_place_at_the_relay_and_is_called_through_it() {
    let hub = relay().await;
    let folder = tempfile::tempdir().unwrap();
    let Some(mut tides) = Sample::tides(&hub, folder.path(), &["relayed"]) else {
        return;
    };
    let agent = tides.agent().await;
    expect_low_tide(&hub, &agent).await;
    let addresses = listed(&hub).await;
    let through = addresses.iter().find(|it| it.contains("/tcp/"));
    let through = through.expect("a way").clone();
    assert!(through.contains("/p2p-circuit"), "{addresses:?}");
    let other = crate::p2p::hub().await;
    let mut watch = other.watch(&agent);
    keep(&other, &through).await;
    watch.until_online().await;
    expect_low_tide(&other, &agent).await;
}
