//! File transfers between agents end to end: the real `connect` and `call`, by WebRTC and through the hub.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad;
mod cuts;
mod handed;
mod model;
mod moves;
mod published;
mod told;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::cli::connect::connect;
use crate::run::{Cli, Running};

/// The client id of the callers in these tests.
const CLIENT: &str = "tester";

/// Writes an incompressible workspace of 50 MB.
const FIFTY: &str = "mkdir -p deep/er && head -c 30000000 /dev/urandom > one.bin && \
                     head -c 20000000 /dev/urandom > deep/er/two.bin && echo made";

/// The folder of the agent `amy`.
fn project(cli: &Cli) -> PathBuf {
    cli.home().join("project")
}

/// The folder of `amy` for the client of these tests.
fn workspace(cli: &Cli) -> PathBuf {
    project(cli).join(".bridge-clients").join(CLIENT)
}

/// Connects a shell script as the agent `amy`.
async fn amy(cli: &Cli, script: &str) -> Running {
    fs::create_dir_all(project(cli)).unwrap();
    let args = [
        "--as", "amy", "--dir", "project", "exec", "sh", "-c", script,
    ];
    let mut running = cli.start_command(connect(cli, &args));
    assert_eq!(running.line().await.as_deref(), Some("connected as amy"));
    running
}

/// The files below a folder, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// Checks that two folders have the same files, without printing megabytes.
fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (files(one), files(other));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&one), names(&other));
    assert!(one == other, "the files differ");
}

/// Reads transfer steps from the following lines, up to and including the step of this name.
async fn steps_to(running: &mut Running, last: &str) -> Vec<Value> {
    let mut steps = Vec::new();
    loop {
        let event = running.json().await;
        if event["type"] != "transfer" {
            continue;
        }
        let is_last = event["step"] == last;
        steps.push(event);
        if is_last {
            return steps;
        }
    }
}

/// The steps of this name.
fn named<'a>(steps: &'a [Value], name: &'a str) -> impl Iterator<Item = &'a Value> {
    steps.iter().filter(move |step| step["step"] == name)
}

/// Remains of transfers in a caller's home: requests, and partial archives.
fn left_over(cli: &Cli) -> Vec<String> {
    let folder = cli.home().join(".local/state/jackfield/transfers");
    match folder.exists() {
        true => files(&folder).into_keys().collect(),
        false => Vec::new(),
    }
}
