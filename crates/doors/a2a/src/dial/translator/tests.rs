//! What is heard of a remote's items: nothing twice, nothing lost, in the remote's own words.

mod recalled;

use serde_json::{json, value::RawValue};

use super::*;
use crate::wire::official::A2aVersion;

/// What becomes of items, as they stand on the wire.
fn heard(
    hearing: &mut AnswerTranslator,
    version: A2aVersion,
    items: &[serde_json::Value],
) -> Vec<RemoteOutput> {
    let mut out = Vec::new();
    for item in items {
        let raw = RawValue::from_string(item.to_string()).unwrap();
        let item = version.read_item(&raw).unwrap();
        out.extend(hearing.translate(item));
    }
    out
}

fn new(items: &[serde_json::Value]) -> Vec<RemoteOutput> {
    heard(&mut AnswerTranslator::default(), A2aVersion::V10, items)
}

/// The words of the reply among what was heard.
fn reply(heard: &[RemoteOutput]) -> String {
    let words = heard.iter().map(|heard| match heard {
        RemoteOutput::Say(Event::Chunk(chunk)) if chunk.kind == ChunkKind::Text => {
            chunk.text.as_str()
        }
        _ => "",
    });
    words.collect()
}

fn end(heard: &[RemoteOutput]) -> &End {
    match heard.last() {
        Some(RemoteOutput::End(end)) => end,
        other => panic!("{other:?}"),
    }
}

fn task(state: &str, artifacts: &serde_json::Value) -> serde_json::Value {
    json!({"task": {"id": "t", "contextId": "c", "status": {"state": state}, "artifacts": artifacts}})
}

fn status(state: &str) -> serde_json::Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}})
}

fn said(id: &str, text: &str, append: bool) -> serde_json::Value {
    let artifact = json!({"artifactId": id, "name": "Report", "parts": [{"text": text}]});
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": append}})
}

#[test]
fn pieces_of_a_text_artifact_are_the_reply_as_it_grows() {
    let heard = new(&[
        task("TASK_STATE_SUBMITTED", &json!([])),
        said("a", "Hello, ", false),
        said("a", "world", true),
        status("TASK_STATE_COMPLETED"),
    ]);
    assert_eq!(reply(&heard), "Hello, world");
    assert_eq!(*end(&heard), End::done());
    let RemoteOutput::Say(Event::Chunk(chunk)) = &heard[0] else {
        panic!("{heard:?}");
    };
    let voice = crate::official::translate::chunk_artifact(chunk).unwrap();
    assert_eq!(
        (voice.id.as_str(), voice.name.as_deref()),
        ("a", Some("Report"))
    );
}

#[test]
fn after_a_cut_only_what_is_new_is_passed_on() {
    let mut hearing = AnswerTranslator::default();
    let before = [
        task("TASK_STATE_WORKING", &json!([])),
        said("a", "one two ", false),
    ];
    let mut words = reply(&heard(&mut hearing, A2aVersion::V10, &before));
    let artifacts =
        json!([{"artifactId": "a", "parts": [{"text": "one "}, {"text": "two three "}]}]);
    let after = [
        task("TASK_STATE_WORKING", &artifacts),
        said("a", "four", true),
        task(
            "TASK_STATE_COMPLETED",
            &json!([{"artifactId": "a", "parts": [{"text": "one two three four"}]}]),
        ),
    ];
    let rest = heard(&mut hearing, A2aVersion::V10, &after);
    words += &reply(&rest);
    assert_eq!(words, "one two three four");
    assert_eq!(*end(&rest), End::done());
}

