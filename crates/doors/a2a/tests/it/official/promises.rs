//! What the hub promises beyond the protocol's letter: a message under a key runs once, one that finds nobody is a task
//! all the same, questions of a running agent are answered, and whoever follows a task stays to its end.

use jackfield_model::{Ask, AskKind, Event};
use serde_json::{Value, json};

use crate::official::harness::{
    A2aHub, ECHO, all_of, answer, answered, ask_for_more, stream_of, told,
};

/// A message of version 1.0 by REST.
fn message(text: &str) -> String {
    json!({"message": {"messageId": "m-1", "role": "ROLE_USER", "parts": [{"text": text}]}})
        .to_string()
}

/// The same for a task.
fn message_for(task: &Value, text: &str) -> String {
    let parts = [json!({"text": text})];
    json!({"message": {"messageId": "m-2", "taskId": task, "role": "ROLE_USER", "parts": parts}})
        .to_string()
}

const SEND: &str = "/a2a/agents/echo/message:send";

#[tokio::test]
async fn a_message_that_is_repeated_under_its_key_runs_once() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let keyed = |text: &str| {
        told(
            hub.request(SEND, message(text))
                .header("Idempotency-Key", "k-1"),
        )
    };
    // Both are on their way before the agent answers.
    let ((_, first), (_, second), ()) =
        tokio::join!(keyed("book"), keyed("book"), answered(&mut agent, "booked"));
    assert_eq!(
        first["task"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{first}"
    );
    assert_eq!(first["task"]["id"], second["task"]["id"], "{second}");
    let (status, later) = keyed("book").await;
    assert_eq!((status, &later["task"]["id"]), (200, &first["task"]["id"]));
    let (status, other) = keyed("another").await;
    assert_eq!(status, 409, "{other}");
    // The next call of the agent is the next message: nothing ran in between.
    let (unkeyed, ()) = tokio::join!(
        hub.post(SEND, message("book")),
        answered(&mut agent, "again")
    );
    assert_ne!(unkeyed.1["task"]["id"], first["task"]["id"]);
}

#[tokio::test]
async fn a_message_that_finds_its_agent_gone_is_a_task_that_failed_and_can_be_looked_at() {
    let hub = A2aHub::start().await;
    drop(hub.attach("echo"));
    let (status, sent) = hub.post(SEND, message("hello")).await;
    assert_eq!(
        (status, &sent["task"]["status"]["state"]),
        (200, &json!("TASK_STATE_FAILED"))
    );
    let id = sent["task"]["id"].as_str().unwrap();
    let (_, seen) = hub.get(&format!("{ECHO}/tasks/{id}")).await;
    assert_eq!(seen["status"]["state"], "TASK_STATE_FAILED", "{seen}");
    assert_eq!(seen["status"]["message"]["metadata"]["failure"], "offline");
    assert_eq!(seen["history"][0]["parts"][0]["text"], "hello");
}

#[tokio::test]
async fn the_question_of_an_agent_that_waits_is_answered_by_the_next_message() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let asking = async {
        let serving = agent.next_call().await;
        serving.ask(Ask {
            id: "q".into(),
            kind: AskKind::Input,
            text: "which colour?".into(),
            tool_name: None,
            tool_call_id: None,
            arguments: None,
            schema: None,
        });
        serving
    };
    let ((_, sent), serving) = tokio::join!(hub.post(SEND, message("paint")), asking);
    let task = &sent["task"];
    assert_eq!(
        task["status"]["state"], "TASK_STATE_INPUT_REQUIRED",
        "{sent}"
    );
    let asked = &task["status"]["message"];
    assert_eq!(
        (&asked["parts"][0]["text"], &asked["metadata"]["askId"]),
        (&json!("which colour?"), &json!("q"))
    );
    let working = async {
        let ready_set = jackfield_core::ready::ReadySet::new();
        serving.input().listen(ready_set.handle(0));
        let (mut keys, mut inputs) = (Vec::new(), Vec::new());
        while inputs.is_empty() {
            ready_set.wait(&mut keys).await;
            assert!(serving.input().take(&mut inputs, usize::MAX).is_none());
        }
        answer(serving, &format!("{:?}", inputs[0]));
    };
    let ((_, done), ()) = tokio::join!(hub.post(SEND, message_for(&task["id"], "blue")), working);
    assert_eq!(
        done["task"]["status"]["state"], "TASK_STATE_COMPLETED",
        "{done}"
    );
    let said = done["task"]["artifacts"][0]["parts"][0]["text"]
        .as_str()
        .unwrap();
    assert!(said.contains("blue"), "{said}");
}

#[tokio::test]
async fn all_who_follow_a_task_are_told_the_same_through_its_turns_to_its_end() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let asking = async { ask_for_more(agent.next_call().await, "which one?") };
    let ((_, sent), ()) = tokio::join!(hub.post(SEND, message("book")), asking);
    let id = &sent["task"]["id"];
    let path = format!("{ECHO}/tasks/{}:subscribe", id.as_str().unwrap());
    let mut first = stream_of(hub.request(&path, "")).await;
    let mut second = stream_of(hub.request(&path, "")).await;
    let going_on = async {
        let serving = agent.next_call().await;
        serving.push(Event::text("book"));
        answer(serving, "ed");
    };
    let ((_, done), ()) = tokio::join!(hub.post(SEND, message_for(id, "red")), going_on);
    assert_eq!(done["task"]["status"]["state"], "TASK_STATE_COMPLETED");
    let (first, second) = tokio::join!(all_of(&mut first), all_of(&mut second));
    assert_eq!(
        first[0]["task"]["status"]["state"],
        "TASK_STATE_INPUT_REQUIRED"
    );
    let last = first.last().unwrap();
    assert_eq!(
        last["statusUpdate"]["status"]["state"],
        "TASK_STATE_COMPLETED"
    );
    // Pieces may come joined; all else is the same.
    let told = |events: &[Value]| -> (Value, Value, String) {
        let words = events
            .iter()
            .filter_map(|event| event["artifactUpdate"]["artifact"]["parts"][0]["text"].as_str());
        (
            events[0].clone(),
            events[events.len() - 1].clone(),
            words.collect(),
        )
    };
    assert_eq!(told(&first), told(&second));
    assert_eq!(told(&first).2, "booked");
}
