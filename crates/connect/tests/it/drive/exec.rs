//! Arbitrary commands: their output, their exit status, and their child processes.

use std::time::Duration;

use jackfield_connect::{ConnectEvent, MessageOutcome, drivers::exec::Format, queue::QueueLimits};
use serde_json::{Value, json};

use crate::drive::rig::{Rig, all_gone, pairs, runs};

#[tokio::test]
async fn the_prompt_is_its_input_and_its_output_the_answer() {
    let rig = Rig::start().await;
    let _bob = rig.shell("echo working >&2; tr a-z A-Z").await;
    let mut told = rig.told("hello").await;
    // Standard output and standard error may arrive in any order.
    told.sort();
    assert_eq!(
        told,
        pairs(&[("done", ""), ("status", "working"), ("text", "HELLO")])
    );
}

#[tokio::test]
async fn the_prompt_can_be_an_argument() {
    let rig = Rig::start().await;
    let _bob = rig
        .command(&["printf", "%s|", "say {prompt}!", "x"], Format::Text)
        .await;
    assert_eq!(
        rig.told("a b; c").await,
        pairs(&[("text", "say a b; c!|x|"), ("done", "")])
    );
}

#[tokio::test]
async fn a_caller_cannot_say_an_option_to_the_command() {
    let rig = Rig::start().await;
    std::fs::write(rig.project().join("notes.txt"), "-r is an option\n").unwrap();
    std::fs::write(rig.project().join("private.txt"), "a secret\n").unwrap();
    let bob = rig
        .command(&["grep", "-h", "{prompt}", "notes.txt"], Format::Text)
        .await;
    let told = rig.told("-r").await;
    assert_eq!(
        (&*told[0].0, told.len()),
        ("invalid_message", 1),
        "{told:?}"
    );
    assert!(told[0].1.contains("put -- before {prompt}"), "{told:?}");
    let found = pairs(&[("text", "-r is an option\n"), ("done", "")]);
    assert_eq!(rig.told("is an").await, found);
    bob.stop().await;
    // Any text is safe as an argument after the end of options.
    let _bob = rig
        .command(&["grep", "-h", "--", "{prompt}", "notes.txt"], Format::Text)
        .await;
    assert_eq!(rig.told("-r").await, found);
}

#[tokio::test]
async fn it_knows_for_whom_it_works() {
    let rig = Rig::start().await;
    let _bob = rig
        .shell("echo $JACKFIELD_AGENT $JACKFIELD_SESSION $JACKFIELD_HUB $JACKFIELD_CALL; pwd")
        .await;
    let called = rig.call("x").await;
    let (call, hub) = (called.id.clone(), rig.hub.url(""));
    let project = rig.project().canonicalize().unwrap();
    let expected = format!("bob s-1 {hub} {call}\n{}\n", project.display());
    assert_eq!(
        called.told().await,
        pairs(&[("text", &expected), ("done", "")])
    );
}

#[tokio::test]
async fn a_crash_is_told_with_its_code_and_its_last_words() {
    let rig = Rig::start().await;
    let mut bob = rig.shell("echo so far; echo no key >&2; exit 3").await;
    let told = rig.told("x").await;
    assert_eq!(
        told.last(),
        Some(&(
            "crashed".to_owned(),
            "the command ended with exit code 3: no key".to_owned()
        ))
    );
    assert!(told.contains(&("text".to_owned(), "so far\n".to_owned())));
    assert!(matches!(bob.news().await, ConnectEvent::Came { .. }));
    let ConnectEvent::Ended { how, .. } = bob.news().await else {
        panic!("no end")
    };
    assert!(matches!(how, MessageOutcome::Failed(failure) if failure.code == "adapter_crash"));
}

#[tokio::test]
async fn a_command_that_ends_at_once_and_reads_nothing_is_done() {
    let rig = Rig::start().await;
    let _bob = rig.shell("exit 0").await;
    let long = "x".repeat(1 << 20);
    assert_eq!(rig.told(&long).await, pairs(&[("done", "")]));
}

#[tokio::test]
async fn what_is_no_utf8_is_replaced() {
    let rig = Rig::start().await;
    let _bob = rig.shell(r"printf 'a\377b\303'; printf '\244'").await;
    assert_eq!(
        rig.told("x").await,
        pairs(&[("text", "a\u{fffd}b\u{e4}"), ("done", "")])
    );
}

#[tokio::test]
async fn a_hundred_mebibytes_in_one_line_are_left_out_and_said_to_be() {
    let rig = Rig::start().await;
    let script = r#"head -c 104857600 /dev/zero | tr '\0' x; echo; echo '{"text":"after"}'"#;
    let _bob = rig.exec(script, Format::Jsonl).await;
    let told = rig.told("x").await;
    let [(status, words), rest @ ..] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(status, "status");
    assert!(words.contains("104857600 bytes"), "{words}");
    assert_eq!(rest, pairs(&[("text", "after"), ("done", "")]));
}

/// Writes its own process id and a child's, then waits forever.
const STAYS: &str = "sleep 1000 & echo $$ $! >pids.new; mv pids.new pids; echo here; wait";

#[tokio::test]
async fn a_cancelled_call_ends_it_and_what_it_started() {
    let rig = Rig::start().await;
    let mut bob = rig.shell(STAYS).await;
    let mut called = rig.call("x").await;
    assert_eq!(called.until("chunk").await["text"], "here\n");
    let pids = rig.words_of("pids").await;
    assert!(pids.len() == 2 && pids.iter().all(|pid| runs(pid)));
    let path = format!("/v1/calls/{}/cancel", called.id);
    rig.hub.web().post(&path, json!({})).await;
    called.until("cancelled").await;
    all_gone(&pids).await;
    assert!(matches!(bob.news().await, ConnectEvent::Came { .. }));
    let ended = bob.news().await;
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
    let rig = Rig::start().await;
    let _bob = rig.shell(STAYS).await;
    let mut called = rig.call("x").await;
    called.until("chunk").await;
    let pids = rig.words_of("pids").await;
    drop(called);
    all_gone(&pids).await;
}

