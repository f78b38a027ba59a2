//! Async relays: accepted once the store has them, and answered by a callback that somebody takes in the end.

use std::sync::Arc;

use jackfield_bridge::CallbackRules;
use jackfield_core::{
    agent::Keep,
    outbox::{OutboxRow, OutboxState},
    principal::Principal,
    store::{Store as _, TaskFilter, memory::MemoryStore},
};
use jackfield_model::{
    AgentId, Done, DoneState, End, Event, Failure, File, FileSource, Json, Reason,
};
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::http::{
    harness::{BridgeHub, SECRET, Stream, chunk, done, relay_body},
    receiver::{CallbackReceiver, calling_back, lenient},
};

async fn hub_with(rules: CallbackRules) -> BridgeHub {
    start(Arc::default(), rules).await
}

async fn start(store: Arc<MemoryStore>, rules: CallbackRules) -> BridgeHub {
    BridgeHub::start_with(store, Default::default(), calling_back(rules)).await
}

/// The body of an async relay.
pub(crate) fn async_body(request: &str, url: &str) -> Value {
    let mut body = relay_body("amy", request);
    body["mode"] = json!("async");
    body["callback_url"] = json!(url);
    body
}

async fn accepted(hub: &BridgeHub, body: Value) {
    let request = body["request_id"].clone();
    let (status, answer) = hub.post("/api/relay", body).await;
    assert_eq!(status.as_u16(), 202, "{answer}");
    assert_eq!(answer, json!({"accepted": true, "request_id": request}));
}

async fn status(hub: &BridgeHub, request: &str) -> Value {
    let path = format!("/api/task-status?agent_id=amy&request_id={request}");
    let (status, answer) = hub.get(&path).await;
    assert_eq!(status.as_u16(), 200, "{answer}");
    answer
}

/// As the operator sees them.
async fn undelivered(hub: &BridgeHub) -> Vec<OutboxRow> {
    let callbacks = hub.hub.callbacks();
    callbacks
        .list(&Principal::local(), false, 10)
        .await
        .unwrap()
}

/// The callback is settled after its answer was read, which nobody is told of: looks until it is.
async fn settled(hub: &BridgeHub) -> Vec<(OutboxState, Option<String>)> {
    let rows = undelivered(hub).await;
    rows.into_iter()
        .map(|row| (row.state, row.last_error))
        .collect()
}

