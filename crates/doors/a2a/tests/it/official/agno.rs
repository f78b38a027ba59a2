//! Python Agno's dialect: envelopes at addresses that look like REST.

use jackfield_model::{Chunk, ChunkKind, Event};
use serde_json::{Value, json};

use crate::official::harness::{A2aHub, ECHO, all_of, answer, answered, stream_of};

fn envelope(method: &str, id: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":{id},"params":{params}}}"#)
}

/// What Agno's client sends.
fn hello(method: &str, more: &str) -> String {
    let params = format!(
        r#"{{"message":{{"messageId":"m-1","role":"user","parts":[{{"kind":"text","text":"hello"}}]}}{more}}}"#
    );
    envelope(method, "7", &params)
}

fn at(path: &str) -> String {
    format!("{ECHO}/v1/{path}")
}

#[tokio::test]
async fn a_message_is_answered_with_the_task_and_the_words_are_in_its_history() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let (path, body) = (at("message:send"), hello("message/send", ""));
    let ((status, answer), ()) =
        tokio::join!(hub.post(&path, body), answered(&mut agent, "hi there"));
    assert_eq!((status, &answer["id"]), (200, &json!(7)));
    let task = &answer["result"];
    assert_eq!(task["kind"], "task");
    assert_eq!(task["status"]["state"], "completed");
    let history = task["history"].as_array().unwrap();
    let said = history.iter().find(|message| message["role"] == "agent");
    assert_eq!(said.unwrap()["parts"][0]["text"], "hi there");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "hi there");
    let get = envelope("tasks/get", "\"g\"", &json!({"id": task["id"]}).to_string());
    let (status, seen) = hub.post(&at("tasks:get"), get).await;
    assert_eq!((status, &seen["id"]), (200, &json!("g")));
    assert_eq!(&seen["result"]["history"], &task["history"]);
}

#[tokio::test]
async fn who_does_not_wait_is_told_that_it_is_accepted_and_may_cancel() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let body = hello("message/send", r#","configuration":{"blocking":false}"#);
    let (status, answer) = hub.post(&at("message:send"), body).await;
    assert_eq!(status, 202);
    let state = answer["result"]["status"]["state"].as_str().unwrap();
    assert!(["submitted", "working"].contains(&state), "{answer}");
    let _serving = agent.next_call().await;
    let params = json!({"id": answer["result"]["id"]}).to_string();
    let cancel = envelope("tasks/cancel", "1", &params);
    let (status, answer) = hub.post(&at("tasks:cancel"), cancel).await;
    assert_eq!(status, 200);
    assert_eq!(answer["result"]["status"]["state"], "canceled");
}

#[tokio::test]
async fn a_stream_ends_with_the_task_and_its_words_are_messages() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let request = hub.request(&at("message:stream"), hello("message/stream", ""));
    let mut stream = stream_of(request).await;
    let first = stream.next().await.unwrap();
    assert_eq!(first.event.as_deref(), Some("TaskStatusUpdateEvent"));
    assert_eq!(first.id, None);
    assert_eq!(first.data["id"], 7);
    assert_eq!(first.data["result"]["status"]["state"], "working");
    assert_eq!(first.data["result"]["final"], false);
    let serving = agent.next_call().await;
    serving.push(Event::Chunk(Chunk {
        kind: ChunkKind::ToolStart,
        text: "now".into(),
        tool_name: Some("clock".into()),
        tool_call_id: Some("t-1".into()),
        extra: None,
        waiting_for: None,
    }));
    serving.push(Event::Chunk(Chunk {
        kind: ChunkKind::Thinking,
        text: "hm".into(),
        tool_name: None,
        tool_call_id: None,
        extra: None,
        waiting_for: None,
    }));
    answer(serving, "noon");
    let told = all_of(&mut stream).await;
    let results: Vec<&Value> = told.iter().map(|event| &event["result"]).collect();
    let [tool, thought, words, over, task] = results.as_slice() else {
        panic!("{results:#?}");
    };
    assert_eq!(tool["metadata"]["agno_event_type"], "tool_call_started");
    assert_eq!(tool["metadata"]["tool_name"], "clock");
    assert_eq!(thought["metadata"]["agno_content_category"], "reasoning");
    assert_eq!(words["kind"], "message");
    assert_eq!(words["metadata"]["agno_content_category"], "content");
    assert_eq!(words["parts"][0]["text"], "noon");
    assert_eq!(
        (&over["status"]["state"], &over["final"]),
        (&json!("completed"), &json!(true))
    );
    assert_eq!(task["kind"], "task");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "noon");
}

#[tokio::test]
async fn refusals_are_details_with_a_status() {
    let hub = A2aHub::start().await;
    let agent = hub.attach("echo");
    let from_agent = hello("message/send", "").replace(r#""user""#, r#""agent""#);
    let unknown = envelope("tasks/get", "1", r#"{"id":"nothing"}"#);
    for (path, body, status, text) in [
        (
            "message:send",
            envelope("message/send", "1", "{}"),
            400,
            "Invalid A2A request",
        ),
        (
            "message:stream",
            envelope("message/stream", "1", "[]"),
            400,
            "Invalid A2A request",
        ),
        (
            "message:send",
            from_agent,
            400,
            "Only user messages are accepted",
        ),
        ("tasks:get", unknown.clone(), 404, "Task not found"),
        ("tasks:cancel", unknown, 404, "Task not found"),
        ("tasks:get", envelope("tasks/get", "1", "{}"), 400, "id"),
    ] {
        let before = hub.refused();
        let (got, answer) = hub.post(&at(path), body).await;
        assert_eq!(got, status, "{answer}");
        let detail = answer["detail"].as_str().unwrap();
        assert!(detail.contains(text), "{detail}");
        assert_eq!(hub.refused() - before, u64::from(status == 400), "{detail}");
    }
    let (status, answer) = hub
        .post(
            "/a2a/agents/nobody/v1/message:send",
            hello("message/send", ""),
        )
        .await;
    assert_eq!(status, 404);
    assert!(answer["detail"].is_string(), "{answer}");
    let (status, _) = hub.post(&at("tasks:get"), r#"{"id":"x"}"#).await;
    assert_eq!(status, 400);
    assert!(agent.has_nothing_to_do());
}

#[tokio::test]
async fn its_other_mode_sends_everything_to_the_address_with_a_slash() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("echo");
    let path = format!("{ECHO}/");
    let body = hello("message/send", "");
    let ((status, answer), ()) = tokio::join!(hub.post(&path, body), answered(&mut agent, "hi"));
    assert_eq!((status, &answer["id"]), (200, &json!(7)));
    let history = answer["result"]["history"].as_array().unwrap();
    assert!(history.iter().any(|message| message["role"] == "agent"));
}
