//! Claude Code, simulated by a stand-in that prints the documented lines; the real program can't run in tests.

use std::path::Path;

use jackfield_connect::{ConnectEvent, McpServer};
use serde_json::{Value, json};

use crate::drive::fixture::{Fixture, pairs, wait_all_exited};

#[tokio::test]
async fn every_kind_arrives_in_order_with_what_it_cost() {
    let fixture = Fixture::start().await;
    let _bob = fixture.claude().await;
    let mut open_call = fixture.call("all kinds").await;
    let events = open_call.events.rest().await;
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
    let fixture = Fixture::start().await;
    let bob = fixture.claude().await;
    fixture.transcript("one").await;
    let transcript = fixture.transcript("what did I say?").await;
    assert_eq!(transcript, pairs(&[("text", "before: one "), ("done", "")]));
    bob.stop().await;
    let _again = fixture.claude().await;
    let transcript = fixture.transcript("what did I say?").await;
    assert_eq!(
        transcript,
        pairs(&[("text", "before: one, what did I say? "), ("done", "")])
    );
    let other = json!({"text": "what did I say?", "session": "s-2"});
    let transcript = fixture.call_with(other).await.transcript().await;
    assert_eq!(transcript, pairs(&[("text", "before:  "), ("done", "")]));
}

#[tokio::test]
async fn a_conversation_that_it_forgot_begins_anew_and_once() {
    let fixture = Fixture::start().await;
    let _bob = fixture.claude().await;
    fixture.transcript("one").await;
    std::fs::remove_file(fixture.project().join(".stand-in-memory.json")).unwrap();
    let transcript = fixture.transcript("two").await;
    let [(kind, words), rest @ ..] = &transcript[..] else {
        panic!("{transcript:?}")
    };
    assert_eq!(kind, "status");
    assert!(words.contains("begins a new one"), "{words}");
    assert_eq!(rest, pairs(&[("text", "you said two "), ("done", "")]));
    assert_eq!(
        fixture.transcript("what did I say?").await,
        pairs(&[("text", "before: two "), ("done", "")])
    );
}

#[tokio::test]
async fn it_fails_in_its_own_words_and_crashes_in_ours() {
    let fixture = Fixture::start().await;
    let _bob = fixture.claude().await;
    assert_eq!(
        fixture.transcript("fail").await,
        pairs(&[("agent_error", "Credit balance is too low")])
    );
    let crashed = "claude ended with exit code 3: no key; it did not say that it was done";
    assert_eq!(
        fixture.transcript("crash").await,
        pairs(&[("text", "so far "), ("crashed", crashed)])
    );
    let silent = "claude ended with exit code 0; it did not say that it was done";
    assert_eq!(
        fixture.transcript("say nothing").await,
        pairs(&[("crashed", silent)])
    );
}

#[tokio::test]
async fn what_it_wants_and_we_do_not_know_is_refused() {
    let fixture = Fixture::start().await;
    let _bob = fixture.claude().await;
    assert_eq!(
        fixture.transcript("hook").await,
        pairs(&[
            ("text", "hook_callback is not supported here "),
            ("done", "")
        ])
    );
}

#[tokio::test]
async fn it_asks_its_caller() {
    let fixture = Fixture::start().await;
    let _bob = fixture.claude().await;
    let mut open_call = fixture.call("ask me").await;
    let ask = open_call.until("ask").await;
    assert_eq!(ask["kind"], "input");
    assert_eq!(ask["text"], "Which?\n- Blue: like the sea\n- Red");
    let path = format!("/v1/calls/{}/answer", open_call.id);
    let body = json!({"ask_id": ask["id"], "content": "Blue"});
    assert_eq!(fixture.hub.web().post(&path, body).await.0, 204);
    let transcript = open_call.transcript().await;
    assert_eq!(transcript.last().unwrap().0, "done");
    assert!(
        transcript.contains(&("text".to_owned(), "chosen: Blue ".to_owned())),
        "{transcript:?}"
    );
}

/// Asks the stand-in for its flags and environment.
async fn stand_in_state(fixture: &Fixture) -> Value {
    let transcript = fixture.transcript("show yourself").await;
    serde_json::from_str(&transcript[0].1).unwrap_or_else(|error| panic!("{transcript:?}: {error}"))
}

fn has_flag(state: &Value, flag: &str) -> bool {
    let flags = state["flags"].as_array().unwrap();
    flags.iter().any(|flag_at| flag_at == flag)
}

#[tokio::test]
async fn it_skips_permissions_only_if_it_is_trusted() {
    let mut fixture = Fixture::start().await;
    let skip = "--dangerously-skip-permissions";
    let bob = fixture.claude().await;
    assert!(!has_flag(&stand_in_state(&fixture).await, skip));
    bob.stop().await;
    fixture.is_trusted = true;
    let _bob = fixture.claude().await;
    assert!(has_flag(&stand_in_state(&fixture).await, skip));
    assert_eq!(
        fixture.transcript("use a tool").await,
        pairs(&[("text", "removed "), ("done", "")])
    );
}

#[tokio::test]
async fn it_gets_the_server_by_a_file_that_is_gone_afterwards() {
    let mut fixture = Fixture::start().await;
    fixture.mcp = Some(McpServer {
        name: "jackfield".to_owned(),
        command: "/bin/jackfield".into(),
        args: vec!["mcp".to_owned()],
        env: vec![("JACKFIELD_TOKEN_FILE".to_owned(), "/f".to_owned())],
    });
    let _bob = fixture.claude().await;
    let state = stand_in_state(&fixture).await;
    let server = &state["mcp"]["mcpServers"]["jackfield"];
    assert_eq!(server["command"], "/bin/jackfield");
    assert_eq!(server["env"]["JACKFIELD_TOKEN_FILE"], "/f");
    assert_eq!(server["env"]["JACKFIELD_AGENT"], "bob");
    assert_eq!(
        server["env"]["JACKFIELD_CALL"],
        state["env"]["JACKFIELD_CALL"]
    );
    assert!(state["env"]["JACKFIELD_CALL"].is_string());
    assert!(state["env"].get("JACKFIELD_TOKEN_FILE").is_none());
    let flags = state["flags"].as_array().unwrap();
    let at = flags
        .iter()
        .position(|flag_at| flag_at == "--mcp-config")
        .unwrap();
    let path = flags[at + 1].as_str().unwrap();
    assert!(!Path::new(path).exists());
}

#[tokio::test]
async fn a_cancelled_call_ends_it_and_what_it_started() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.claude().await;
    let open_call = fixture.call("stay").await;
    let pids = fixture.wait_for_words("pids").await;
    drop(open_call);
    wait_all_exited(&pids).await;
    assert!(matches!(bob.next_event().await, ConnectEvent::Came { .. }));
}
