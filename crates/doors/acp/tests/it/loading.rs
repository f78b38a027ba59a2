//! `session/load` and `session/resume`: sessions that another connection began.

use jackfield_kit::testing::answer_text;
use jackfield_model::{AskKind, Chunk, ChunkKind, Done, DoneState, End, Event};
use serde_json::{Value, json};

use crate::harness::{AcpHub, Editor, Scripted, ask, text_of, texts};

fn load(session: &str) -> Value {
    json!({"sessionId": session, "cwd": "/work", "mcpServers": []})
}

async fn prompt(editor: &mut Editor, amy: &mut Scripted, session: &str, words: &str) -> Vec<Value> {
    let id = editor.prompt(session, words).await;
    let call = amy.next_call().await;
    call.push(Event::Chunk(Chunk {
        kind: ChunkKind::ToolStart,
        tool_name: Some("look".to_owned()),
        tool_call_id: Some("1".to_owned()),
        ..Chunk::default()
    }));
    answer_text(call, &format!("You said {words}."));
    editor.updates_until(id).await.0
}

#[tokio::test]
async fn a_loaded_session_is_replayed_and_goes_on() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let mut said = prompt(&mut editor, &mut amy, &session, "one").await;
    said.extend(prompt(&mut editor, &mut amy, &session, "two").await);
    editor.close().await;

    let mut editor = hub.connect_to("amy").await;
    editor.initialize(json!({})).await;
    let id = editor.ask("session/load", load(&session)).await;
    let (replayed, response) = editor.updates_until(id).await;
    assert_eq!(response["result"], json!({}));
    let (users, agents): (Vec<Value>, Vec<Value>) = replayed
        .into_iter()
        .partition(|it| it["sessionUpdate"] == "user_message_chunk");
    let users: Vec<_> = users.iter().map(text_of).collect();
    assert_eq!(users, ["one", "two"]);
    assert_eq!(agents, said, "with the same ids of tool calls");
    let third = editor.prompt(&session, "three").await;
    let call = amy.next_call().await;
    assert_eq!(call.call().session.as_str(), session);
    answer_text(call, "Yes.");
    assert_eq!(editor.stop_reason(third).await, "end_turn");
}

#[tokio::test]
async fn a_resumed_session_is_not_replayed() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    prompt(&mut editor, &mut amy, &session, "one").await;
    let mut other = hub.connect_to("amy").await;
    other.initialize(json!({})).await;
    let response = other.rpc("session/resume", load(&session)).await;
    assert_eq!(response["result"], json!({}));
    prompt(&mut other, &mut amy, &session, "two").await;
}

#[tokio::test]
async fn a_session_that_the_hub_does_not_have_is_not_found() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let _ben = hub.attach("ben");
    let (mut editor, session) = hub.open("amy").await;
    prompt(&mut editor, &mut amy, &session, "one").await;
    // It is a session of another agent.
    let mut other = hub.connect_to("ben").await;
    other.initialize(json!({})).await;
    for (method, id) in [
        ("session/load", &*session),
        ("session/resume", "none"),
        ("session/load", "é\n"),
    ] {
        let error = other.refused(method, load(id)).await;
        assert_eq!(
            (&error["code"], &error["data"]["field"]),
            (&json!(-32002), &json!("sessionId"))
        );
        let block = json!([{"type": "text", "text": "hi"}]);
        let prompt = json!({"sessionId": id, "prompt": block});
        let error = other.refused("session/prompt", prompt).await;
        assert_eq!(error["code"], -32002, "a failed load opens nothing");
    }
}

#[tokio::test]
async fn a_loaded_session_continues_a_task_that_waits_for_a_message() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let id = editor.prompt(&session, "book").await;
    let call = amy.next_call().await;
    call.push(Event::text("Where to?"));
    call.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
    let (_, response) = editor.updates_until(id).await;
    let task = response["result"]["_meta"]["jackfield"]["task"].clone();
    editor.close().await;
    let mut editor = hub.connect_to("amy").await;
    editor.initialize(json!({})).await;
    let id = editor.ask("session/load", load(&session)).await;
    let (replayed, _) = editor.updates_until(id).await;
    assert_eq!(texts(&replayed, "agent_message_chunk"), "Where to?");
    let id = editor.prompt(&session, "Rome").await;
    answer_text(amy.next_call().await, "Booked.");
    let (_, response) = editor.updates_until(id).await;
    assert_eq!(response["result"]["_meta"]["jackfield"]["task"], task);
}

#[tokio::test]
async fn a_session_whose_agent_waits_for_an_answer_can_be_answered_after_a_load() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let id = editor.prompt(&session, "paint").await;
    let call = amy.next_call().await;
    call.ask(ask("q", AskKind::Input, "Which colour?"));
    assert_eq!(editor.stop_reason(id).await, "end_turn");
    let mut other = hub.connect_to("amy").await;
    other.initialize(json!({})).await;
    let id = other.ask("session/load", load(&session)).await;
    let (replayed, _) = other.updates_until(id).await;
    assert_eq!(texts(&replayed, "agent_message_chunk"), "Which colour?");
    let id = other.prompt(&session, "blue").await;
    jackfield_kit::testing::until(|| !call.answers().is_empty()).await;
    assert_eq!(call.answers()[0].1.content.as_deref(), Some("blue"));
    call.push(Event::text("Blue."));
    call.finish(End::done());
    let (updates, _) = other.updates_until(id).await;
    assert_eq!(texts(&updates, "agent_message_chunk"), "Blue.");
}
