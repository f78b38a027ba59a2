//! The peer that the documentation shows, run as it stands there: found, called, and there again after a restart.

use std::{env, fs, os::unix::fs::symlink, path::Path, process::Stdio};

use jackfield_testkit::{SOON, TestHub};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
    time::timeout,
};

use crate::contacts::{keep, until_there};

/// The program while it runs; ended when dropped.
struct Tides {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Tides {
    /// Starts the program of the page in a folder; nothing if its packages were not prepared.
    fn start(hub: &TestHub, folder: &Path, args: &[&str]) -> Option<Self> {
        let Some(packages) = env::var_os("JACKFIELD_JUDGE_P2P_NODE") else {
            println!("tides.mjs could not judge: JACKFIELD_JUDGE_P2P_NODE is not set");
            return None;
        };
        let page = include_str!("../../../../docs/protocols/p2p.md");
        let (_, program) = page.split_once("// tides.mjs\n").expect("it is there");
        let (program, _) = program.split_once("\n```").expect("it ends");
        let usual = "http://127.0.0.1:7411";
        assert!(program.contains(usual));
        let program = program.replace(usual, hub.url("").trim_end_matches('/'));
        fs::write(folder.join("tides.mjs"), program).unwrap();
        let modules = folder.join("node_modules");
        if !modules.exists() {
            symlink(packages, modules).unwrap();
        }
        let mut node = Command::new("node");
        node.arg("tides.mjs").args(args).current_dir(folder);
        let node = node.stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = node.spawn().expect("it starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Some(Self {
            lines,
            _child: child,
        })
    }

    /// Under which id it says to be callable.
    async fn agent(&mut self) -> String {
        let line = timeout(2 * SOON, self.lines.next_line()).await;
        let line = line.expect("in time").unwrap().expect("it runs");
        line.strip_prefix("callable as ").unwrap().to_owned()
    }
}

async fn expect_low_tide(hub: &TestHub, agent: &str) {
    until_there(hub, agent).await;
    let calls = format!("/v1/agents/{agent}/calls");
    let mut events = hub.web().stream(&calls, json!({"text": "Dover"})).await;
    let last = events.rest().await.pop().unwrap();
    assert!(last.to_string().contains("low"), "{last}");
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
    let Some(mut first) = Tides::start(&hub, folder.path(), &[]) else {
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
    let mut second = Tides::start(&hub, folder.path(), &[]).expect("as before");
    assert_eq!(second.agent().await, agent);
    expect_low_tide(&hub, &agent).await;
}

#[tokio::test]
async fn the_peer_of_the_page_takes_a_place_at_the_relay_and_is_called_through_it() {
    let hub = relay().await;
    let folder = tempfile::tempdir().unwrap();
    let Some(mut tides) = Tides::start(&hub, folder.path(), &["relayed"]) else {
        return;
    };
    let agent = tides.agent().await;
    expect_low_tide(&hub, &agent).await;
    let addresses = listed(&hub).await;
    let through = addresses.iter().find(|it| it.contains("/tcp/"));
    let through = through.expect("a way").clone();
    assert!(through.contains("/p2p-circuit"), "{addresses:?}");
    let other = crate::hub().await;
    let mut watch = other.watch(&agent);
    keep(&other, &through).await;
    watch.until_online().await;
    expect_low_tide(&other, &agent).await;
}