async fn wait_for<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    crate::http::harness::soon(async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn an_answer_is_called_back_with_the_fields_of_the_original_hub_and_a_signature() {
    let mut called = CallbackReceiver::start().await;
    let store = Arc::new(MemoryStore::default());
    let hub = start(store.clone(), lenient()).await;
    let mut amy = hub.attach("amy");
    let mut body = async_body(
        "r1",
        &format!("{}/api/tasks/7/callback?x=1", called.origin()),
    );
    body["session_title"] = json!("Holidays");
    body["user_message"] = json!("Where to?");
    accepted(&hub, body).await;
    let filter = TaskFilter {
        limit: 9,
        ..TaskFilter::default()
    };
    assert_eq!(
        store.list_tasks(filter).await.unwrap().len(),
        1,
        "the store has what was accepted"
    );
    let call = amy.next_call().await;
    let running = status(&hub, "r1").await;
    assert_eq!(
        (&running["status"], &running["request_id"]),
        (&json!("running"), &json!("r1"))
    );
    let started: Timestamp = running["started_at"].as_str().unwrap().parse().unwrap();
    assert_eq!(running.as_object().unwrap().len(), 3);
    call.push(Event::text("To the "));
    let offer = r#"{"transfer_id":"t","zip_size":5,"zip_sha256":"ab","file_count":1}"#;
    call.finish(End::Done(Box::new(Done {
        result: Some("To the sea".into()),
        attachments: vec![File {
            name: Some("map.png".into()),
            mime: Some("image/png".into()),
            source: FileSource::Uri("https://e/map.png".into()),
        }],
        file_transfer_offer: Some(Json::parse(offer).unwrap()),
        ..Done::default()
    })));
    let post = called.next().await;
    assert_eq!(post.path, "/api/tasks/7/callback");
    assert_eq!(post.header("content-type"), Some("application/json"));
    assert_eq!(
        post.header("x-platform-secret"),
        None,
        "the secret goes to nobody that was not listed"
    );
    assert!((Timestamp::now().as_second() - post.verified()).abs() < 60);
    let said = post.body();
    let files = json!([{"name": "map.png", "url": "https://e/map.png", "type": "image/png"}]);
    let offer: Value = serde_json::from_str(offer).unwrap();
    let expected = json!({
        "request_id": "r1", "status": "completed", "result": "To the sea", "attachments": files,
        "file_transfer_offer": offer, "duration_ms": said["duration_ms"], "session_key": "s1",
        "session_title": "Holidays", "user_message": "Where to?",
    });
    assert_eq!(said, expected);
    assert!(said["duration_ms"].is_u64());
    post.ok();
    wait_for(async || settled(&hub).await.is_empty().then_some(())).await;
    let completed = status(&hub, "r1").await;
    let at: Timestamp = completed["completed_at"].as_str().unwrap().parse().unwrap();
    assert!(at >= started);
    let expected = json!({
        "request_id": "r1", "status": "completed", "result": "To the sea", "attachments": files,
        "file_transfer_offer": offer, "duration_ms": said["duration_ms"],
        "completed_at": completed["completed_at"],
    });
    assert_eq!(completed, expected);
}

#[tokio::test]
async fn a_failure_is_called_back_with_its_code() {
    let mut called = CallbackReceiver::start().await;
    let hub = hub_with(lenient()).await;
    let crash = End::Failed(Failure::new(Reason::Crashed, "claude died"));
    for (end, code, text) in [
        (Some(crash), "adapter_crash", "claude died"),
        (
            Some(End::Cancelled),
            "session_not_found",
            "Request cancelled",
        ),
        (None, "agent_offline", "Agent disconnected"),
    ] {
        let mut amy = hub.attach("amy");
        accepted(&hub, async_body("r1", &called.origin())).await;
        let call = amy.next_call().await;
        match end {
            Some(End::Cancelled) => {
                let body = json!({"agent_id": "amy", "session_id": "s1", "request_id": "r1"});
                hub.post("/api/cancel", body).await;
            }
            Some(end) => drop(call.finish(end)),
            None => amy.leave(),
        }
        let post = called.next().await;
        post.verified();
        let expected = json!({
            "request_id": "r1", "status": "failed", "error_code": code, "error_message": text,
        });
        assert_eq!(post.body(), expected);
        post.ok();
        let failed = status(&hub, "r1").await;
        assert_eq!(failed["status"], "failed");
        assert_eq!(
            (&failed["error_code"], &failed["error_message"]),
            (&json!(code), &json!(text))
        );
        assert!(failed["duration_ms"].is_u64() && failed["completed_at"].is_string());
        assert_eq!(failed.as_object().unwrap().len(), 6);
    }
}

#[tokio::test]
async fn a_callback_outlives_the_hub_that_could_not_deliver_it() {
    let mut called = CallbackReceiver::start().await;
    let store = Arc::new(MemoryStore::default());
    let hub = start(store.clone(), lenient()).await;
    let mut amy = hub.attach("amy");
    accepted(&hub, async_body("r1", &called.origin())).await;
    amy.next_call().await.finish(done("x"));
    // The hub stops while the post is on its way.
    let cut = called.next().await;
    let key = cut.header("idempotency-key").unwrap().to_owned();
    hub.stop().await;
    drop(cut);
    let hub = start(store, lenient()).await;
    let again = called.next().await;
    assert_eq!(again.header("idempotency-key"), Some(&*key));
    assert_eq!(again.body()["result"], "x");
    again.ok();
    wait_for(async || settled(&hub).await.is_empty().then_some(())).await;
    assert_eq!(status(&hub, "r1").await["status"], "completed");
}

#[tokio::test]
async fn the_secret_is_shown_to_listed_origins_only() {
    let (mut trusted, mut other) = (
        CallbackReceiver::start().await,
        CallbackReceiver::start().await,
    );
    let rules = CallbackRules {
        trusted_origins: vec![trusted.origin()],
        ..lenient()
    };
    let hub = hub_with(rules).await;
    let mut amy = hub.attach("amy");
    for (request, called, shown) in [("r1", &mut trusted, Some(SECRET)), ("r2", &mut other, None)] {
        accepted(&hub, async_body(request, &called.origin())).await;
        amy.next_call().await.finish(done("x"));
        let post = called.next().await;
        assert_eq!(post.header("x-platform-secret"), shown);
        post.verified();
        post.ok();
    }
}

#[tokio::test]
async fn async_without_a_callback_streams_as_it_always_did() {
    let hub = hub_with(lenient()).await;
    let mut amy = hub.attach("amy");
    let mut body = relay_body("amy", "r1");
    body["mode"] = json!("async");
    let mut stream: Stream = hub.stream("/api/relay", body).await;
    let call = amy.next_call().await;
    call.push(Event::text("here"));
    call.finish(done("here"));
    assert_eq!(
        stream.rest().await,
        [chunk("here"), json!({"type": "done"})]
    );
}

#[tokio::test]
async fn an_open_async_request_is_409_and_its_stream_can_be_read_meanwhile() {
    let called = CallbackReceiver::start().await;
    let hub = hub_with(lenient()).await;
    let mut amy = hub.attach("amy");
    accepted(&hub, async_body("r1", &called.origin())).await;
    let call = amy.next_call().await;
    let (status, answer) = hub
        .post("/api/relay", async_body("r1", &called.origin()))
        .await;
    assert_eq!(
        (status.as_u16(), &answer["error"]),
        (409, &json!("invalid_message"))
    );
    call.push(Event::text("so far"));
    let path = "/api/relay/events?agent_id=amy&request_id=r1";
    let mut stream = Stream::of(hub.platform(Method::GET, path)).await;
    assert_eq!(stream.data().await, chunk("so far"));
}

#[tokio::test]
async fn an_agent_of_which_nothing_is_kept_is_called_back_with_its_words_and_then_forgotten() {
    let mut called = CallbackReceiver::start().await;
    let store = Arc::new(MemoryStore::default());
    let hub = start(store.clone(), lenient()).await;
    let mut amy = hub.attach("amy");
    let id = AgentId::parse("amy").unwrap();
    let settings = jackfield_core::agent::Settings {
        store: Keep::None,
        ..Default::default()
    };
    hub.hub
        .agents()
        .change(&Principal::local(), &id, None, Some(settings))
        .unwrap();
    accepted(&hub, async_body("r1", &called.origin())).await;
    let call = amy.next_call().await;
    call.push(Event::text("said "));
    call.push(Event::text("once"));
    call.finish(End::done());
    let cut = called.next().await;
    assert_eq!(cut.body()["result"], "said once");
    // It survives the hub, as it must where it is the only delivery.
    hub.stop().await;
    drop(cut);
    let hub = start(store, lenient()).await;
    let post = called.next().await;
    assert_eq!(post.body()["status"], "completed");
    assert_eq!(post.body()["result"], "said once");
    post.ok();
    wait_for(async || settled(&hub).await.is_empty().then_some(())).await;
    assert_eq!(status(&hub, "r1").await["result"], "");
}

#[tokio::test]
async fn an_answer_that_is_a_question_is_called_back_and_the_reply_to_it_is_another_request() {
    let mut called = CallbackReceiver::start().await;
    let hub = hub_with(lenient()).await;
    let mut amy = hub.attach("amy");
    for (request, words) in [("r1", "which one?"), ("r2", "and how many?")] {
        accepted(&hub, async_body(request, &called.origin())).await;
        let call = amy.next_call().await;
        assert_eq!(call.call().session.as_str(), "s1");
        call.push(Event::text(words));
        call.finish(End::Done(Box::new(Done {
            state: DoneState::InputRequired,
            ..Done::default()
        })));
        let post = called.next().await;
        assert_eq!(post.body()["request_id"], request);
        assert_eq!(post.body()["status"], "completed");
        assert_eq!(post.body()["result"], words);
        post.ok();
        assert_eq!(status(&hub, request).await["result"], words);
    }
    wait_for(async || settled(&hub).await.is_empty().then_some(())).await;
}

#[tokio::test]
async fn the_next_hub_finds_every_request_by_its_id() {
    let mut called = CallbackReceiver::start().await;
    let store = Arc::new(MemoryStore::default());
    let hub = start(store.clone(), lenient()).await;
    let mut amy = hub.attach("amy");
    for request in ["r1", "r2"] {
        accepted(&hub, async_body(request, &called.origin())).await;
        amy.next_call().await.finish(done(request));
        called.next().await.ok();
    }
    hub.stop().await;
    let hub = start(store, lenient()).await;
    for request in ["r1", "r2"] {
        assert_eq!(status(&hub, request).await["result"], request);
    }
    let unknown = "/api/task-status?agent_id=amy&request_id=r3";
    assert_eq!(hub.get(unknown).await.0.as_u16(), 404);
}
