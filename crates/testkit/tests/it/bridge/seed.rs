//! The specification's own examples, unchanged, sent to a running hub.
//!
//! | section | example | expected result |
//! |---|---|---|
//! | CLI → Worker, register | the first frame | `registered` with `status: "ok"` |
//! | CLI → Worker, chunk | a piece of an answer | the platform gets the piece unchanged |
//! | CLI → Worker, done | the end | the platform gets attachments and offer; the result in async mode, or without chunks |
//! | Worker → CLI, message | a request | an agent gets exactly this frame |
//! | Relay HTTP API, RelayRequest | a relay in stream mode | the agent gets its message, the platform a stream |
//! | the same with `"mode": "async"` | a relay with a callback | 202, then a post to the callback |
//! | A2A API, from Platform | a call of one agent by another | the target gets the task, the platform a stream |
//!
//! The specification writes `uuid` in place of ids. The tests use the word as an id.

use jackfield_testkit::{CallbackReceiver, Raw, TestHub};
use serde_json::{Value, json};

use crate::bridge::{done, finished, quiet_hub, with};

const REGISTER: &str = r#"{
  "type": "register",
  "agent_id": "uuid",
  "token": "ah_xxx",
  "bridge_version": "1",
  "agent_type": "claude",
  "capabilities": ["code_review", "translation"]
}"#;

const CHUNK: &str = r#"{
  "type": "chunk",
  "session_id": "uuid",
  "request_id": "uuid",
  "delta": "Here is the answer...",
  "kind": "text",
  "tool_name": "Bash",
  "tool_call_id": "toolu_01abc"
}"#;

const DONE: &str = r#"{
  "type": "done",
  "session_id": "uuid",
  "request_id": "uuid",
  "attachments": [{"name": "output.png", "url": "https://...", "type": "image/png"}],
  "file_transfer_offer": {
    "transfer_id": "uuid",
    "zip_size": 74900,
    "zip_sha256": "abc123...",
    "file_count": 34
  },
  "result": "Full response text (async mode only)"
}"#;

const MESSAGE: &str = r#"{
  "type": "message",
  "session_id": "uuid",
  "request_id": "uuid",
  "content": "User's question here",
  "attachments": [],
  "client_id": "stable-client-id",
  "with_files": true
}"#;

const RELAY: &str = r#"{
  "agent_id": "uuid",
  "session_id": "uuid",
  "request_id": "uuid",
  "content": "User message",
  "attachments": [],
  "client_id": "client-uuid",
  "with_files": true,
  "mode": "stream",
  "task_id": "platform-task-id",
  "callback_url": "/api/tasks/{id}/callback"
}"#;

const A2A_CALL: &str = r#"{
  "caller_agent_id": "uuid",
  "target_agent_id": "uuid",
  "task_description": "Translate this text to Chinese"
}"#;

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// An example with changed fields.
fn changed(text: &str, changes: &Value) -> Value {
    with(parsed(text), changes)
}

/// The agent of the examples.
async fn registered(hub: &TestHub) -> Raw {
    let mut agent = hub.connect_bridge("uuid").await;
    agent.send_text(REGISTER).await;
    agent
        .expect(json!({"type": "registered", "status": "ok"}))
        .await;
    agent
}

/// The attachments and the offer of the example `done`.
fn files() -> (Value, Value) {
    let done = parsed(DONE);
    (
        done["attachments"].clone(),
        done["file_transfer_offer"].clone(),
    )
}

#[tokio::test]
async fn the_register_makes_an_agent_that_others_find_by_its_capabilities() {
    let hub = TestHub::start().await;
    let mut agent = registered(&hub).await;
    let (status, shown) = hub.platform().get("/api/agents/uuid/status").await;
    assert_eq!(status, 200);
    assert_eq!(
        (
            &shown["online"],
            &shown["agent_type"],
            &shown["capabilities"]
        ),
        (
            &json!(true),
            &json!("claude"),
            &json!(["code_review", "translation"])
        )
    );
    agent
        .send(json!({"type": "discover_agents", "capability": "code_review"}))
        .await;
    agent
        .expect(json!({"type": "discover_agents_result", "agents": [
            {"id": "uuid", "name": "uuid", "agent_type": "claude", "capabilities": ["code_review", "translation"], "is_online": true},
        ]}))
        .await;
}

