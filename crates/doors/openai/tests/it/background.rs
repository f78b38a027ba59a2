//! Responses in the background: they go on without a reader, are read later, and cancelled.

use std::{sync::Arc, time::Duration};

use jackfield_core::{limits::Limits, store::memory::MemoryStore, units::Span};
use jackfield_kit::testing::TestSettings;
use jackfield_model::Event;
use jackfield_openai::Config;
use serde_json::{Value, json};

use crate::harness::{OpenAiHub, answer_text, soon};

async fn begin(hub: &OpenAiHub) -> String {
    let body = json!({"model": "amy", "input": "hi", "background": true});
    let (status, response) = hub.post("/v1/responses", body).await;
    assert_eq!(status, 200, "{response}");
    assert_eq!(response["background"], true);
    assert!(["queued", "in_progress"].contains(&response["status"].as_str().unwrap()));
    response["id"].as_str().unwrap().to_owned()
}

async fn ended(hub: &OpenAiHub, id: &str) -> Value {
    soon(async {
        loop {
            let response = hub.response(id).await;
            if !["queued", "in_progress"].contains(&response["status"].as_str().unwrap()) {
                return response;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn it_is_read_when_it_is_done() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub).await;
    let call = amy.next_call().await;
    call.push(Event::text("half "));
    let running = hub.response(&id).await;
    assert_eq!(running["status"], "in_progress");
    answer_text(call, "done");
    let response = ended(&hub, &id).await;
    assert_eq!(response["output"][0]["content"][0]["text"], "half done");
}

#[tokio::test]
async fn a_reader_that_comes_late_or_again_gets_all_events() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({"model": "amy", "input": "hi", "background": true});
    let mut stream = hub.response_stream(body).await;
    let call = amy.next_call().await;
    call.push(Event::text("one "));
    let mut seen = Vec::new();
    while seen
        .last()
        .is_none_or(|event: &Value| event["delta"] != "one ")
    {
        seen.push(stream.next().await.unwrap().data);
    }
    let id = seen[0]["response"]["id"].as_str().unwrap().to_owned();
    let after = seen.last().unwrap()["sequence_number"].as_u64().unwrap();
    // The connection is lost, and the agent goes on.
    drop(stream);
    call.push(Event::text("two"));
    let reading = hub.resumed(&id, after);
    let finishing = async { answer_text(call, "!") };
    let (rest, ()) = tokio::join!(reading, finishing);
    let text: String = rest
        .iter()
        .filter_map(|event| event["delta"].as_str())
        .collect();
    assert_eq!(text, "two!");
    assert_eq!(rest.last().unwrap()["type"], "response.completed");
}

#[tokio::test]
async fn it_is_cancelled_at_the_agent_and_a_second_cancel_changes_nothing() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub).await;
    let call = amy.next_call().await;
    let cancel = format!("/v1/responses/{id}/cancel");
    for _ in 0..2 {
        let (status, response) = hub.post(&cancel, json!({})).await;
        assert_eq!(
            (status, &response["status"]),
            (200, &json!("cancelled")),
            "{response}"
        );
    }
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_response_in_the_foreground_is_cancelled_some_time_after_its_reader_left() {
    let limits = Limits {
        unread: Span(Duration::from_millis(1)),
        ..Limits::default()
    };
    let hub = OpenAiHub::start_with(Config::default(), true, limits).await;
    let mut amy = hub.attach("amy");
    let stream = hub
        .response_stream(json!({"model": "amy", "input": "hi"}))
        .await;
    let call = amy.next_call().await;
    drop(stream);
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_response_outlives_a_restart_of_the_hub() {
    let store = Arc::new(MemoryStore::default());
    let settings = || TestSettings {
        store: store.clone(),
        has_clocks: true,
        ..TestSettings::default()
    };
    let hub = OpenAiHub::start_on(settings(), Config::default()).await;
    let mut amy = hub.attach("amy");
    let id = begin(&hub).await;
    answer_text(amy.next_call().await, "kept");
    let before = ended(&hub, &id).await;
    hub.stop().await;
    drop(hub);
    let hub = OpenAiHub::start_on(settings(), Config::default()).await;
    assert_eq!(hub.response(&id).await, before);
    let events = hub.resumed(&id, 0).await;
    assert_eq!(events.last().unwrap()["response"], before);
}

#[tokio::test]
async fn an_offline_agent_fails_it() {
    let hub = OpenAiHub::start().await;
    hub.attach("amy").leave();
    let body = json!({"model": "amy", "input": "hi", "background": true});
    let (_, response) = hub.post("/v1/responses", body).await;
    let failed = match response["id"].as_str() {
        Some(id) => ended(&hub, id).await["error"]["code"].clone(),
        None => response["error"]["code"].clone(),
    };
    assert_eq!(failed, "offline");
}