#[tokio::test]
async fn a_command_that_never_ends_is_ended_by_the_hubs_clock() {
    let rig = Rig::start().await;
    let _bob = rig.shell(STAYS).await;
    let body = json!({"text": "x", "timeout": "1s"});
    let told = rig.call_with(body).await.told().await;
    assert_eq!(told.last().unwrap().0, "timeout", "{told:?}");
    all_gone(&rig.words_of("pids").await).await;
}

#[tokio::test]
async fn when_the_agent_leaves_nothing_of_it_is_left() {
    let rig = Rig::start().await;
    let bob = rig.shell(STAYS).await;
    let mut called = rig.call("x").await;
    called.until("chunk").await;
    let pids = rig.words_of("pids").await;
    bob.stop().await;
    assert!(!pids.iter().any(|pid| runs(pid)), "it waits for them");
    assert_eq!(called.told().await.last().unwrap().0, "offline");
}

#[tokio::test]
async fn children_that_outlive_the_command_end_with_it() {
    let rig = Rig::start().await;
    let _bob = rig.shell("sleep 1000 & echo $! >pids; echo done").await;
    assert_eq!(
        rig.told("x").await,
        pairs(&[("text", "done\n"), ("done", "")])
    );
    all_gone(&rig.words_of("pids").await).await;
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
    let rig = Rig::start().await;
    let _bob = rig.exec(TALKS, Format::Jsonl).await;
    let mut called = rig.call("x").await;
    let mut before = Vec::new();
    let ask = loop {
        let event = called.events.next().await;
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
    let path = format!("/v1/calls/{}/answer", called.id);
    let body = json!({"ask_id": ask["id"], "content": "blue"});
    assert_eq!(rig.hub.web().post(&path, body).await.0, 204);
    let done = called.until("done").await;
    assert_eq!(done["usage"], json!({"tokens": 3}));
}

#[tokio::test]
async fn it_gets_the_name_that_it_gave_the_conversation_with_the_next_message() {
    let rig = Rig::start().await;
    let script = r#"read -r m; echo '{"kind":"session","id":"mine"}'; echo "$m""#;
    // Prefixed with `#`, the message is no chunk object of a known kind, so callers see the line as
    // status.
    let script = format!("{script} | sed 's/^/#/'");
    let native = |told: Vec<(String, String)>| -> Value {
        let line = told.iter().find(|(kind, _)| kind == "status").unwrap();
        let message: Value = serde_json::from_str(line.1.trim_start_matches('#')).unwrap();
        assert_eq!(message["kind"], "message");
        message["native_session"].clone()
    };
    let bob = rig.exec(&script, Format::Jsonl).await;
    assert_eq!(native(rig.told("x").await), Value::Null);
    assert_eq!(native(rig.told("x").await), "mine");
    bob.stop().await;
    let _again = rig.exec(&script, Format::Jsonl).await;
    assert_eq!(native(rig.told("x").await), "mine");
}

#[tokio::test]
async fn messages_of_one_conversation_are_worked_on_one_after_another() {
    let rig = Rig::start().await;
    let script = "mkdir busy || exit 9; until [ -e go ]; do sleep 0.02; done; rmdir busy; cat";
    let _bob = rig.shell(script).await;
    let first = rig.call("one").await;
    let mut second = rig.call("two").await;
    let waiting = second.until("chunk").await;
    assert_eq!(waiting["kind"], "status");
    assert!(waiting["text"].as_str().unwrap().contains("waiting"));
    std::fs::write(rig.project().join("go"), "").unwrap();
    assert_eq!(first.told().await, pairs(&[("text", "one"), ("done", "")]));
    assert_eq!(second.told().await, pairs(&[("text", "two"), ("done", "")]));
}

#[tokio::test]
async fn a_busy_machine_lets_wait_and_a_full_one_says_so() {
    let mut rig = Rig::start().await;
    rig.limits = QueueLimits {
        active: 1,
        waiting: 1,
        patience: Duration::from_secs(60),
    };
    let _bob = rig
        .shell("echo in; until [ -e go ]; do sleep 0.02; done; cat")
        .await;
    let call = async |text: &str| rig.call_with(json!({"text": text, "session": text})).await;
    let mut first = call("one").await;
    first.until("chunk").await;
    let mut second = call("two").await;
    assert_eq!(
        second.until("chunk").await["text"],
        "waiting for a free place"
    );
    let third = call("three").await.told().await;
    assert_eq!(third.last().unwrap().0, "busy", "{third:?}");
    std::fs::write(rig.project().join("go"), "").unwrap();
    assert_eq!(first.told().await.last().unwrap().0, "done");
    assert_eq!(
        second.told().await,
        pairs(&[("text", "in\ntwo"), ("done", "")])
    );
}

#[tokio::test]
async fn files_that_come_with_a_message_are_there() {
    let rig = Rig::start().await;
    let _bob = rig.shell("cat; cat .attachments/*/note.txt").await;
    let file = json!({"file": {"name": "note.txt", "bytes": "aGVsbG8="}});
    let body = json!({"text": "read it", "parts": [file]});
    let told = rig.call_with(body).await.told().await;
    assert_eq!(told.last().unwrap().0, "done", "{told:?}");
    let text = &told[0].1;
    assert!(
        text.starts_with("read it") && text.ends_with("note.txthello"),
        "{told:?}"
    );
}
