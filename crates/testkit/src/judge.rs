//! External conformance checks: programs with third-party clients, in other languages, that use a protocol
//! against a hub. `cargo xtask test` prepares them; without preparation a check only prints a note.

use std::{env, ffi::OsString, path::Path, process::Command};

/// Runs a script of `judges/` with the program that the environment variable names. Panics with the program's
/// output if the check fails.
pub async fn judge(variable: &str, script: &str, command: impl FnOnce(OsString, &Path) -> Command) {
    let Some(value) = env::var_os(variable) else {
        println!("{script} could not judge: {variable} is not set; see `cargo xtask test`");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("judges")
        .join(script);
    let mut command = command(value, &script);
    // The hub runs on this thread meanwhile.
    let judged = tokio::task::spawn_blocking(move || command.output());
    let output = judged.await.expect("it runs").expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{complaints}");
    println!("{said}");
}
