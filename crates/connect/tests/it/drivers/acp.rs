//! ACP agents, simulated by a script that prints the documented lines.

use std::path::{Path, PathBuf};

use jackfield_connect::{CommandSpec, Driver as _, Reaper, drivers::acp::Acp};
use serde_json::{Value, json};

use crate::drivers::fixture::{Fixture, eventually};

fn log(fixture: &Fixture) -> PathBuf {
    fixture.folder().join("told.jsonl")
}

fn driver(fixture: &Fixture, abilities: &str, is_trusted: bool, reaper: &Reaper) -> Acp {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_ins/acp_agent.py");
    let args = [
        script.display().to_string(),
        log(fixture).display().to_string(),
        abilities.to_owned(),
    ];
    let spec = CommandSpec {
        program: "python3".to_owned(),
        args: args.to_vec(),
        dir: fixture.folder().to_owned(),
        ..CommandSpec::default()
    };
    Acp::new(spec, is_trusted, reaper.clone())
}

/// Returns all messages to the agent with this method.
fn received(fixture: &Fixture, method: &str) -> Vec<Value> {
    let log = std::fs::read_to_string(log(fixture)).unwrap_or_default();
    let messages = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    messages
        .filter(|message| message["method"] == method)
        .collect()
}

#[tokio::test]
async fn everything_that_an_agent_tells_arrives_in_order() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    let replies = fixture.ask("s", "everything").await;
    let done = replies.last().unwrap()["done"].clone();
    assert_eq!(
        replies[..replies.len() - 1],
        [
            json!({"thinking": "hm"}),
            json!({"status": "plan:\n[ ] look"}),
            json!({"tool_start": "", "tool_name": "Read a.txt", "tool_call_id": "call_001"}),
            json!({"tool_input": "{\"path\":\"a.txt\"}", "tool_call_id": "call_001"}),
            json!({"tool_result": "hello", "tool_call_id": "call_001"}),
            json!({"text": "a.txt says hello"}),
        ],
        "{replies:#?}"
    );
    assert_eq!(done["state"], "completed");
    assert_eq!(done["stop_reason"], "end_turn");
    let context = json!({"used": 53000, "size": 200_000});
    assert_eq!(done["usage"], json!({"context": context}));
    let opened = &received(&fixture, "initialize")[0]["params"];
    assert_eq!(opened["protocolVersion"], 1);
    let can = json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false});
    assert_eq!(opened["clientCapabilities"], can);
    let new = &received(&fixture, "session/new")[0]["params"];
    let project = std::fs::canonicalize(fixture.folder().join("project")).unwrap();
    let cwd = std::fs::canonicalize(new["cwd"].as_str().unwrap()).unwrap();
    assert_eq!(cwd, project);
    assert_eq!(new["mcpServers"][0]["name"], "jackfield");
    amy.stop().await;
}

#[tokio::test]
async fn a_turn_costs_what_its_conversation_cost_more_than_before() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    for (session, so_far, cost) in [
        ("a", "0.02", 0.02),
        ("b", "1.5", 1.5),
        ("a", "0.05", 0.03),
        ("a", "0.05", 0.0),
    ] {
        let replies = fixture.ask(session, &format!("cost {so_far}")).await;
        let usage = &replies.last().unwrap()["done"]["usage"];
        let cost = json!({"amount": cost, "currency": "USD"});
        assert_eq!(usage["cost"], cost, "{session} {so_far}");
    }
    amy.stop().await;
}

