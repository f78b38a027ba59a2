//! Files attached to an answer, and transfers that can't be resumed.

use std::fs;

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use super::{files, left_over};
use crate::run::{Cli, Running};

fn call(cli: &Cli, more: &[&str]) -> Running {
    cli.start(&[&["call", "eve", "go", "--with-files", "--out", "got"], more].concat())
}

/// Answers with attachments as `eve`.
async fn hands_over(eve: &mut Raw, attachments: &Value) {
    let request = eve.expect_message("go").await;
    eve.send(json!({"type": "done", "request_id": request, "attachments": attachments}))
        .await;
}

#[tokio::test]
async fn attachments_are_saved_under_safe_names_and_overwrite_nothing() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let got = cli.home().join("got");
    fs::create_dir(&got).unwrap();
    fs::write(got.join("a ü.txt"), "mine").unwrap();
    let attachments = json!([
        {"filename": "a ü.txt", "name": "a ü.txt", "url": "data:text/plain;base64,aGk=", "content_type": "text/plain"},
        {"filename": "../evil.txt", "name": "../evil.txt", "url": "data:,evil"},
        {"filename": "far.txt", "name": "far.txt", "url": "https://example.com/far.txt"},
    ]);
    let called = call(&cli, &[]);
    hands_over(&mut eve, &attachments).await;
    let called = called.end().await.ok().stderr_has("2 files (6 bytes)");
    let called = called.stderr_has("far.txt: it is at https://example.com/far.txt");
    assert!(!called.err.contains("offers no files"), "{called:?}");
    assert!(called.err.contains("attached: a ü.txt\n"), "{called:?}");
    let there = files(&got);
    assert_eq!(there["a ü.txt"], b"mine");
    assert_eq!(there["a ü-2.txt"], b"hi");
    assert_eq!(there["evil.txt"], b"evil");
    assert_eq!(there.len(), 3);
    let called = call(&cli, &["--overwrite"]);
    hands_over(&mut eve, &attachments).await;
    called.end().await.ok();
    assert_eq!(files(&got)["a ü.txt"], b"hi");
}

#[tokio::test]
async fn nothing_but_files_is_fetched_from_the_hub_with_the_callers_token() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let url = hub.url("/v1/files/../whoami");
    let attachments = json!([{"filename": "a.txt", "name": "a.txt", "url": url}]);
    let called = call(&cli, &[]);
    hands_over(&mut eve, &attachments).await;
    let called = called.end().await;
    let called = called.stderr_has("a.txt: it is at http");
    assert!(!cli.home().join("got/a.txt").exists(), "{called:?}");
}

#[tokio::test]
async fn what_was_saved_is_told_to_programs() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    let called = call(&cli, &["--json"]);
    let request = eve.expect_message("go").await;
    let list = json!([{"filename": "list.txt", "name": "list.txt", "url": "data:,1"}]);
    eve.send(json!({"type": "done", "request_id": request, "attachments": list}))
        .await;
    let called = called.end().await.ok();
    let last: Value = serde_json::from_str(called.out.lines().last().unwrap()).unwrap();
    assert_eq!(last["step"], "done", "{called:?}");
    assert_eq!(last["files"], json!(["list.txt"]));
}

/// Offers an archive as `eve`, without sending it.
async fn offers(eve: &mut Raw, id: &str) {
    let request = eve.expect_message("go").await;
    let offer =
        json!({"transfer_id": id, "zip_size": 5, "zip_sha256": "ab".repeat(32), "file_count": 1});
    eve.send(json!({"type": "done", "request_id": request, "file_transfer_offer": offer}))
        .await;
}

#[tokio::test]
async fn a_transfer_is_forgotten_if_somebody_wants_that_or_if_the_hub_knows_of_none() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut eve = hub.bridge("eve").await;
    for id in ["t-1", "t-2", "t-3"] {
        let called = call(&cli, &["--via", "hub"]);
        offers(&mut eve, id).await;
        eve.frame().await;
        called.signal(rustix::process::Signal::INT);
        called
            .end()
            .await
            .code(130)
            .stderr_has(&format!("jackfield fetch {id}"));
    }
    cli.run(&["fetch", "--forget"])
        .await
        .code(2)
        .stderr_has("--all");
    cli.run(&["fetch", "--forget", "unknown"]).await.code(3);
    cli.run(&["fetch", "--forget", "t-1"]).await.ok();
    let listed = cli.run(&["fetch", "--json"]).await.ok().json();
    assert_eq!(listed["transfers"].as_array().unwrap().len(), 2);
    // The agent was removed, along with its transfers.
    drop(eve);
    cli.run(&["rm", "eve"]).await.ok();
    let gone = cli.run(&["fetch", "t-2", "--via", "hub"]).await.code(4);
    gone.stderr_has("no transfer of yours")
        .stderr_has("removed here");
    cli.run(&["fetch", "t-2"]).await.code(3);
    cli.run(&["fetch", "--forget", "--all"])
        .await
        .ok()
        .stderr_has("forgotten: 1");
    cli.run(&["fetch"]).await.ok().stderr_has("no unfinished");
    assert_eq!(left_over(&cli), Vec::<String>::new());
}
