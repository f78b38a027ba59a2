//! An example as a separate process.

use std::{env::consts::EXE_SUFFIX, process::Stdio};

use jackfield_testkit::SOON;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, BufReader},
    process::{Child, Command},
    time::timeout,
};

/// The program of an example, built by cargo beside the tests. The process is killed when dropped.
pub(crate) fn example(name: &str) -> Command {
    let tests = std::env::current_exe().unwrap();
    let built = tests.parent().and_then(std::path::Path::parent).unwrap();
    let program = built.join("examples").join(format!("{name}{EXE_SUFFIX}"));
    assert!(
        program.exists(),
        "build the examples first: cargo build -p jackfield-sdk --all-features --examples"
    );
    let mut command = Command::new(program);
    command.kill_on_drop(true);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Reads the first line of a running example.
pub(crate) async fn first_line(from: impl AsyncRead + Unpin) -> String {
    let mut lines = BufReader::new(from).lines();
    let line = timeout(SOON, lines.next_line()).await;
    let line = line.expect("it says something in time").unwrap();
    line.expect("it says something")
}

/// Stops an example like a supervisor, and checks for a clean exit.
pub(crate) async fn terminate(program: &mut Child) {
    let id = program.id().expect("it runs").to_string();
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill -TERM \"$1\"", "kill", &id]);
    assert!(shell.status().await.unwrap().success());
    let ended = timeout(SOON, program.wait()).await;
    let status = ended.expect("it ends in time").unwrap();
    assert!(status.success(), "{status}");
}

/// Starts a serving example, and returns its address.
pub(crate) async fn listening(name: &str) -> (Child, String) {
    let mut program = example(name).env("PORT", "0").spawn().unwrap();
    let line = first_line(program.stdout.take().unwrap()).await;
    let address = line.strip_prefix("listening on http://");
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    (program, address)
}