#[tokio::test]
async fn conversations_share_a_process_and_go_on_after_a_restart() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "load", false, &reaper), &reaper)
        .await;
    for (session, words, answer) in [
        ("a", "one", "sess_1 heard one"),
        ("b", "two", "sess_2 heard two"),
        ("a", "three", "sess_1 heard three"),
    ] {
        assert_eq!(
            fixture.ask(session, words).await[0],
            json!({"text": answer})
        );
    }
    assert_eq!(received(&fixture, "initialize").len(), 1);
    amy.stop().await;
    // The agent replays a conversation while loading it. Callers don't get the replay.
    let reaper = Reaper::new();
    let amy = fixture
        .connect(driver(&fixture, "load", false, &reaper), &reaper)
        .await;
    let replies = fixture.ask("a", "four").await;
    assert_eq!(replies[0], json!({"text": "sess_1 heard four"}));
    assert_eq!(
        received(&fixture, "session/load")[0]["params"]["sessionId"],
        "sess_1"
    );
    amy.stop().await;
    // An agent that can't load conversations reports a fresh session.
    let reaper = Reaper::new();
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    let replies = fixture.ask("a", "five").await;
    assert!(
        replies[0]["status"]
            .as_str()
            .unwrap()
            .contains("does not remember")
    );
    assert_eq!(replies[1], json!({"text": "sess_3 heard five"}));
    amy.stop().await;
}

#[tokio::test]
async fn a_permission_is_the_owners_to_give_and_never_for_longer_than_once() {
    let outcome = |id: &str| format!(r#"outcome {{"optionId": "{id}", "outcome": "selected"}}"#);
    for (approved, chosen) in [(true, "once"), (false, "no")] {
        let (fixture, reaper) = (Fixture::new().await.with_decision(approved), Reaper::new());
        let amy = fixture
            .connect(driver(&fixture, "", false, &reaper), &reaper)
            .await;
        let replies = fixture.ask("s", "permission").await;
        assert!(
            replies.contains(&json!({"text": outcome(chosen)})),
            "{replies:#?}"
        );
        amy.stop().await;
    }
    // Approval at the hub, with no approver at the terminal. The caller sees a status about the
    // pending approval.
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    let mut call = fixture.send("s", "permission").await;
    let waits = loop {
        let (_, data) = call.next().await.unwrap();
        if data["kind"] == "status" {
            break data["text"].as_str().unwrap().to_owned();
        }
    };
    assert!(waits.contains("Run the tests"), "{waits}");
    let answer = json!({"ask_id": "ask-1", "approved": true});
    let path = format!("/v1/calls/{}/answer", call.id);
    assert_eq!(fixture.hub.web().post(&path, answer).await.0, 204);
    assert_eq!(call.text().await, outcome("once"));
    amy.stop().await;
    // A trusted agent needs no approval.
    let (fixture, reaper) = (Fixture::new().await.trusted(), Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", true, &reaper), &reaper)
        .await;
    let replies = fixture.ask("s", "permission").await;
    assert!(
        replies.contains(&json!({"text": outcome("once")})),
        "{replies:#?}"
    );
    amy.stop().await;
}

#[tokio::test]
async fn a_refusal_is_a_rejection_and_an_error_is_a_failure() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    let replies = fixture.ask("s", "refuse").await;
    assert_eq!(replies[0], json!({"text": "I would rather not"}));
    assert_eq!(replies[1]["done"]["state"], "rejected");
    let failed = &fixture.ask("s", "fail").await[0]["failed"];
    assert_eq!(failed["error"], "agent_error");
    assert_eq!(failed["message"], "Internal error: no model");
    // The agent's requests for unsupported methods are refused, and the agent continues.
    assert_eq!(
        fixture.ask("s", "file").await[0],
        json!({"text": "refused -32601"})
    );
    amy.stop().await;
}

#[tokio::test]
async fn a_crash_fails_the_open_turns_and_the_next_one_starts_the_agent_again() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "resume", false, &reaper), &reaper)
        .await;
    let mut other = fixture.send("other", "wait").await;
    assert_eq!(other.text().await, "waiting");
    let replies = fixture.ask("s", "die").await;
    assert_eq!(replies[0], json!({"text": "so long"}));
    for failed in [&replies[1]["failed"], &other.rest().await[0]["failed"]] {
        assert_eq!(failed["error"], "crashed", "{failed}");
        let text = failed["message"].as_str().unwrap();
        assert!(
            text.contains("exit code 3") && text.contains("out of memory"),
            "{text}"
        );
    }
    let replies = fixture.ask("s", "again").await;
    assert_eq!(replies[0], json!({"text": "sess_2 heard again"}));
    assert_eq!(received(&fixture, "initialize").len(), 2);
    assert_eq!(received(&fixture, "session/resume").len(), 1);
    amy.stop().await;
}

