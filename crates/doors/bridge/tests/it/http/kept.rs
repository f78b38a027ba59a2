//! Relays with `"keep": true`: their events have ids, and a stream that is lost is taken up again.

use std::sync::Arc;

use jackfield_core::{hub::Request, limits::Limits, principal::Principal, units::Size};
use jackfield_model::{AgentId, Chunk, Event, Message};
use reqwest::Method;
use serde_json::{Value, json};

use crate::http::harness::{
    BridgeHub, Scripted, Sse, Stream, chunk, done, error, platform, relay_body, soon, taken_apart,
};

fn kept_body(request: &str) -> Value {
    let mut body = relay_body("amy", request);
    body["keep"] = json!(true);
    body
}

async fn keep(hub: &BridgeHub, request: &str) -> Stream {
    hub.stream("/api/relay", kept_body(request)).await
}

async fn resume(hub: &BridgeHub, request: &str, after: Option<&str>) -> Stream {
    let path = format!("/api/relay/events?agent_id=amy&request_id={request}");
    let mut request = hub.platform(Method::GET, &path);
    if let Some(after) = after {
        request = request.header("Last-Event-ID", after);
    }
    Stream::of(request).await
}

/// Everything up to the end, with ids.
async fn all(mut stream: Stream) -> Vec<Sse> {
    let mut all = Vec::new();
    while let Some(sse) = stream.next().await {
        all.push(sse);
    }
    all
}

fn text(events: &[Sse]) -> String {
    let deltas = events.iter().filter_map(|sse| sse.data["delta"].as_str());
    deltas.collect()
}

#[tokio::test]
async fn a_kept_stream_has_ids_and_tells_the_result() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = keep(&hub, "r1").await;
    let call = amy.next_call().await;
    call.push(Event::text("Hello"));
    let first = stream.next().await.unwrap();
    assert_eq!(
        (first.id.as_deref(), &first.data),
        (Some("0-6"), &chunk("Hello"))
    );
    call.push(Event::Chunk(Chunk::status("busy")));
    let second = stream.next().await.unwrap();
    assert_eq!(second.id.as_deref(), Some("0-7"));
    call.finish(done("Hello"));
    let last = stream.next().await.unwrap();
    assert_eq!(last.id.as_deref(), Some("0-8"));
    assert_eq!(last.data, json!({"type": "done", "result": "Hello"}));
    assert!(stream.next().await.is_none());
}

#[tokio::test]
async fn a_lost_stream_goes_on_without_loss_or_repetition() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = keep(&hub, "r1").await;
    let call = amy.next_call().await;
    let mut told = String::new();
    let mut last_id = None;
    for number in 0..20 {
        call.push(Event::text(format!("{number} ")));
        let next = stream.next().await.unwrap();
        told.push_str(next.data["delta"].as_str().unwrap());
        last_id = next.id;
        // The reader is lost after every event; what is said meanwhile waits.
        drop(stream);
        call.push(Event::text("(meanwhile) "));
        stream = resume(&hub, "r1", last_id.as_deref()).await;
        let next = stream.next().await.unwrap();
        told.push_str(next.data["delta"].as_str().unwrap());
        last_id = next.id;
    }
    call.finish(done("all"));
    let rest = all(stream).await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    let expected: String = (0..20)
        .map(|number| format!("{number} (meanwhile) "))
        .collect();
    assert_eq!(told, expected);
    let end = rest[0].id.as_deref();
    // From the start, from the middle, and from the end, when all is over.
    assert_eq!(text(&all(resume(&hub, "r1", None).await).await), expected);
    assert_eq!(
        all(resume(&hub, "r1", last_id.as_deref()).await).await,
        rest
    );
    assert_eq!(
        text(&all(resume(&hub, "r1", Some("0-3")).await).await),
        expected[2..]
    );
    assert_eq!(all(resume(&hub, "r1", end).await).await, []);
}

#[tokio::test]
async fn what_is_no_longer_there_is_told_as_a_gap() {
    let limits = Limits {
        task_ring: Size::kib(1),
        ..Limits::default()
    };
    let hub = BridgeHub::start_with(Arc::default(), limits, platform()).await;
    let mut amy = hub.attach("amy");
    // Nothing of what it says is written down, so that only the ring remembers.
    let id = AgentId::parse("amy").unwrap();
    let settings = jackfield_core::agent::Settings {
        store: jackfield_core::agent::Keep::None,
        ..Default::default()
    };
    hub.hub
        .agents()
        .change(&Principal::local(), &id, None, Some(settings))
        .unwrap();
    let mut stream = keep(&hub, "r1").await;
    let call = amy.next_call().await;
    for _ in 0..40 {
        call.push(Event::Chunk(Chunk::status("x".repeat(100))));
        stream.next().await.unwrap();
    }
    let mut late = resume(&hub, "r1", None).await;
    let gap = late.next().await.unwrap();
    assert_eq!(gap.data["type"], "gap", "{gap:?}");
    assert_eq!(gap.data["next"].as_str(), gap.id.as_deref());
    assert_eq!(late.data().await["kind"], "status");
    let mut strange = resume(&hub, "r1", Some("7-1")).await;
    assert_eq!(
        strange.data().await["type"],
        "gap",
        "an epoch that never was"
    );
}

