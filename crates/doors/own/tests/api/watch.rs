//! Observers: what they see, what they miss, and that a silent stream is kept alive.

use jackfield_core::{
    event::{End, Event},
    limits::Limits,
    tap::Direction,
    units::{Size, Span},
};
use reqwest::Method;
use serde_json::json;

use crate::harness::{Running, soon};

#[tokio::test]
async fn an_observer_sees_what_it_may_and_nothing_else() {
    let hub = Running::start().await;
    let ann = hub.token("ann", &["watch:am*"]).await;
    let mut all = hub
        .stream(hub.ask(Method::GET, "/v1/events?raw=true"))
        .await;
    let mut some = hub
        .stream(hub.ask(Method::GET, "/v1/events").bearer_auth(&ann))
        .await;
    let mut bobs = hub
        .stream(hub.ask(Method::GET, "/v1/events?agent=bob"))
        .await;
    let (mut amy, bob) = (hub.attach("amy"), hub.attach("bob"));
    let mut call = hub.call("amy", json!({"text": "hello"})).await;
    let id = call.expect("call").await.data["id"].clone();
    let serving = amy.next_call().await;
    serving.push(Event::text("hi"));
    let taps = hub.hub.taps();
    taps.see_frame(amy.entry(), Direction::Out, || "{\"raw\":1}".into());
    serving.finish(End::done());
    drop(bob);

    let online = all.expect("online").await.data;
    assert_eq!(
        (&online["agent"], &online["door"]),
        (&json!("amy"), &json!("local"))
    );
    assert!(online["at"].is_string() && online.get("call").is_none());
    assert_eq!(all.expect("online").await.data["agent"], "bob");
    let started = all.expect("started").await.data;
    assert_eq!(
        (&started["caller"], &started["door"], &started["call"]),
        (&json!("local"), &json!("own"), &id)
    );
    assert_eq!(started["message"], json!({"parts": [{"text": "hello"}]}));
    let chunk = all.expect("chunk").await.data;
    assert_eq!((&chunk["text"], &chunk["call"]), (&json!("hi"), &id));
    let frame = all.expect("frame").await.data;
    assert_eq!(
        (&frame["direction"], &frame["text"]),
        (&json!("out"), &json!("{\"raw\":1}"))
    );
    let ended = all.expect("ended").await.data;
    assert_eq!(ended["end"], json!({"type": "done", "state": "completed"}));
    assert_eq!(all.expect("offline").await.data["agent"], "bob");

    for event in ["online", "started", "chunk", "ended"] {
        assert_eq!(some.expect(event).await.data["agent"], "amy");
    }
    for event in ["online", "offline"] {
        assert_eq!(bobs.expect(event).await.data["agent"], "bob");
    }
}

#[tokio::test]
async fn an_observer_that_lagged_is_told_how_much_it_missed() {
    let limits = Limits {
        tap: Size::kib(4),
        ..Limits::default()
    };
    let hub = Running::start_with(true, limits).await;
    let amy = hub.attach("amy");
    let mut watch = hub
        .stream(hub.ask(Method::GET, "/v1/events?raw=true"))
        .await;
    let entry = amy.entry();
    // Without giving way, so that the observer cannot keep up.
    for _ in 0..100 {
        let frame = || "x".repeat(100).into();
        hub.hub.taps().see_frame(entry, Direction::In, frame);
    }
    let (mut seen, mut missed) = (0, 0);
    while seen + missed < 100 {
        let next = watch.next().await.unwrap();
        match next.event.as_str() {
            "frame" => seen += 1,
            "missed" => missed += next.data["count"].as_u64().unwrap(),
            other => panic!("{other}"),
        }
    }
    assert!(missed > 0 && seen > 0);
}

#[tokio::test]
async fn a_silent_stream_is_kept_alive_by_comments() {
    let limits = Limits {
        keepalive: Span::millis(5),
        ..Limits::default()
    };
    let hub = Running::start_with(true, limits).await;
    let mut watch = hub.stream(hub.ask(Method::GET, "/v1/events")).await;
    let bytes = soon(watch.response().chunk()).await.unwrap().unwrap();
    assert!(bytes.starts_with(b": "), "{bytes:?}");
}
