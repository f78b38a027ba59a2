//! Outside judges: other authors' WebSocket clients in other languages run through the whole specification.
//! `cargo xtask test` installs them; without them these tests only print a notice.

use std::{env, ffi::OsString, path::Path, process::Command};

use jackfield_testkit::TestHub;

async fn judge(variable: &str, command: impl FnOnce(OsString) -> Command, script: &str) {
    let Some(value) = env::var_os(variable) else {
        println!("{script} could not judge: {variable} is not set; see `cargo xtask test`");
        return;
    };
    let hub = TestHub::start().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("judges")
        .join(script);
    let mut command = command(value);
    command.arg(script).arg(format!("ws://{}/ws", hub.addr()));
    // The hub runs on this thread meanwhile.
    let judged = tokio::task::spawn_blocking(move || command.output());
    let output = judged.await.expect("it runs").expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaints}");
    println!("{said}");
}

#[tokio::test]
async fn python_websockets_plays_the_seed() {
    judge("JACKFIELD_JUDGE_PYTHON", Command::new, "agora.py").await;
}

#[tokio::test]
async fn node_ws_plays_the_seed() {
    let node = |modules| {
        let mut node = Command::new("node");
        node.env("NODE_PATH", modules);
        node
    };
    judge("JACKFIELD_JUDGE_NODE_PATH", node, "agora.cjs").await;
}
