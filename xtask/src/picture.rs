//! `cargo xtask picture`: plays `docs/picture.script` with the real program and draws `docs/picture.svg` anew.
//!
//! Recording and drawing belong to the tests of the program, which also say when the picture is out of date; this file
//! only asks the one test to write what it saw.

use anyhow::Result;

use crate::bench::run_to_success;
use crate::workspace::Workspace;

/// The test that records.
const TEST: &str = "picture::the_picture_shows_what_the_program_prints";

pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut record = workspace.cargo_locked(&["test", "-p", "jackfield", "--test", "cli"]);
    record.args(["--", "--exact", TEST]);
    record.env("JACKFIELD_BLESS", "1");
    run_to_success(record)
}
