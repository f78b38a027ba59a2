//! What can be typed.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Typed {
    #[command(flatten)]
    connect: Connect,
}

fn typed(line: &str) -> Result<Connect, clap::Error> {
    let words = std::iter::once("connect").chain(line.split(' '));
    Typed::try_parse_from(words).map(|typed| typed.connect)
}

#[test]
fn flags_of_a_command_are_its_own() {
    let connect = typed("--as bob exec grep -n --max {prompt}").unwrap();
    assert_eq!(connect.id.as_deref(), Some("bob"));
    assert_eq!(connect.max, 10);
    let ConnectKind::Exec { .. } = connect.kind else {
        panic!("{connect:?}")
    };
    typed("claude -- --model opus").unwrap();
    typed("acp gemini --acp").unwrap();
}

#[test]
fn what_cannot_be_meant_is_refused() {
    for bad in [
        "claude --model opus",
        "exec",
        "openai",
        "--max 0 claude",
        "--as a/b claude",
        "--setup http://x/invite/t --as bob claude",
        "exec --format yaml cat",
        "parrot",
    ] {
        typed(bad).unwrap_err();
    }
}

#[test]
fn permissions_are_skipped_only_with_trust() {
    let reaper = Reaper::new();
    let driver = |line: &str| {
        let connect = typed(line).unwrap();
        connect.kind.driver(&DriverSettings {
            dir: ".".into(),
            pass: Vec::new(),
            is_trusted: connect.trust,
            allow_private: false,
            state: Path::new("."),
            reaper: &reaper,
        })
    };
    let error = driver("claude -- --dangerously-skip-permissions").unwrap_err();
    assert!(error.to_string().contains("--trust"), "{error}");
    driver("--trust claude -- --dangerously-skip-permissions").unwrap();
}

#[test]
fn a_flag_of_ours_that_a_program_gets_is_noticed() {
    let misplaced = |line: &str| {
        let connect = typed(line).unwrap();
        let found = connect.kind.misplaced();
        found.map(|(program, flag)| format!("{program} {flag}"))
    };
    let found = misplaced("exec /usr/bin/tr a-z A-Z --as foo");
    assert_eq!(found.as_deref(), Some("tr --as"));
    let found = misplaced("acp agent --hub=http://h");
    assert_eq!(found.as_deref(), Some("agent --hub"));
    for fine in ["--as foo exec tr a-z A-Z", "exec grep --name x", "claude"] {
        assert_eq!(misplaced(fine), None, "{fine}");
    }
}

#[test]
fn the_next_time_has_all_that_was_typed_but_the_invite() {
    let rest = |words: &[&str]| without_setup(words.iter().map(|&word| word.to_owned()));
    let words = [
        "jackfield",
        "--hub",
        "http://h",
        "connect",
        "--setup",
        "http://h/invite/t",
        "--hub=http://h",
        "--max",
        "2",
        "exec",
        "grep",
        "--hub",
        "it's {prompt}",
    ];
    assert_eq!(rest(&words), r" --max 2 exec grep --hub 'it'\''s {prompt}'");
    assert_eq!(
        rest(&["jackfield", "connect", "--setup=u", "claude"]),
        " claude"
    );
}