#[tokio::test]
async fn the_relay_becomes_the_message_and_the_chunk_and_the_done_become_events() {
    let hub = TestHub::start().await;
    let mut agent = registered(&hub).await;
    let mut events = hub.platform().stream("/api/relay", parsed(RELAY)).await;
    let message = changed(
        MESSAGE,
        &json!({"content": "User message", "client_id": "client-uuid"}),
    );
    agent.expect(message).await;
    agent.send_text(CHUNK).await;
    agent.send_text(DONE).await;
    // `text` is the default kind, so the event has no kind.
    events
        .expect(json!({"type": "chunk", "delta": "Here is the answer...", "tool_name": "Bash", "tool_call_id": "toolu_01abc"}))
        .await;
    let (attachments, offer) = files();
    events
        .expect(json!({"type": "done", "attachments": attachments, "file_transfer_offer": offer}))
        .await;
    assert_eq!(events.maybe_next().await, None);
}

#[tokio::test]
async fn the_message_is_what_an_agent_gets_word_for_word() {
    let hub = TestHub::start().await;
    let mut agent = registered(&hub).await;
    let message = json!({"content": "User's question here", "client_id": "stable-client-id"});
    let relay = changed(RELAY, &message);
    let mut events = hub.platform().stream("/api/relay", relay).await;
    agent.expect(parsed(MESSAGE)).await;
    agent.send(done("uuid")).await;
    events.expect(finished()).await;
}

#[tokio::test]
async fn in_async_mode_the_result_is_posted_to_the_callback() {
    let mut receiver = CallbackReceiver::start_accepting().await;
    let base = receiver.url("");
    let hub = TestHub::start_with(|config| config.callback_base = Some(base)).await;
    let mut agent = registered(&hub).await;
    let relay = changed(RELAY, &json!({"mode": "async"}));
    let (status, accepted) = hub.platform().post("/api/relay", relay).await;
    assert_eq!(
        (status, accepted),
        (202, json!({"accepted": true, "request_id": "uuid"}))
    );
    assert_eq!(agent.frame().await["content"], "User message");
    agent.send_text(CHUNK).await;
    agent.send_text(DONE).await;
    let post = receiver.next().await;
    // The example's `{id}` isn't valid in a URL path unescaped.
    assert_eq!(post.path, "/api/tasks/%7Bid%7D/callback");
    let mut body = post.body();
    assert!(body["duration_ms"].take().is_u64());
    let (attachments, offer) = files();
    assert_eq!(
        body,
        json!({
            "request_id": "uuid", "status": "completed", "result": "Full response text (async mode only)",
            "attachments": attachments, "file_transfer_offer": offer,
            "duration_ms": null, "session_key": "uuid",
        })
    );
}

#[tokio::test]
async fn the_a2a_call_reaches_its_target_and_streams_back() {
    let hub = quiet_hub().await;
    let mut agent = registered(&hub).await;
    let mut events = hub
        .platform()
        .stream("/api/a2a/call", parsed(A2A_CALL))
        .await;
    let message = agent.frame().await;
    assert_eq!(message["content"], "Translate this text to Chinese");
    assert_eq!(message["attachments"], json!([]));
    let session = message["session_id"].as_str().unwrap();
    assert!(session.starts_with("a2a-"), "{session}");
    let request = message["request_id"].as_str().unwrap();
    agent
        .send(changed(CHUNK, &json!({"request_id": request})))
        .await;
    agent
        .send(json!({"type": "heartbeat", "active_sessions": 1, "uptime_ms": 20_000}))
        .await;
    assert_eq!(events.next().await["delta"], "Here is the answer...");
    events.expect(json!({"type": "keepalive"})).await;
    agent.send(done(request)).await;
    events.expect(finished()).await;
}

/// The eight messages of each direction, the six kinds and the two close codes have their own tests in `replay.rs`; the
/// nine codes in `codes.rs`.
#[tokio::test]
async fn health_needs_no_secret() {
    let hub = TestHub::start().await;
    assert_eq!(
        hub.web().get("/health").await,
        (200, json!({"status": "ok"}))
    );
}
