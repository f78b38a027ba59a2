//! Arbitrary commands: their output, their exit status, and their child processes.

use std::time::Duration;

use jackfield_connect::{ConnectEvent, MessageOutcome, drivers::exec::Format, queue::QueueLimits};
use serde_json::{Value, json};

use crate::drive::fixture::{Fixture, is_running, pairs, wait_all_exited};

#[tokio::test]
async fn the_prompt_is_its_input_and_its_output_the_answer() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell("echo working >&2; tr a-z A-Z").await;
    let mut transcript = fixture.transcript("hello").await;
    // Standard output and standard error may arrive in any order.
    transcript.sort();
    assert_eq!(
        transcript,
        pairs(&[("done", ""), ("status", "working"), ("text", "HELLO")])
    );
}

#[tokio::test]
async fn the_prompt_can_be_an_argument() {
    let fixture = Fixture::start().await;
    let _bob = fixture
        .command(&["printf", "%s|", "say {prompt}!", "x"], Format::Text)
        .await;
    assert_eq!(
        fixture.transcript("a b; c").await,
        pairs(&[("text", "say a b; c!|x|"), ("done", "")])
    );
}

#[tokio::test]
async fn a_caller_cannot_say_an_option_to_the_command() {
    let fixture = Fixture::start().await;
    std::fs::write(fixture.project().join("notes.txt"), "-r is an option\n").unwrap();
    std::fs::write(fixture.project().join("private.txt"), "a secret\n").unwrap();
    let bob = fixture
        .command(&["grep", "-h", "{prompt}", "notes.txt"], Format::Text)
        .await;
    let transcript = fixture.transcript("-r").await;
    assert_eq!(
        (&*transcript[0].0, transcript.len()),
        ("invalid_message", 1),
        "{transcript:?}"
    );
    assert!(
        transcript[0].1.contains("put -- before {prompt}"),
        "{transcript:?}"
    );
    let found = pairs(&[("text", "-r is an option\n"), ("done", "")]);
    assert_eq!(fixture.transcript("is an").await, found);
    bob.stop().await;
    // Any text is safe as an argument after the end of options.
    let _bob = fixture
        .command(&["grep", "-h", "--", "{prompt}", "notes.txt"], Format::Text)
        .await;
    assert_eq!(fixture.transcript("-r").await, found);
}

#[tokio::test]
async fn it_knows_for_whom_it_works() {
    let fixture = Fixture::start().await;
    let _bob = fixture
        .shell("echo $JACKFIELD_AGENT $JACKFIELD_SESSION $JACKFIELD_HUB $JACKFIELD_CALL; pwd")
        .await;
    let open_call = fixture.call("x").await;
    let (call, hub) = (open_call.id.clone(), fixture.hub.url(""));
    let project = fixture.project().canonicalize().unwrap();
    let expected = format!("bob s-1 {hub} {call}\n{}\n", project.display());
    assert_eq!(
        open_call.transcript().await,
        pairs(&[("text", &expected), ("done", "")])
    );
}

#[tokio::test]
async fn a_crash_is_told_with_its_code_and_its_last_words() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.shell("echo so far; echo no key >&2; exit 3").await;
    let transcript = fixture.transcript("x").await;
    assert_eq!(
        transcript.last(),
        Some(&(
            "crashed".to_owned(),
            "the command ended with exit code 3: no key".to_owned()
        ))
    );
    assert!(transcript.contains(&("text".to_owned(), "so far\n".to_owned())));
    assert!(matches!(bob.next_event().await, ConnectEvent::Came { .. }));
    let ConnectEvent::Ended { how, .. } = bob.next_event().await else {
        panic!("no end")
    };
    assert!(matches!(how, MessageOutcome::Failed(failure) if failure.code == "adapter_crash"));
}

#[tokio::test]
async fn a_command_that_ends_at_once_and_reads_nothing_is_done() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell("exit 0").await;
    let long = "x".repeat(1 << 20);
    assert_eq!(fixture.transcript(&long).await, pairs(&[("done", "")]));
}

#[tokio::test]
async fn what_is_no_utf8_is_replaced() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell(r"printf 'a\377b\303'; printf '\244'").await;
    assert_eq!(
        fixture.transcript("x").await,
        pairs(&[("text", "a\u{fffd}b\u{e4}"), ("done", "")])
    );
}

