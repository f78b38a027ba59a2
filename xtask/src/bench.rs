//! `cargo xtask bench`: builds the hub and the load generator for release, and lets the second measure the first.
//!
//! What is measured, and how, belongs to the crate `jackfield-bench`; this file only finds the two programs.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{Workspace, shown};

/// Where the results are written unless the caller names another file with `--out`.
const RESULTS: &str = "docs/benchmarks.md";

pub(crate) fn run(workspace: &Workspace, args: &[String]) -> Result<()> {
    let build = workspace.cargo_locked(&[
        "build",
        "--release",
        "-p",
        "jackfield",
        "-p",
        "jackfield-bench",
    ]);
    run_to_success(build)?;

    let release = workspace.target.join("release");
    let program = |name: &str| release.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let mut bench = Command::new(program("jackfield-bench"));
    bench
        .current_dir(&workspace.root)
        .arg("run")
        .arg("--jackfield")
        .arg(program("jackfield"));
    if !names_a_file(args) {
        bench.args(["--out", RESULTS]);
    }
    bench.args(args);
    run_to_success(bench)
}

fn run_to_success(mut command: Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("`{}` could not be started", shown(&command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(&command));
    }
    Ok(())
}

fn names_a_file(args: &[String]) -> bool {
    args.iter()
        .any(|arg| arg == "--out" || arg.starts_with("--out="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_named_by_the_caller_replaces_the_usual_one() {
        assert!(names_a_file(&["--out".into(), "here.md".into()]));
        assert!(names_a_file(&["--out=here.md".into()]));
        assert!(!names_a_file(&["--rounds".into(), "3".into()]));
    }
}
