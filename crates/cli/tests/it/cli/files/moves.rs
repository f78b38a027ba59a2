//! Workspaces sent from agent to agent, before a message, and into folders with existing files.

use std::fs;

use jackfield_testkit::TestHub;

use super::{CLIENT, FIFTY, amy, assert_same, files, left_over, named, steps_to, workspace};
use crate::cli::connect::connect;
use crate::run::Cli;

/// Connects a second agent, whose program calls the first for files.
async fn fifty_megabytes_from_agent_to_agent(via: &str, tried: &str) {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, FIFTY).await;
    let program = env!("CARGO_BIN_EXE_jackfield");
    let call = format!(
        "exec {program} call amy go --with-files --client {CLIENT} --out got --via {via} --json"
    );
    let args = ["--as", "bob", "exec", "sh", "-c", &call];
    let mut bob = cli.start_command(connect(&cli, &args));
    assert_eq!(bob.line().await.as_deref(), Some("connected as bob"));
    let mut called = cli.start(&["call", "bob", "fetch them"]);
    let steps = steps_to(&mut called, "done").await;
    let ways: Vec<_> = named(&steps, "begin").map(|step| &step["via"]).collect();
    assert_eq!(ways, [tried], "{steps:?}");
    called.end().await.ok();
    let got = cli.home().join("got");
    assert_eq!(
        files(&got).values().map(Vec::len).sum::<usize>(),
        50_000_000
    );
    assert_same(&got, &workspace(&cli));
    assert_eq!(left_over(&cli), Vec::<String>::new());
}

#[tokio::test]
async fn two_connected_agents_move_fifty_megabytes_by_webrtc() {
    fifty_megabytes_from_agent_to_agent("auto", "direct").await;
}

#[tokio::test]
async fn two_connected_agents_move_fifty_megabytes_through_the_hub() {
    fifty_megabytes_from_agent_to_agent("hub", "hub").await;
}

#[tokio::test]
async fn a_folder_that_is_sent_ahead_is_there_when_the_agent_works() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, "cat in/put.txt; echo seen >> in/put.txt").await;
    let given = cli.home().join("given");
    fs::create_dir_all(given.join("in")).unwrap();
    fs::write(given.join("in/put.txt"), "for amy\n").unwrap();
    // The second time, the sent files replace the agent's own change.
    for via in ["direct", "hub"] {
        let call = [
            "call",
            "amy",
            "read it",
            "--client",
            CLIENT,
            "--upload",
            "given",
            "--via",
            via,
            "--with-files",
            "--out",
            via,
        ];
        let called = cli.run(&call).await.ok();
        assert_eq!(called.out, "for amy\n");
        let called = called.stderr_has("sent 1 file");
        called.stderr_has(&format!(
            "1 file (13 bytes) in {}",
            cli.home().join(via).display()
        ));
        let got = fs::read_to_string(cli.home().join(via).join("in/put.txt"));
        assert_eq!(got.unwrap(), "for amy\nseen\n");
    }
    assert_eq!(left_over(&cli), Vec::<String>::new());
}

#[tokio::test]
async fn files_that_are_in_the_way_stay_and_the_others_are_not_fetched_again() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut amy = amy(&cli, "echo new > a.txt").await;
    let out = cli.home().join("amy-files");
    fs::create_dir(&out).unwrap();
    fs::write(out.join("a.txt"), "mine").unwrap();
    let refused = cli
        .run(&["call", "amy", "go", "--with-files"])
        .await
        .code(1);
    let refused = refused.stderr_has("a.txt").stderr_has("--overwrite");
    assert_eq!(fs::read_to_string(out.join("a.txt")).unwrap(), "mine");
    let listed = cli.run(&["fetch", "--json"]).await.ok().json();
    let waiting = &listed["transfers"][0];
    assert_eq!(waiting["agent"], "amy");
    assert_eq!(waiting["received"], waiting["size"]);
    let id = waiting["transfer"].as_str().unwrap();
    assert!(
        refused
            .err
            .contains(&format!("jackfield fetch {id} --overwrite"))
    );
    // Local files don't need the agent.
    amy.signal(rustix::process::Signal::INT);
    while amy.line().await.is_some() {}
    cli.run(&["fetch", id, "--overwrite"]).await.ok();
    assert_eq!(fs::read_to_string(out.join("a.txt")).unwrap(), "new\n");
    cli.run(&["fetch"]).await.ok().stderr_has("no unfinished");
    assert_eq!(left_over(&cli), Vec::<String>::new());
}

#[tokio::test]
async fn an_agent_without_files_offers_none() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let _amy = amy(&cli, "echo only words").await;
    let called = cli.run(&["call", "amy", "go", "--with-files"]).await.ok();
    let called = called.stderr_has("offers no files");
    assert_eq!(called.out, "only words\n");
    for (args, says) in [
        (&["--upload", "nowhere"][..], "--upload DIR"),
        (&["--upload", "."][..], "no files"),
        (&["--out", "x"][..], "--with-files"),
        (&["--via", "hub"][..], "--with-files"),
        (&["--with-files", "--detach"][..], "--detach"),
        (&["--client", "../x", "--with-files"][..], "1 to 128"),
    ] {
        let empty = cli.home().join("project");
        let mut command = cli.command(&[&["call", "amy", "go"][..], args].concat());
        command.current_dir(empty);
        cli.start_command(command)
            .end()
            .await
            .code(2)
            .stderr_has(says);
    }
    cli.run(&["call", "nobody", "go", "--upload", "."])
        .await
        .code(3);
    cli.run(&["fetch", "unknown"])
        .await
        .code(3)
        .stderr_has("jackfield fetch");
}