#[tokio::test]
async fn a_hundred_mebibytes_in_one_line_are_left_out_and_said_to_be() {
    let fixture = Fixture::start().await;
    let script = r#"head -c 104857600 /dev/zero | tr '\0' x; echo; echo '{"text":"after"}'"#;
    let _bob = fixture.exec(script, Format::Jsonl).await;
    let transcript = fixture.transcript("x").await;
    let [(status, words), rest @ ..] = &transcript[..] else {
        panic!("{transcript:?}")
    };
    assert_eq!(status, "status");
    assert!(words.contains("104857600 bytes"), "{words}");
    assert_eq!(rest, pairs(&[("text", "after"), ("done", "")]));
}

/// Writes its own process id and a child's, then waits forever.
const STAYS: &str = "sleep 1000 & echo $$ $! >pids.new; mv pids.new pids; echo here; wait";

#[tokio::test]
async fn a_cancelled_call_ends_it_and_what_it_started() {
    let fixture = Fixture::start().await;
    let mut bob = fixture.shell(STAYS).await;
    let mut open_call = fixture.call("x").await;
    assert_eq!(open_call.until("chunk").await["text"], "here\n");
    let pids = fixture.wait_for_words("pids").await;
    assert!(pids.len() == 2 && pids.iter().all(|pid| is_running(pid)));
    let path = format!("/v1/calls/{}/cancel", open_call.id);
    fixture.hub.web().post(&path, json!({})).await;
    open_call.until("cancelled").await;
    wait_all_exited(&pids).await;
    assert!(matches!(bob.next_event().await, ConnectEvent::Came { .. }));
    let ended = bob.next_event().await;
    assert!(
        matches!(
            &ended,
            ConnectEvent::Ended {
                how: MessageOutcome::Cancelled,
                ..
            }
        ),
        "{ended:?}"
    );
}

#[tokio::test]
async fn a_caller_who_leaves_cancels_it() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell(STAYS).await;
    let mut open_call = fixture.call("x").await;
    open_call.until("chunk").await;
    let pids = fixture.wait_for_words("pids").await;
    drop(open_call);
    wait_all_exited(&pids).await;
}

#[tokio::test]
async fn a_command_that_never_ends_is_ended_by_the_hubs_clock() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell(STAYS).await;
    let body = json!({"text": "x", "timeout": "1s"});
    let transcript = fixture.call_with(body).await.transcript().await;
    assert_eq!(transcript.last().unwrap().0, "timeout", "{transcript:?}");
    wait_all_exited(&fixture.wait_for_words("pids").await).await;
}

#[tokio::test]
async fn when_the_agent_leaves_nothing_of_it_is_left() {
    let fixture = Fixture::start().await;
    let bob = fixture.shell(STAYS).await;
    let mut open_call = fixture.call("x").await;
    open_call.until("chunk").await;
    let pids = fixture.wait_for_words("pids").await;
    bob.stop().await;
    assert!(!pids.iter().any(|pid| is_running(pid)), "it waits for them");
    assert_eq!(open_call.transcript().await.last().unwrap().0, "offline");
}

#[tokio::test]
async fn children_that_outlive_the_command_end_with_it() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell("sleep 1000 & echo $! >pids; echo done").await;
    assert_eq!(
        fixture.transcript("x").await,
        pairs(&[("text", "done\n"), ("done", "")])
    );
    wait_all_exited(&fixture.wait_for_words("pids").await).await;
}

/// Reads the message; prints chunks, a question and its answer as lines of JSON.
const TALKS: &str = r#"
read -r message
echo '{"kind":"thinking","text":"hm"}'
echo '{"kind":"tool_start","tool_name":"look","tool_call_id":"t1"}'
echo '{"kind":"tool_input","tool_call_id":"t1","text":"{}"}'
echo '{"kind":"tool_result","tool_call_id":"t1","text":"seen"}'
echo 'not json'
echo '{"kind":"ask","text":"which one?"}'
read -r answer
echo "{\"text\":\"$(echo "$answer" | tr -d '\"')\"}"
echo '{"kind":"session","id":"mine"}'
echo '{"kind":"usage","usage":{"tokens":3}}'
"#;