#[test]
fn words_that_take_the_place_of_others_follow_them_on_a_line_of_their_own() {
    let mut hearing = AnswerTranslator::default();
    heard(&mut hearing, A2aVersion::V10, &[said("a", "one", false)]);
    let other = json!([{"artifactId": "a", "parts": [{"text": "two and more"}]}]);
    let told = heard(
        &mut hearing,
        A2aVersion::V10,
        &[task("TASK_STATE_WORKING", &other)],
    );
    assert_eq!(reply(&told), "\ntwo and more");
    // From now on these are what the artifact is.
    let more = [
        said("a", " still", true),
        said("a", "two and more still", false),
        said("a", "two and more still growing", false),
    ];
    assert_eq!(
        reply(&heard(&mut hearing, A2aVersion::V10, &more)),
        " still growing"
    );
    let data = json!([{"artifactId": "a", "parts": [{"data": {"no": "words"}}]}]);
    let told = heard(
        &mut hearing,
        A2aVersion::V10,
        &[task("TASK_STATE_WORKING", &data)],
    );
    let [RemoteOutput::Say(Event::Artifact(artifact))] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(!artifact.append && artifact.id == "a");
}

#[test]
fn the_deltas_of_agno_are_one_reply_and_its_last_task_repeats_nothing() {
    let delta = |text: &str, kind: &str| {
        json!({"kind": "message", "messageId": "m", "role": "agent", "contextId": "c", "taskId": "t",
               "parts": [{"kind": "text", "text": text}], "metadata": {"agno_content_category": kind}})
    };
    let update = |state: &str, last: bool| json!({"kind": "status-update", "taskId": "t", "contextId": "c", "final": last, "status": {"state": state}});
    let mut hearing = AnswerTranslator::default();
    let heard = heard(
        &mut hearing,
        A2aVersion::V03,
        &[
            update("working", false),
            delta("hm", "reasoning"),
            delta("Hello, ", "content"),
            delta("world", "content"),
            update("completed", true),
            json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
                   "history": [{"kind": "message", "messageId": "m", "role": "agent",
                                "parts": [{"kind": "text", "text": "Hello, world"}]}]}),
        ],
    );
    assert_eq!(reply(&heard), "Hello, world");
    let ends = heard
        .iter()
        .filter(|it| matches!(it, RemoteOutput::End(_)))
        .count();
    assert_eq!((ends, end(&heard)), (1, &End::done()));
}

#[test]
fn a_reply_that_stands_only_in_the_history_or_in_the_status_is_heard() {
    let history = json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"},
        "history": [{"messageId": "u", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
                    {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "there"}]}]}});
    assert_eq!(reply(&new(&[history])), "there");
    let said = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "done"}]});
    let status = json!({"task": {"id": "t", "contextId": "c",
        "status": {"state": "TASK_STATE_COMPLETED", "message": said}}});
    assert_eq!(reply(&new(&[status])), "done");
}

#[test]
fn files_and_data_stay_artifacts_with_all_that_is_said_of_them() {
    let artifact = json!({"artifactId": "f", "description": "a file", "metadata": {"k": 1}, "parts": [
        {"raw": "aGk=", "filename": "a.txt", "mediaType": "text/plain", "metadata": {"p": 2}},
        {"data": {"x": 1}}]});
    let heard = new(&[task("TASK_STATE_WORKING", &json!([artifact]))]);
    let [RemoteOutput::Say(Event::Artifact(made))] = heard.as_slice() else {
        panic!("{heard:?}");
    };
    assert_eq!(made.parts.len(), 2);
    let extra = made.extra.as_ref().unwrap().to_json().unwrap();
    let extra = extra.get();
    assert!(
        extra.contains("a file") && extra.contains(r#""p":2"#),
        "{extra}"
    );
}

#[test]
fn input_required_is_a_question_once_and_the_answer_lets_it_ask_again() {
    let ask = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}}}});
    let mut hearing = AnswerTranslator::default();
    let first = heard(&mut hearing, A2aVersion::V10, &[ask.clone(), ask.clone()]);
    let [RemoteOutput::Ask(question)] = first.as_slice() else {
        panic!("{first:?}");
    };
    assert_eq!(
        (question.text.as_str(), hearing.is_waiting),
        ("which?", true)
    );
    hearing.answered();
    let second = heard(&mut hearing, A2aVersion::V10, &[ask]);
    assert!(matches!(second.as_slice(), [RemoteOutput::Ask(again)] if again.id != question.id));
}

