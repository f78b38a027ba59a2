//! Claude Code, simulated by a stand-in that prints the documented lines; the real program can't run in tests.

use std::path::Path;

use jackfield_connect::{ConnectEvent, McpServer};
use serde_json::{Value, json};

use crate::drive::rig::{Rig, all_gone, pairs};

#[tokio::test]
async fn every_kind_arrives_in_order_with_what_it_cost() {
    let rig = Rig::start().await;
    let _bob = rig.claude().await;
    let mut called = rig.call("all kinds").await;
    let events = called.events.rest().await;
    let mut chunks: Vec<(&str, &str, &str, String)> = Vec::new();
    for event in &events[..events.len() - 1] {
        let text = |name: &str| event[name].as_str().unwrap_or_default();
        match chunks.last_mut() {
            // The hub may split or join text.
            Some((last, .., so_far)) if *last == "text" => *so_far += text("text"),
            _ => chunks.push((
                text("kind"),
                text("tool_name"),
                text("tool_call_id"),
                text("text").to_owned(),
            )),
        }
    }
    let chunks: Vec<_> = chunks
        .iter()
        .map(|(kind, name, id, text)| (*kind, *name, *id, text.as_str()))
        .collect();
    assert_eq!(
        chunks,
        [
            (
                "status",
                "",
                "",
                "asking the model again, attempt 1: overloaded"
            ),
            ("thinking", "", "", "hm"),
            ("tool_start", "Bash", "toolu_1", ""),
            ("tool_input", "", "toolu_1", r#"{"command":"ls"}"#),
            ("tool_result", "", "toolu_1", "a.txt"),
            ("text", "", "", "one file "),
        ]
    );
    let done = &events[events.len() - 1];
    assert_eq!(done["type"], "done");
    assert_eq!(done["stop_reason"], "end_turn");
    assert_eq!(done["usage"]["total_cost_usd"], 0.25);
    assert_eq!(done["usage"]["output_tokens"], 5);
}

#[tokio::test]
async fn a_conversation_goes_on_after_the_agent_was_connected_again() {
    let rig = Rig::start().await;
    let bob = rig.claude().await;
    rig.told("one").await;
    let told = rig.told("what did I say?").await;
    assert_eq!(told, pairs(&[("text", "before: one "), ("done", "")]));
    bob.stop().await;
    let _again = rig.claude().await;
    let told = rig.told("what did I say?").await;
    assert_eq!(
        told,
        pairs(&[("text", "before: one, what did I say? "), ("done", "")])
    );
    let other = json!({"text": "what did I say?", "session": "s-2"});
    let told = rig.call_with(other).await.told().await;
    assert_eq!(told, pairs(&[("text", "before:  "), ("done", "")]));
}

#[tokio::test]
async fn a_conversation_that_it_forgot_begins_anew_and_once() {
    let rig = Rig::start().await;
    let _bob = rig.claude().await;
    rig.told("one").await;
    std::fs::remove_file(rig.project().join(".stand-in-memory.json")).unwrap();
    let told = rig.told("two").await;
    let [(kind, words), rest @ ..] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(kind, "status");
    assert!(words.contains("begins a new one"), "{words}");
    assert_eq!(rest, pairs(&[("text", "you said two "), ("done", "")]));
    assert_eq!(
        rig.told("what did I say?").await,
        pairs(&[("text", "before: two "), ("done", "")])
    );
}

#[tokio::test]
async fn it_fails_in_its_own_words_and_crashes_in_ours() {
    let rig = Rig::start().await;
    let _bob = rig.claude().await;
    assert_eq!(
        rig.told("fail").await,
        pairs(&[("agent_error", "Credit balance is too low")])
    );
    let crashed = "claude ended with exit code 3: no key; it did not say that it was done";
    assert_eq!(
        rig.told("crash").await,
        pairs(&[("text", "so far "), ("crashed", crashed)])
    );
    let silent = "claude ended with exit code 0; it did not say that it was done";
    assert_eq!(rig.told("say nothing").await, pairs(&[("crashed", silent)]));
}

#[tokio::test]
async fn what_it_wants_and_we_do_not_know_is_refused() {
    let rig = Rig::start().await;
    let _bob = rig.claude().await;
    assert_eq!(
        rig.told("hook").await,
        pairs(&[
            ("text", "hook_callback is not supported here "),
            ("done", "")
        ])
    );
}

#[tokio::test]
async fn it_asks_its_caller() {
    let rig = Rig::start().await;
    let _bob = rig.claude().await;
    let mut called = rig.call("ask me").await;
    let ask = called.until("ask").await;
    assert_eq!(ask["kind"], "input");
    assert_eq!(ask["text"], "Which?\n- Blue: like the sea\n- Red");
    let path = format!("/v1/calls/{}/answer", called.id);
    let body = json!({"ask_id": ask["id"], "content": "Blue"});
    assert_eq!(rig.hub.web().post(&path, body).await.0, 204);
    let told = called.told().await;
    assert_eq!(told.last().unwrap().0, "done");
    assert!(
        told.contains(&("text".to_owned(), "chosen: Blue ".to_owned())),
        "{told:?}"
    );
}

/// Asks the stand-in for its flags and environment.
async fn shown(rig: &Rig) -> Value {
    let told = rig.told("show yourself").await;
    serde_json::from_str(&told[0].1).unwrap_or_else(|error| panic!("{told:?}: {error}"))
}

fn has_flag(shown: &Value, flag: &str) -> bool {
    let flags = shown["flags"].as_array().unwrap();
    flags.iter().any(|word| word == flag)
}

#[tokio::test]
async fn it_skips_permissions_only_if_it_is_trusted() {
    let mut rig = Rig::start().await;
    let skip = "--dangerously-skip-permissions";
    let bob = rig.claude().await;
    assert!(!has_flag(&shown(&rig).await, skip));
    bob.stop().await;
    rig.is_trusted = true;
    let _bob = rig.claude().await;
    assert!(has_flag(&shown(&rig).await, skip));
    assert_eq!(
        rig.told("use a tool").await,
        pairs(&[("text", "removed "), ("done", "")])
    );
}

#[tokio::test]
async fn it_gets_the_server_by_a_file_that_is_gone_afterwards() {
    let mut rig = Rig::start().await;
    rig.mcp = Some(McpServer {
        name: "jackfield".to_owned(),
        command: "/bin/jackfield".into(),
        args: vec!["mcp".to_owned()],
        env: vec![("JACKFIELD_TOKEN_FILE".to_owned(), "/f".to_owned())],
    });
    let _bob = rig.claude().await;
    let shown = shown(&rig).await;
    let server = &shown["mcp"]["mcpServers"]["jackfield"];
    assert_eq!(server["command"], "/bin/jackfield");
    assert_eq!(server["env"]["JACKFIELD_TOKEN_FILE"], "/f");
    assert_eq!(server["env"]["JACKFIELD_AGENT"], "bob");
    assert_eq!(
        server["env"]["JACKFIELD_CALL"],
        shown["env"]["JACKFIELD_CALL"]
    );
    assert!(shown["env"]["JACKFIELD_CALL"].is_string());
    assert!(shown["env"].get("JACKFIELD_TOKEN_FILE").is_none());
    let flags = shown["flags"].as_array().unwrap();
    let at = flags
        .iter()
        .position(|word| word == "--mcp-config")
        .unwrap();
    let path = flags[at + 1].as_str().unwrap();
    assert!(!Path::new(path).exists());
}

#[tokio::test]
async fn a_cancelled_call_ends_it_and_what_it_started() {
    let rig = Rig::start().await;
    let mut bob = rig.claude().await;
    let called = rig.call("stay").await;
    let pids = rig.words_of("pids").await;
    drop(called);
    all_gone(&pids).await;
    assert!(matches!(bob.news().await, ConnectEvent::Came { .. }));
}
