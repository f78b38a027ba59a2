//! The hub is restarted: what the log has is not passed on again, wherever it was cut off.

use jackfield_core::store::LogItem;
use jackfield_model::Answer;

use super::*;

/// A hearing that goes on after a hub that passed on and logged these.
fn recalled(log: &[RemoteOutput]) -> AnswerTranslator {
    let mut hearing = AnswerTranslator::resumed("t".to_owned(), Some("c".to_owned()));
    for heard in log {
        hearing.replay(LogItem::Event(match heard {
            RemoteOutput::Say(event) => event.clone(),
            RemoteOutput::Ask(ask) => Event::Ask(ask.clone()),
            RemoteOutput::End(_) => panic!("nothing goes on after the end"),
        }));
    }
    hearing
}

/// What a caller has in the end: the words of the reply, all else beside it, and the parts of each artifact.
fn whole(heard: &[RemoteOutput]) -> (String, Vec<String>, Vec<(String, usize)>) {
    let mut beside = Vec::new();
    let mut artifacts: Vec<(String, usize)> = Vec::new();
    for said in heard {
        match said {
            RemoteOutput::Say(Event::Chunk(chunk)) if chunk.kind != ChunkKind::Text => {
                beside.push(format!("{} {}", chunk.kind.name(), chunk.text));
            }
            RemoteOutput::Say(Event::Artifact(made)) => {
                artifacts.retain(|(id, _)| made.append || *id != made.id);
                let count = made.parts.len();
                match artifacts.iter_mut().find(|(id, _)| *id == made.id) {
                    Some((_, parts)) => *parts += count,
                    None => artifacts.push((made.id.clone(), count)),
                }
            }
            RemoteOutput::Say(_) | RemoteOutput::Ask(_) | RemoteOutput::End(_) => {}
        }
    }
    (reply(heard), beside, artifacts)
}

fn without_end(heard: Vec<RemoteOutput>) -> Vec<RemoteOutput> {
    let is_end = |heard: &RemoteOutput| matches!(heard, RemoteOutput::End(_));
    heard.into_iter().filter(|it| !is_end(it)).collect()
}

fn word(state: &str, text: &str) -> serde_json::Value {
    json!({"state": state, "message": {"messageId": text, "role": "ROLE_AGENT", "parts": [{"text": text}]}})
}

fn file(parts: usize, append: bool) -> serde_json::Value {
    let part = json!({"raw": "aGk=", "mediaType": "image/png"});
    let artifact = json!({"artifactId": "f", "parts": vec![part; parts]});
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": append}})
}

#[test]
fn wherever_the_log_ends_the_caller_has_all_of_it_once() {
    let part = json!({"raw": "aGk=", "mediaType": "image/png"});
    let stands = json!({"task": {"id": "t", "contextId": "c", "status": word("TASK_STATE_COMPLETED", "bye"), "artifacts": [
        {"artifactId": "a", "parts": [{"text": "one two three"}]},
        {"artifactId": "f", "parts": vec![part; 3]},
        {"artifactId": "reply", "parts": [{"text": "four"}]},
    ]}});
    let all = new(&[
        task("TASK_STATE_WORKING", &json!([])),
        said("a", "one ", false),
        said("a", "two ", true),
        file(1, false),
        said("a", "three", true),
        file(2, true),
        said("reply", "fo", false),
        said("reply", "ur", true),
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": word("TASK_STATE_COMPLETED", "bye")}}),
    ]);
    let all = without_end(all);
    assert_eq!(all.len(), 8);
    for cut in 0..=all.len() {
        let mut hearing = recalled(&all[..cut]);
        let rest = heard(&mut hearing, A2aVersion::V10, std::slice::from_ref(&stands));
        assert_eq!(*end(&rest), End::done(), "cut at {cut}");
        let both = [&all[..cut], &without_end(rest)].concat();
        assert_eq!(whole(&both), whole(&all), "cut at {cut}");
    }
}

#[test]
fn the_rest_of_a_reply_that_came_in_messages_is_taken_from_the_history() {
    let delta = |text: &str| {
        json!({"kind": "message", "messageId": "m", "role": "agent", "contextId": "c", "taskId": "t",
               "parts": [{"kind": "text", "text": text}]})
    };
    let stands = json!({"kind": "task", "id": "t", "contextId": "c", "status": {"state": "completed"},
        "history": [{"kind": "message", "messageId": "m", "role": "agent",
                     "parts": [{"kind": "text", "text": "Hello, world"}]}]});
    let deltas = [delta("Hello, "), delta("world")];
    for cut in 0..=deltas.len() {
        let log = heard(
            &mut AnswerTranslator::default(),
            A2aVersion::V03,
            &deltas[..cut],
        );
        let mut hearing = recalled(&log);
        let rest = heard(&mut hearing, A2aVersion::V03, std::slice::from_ref(&stands));
        assert_eq!(reply(&[log, rest].concat()), "Hello, world");
    }
}