#[test]
fn ends_are_what_the_remote_says() {
    let said = |state: &str, failure: Option<&str>| {
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "why"}],
                             "metadata": {"failure": failure}});
        new(&[json!({"statusUpdate": {"taskId": "t", "contextId": "c",
                     "status": {"state": state, "message": message}}})])
    };
    let failed = |reason| End::Failed(Failure::new(reason, "why"));
    let own = Reason::Agent("failed".into());
    assert_eq!(*end(&said("TASK_STATE_FAILED", None)), failed(own));
    assert_eq!(
        *end(&said("TASK_STATE_FAILED", Some("timeout"))),
        failed(Reason::Timeout)
    );
    assert_eq!(*end(&said("TASK_STATE_CANCELED", None)), End::Cancelled);
    for (state, expected, needs_auth) in [
        ("TASK_STATE_REJECTED", DoneState::Rejected, false),
        ("TASK_STATE_AUTH_REQUIRED", DoneState::InputRequired, true),
    ] {
        let heard = said(state, None);
        let End::Done(done) = end(&heard) else {
            panic!("{heard:?}");
        };
        assert_eq!((done.state, done.needs_auth), (expected, needs_auth));
        assert_eq!(done.result.as_deref(), Some("why"));
    }
}

#[test]
fn a_bare_message_is_the_answer_when_the_stream_closes() {
    let mut hearing = AnswerTranslator::default();
    let message =
        json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]}});
    let said = heard(&mut hearing, A2aVersion::V10, &[message]);
    assert_eq!(reply(&said), "hi");
    assert!(matches!(hearing.closed(), Some(End::Done(done)) if done.is_message));
    let mut other = AnswerTranslator::default();
    heard(
        &mut other,
        A2aVersion::V10,
        &[task("TASK_STATE_WORKING", &json!([]))],
    );
    assert_eq!(other.closed(), None);
}

/// A message of the agent's that names a task, as helpers of published libraries write it.
fn named(text: &str) -> serde_json::Value {
    json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "taskId": "t", "contextId": "c", "parts": [{"text": text}]}})
}

#[test]
fn a_message_that_names_a_task_is_a_whole_answer_too() {
    let mut hearing = AnswerTranslator::default();
    let said = heard(&mut hearing, A2aVersion::V10, &[named("hi")]);
    assert_eq!(reply(&said), "hi");
    assert!(matches!(hearing.closed(), Some(End::Done(done)) if done.is_message));
    assert_eq!(hearing.closed(), None, "it ends once");
    // However the connection ends.
    let mut hearing = AnswerTranslator::default();
    heard(&mut hearing, A2aVersion::V10, &[named("hi")]);
    assert!(matches!(hearing.cut(), Some(End::Done(done)) if done.is_message));
    // Several messages are a reply in pieces, of which one may be missing.
    let mut hearing = AnswerTranslator::default();
    heard(
        &mut hearing,
        A2aVersion::V10,
        &[named("hi"), named(" there")],
    );
    assert_eq!(hearing.cut(), None);
    assert!(hearing.closed().is_some());
    // A task that works goes on after a message.
    let mut hearing = AnswerTranslator::default();
    let working = status("TASK_STATE_WORKING");
    heard(&mut hearing, A2aVersion::V10, &[working, named("hi")]);
    assert_eq!((hearing.closed(), hearing.cut()), (None, None));
}

#[test]
fn a_message_that_answers_an_answer_ends_the_task_that_asked() {
    let ask = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}}}});
    let mut hearing = AnswerTranslator::default();
    heard(&mut hearing, A2aVersion::V10, &[ask]);
    assert_eq!(hearing.closed(), None);
    hearing.answered();
    hearing.sent();
    heard(&mut hearing, A2aVersion::V10, &[named("that one")]);
    assert!(matches!(hearing.closed(), Some(End::Done(done)) if !done.is_message));
}

