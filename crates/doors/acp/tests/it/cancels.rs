//! Prompts that are cancelled: by the editor, by losing it, elsewhere.

use jackfield_core::{principal::Principal, store::TaskFilter};
use jackfield_model::Event;
use serde_json::json;

use crate::harness::{AcpHub, soon, text_of};

#[tokio::test]
async fn a_cancel_reaches_the_agent_and_ends_the_prompt() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    for (method, params) in [
        ("session/cancel", json!({"sessionId": session})),
        ("$/cancel_request", json!({"requestId": 4})),
    ] {
        let prompt = editor.prompt(&session, "work").await;
        let call = amy.next_call().await;
        call.push(Event::text("Working"));
        assert_eq!(text_of(&editor.update(&session).await), "Working");
        editor.tell(method, params).await;
        assert_eq!(amy.next_cancel().await, call.call().id);
        assert_eq!(editor.stop_reason(prompt).await, "cancelled");
    }
    // Nothing is running: nothing happens.
    editor
        .tell("session/cancel", json!({"sessionId": session}))
        .await;
    let prompt = editor.prompt(&session, "again").await;
    jackfield_kit::testing::answer_text(amy.next_call().await, "ok");
    assert_eq!(editor.stop_reason(prompt).await, "end_turn");
}

#[tokio::test]
async fn closing_a_session_cancels_its_prompt() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "work").await;
    let call = amy.next_call().await;
    editor
        .ask("session/close", json!({"sessionId": session}))
        .await;
    assert_eq!(amy.next_cancel().await, call.call().id);
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(editor.frame().await["id"].as_u64().unwrap());
    }
    assert!(ids.contains(&prompt));
}

#[tokio::test]
async fn losing_the_editor_cancels_its_prompts() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    editor.prompt(&session, "work").await;
    let call = amy.next_call().await;
    drop(editor);
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn losing_the_editor_cancels_the_work_that_waits_for_its_answer() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "work").await;
    let call = amy.next_call().await;
    call.ask(crate::harness::ask(
        "q",
        jackfield_model::AskKind::Input,
        "which?",
    ));
    assert_eq!(editor.stop_reason(prompt).await, "end_turn");
    editor.close().await;
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_prompt_that_somebody_else_cancels_fails() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "work").await;
    let _call = amy.next_call().await;
    let tasks = hub.hub.tasks();
    let filter = TaskFilter {
        limit: 1,
        ..TaskFilter::default()
    };
    let task = tasks
        .list(&Principal::local(), filter)
        .await
        .unwrap()
        .remove(0);
    tasks.cancel(&Principal::local(), task.id).await.unwrap();
    let (_, response) = soon(editor.updates_until(prompt)).await;
    assert_eq!(response["error"]["code"], -32800, "{response}");
}