/// The log does not tell where the other text began.
#[test]
fn a_text_that_had_taken_the_place_of_another_is_told_once_more() {
    let log = new(&[said("a", "one", false), said("a", "two", false)]);
    assert_eq!(reply(&log), "one\ntwo");
    let artifact = json!([{"artifactId": "a", "parts": [{"text": "two three"}]}]);
    let stands = task("TASK_STATE_COMPLETED", &artifact);
    let mut hearing = recalled(&log);
    let rest = heard(&mut hearing, A2aVersion::V10, &[stands.clone(), stands]);
    assert_eq!(reply(&rest), "\ntwo three");
}

#[test]
fn a_word_that_stands_in_the_status_is_told_once_however_often_the_task_is_looked_at() {
    let stands = |text: &str| json!({"task": {"id": "t", "contextId": "c", "status": word("TASK_STATE_WORKING", text)}});
    let told = new(&[stands("busy"), stands("busy"), stands("still busy")]);
    assert_eq!(whole(&told).1, ["status busy", "status still busy"]);
    let again = heard(
        &mut recalled(&told),
        A2aVersion::V10,
        &[stands("still busy")],
    );
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn pieces_that_the_server_joined_are_found_again() {
    let piece = |parts: serde_json::Value, append: bool| {
        let artifact = json!({"artifactId": "m", "parts": parts});
        json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": append}})
    };
    let file = json!({"raw": "aGk=", "mediaType": "image/png"});
    let log = new(&[
        piece(json!([file]), false),
        piece(json!([{"text": "one "}]), true),
        piece(json!([{"text": "two "}]), true),
    ]);
    let text = |heard: &[RemoteOutput]| -> String {
        let parts = heard.iter().flat_map(|heard| match heard {
            RemoteOutput::Say(Event::Artifact(made)) => made.parts.clone(),
            other => panic!("{other:?}"),
        });
        let texts = parts.map(|part| match part {
            event::Part::Text(text) => text,
            other => panic!("{other:?}"),
        });
        texts.collect()
    };
    for parts in [
        json!([file, {"text": "one two three"}]),
        json!([file, {"text": "one "}, {"text": "two "}, {"text": "three"}]),
    ] {
        let artifact = json!([{"artifactId": "m", "parts": parts}]);
        let stands = task("TASK_STATE_WORKING", &artifact);
        let mut hearing = recalled(&log);
        let rest = heard(&mut hearing, A2aVersion::V10, &[stands.clone(), stands]);
        assert_eq!(text(&rest), "three", "{parts}");
    }
}

#[test]
fn a_status_text_of_an_earlier_turn_is_told_again_in_the_next() {
    let stands = json!({"task": {"id": "t", "contextId": "c", "status": word("TASK_STATE_WORKING", "busy")}});
    let mut hearing = recalled(&new(std::slice::from_ref(&stands)));
    hearing.replay(LogItem::Message(event::Message::text("go on")));
    let told = heard(&mut hearing, A2aVersion::V10, &[stands]);
    assert_eq!(whole(&told).1, ["status busy"]);
}

#[test]
fn a_status_text_that_equals_the_reply_is_told() {
    let reply = json!({"message": {"messageId": "m", "role": "ROLE_AGENT", "taskId": "t", "contextId": "c", "parts": [{"text": "busy"}]}});
    let stands = json!({"task": {"id": "t", "contextId": "c", "status": word("TASK_STATE_WORKING", "busy")}});
    let log = new(&[reply]);
    let told = heard(&mut recalled(&log), A2aVersion::V10, &[stands]);
    assert_eq!(whole(&told).1, ["status busy"]);
    // At the end it is the reply again, which was forwarded.
    let ended = json!({"task": {"id": "t", "contextId": "c", "status": word("TASK_STATE_COMPLETED", "busy")}});
    let told = heard(&mut recalled(&log), A2aVersion::V10, &[ended]);
    assert_eq!(told, [RemoteOutput::End(End::done())]);
}

#[test]
fn a_question_of_before_is_not_asked_again_and_the_next_one_has_another_id() {
    let stands = |text: &str| json!({"task": {"id": "t", "contextId": "c", "status": word("TASK_STATE_INPUT_REQUIRED", text)}});
    let log = new(&[stands("which?")]);
    let mut hearing = recalled(&log);
    assert!(hearing.is_waiting());
    assert!(heard(&mut hearing, A2aVersion::V10, &[stands("which?")]).is_empty());
    hearing.answered();
    assert!(
        heard(&mut hearing, A2aVersion::V10, &[stands("which?")]).is_empty(),
        "some show the task as it stood before they go on"
    );
    let next = heard(&mut hearing, A2aVersion::V10, &[stands("and why?")]);
    assert!(matches!(next.as_slice(), [RemoteOutput::Ask(ask)] if ask.id == "input-2"));
    let mut hearing = recalled(&log);
    hearing.replay(LogItem::Answer("input-1".to_owned(), Answer::default()));
    let again = heard(&mut hearing, A2aVersion::V10, &[stands("which?")]);
    assert!(
        matches!(again.as_slice(), [RemoteOutput::Ask(_)]),
        "the answer may be lost"
    );
}
