//! `cargo xtask picture`: runs `docs/picture.script` with the real program and writes `docs/picture.svg`.
//!
//! Recording and drawing belong to the program's tests, which also fail if the picture is out of date. This
//! file only runs the recording test in write mode.

use anyhow::Result;

use crate::bench::run_to_success;
use crate::workspace::Workspace;

/// Name of the recording test.
const TEST: &str = "picture::the_picture_shows_what_the_program_prints";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut record = workspace.cargo_locked(&["test", "-p", "jackfield", "--test", "cli"]);
    record.args(["--", "--exact", TEST]);
    record.env("JACKFIELD_BLESS", "1");
    run_to_success(record)
}
