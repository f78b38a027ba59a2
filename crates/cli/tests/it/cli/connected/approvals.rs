//! Tool approvals: requested and decided at the owner's terminal, for every kind of caller.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use super::{a2a_stream, acp, say, until_rest, watched_crew, words_of};
use crate::cli::{connect::connect, terminal::Terminal};
use crate::run::Cli;

/// A message that makes an agent ask, the tool it asks for, and its text after a yes and after a no.
struct ApprovalCase {
    kind: Vec<String>,
    words: &'static str,
    tool: &'static str,
    approved: &'static str,
    denied: &'static str,
}

/// A command that asks, and prints the answer.
const ASKS: &str = concat!(
    r#"read -r message; echo '{"kind":"approval","tool_name":"delete","arguments":{"path":"x"}}'; read -r told; "#,
    r#"echo "$told" | sed -n -e 's/.*"approved":true.*/{"text":"deleted"}/p' "#,
    r#"-e 's/.*"approved":false,.*"reason":"\([^"]*\)".*/{"text":"kept: \1"}/p'"#,
);

fn case() -> [ApprovalCase; 3] {
    [
        ApprovalCase {
            kind: vec!["claude".to_owned()],
            words: "use a tool",
            tool: "Bash",
            approved: "removed ",
            denied: "denied: not today ",
        },
        // The protocol can't carry a reason, only the refusal.
        ApprovalCase {
            kind: acp("told"),
            words: "permission",
            tool: "Run the tests",
            approved: r#"outcome {"optionId": "once", "outcome": "selected"}"#,
            denied: r#"outcome {"optionId": "no", "outcome": "selected"}"#,
        },
        ApprovalCase {
            kind: ["exec", "--format", "jsonl", "sh", "-c", ASKS]
                .map(str::to_owned)
                .to_vec(),
            words: "go",
            tool: "delete",
            approved: "deleted",
            denied: "kept: not today",
        },
    ]
}

/// Connects the agent `bob` at a terminal.
async fn at_terminal(cli: &Cli, kind: &[String]) -> Terminal {
    let kind: Vec<_> = kind.iter().map(String::as_str).collect();
    let args = [&["--as", "bob"][..], &kind].concat();
    let mut terminal = Terminal::start(connect(cli, &args));
    terminal.until("connected as bob").await;
    terminal
}

/// Waits for the owner's prompt, and types an answer.
async fn decide(terminal: &mut Terminal, tool: &str, typed: &str) {
    terminal.until_again("approve?").await;
    terminal.until(&format!("may I use {tool}?")).await;
    terminal.type_in(&format!("{typed}\n"));
}

#[tokio::test]
async fn the_owner_decides_at_the_terminal_for_an_a2a_caller() {
    for case in case() {
        let hub = TestHub::start().await;
        let cli = Cli::new(&hub);
        let mut terminal = at_terminal(&cli, &case.kind).await;
        for (typed, expected) in [("y", case.approved), ("not today", case.denied)] {
            let mut events = a2a_stream(&hub, "bob", case.words).await;
            // The caller sees a status about the pending approval, and can't answer it.
            loop {
                let update = events.next().await["result"]["statusUpdate"].take();
                let words = words_of(&update["status"]["message"]["parts"]);
                if words == format!("waiting for the owner of bob to approve {}", case.tool) {
                    assert_eq!(update["status"]["state"], "TASK_STATE_WORKING", "{update}");
                    break;
                }
            }
            decide(&mut terminal, case.tool, typed).await;
            let results = events.rest().await;
            let parts = results
                .iter()
                .map(|it| words_of(&it["result"]["artifactUpdate"]["artifact"]["parts"]));
            assert_eq!(parts.collect::<String>(), expected);
            let end = &results.last().expect("an end")["result"]["statusUpdate"];
            assert_eq!(end["status"]["state"], "TASK_STATE_COMPLETED", "{end}");
        }
    }
}

#[tokio::test]
async fn the_owner_decides_at_the_terminal_for_a_team() {
    for case in case() {
        let hub = TestHub::start().await;
        let cli = Cli::new(&hub);
        let mut terminal = at_terminal(&cli, &case.kind).await;
        let mut viewer = watched_crew(&hub, &["bob"]).await;
        for (typed, expected, shown) in [
            ("y", case.approved, "TOOL_APPROVED"),
            ("not today", case.denied, "TOOL_DENIED"),
        ] {
            say(&mut viewer, "bob", case.words).await;
            let asked = until(&mut viewer, "TOOL_APPROVAL_REQUESTED").await;
            assert_eq!(asked["tool_name"], case.tool, "{asked}");
            decide(&mut terminal, case.tool, typed).await;
            let rest = until_rest(&mut viewer).await;
            let of = |wanted: &str| {
                let mut found = rest.iter().filter(|(kind, _)| kind == wanted);
                found.next().map(|(_, payload)| payload.clone())
            };
            let decided = of(shown).unwrap_or_else(|| panic!("no {shown} in {rest:?}"));
            assert_eq!(
                decided["invocation_id"], asked["invocation_id"],
                "{decided}"
            );
            if typed != "y" {
                assert_eq!(decided["reason"], typed, "{decided}");
            }
            let complete = of("ASSISTANT_COMPLETE").expect("it was done");
            assert_eq!(complete["content"], expected, "{complete}");
        }
    }
}

#[tokio::test]
async fn a_viewer_of_the_team_may_be_faster_than_the_terminal() {
    let hub = TestHub::start().await;
    let cli = Cli::new(&hub);
    let mut terminal = at_terminal(&cli, &["claude".to_owned()]).await;
    let mut viewer = watched_crew(&hub, &["bob"]).await;
    say(&mut viewer, "bob", "use a tool").await;
    let asked = until(&mut viewer, "TOOL_APPROVAL_REQUESTED").await;
    terminal.until("approve?").await;
    let payload = json!({
        "invocation_id": asked["invocation_id"], "agent_name": "bob", "approval_token": asked["approval_token"],
        "reason": "ask me tomorrow",
    });
    viewer
        .send(json!({"type": "DENY_TOOL", "payload": payload}))
        .await;
    terminal.until("(answered elsewhere)").await;
    let rest = until_rest(&mut viewer).await;
    let complete = rest.iter().find(|(kind, _)| kind == "ASSISTANT_COMPLETE");
    let (_, complete) = complete.expect("it was done");
    assert_eq!(complete["content"], "denied: ask me tomorrow ");
}

/// Returns the next frame of this type.
async fn until(viewer: &mut Raw, wanted: &str) -> Value {
    loop {
        let mut frame = viewer.frame().await;
        if frame["type"] == wanted {
            return frame["payload"].take();
        }
    }
}