#[tokio::test]
async fn a_kept_relay_lives_on_without_its_reader_and_is_cancelled_by_the_platform() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    drop(keep(&hub, "r1").await);
    let call = amy.next_call().await;
    let mut stream = resume(&hub, "r1", None).await;
    let body = json!({"agent_id": "amy", "session_id": "s1", "request_id": "r1"});
    assert_eq!(hub.post("/api/cancel", body).await.0.as_u16(), 200);
    assert_eq!(amy.next_cancel().await, call.call().id);
    assert_eq!(
        stream.rest().await,
        [error("session_not_found", "Request cancelled")]
    );
}

#[tokio::test]
async fn only_the_platforms_own_requests_are_found() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let id = AgentId::parse("amy").unwrap();
    let mut theirs = Request::new(Principal::local(), "own", id, Message::text("hi"));
    theirs.request = Some("r1".parse().unwrap());
    let _task = hub.hub.tasks().start(theirs).await.unwrap();
    let _call = amy.next_call().await;
    for path in ["/api/relay/events", "/api/task-status"] {
        let path = format!("{path}?agent_id=amy&request_id=r1");
        let response = hub.platform(Method::GET, &path).send().await.unwrap();
        let (status, answer) = taken_apart(response).await;
        assert_eq!(
            (status.as_u16(), &answer["error"]),
            (404, &json!("not_found")),
            "{path}"
        );
    }
}

/// The agent knows the request by another id then.
#[tokio::test]
async fn an_id_that_somebody_else_has_open_at_the_agent_is_still_the_platforms_own() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let id = AgentId::parse("amy").unwrap();
    let mut theirs = Request::new(Principal::local(), "own", id, Message::text("hi"));
    theirs.request = Some("r1".parse().unwrap());
    let _asking = hub.hub.calls().open(theirs).unwrap();
    let _first = amy.next_call().await;
    let mut stream = keep(&hub, "r1").await;
    let call = amy.next_call().await;
    assert_ne!(call.call().request.as_str(), "r1");
    call.push(Event::text("yours"));
    assert_eq!(stream.data().await, chunk("yours"));
    assert_eq!(resume(&hub, "r1", None).await.data().await, chunk("yours"));
    let body = json!({"agent_id": "amy", "session_id": "s1", "request_id": "r1"});
    assert_eq!(hub.post("/api/cancel", body).await.0.as_u16(), 200);
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_kept_relay_waits_for_its_agent_if_it_may() {
    let hub = BridgeHub::start().await;
    let mut amy: Scripted = hub.attach("amy");
    amy.leave();
    for wait in [json!("1h"), json!(3600)] {
        let mut body = relay_body("amy", "r1");
        body["wait_online"] = wait;
        let mut stream = hub.stream("/api/relay", body).await;
        let mut amy = hub.attach("amy");
        let call = amy.next_call().await;
        call.push(Event::text("here"));
        assert_eq!(stream.data().await, chunk("here"));
        call.finish(done("here"));
        stream.rest().await;
    }
}

#[tokio::test]
async fn a_stopping_hub_ends_kept_streams_and_the_next_one_goes_on() {
    let store = Arc::default();
    let hub = BridgeHub::start_with(Arc::clone(&store), Limits::default(), platform()).await;
    let mut amy = hub.attach("amy");
    amy.leave();
    let mut body = relay_body("amy", "r1");
    body["wait_online"] = json!("1h");
    let mut stream = hub.stream("/api/relay", body).await;
    let stopping = soon(async {
        let (last, ()) = tokio::join!(stream.data(), hub.stop());
        last
    });
    assert_eq!(stopping.await["code"], "agent_offline");
    let hub = BridgeHub::start_with(store, Limits::default(), platform()).await;
    let mut stream = resume(&hub, "r1", None).await;
    let mut amy = hub.attach("amy");
    let call = amy.next_call().await;
    assert_eq!(call.call().request.as_str(), "r1");
    call.finish(done("after all"));
    let last = stream.rest().await;
    assert_eq!(
        last,
        [
            chunk("after all"),
            json!({"type": "done", "result": "after all"})
        ]
    );
}
