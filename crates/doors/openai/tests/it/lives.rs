//! What becomes of calls whose caller, agent or hub goes away.

use std::time::Duration;

use jackfield_core::{limits::Limits, units::Span};
use jackfield_model::Event;
use jackfield_openai::Config;
use serde_json::json;

use crate::harness::{OpenAiHub, says};

#[tokio::test]
async fn closing_the_connection_cancels_at_the_agent() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "hi")).await;
    let call = amy.next_call().await;
    call.push(Event::text("one"));
    chat.expect("one").await;
    drop(chat);
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn leaving_a_request_that_waits_for_the_whole_answer_cancels_too() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body = says("amy", "hi");
    let asking = hub.send(hub.chat(&body));
    let call = tokio::select! {
        _ = asking => panic!("nobody answers"),
        call = amy.next_call() => call,
    };
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_silent_stream_gets_a_comment() {
    let limits = Limits {
        keepalive: Span(Duration::from_millis(50)),
        ..Limits::default()
    };
    let hub = OpenAiHub::start_with(Config::default(), true, limits).await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "hi")).await;
    let _call = amy.next_call().await;
    chat.next().await.unwrap();
    assert_eq!(chat.block().await.unwrap(), ": keepalive\n\n");
}

#[tokio::test]
async fn an_agent_that_leaves_fails_the_answer() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "hi")).await;
    let call = amy.next_call().await;
    call.push(Event::text("one"));
    chat.expect("one").await;
    drop(call);
    let rest = chat.rest().await;
    assert_eq!(rest.last().unwrap()["error"]["code"], "offline");
    assert!(!chat.is_done);
}

#[tokio::test]
async fn a_revoked_token_ends_the_stream_and_cancels_the_call() {
    let hub = OpenAiHub::start_with(Config::default(), false, Limits::default()).await;
    let token = hub.token("ann", &["agent:*"]).await;
    let ann = hub.principal_of(&token);
    let mut amy = hub.attach_for(&ann, "amy");
    let mut body = says("amy", "hi");
    body["stream"] = json!(true);
    let mut chat = crate::harness::ChatEvents::of(hub.chat(&body).bearer_auth(&token)).await;
    let call = amy.next_call().await;
    chat.next().await.unwrap();
    hub.hub
        .tokens()
        .revoke(ann.grant.token.unwrap())
        .await
        .unwrap();
    let rest = chat.rest().await;
    assert_eq!(rest.last().unwrap()["error"]["code"], "invalid_api_key");
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_hub_that_stops_does_not_wait_for_answers_to_questions() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "hi")).await;
    let call = amy.next_call().await;
    call.ask(crate::asks::asked("q", "where?"));
    chat.rest().await;
    hub.stop().await;
    assert_eq!(amy.next_cancel().await, call.call().id);
}