#[tokio::test]
async fn a_cancelled_turn_is_stopped_and_its_conversation_goes_on() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    let mut call = fixture.send("s", "wait").await;
    assert_eq!(call.text().await, "waiting");
    let path = format!("/v1/calls/{}/cancel", call.id);
    fixture.hub.web().post(&path, json!({})).await;
    let replies = fixture.ask("s", "more").await;
    assert!(
        replies.contains(&json!({"text": "sess_1 heard more"})),
        "{replies:#?}"
    );
    assert_eq!(
        received(&fixture, "session/cancel")[0]["params"],
        json!({"sessionId": "sess_1"})
    );
    assert_eq!(
        received(&fixture, "initialize").len(),
        1,
        "the agent was not ended for it"
    );
    amy.stop().await;
}

#[tokio::test]
async fn an_agent_that_does_not_stop_is_ended_with_all_that_it_started() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    let mut call = fixture.send("s", "ignore").await;
    let pids = call.text().await;
    let pids: Vec<i32> = pids
        .split(' ')
        .skip(1)
        .map(|pid| pid.parse().unwrap())
        .collect();
    // Disconnecting the caller cancels the call.
    drop(call);
    for pid in pids {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        eventually("the process is gone", || {
            rustix::process::test_kill_process(pid).is_err()
        })
        .await;
    }
    assert_eq!(
        fixture.ask("t", "next").await[0],
        json!({"text": "sess_2 heard next"})
    );
    amy.stop().await;
}

#[tokio::test]
async fn files_go_along_as_links() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let amy = fixture
        .connect(driver(&fixture, "", false, &reaper), &reaper)
        .await;
    let file = json!({"file": {"name": "a.txt", "mime": "text/plain", "bytes": "aGk="}});
    let body = json!({"session": "s", "parts": [{"text": "blocks"}, {"data": {"n": 1}}, file]});
    let replies = fixture.call(body).await.rest().await;
    let blocks: Value = serde_json::from_str(replies[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(blocks[0], json!({"type": "text", "text": "{\"n\":1}"}));
    assert_eq!(blocks[1]["type"], "resource_link");
    let path = blocks[1]["uri"]
        .as_str()
        .unwrap()
        .strip_prefix("file://")
        .unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hi");
    amy.stop().await;
}

#[tokio::test]
async fn what_cannot_be_driven_is_told_at_once_with_what_to_do() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let command = |command: &[&str]| {
        let spec = CommandSpec {
            program: command[0].to_owned(),
            args: command[1..].iter().map(|&arg| arg.to_owned()).collect(),
            dir: fixture.folder().to_owned(),
            ..CommandSpec::default()
        };
        Acp::new(spec, false, reaper.clone())
    };
    for (agent, expected) in [
        (command(&["no-such-agent-anywhere"]), "install it"),
        (
            command(&["sh", "-c", "echo hello; echo not today >&2; exit 4"]),
            "exit code 4: not today",
        ),
        (driver(&fixture, "future", false, &reaper), "version 2"),
        (command(&["cat"]), "cat does not speak ACP"),
    ] {
        let failure = agent.check().await.unwrap_err();
        assert_eq!(failure.code, "adapter_crash");
        assert!(failure.message.contains(expected), "{}", failure.message);
    }
    let amy = fixture
        .connect(driver(&fixture, "locked", false, &reaper), &reaper)
        .await;
    let failed = &fixture.ask("s", "x").await[0]["failed"];
    let text = failed["message"].as_str().unwrap();
    assert!(text.contains("sign in"), "{text}");
    amy.stop().await;
}

#[tokio::test]
async fn an_agent_is_announced_as_it_calls_itself() {
    let (fixture, reaper) = (Fixture::new().await, Reaper::new());
    let agent = driver(&fixture, "", false, &reaper);
    agent.check().await.unwrap();
    let profile = agent.self_description();
    assert_eq!(profile.name.as_deref(), Some("Stand-in"));
    assert_eq!(profile.version.as_deref(), Some("7.1"));
    reaper.finish().await;
}