#[test]
fn artifacts_without_end_fail_the_call() {
    let mut hearing = AnswerTranslator::default();
    for number in 0..MAX_ARTIFACTS {
        let piece = said(&format!("a-{number}"), "x", false);
        let told = heard(&mut hearing, A2aVersion::V10, &[piece]);
        assert!(
            matches!(told.as_slice(), [RemoteOutput::Say(_)]),
            "{number}"
        );
    }
    // More of what is known is welcome.
    let more = heard(&mut hearing, A2aVersion::V10, &[said("a-0", "y", true)]);
    assert!(matches!(more.as_slice(), [RemoteOutput::Say(_)]));
    let told = heard(
        &mut hearing,
        A2aVersion::V10,
        &[said("one too many", "x", false)],
    );
    assert!(matches!(end(&told), End::Failed(failure) if failure.reason == Reason::TooLarge));
}

#[test]
fn what_comes_for_another_task_ends_the_call_and_what_comes_after_the_end_is_dropped() {
    let mut hearing = AnswerTranslator::default();
    let other = json!({"statusUpdate": {"taskId": "x", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}});
    let told = heard(
        &mut hearing,
        A2aVersion::V10,
        &[
            task("TASK_STATE_WORKING", &json!([])),
            other,
            said("a", "late", false),
        ],
    );
    assert!(
        matches!(told.as_slice(), [RemoteOutput::End(End::Failed(failure))]
        if failure.reason == Reason::Agent("invalid_agent_response".into()))
    );
}

#[test]
fn words_in_between_keep_their_kind() {
    let working = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "metadata": {"kind": "tool_start", "toolName": "ls", "toolCallId": "1"},
        "status": {"state": "TASK_STATE_WORKING", "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": ""}]}}}});
    let told = new(&[working]);
    let [RemoteOutput::Say(Event::Chunk(chunk))] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!(
        (chunk.kind, chunk.tool_name.as_deref()),
        (ChunkKind::ToolStart, Some("ls"))
    );
}

#[test]
fn a_status_that_only_says_that_it_worked_is_not_the_reply() {
    let agent =
        |text: &str| json!({"messageId": text, "role": "ROLE_AGENT", "parts": [{"text": text}]});
    let told = |said: &str| {
        let status = json!({"state": "TASK_STATE_COMPLETED", "message": agent(said)});
        let history = json!([agent("Hello")]);
        new(&[json!({"task": {"id": "t", "contextId": "c", "status": status, "history": history}})])
    };
    assert_eq!(reply(&told("Task completed successfully")), "Hello");
    assert_eq!(reply(&told("Bye")), "Bye");
}

#[test]
fn a_question_that_stands_only_in_an_artifact_is_asked() {
    let artifact =
        json!({"artifactId": "i", "parts": [{"data": {"id": "1", "value": "Which colour?"}}]});
    let made = json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact}});
    let told = new(&[made, status("TASK_STATE_INPUT_REQUIRED")]);
    assert!(matches!(told.last(), Some(RemoteOutput::Ask(ask)) if ask.text == "Which colour?"));
}

#[test]
fn the_whole_in_the_place_of_its_pieces_repeats_nothing() {
    let told = new(&[
        said("a", "Hello, ", false),
        said("a", "world", true),
        said("a", "Hello, world!", false),
        status("TASK_STATE_COMPLETED"),
    ]);
    assert_eq!(reply(&told), "Hello, world!");
    assert!(
        !told
            .iter()
            .any(|heard| matches!(heard, RemoteOutput::Say(Event::Artifact(_))))
    );
}

#[test]
fn a_question_that_was_just_answered_is_not_asked_again_unless_the_answer_may_be_lost() {
    let asks = json!({"task": {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}}}});
    let is_asked = |hearing: &mut AnswerTranslator| {
        let told = heard(hearing, A2aVersion::V10, std::slice::from_ref(&asks));
        matches!(told.as_slice(), [RemoteOutput::Ask(_)])
    };
    let mut hearing = AnswerTranslator::default();
    assert!(is_asked(&mut hearing));
    hearing.answered();
    assert!(!is_asked(&mut hearing));
    hearing.mark_answer_undelivered();
    assert!(is_asked(&mut hearing));
}
