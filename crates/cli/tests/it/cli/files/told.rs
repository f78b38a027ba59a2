//! Files that are not sent: the reasons are reported without being requested, for people and for
//! programs.

use std::{fs, os::unix::fs::symlink, path::Path};

use jackfield_testkit::TestHub;
use serde_json::Value;

use super::{amy, files, project};
use crate::run::{Cli, Run};

/// The steps of this name.
fn steps(run: &Run, name: &str) -> Vec<Value> {
    let lines = run
        .out
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let is_step = |step: &Value| step["type"] == "transfer" && step["step"] == name;
    lines.filter(is_step).collect()
}

#[tokio::test]
async fn what_an_agent_wrote_through_links_is_told_also_if_other_files_come() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let script = "mkdir -p plots; echo \"$(cat)\" > plots/a.txt; echo report > report.txt; \
                  [ -e more ] && echo more > own.txt; true";
    let _amy = amy(&cli, script).await;
    cli.run(&["call", "amy", "plain"]).await.ok();
    let names = r#""plots/a.txt", "report.txt""#;
    let called = cli.run(&["call", "amy", "ann's", "--with-files", "--client", "ann"]);
    called
        .await
        .ok()
        .stderr_has("not sent: ")
        .stderr_has(names)
        .stderr_has("offers no files");
    fs::write(project(&cli).join("more"), "").unwrap();
    let called = cli.run(&["call", "amy", "bob's", "--with-files", "--client", "bob"]);
    called
        .await
        .ok()
        .stderr_has(names)
        .stderr_has("1 file (5 bytes)");
}

#[tokio::test]
async fn files_over_the_limit_are_no_success_and_the_reason_is_told() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, "mkdir -p d && cd d && seq 5001 | xargs touch").await;
    let called = cli
        .run(&["call", "amy", "go", "--with-files"])
        .await
        .code(6);
    let called = called.stderr_has("no files are offered: the folder has more than 5000 files");
    assert!(
        !called.err.contains("the agent offers no files"),
        "{called:?}"
    );
    let called = cli.run(&["call", "amy", "go", "--with-files", "--json"]);
    let called = called.await.code(6);
    let step = steps(&called, "left_out");
    assert!(
        step[0]["why"].as_str().unwrap().contains("5000"),
        "{step:?}"
    );
}

#[tokio::test]
async fn files_that_are_never_sent_are_named_and_that_is_no_failure() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(
        &cli,
        "mkdir -p build dist; echo x > build/x; echo x > dist/x; echo k > .env.local",
    )
    .await;
    let called = cli.run(&["call", "amy", "go", "--with-files"]).await.ok();
    let called = called.stderr_has(r#"not sent: never sent: ".env.local", "build/", "dist/""#);
    called.stderr_has("the agent offers no files");
}

fn give(folder: &Path, names: &[&str]) {
    fs::create_dir_all(folder).unwrap();
    for name in names {
        fs::write(folder.join(name), "x").unwrap();
    }
}

#[tokio::test]
async fn what_of_a_folder_is_not_sent_ahead_is_told_by_reason_and_name() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, "ls").await;
    let given = cli.home().join("given");
    give(&given, &["good", "10:30 log.txt", "back\\slash", ".env"]);
    give(&given.join("node_modules"), &["x.js"]);
    fs::create_dir(given.join("empty")).unwrap();
    symlink("good", given.join("link")).unwrap();
    let why = r#"never sent: ".env", "node_modules/"; names that cannot be sent: "back\\slash" (has a backslash); links: "link"; empty folders: "empty/""#;
    let called = cli.run(&["call", "amy", "go", "--upload", "given"]).await;
    let called = called
        .ok()
        .stderr_has(&format!("not sent: {why}"))
        .stderr_has("sent 2 files");
    assert_eq!(called.out, "10:30 log.txt\ngood\n");
    let called = cli
        .run(&["call", "amy", "go", "--upload", "given", "--json"])
        .await
        .ok();
    assert_eq!(steps(&called, "left_out")[0]["why"], why);
    let odd = cli.home().join("odd");
    give(&odd, &["a:b"]);
    let called = cli
        .run(&["call", "amy", "go", "--upload", "odd"])
        .await
        .code(2);
    called
        .stderr_has(r#""a:b" (begins like that of a drive)"#)
        .stderr_has("no files to send");
}

#[tokio::test]
async fn the_same_call_again_finds_nothing_in_the_way() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, "echo same > a.txt").await;
    for _ in 0..2 {
        let called = cli.run(&["call", "amy", "go", "--with-files"]).await.ok();
        called.stderr_has("1 file (5 bytes)");
    }
    assert_eq!(files(&cli.home().join("amy-files"))["a.txt"], b"same\n");
}

#[tokio::test]
async fn a_reader_that_goes_away_does_not_stop_the_files() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    // The output exceeds the capacity of an unread pipe.
    let _amy = amy(&cli, "seq 100000; echo made > a.txt").await;
    for json in [&[][..], &["--json"]] {
        let mut command = cli.command(&[&["call", "amy", "go", "--with-files"], json].concat());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().await.unwrap().code(), Some(0));
        let out = cli.home().join("amy-files");
        assert_eq!(files(&out)["a.txt"], b"made\n");
        fs::remove_dir_all(out).unwrap();
    }
}

#[tokio::test]
async fn a_place_that_is_no_folder_is_told_before_anything_is_done() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, "echo x > made.txt").await;
    fs::write(cli.home().join("plain"), "mine").unwrap();
    for out in ["plain", "plain/below"] {
        let called = cli
            .run(&["call", "amy", "go", "--with-files", "--out", out])
            .await;
        called.code(2).stderr_has("is not a folder");
    }
    assert!(
        !project(&cli).join(".bridge-clients").exists(),
        "nobody was called"
    );
}
