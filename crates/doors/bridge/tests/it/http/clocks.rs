//! Silence and its end, on a clock that the test owns: no sockets here.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream},
    http::Request,
};
use futures_util::StreamExt as _;
use jackfield_bridge::router;
use jackfield_model::Event;
use serde_json::Value;
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::http::harness::{BridgeHub, SECRET, done, relay_body};

const KEEPALIVE: &str = "data: {\"type\":\"keepalive\"}\n\n";

async fn door() -> BridgeHub {
    BridgeHub::start().await
}

async fn relay(door: &BridgeHub, body: &Value) -> BodyDataStream {
    let request = Request::post("/api/relay")
        .header("x-platform-secret", SECRET)
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = router(door.bridge.clone())
        .0
        .oneshot(request)
        .await
        .unwrap();
    assert_eq!(response.status(), 200);
    response.into_body().into_data_stream()
}

async fn next(stream: &mut BodyDataStream) -> Option<String> {
    let bytes = stream.next().await?.unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn silence_is_filled_every_fifteen_seconds_until_the_agent_is_given_up() {
    let door = door().await;
    let mut amy = door.attach("amy");
    let mut stream = relay(&door, &relay_body("amy", "r1")).await;
    let _call = amy.next_call().await;
    let start = Instant::now();
    for number in 1..=7 {
        assert_eq!(next(&mut stream).await.unwrap(), KEEPALIVE);
        assert_eq!(start.elapsed().as_secs(), number * 15);
    }
    let last = loop {
        let text = next(&mut stream).await.unwrap();
        if text != KEEPALIVE {
            break text;
        }
    };
    assert_eq!(
        last,
        "data: {\"type\":\"error\",\"code\":\"timeout\",\"message\":\"Agent did not respond within 120 seconds\"}\n\n"
    );
    assert!(
        (119..=122).contains(&start.elapsed().as_secs()),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(next(&mut stream).await, None);
    // The original hub does not tell the agent.
    amy.next_cancel().await;
}

#[tokio::test(start_paused = true)]
async fn the_agents_heartbeat_is_passed_on_at_once_and_keeps_the_call_alive() {
    let door = door().await;
    let mut amy = door.attach("amy");
    let mut stream = relay(&door, &relay_body("amy", "r1")).await;
    let call = amy.next_call().await;
    let start = Instant::now();
    for number in 1..=100 {
        let (text, ()) = tokio::join!(next(&mut stream), async {
            tokio::time::advance(Duration::from_secs(5)).await;
            call.pulse();
        });
        assert_eq!(text.unwrap(), KEEPALIVE);
        assert_eq!(start.elapsed().as_secs(), number * 5);
    }
    call.push(Event::text("at last"));
    call.finish(done(""));
    let mut rest = String::new();
    while let Some(text) = next(&mut stream).await {
        rest.push_str(&text);
    }
    assert_eq!(
        rest,
        "data: {\"type\":\"chunk\",\"delta\":\"at last\"}\n\ndata: {\"type\":\"done\"}\n\n"
    );
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_while_pieces_wait_to_be_read_is_passed_on_after_them() {
    let door = door().await;
    let mut amy = door.attach("amy");
    let mut stream = relay(&door, &relay_body("amy", "r1")).await;
    let call = amy.next_call().await;
    let start = Instant::now();
    call.push(Event::text("one"));
    call.pulse();
    let chunk = "data: {\"type\":\"chunk\",\"delta\":\"one\"}\n\n";
    let told = next(&mut stream).await.unwrap();
    assert_eq!(told, format!("{chunk}{KEEPALIVE}"));
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_chunk_starts_the_silence_anew() {
    let door = door().await;
    let mut amy = door.attach("amy");
    let mut stream = relay(&door, &relay_body("amy", "r1")).await;
    let call = amy.next_call().await;
    let start = Instant::now();
    let (text, ()) = tokio::join!(next(&mut stream), async {
        tokio::time::advance(Duration::from_secs(10)).await;
        call.push(Event::text("x"));
    });
    assert!(text.unwrap().contains("chunk"));
    assert_eq!(next(&mut stream).await.unwrap(), KEEPALIVE);
    assert_eq!(start.elapsed().as_secs(), 25);
}

#[tokio::test(start_paused = true)]
async fn a_kept_relay_is_cancelled_half_a_minute_after_its_last_reader_left() {
    let door = door().await;
    let mut amy = door.attach("amy");
    let mut body = relay_body("amy", "r1");
    body["keep"] = true.into();
    let stream = relay(&door, &body).await;
    let call = amy.next_call().await;
    let start = Instant::now();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(!call.call().is_ended(), "somebody reads it");
    drop(stream);
    tokio::time::advance(Duration::from_secs(28)).await;
    assert!(!call.call().is_ended(), "it may come back");
    assert_eq!(amy.next_cancel().await, call.call().id);
    let left = start.elapsed().as_secs() - 60;
    assert!((30..=32).contains(&left), "{left}");
}

#[tokio::test(start_paused = true)]
async fn a_kept_relay_is_given_five_minutes_of_silence() {
    let door = door().await;
    let mut amy = door.attach("amy");
    let mut body = relay_body("amy", "r1");
    body["keep"] = true.into();
    let mut stream = relay(&door, &body).await;
    let _call = amy.next_call().await;
    let last = loop {
        let text = next(&mut stream).await.unwrap();
        if text != KEEPALIVE {
            break text;
        }
    };
    let error =
        "{\"type\":\"error\",\"code\":\"timeout\",\"message\":\"No activity for 5 minutes\"}";
    assert_eq!(last, format!("id: 0-2\ndata: {error}\n\n"));
}
