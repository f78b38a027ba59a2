//! Commands of the pages that can't run in tests, the reasons, and the replacement checks.

use std::fs;

use super::page::root;

/// The beginning of each excluded command, and the reason.
const NOT_RUN: &[(&str, &str)] = &[
    (
        "cargo install",
        "it would build the program for minutes, and put it into somebody's home",
    ),
    (
        "cargo run",
        "it would build an example, which the tests of the package run",
    ),
    ("cargo test", "it would run tests within a test"),
    ("cargo xtask", "it would run these tests within themselves"),
    (
        "claude mcp add",
        "it is somebody else's program; what it is told to open or to start is tried instead",
    ),
];

/// Checks that the files and packages named by an excluded command exist.
pub(super) fn check(location: &str, words: &[String]) {
    let line = words.join(" ");
    let known = NOT_RUN.iter().any(|(begin, _)| line.starts_with(begin));
    assert!(known, "{location}: no test runs `{line}`");
    let after = |flag: &str| {
        let at = words.iter().position(|word| word == flag)?;
        words.get(at + 1).map(String::as_str)
    };
    let is_there = |path: &str| {
        assert!(root().join(path).exists(), "{location}: there is no {path}");
    };
    if let Some(folder) = after("--path") {
        is_there(&format!("{folder}/Cargo.toml"));
    }
    if let Some(package) = after("-p") {
        let name = package.trim_start_matches("jackfield-");
        is_there(&format!("crates/{name}/Cargo.toml"));
        if let Some(example) = after("--example") {
            let folder = format!("crates/{name}/examples/{example}");
            let is_file = root().join(format!("{folder}.rs")).exists();
            assert!(
                is_file || root().join(&folder).exists(),
                "{location}: {line}"
            );
        }
    }
    if line.starts_with("cargo xtask") {
        let read = |path: &str| fs::read_to_string(root().join(path)).expect("its source");
        let (commands, steps) = (read("xtask/src/main.rs"), read("xtask/src/steps.rs"));
        assert!(
            read(".cargo/config.toml").contains("xtask ="),
            "{location}: {line}"
        );
        let command = words.get(2).expect("a command");
        assert!(
            commands.contains(&format!("\"{command}\"")),
            "{location}: {line}"
        );
        let step = after("--only").or_else(|| after("--skip"));
        let is_step = step.is_none_or(|step| steps.contains(&format!("\"{step}\"")));
        assert!(is_step, "{location}: {line}");
    }
}