#[tokio::test]
async fn lines_of_json_say_everything_and_ask() {
    let fixture = Fixture::start().await;
    let _bob = fixture.exec(TALKS, Format::Jsonl).await;
    let mut open_call = fixture.call("x").await;
    let mut before = Vec::new();
    let ask = loop {
        let event = open_call.events.next().await;
        if event["type"] == "ask" {
            break event;
        }
        before.push((event["kind"].clone(), event["text"].clone()));
    };
    let kinds: Vec<_> = before
        .iter()
        .map(|(kind, _)| kind.as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "thinking",
            "tool_start",
            "tool_input",
            "tool_result",
            "status"
        ]
    );
    assert_eq!(ask["text"], "which one?");
    let path = format!("/v1/calls/{}/answer", open_call.id);
    let body = json!({"ask_id": ask["id"], "content": "blue"});
    assert_eq!(fixture.hub.web().post(&path, body).await.0, 204);
    let done = open_call.until("done").await;
    assert_eq!(done["usage"], json!({"tokens": 3}));
}

#[tokio::test]
async fn it_gets_the_name_that_it_gave_the_conversation_with_the_next_message() {
    let fixture = Fixture::start().await;
    let script = r#"read -r m; echo '{"kind":"session","id":"mine"}'; echo "$m""#;
    // Prefixed with `#`, the message is no chunk object of a known kind, so callers see the line as
    // status.
    let script = format!("{script} | sed 's/^/#/'");
    let native = |transcript: Vec<(String, String)>| -> Value {
        let line = transcript
            .iter()
            .find(|(kind, _)| kind == "status")
            .unwrap();
        let message: Value = serde_json::from_str(line.1.trim_start_matches('#')).unwrap();
        assert_eq!(message["kind"], "message");
        message["native_session"].clone()
    };
    let bob = fixture.exec(&script, Format::Jsonl).await;
    assert_eq!(native(fixture.transcript("x").await), Value::Null);
    assert_eq!(native(fixture.transcript("x").await), "mine");
    bob.stop().await;
    let _again = fixture.exec(&script, Format::Jsonl).await;
    assert_eq!(native(fixture.transcript("x").await), "mine");
}

#[tokio::test]
async fn messages_of_one_conversation_are_worked_on_one_after_another() {
    let fixture = Fixture::start().await;
    let script = "mkdir busy || exit 9; until [ -e go ]; do sleep 0.02; done; rmdir busy; cat";
    let _bob = fixture.shell(script).await;
    let first = fixture.call("one").await;
    let mut second = fixture.call("two").await;
    let waiting = second.until("chunk").await;
    assert_eq!(waiting["kind"], "status");
    assert!(waiting["text"].as_str().unwrap().contains("waiting"));
    std::fs::write(fixture.project().join("go"), "").unwrap();
    assert_eq!(
        first.transcript().await,
        pairs(&[("text", "one"), ("done", "")])
    );
    assert_eq!(
        second.transcript().await,
        pairs(&[("text", "two"), ("done", "")])
    );
}

#[tokio::test]
async fn a_busy_machine_lets_wait_and_a_full_one_says_so() {
    let mut fixture = Fixture::start().await;
    fixture.limits = QueueLimits {
        active: 1,
        waiting: 1,
        patience: Duration::from_secs(60),
    };
    let _bob = fixture
        .shell("echo in; until [ -e go ]; do sleep 0.02; done; cat")
        .await;
    let call = async |text: &str| {
        fixture
            .call_with(json!({"text": text, "session": text}))
            .await
    };
    let mut first = call("one").await;
    first.until("chunk").await;
    let mut second = call("two").await;
    assert_eq!(
        second.until("chunk").await["text"],
        "waiting for a free place"
    );
    let third = call("three").await.transcript().await;
    assert_eq!(third.last().unwrap().0, "busy", "{third:?}");
    std::fs::write(fixture.project().join("go"), "").unwrap();
    assert_eq!(first.transcript().await.last().unwrap().0, "done");
    assert_eq!(
        second.transcript().await,
        pairs(&[("text", "in\ntwo"), ("done", "")])
    );
}

#[tokio::test]
async fn files_that_come_with_a_message_are_there() {
    let fixture = Fixture::start().await;
    let _bob = fixture.shell("cat; cat .attachments/*/note.txt").await;
    let file = json!({"file": {"name": "note.txt", "bytes": "aGVsbG8="}});
    let body = json!({"text": "read it", "parts": [file]});
    let transcript = fixture.call_with(body).await.transcript().await;
    assert_eq!(transcript.last().unwrap().0, "done", "{transcript:?}");
    let text = &transcript[0].1;
    assert!(
        text.starts_with("read it") && text.ends_with("note.txthello"),
        "{transcript:?}"
    );
}
