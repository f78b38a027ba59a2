//! The specification's own examples, byte for byte, and the registration page beside it.

use jackfield_testkit::{Raw, TestHub};
use serde_json::{Value, json};

use crate::agora::{until_offline, watch};

const STREAM_START: &str = r#"{
  "type": "send",
  "to": "agent-2",
  "stream_id": "stream-1",
  "stream": true,
  "payload": { "action": "query", "body": { "question": "..." } }
}"#;
const STREAM_CHUNK: &str = r#"{
  "type": "send_chunk",
  "to": "agent-2",
  "stream_id": "stream-1",
  "chunk": "This is"
}"#;
const SECOND_CHUNK: &str = r#"{
  "type": "send_chunk",
  "to": "agent-2",
  "stream_id": "stream-1",
  "chunk": " a segment"
}"#;
const STREAM_END: &str = r#"{
  "type": "send_end",
  "to": "agent-2",
  "stream_id": "stream-1"
}"#;
const ONE_SHOT: &str = r#"{
  "type": "send",
  "to": "agent-2",
  "payload": { "action": "query", "body": { "question": "..." } }
}"#;

const FORWARDED_START: &str = r#"{
  "type": "message",
  "from": "agent-1",
  "stream_id": "stream-1",
  "stream": true,
  "payload": { "action": "query", "body": { "question": "..." } }
}"#;
const FORWARDED_CHUNK: &str = r#"{
  "type": "message_chunk",
  "from": "agent-1",
  "stream_id": "stream-1",
  "chunk": "This is"
}"#;
const FORWARDED_END: &str = r#"{
  "type": "message_end",
  "from": "agent-1",
  "stream_id": "stream-1"
}"#;
const FORWARDED_ONE_SHOT: &str = r#"{
  "type": "message",
  "from": "agent-1",
  "payload": { "action": "query", "body": { "question": "..." } }
}"#;

async fn two_agents() -> (TestHub, Raw, Raw) {
    let hub = TestHub::start().await;
    let one = hub.agora("agent-1").await;
    let two = hub.agora("agent-2").await;
    (hub, one, two)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[tokio::test]
async fn a_one_shot_message_arrives_as_the_seed_says() {
    let (_hub, mut one, mut two) = two_agents().await;
    one.send_text(ONE_SHOT).await;
    let text = two.text().await;
    assert_eq!(parsed(&text), parsed(FORWARDED_ONE_SHOT));
    // The payload is opaque: its bytes arrive unchanged.
    assert!(text.contains(r#"{ "action": "query", "body": { "question": "..." } }"#));
}

#[tokio::test]
async fn a_streamed_message_arrives_as_the_seed_says() {
    let (_hub, mut one, mut two) = two_agents().await;
    for frame in [STREAM_START, STREAM_CHUNK, SECOND_CHUNK, STREAM_END] {
        one.send_text(frame).await;
    }
    two.expect(parsed(FORWARDED_START)).await;
    two.expect(parsed(FORWARDED_CHUNK)).await;
    let second = two.frame().await;
    assert_eq!(second["chunk"], " a segment");
    two.expect(parsed(FORWARDED_END)).await;
    one.expect_nothing().await;
}

#[tokio::test]
async fn stream_false_is_a_one_shot() {
    let (_hub, mut one, mut two) = two_agents().await;
    one.send(json!({"type": "send", "to": "agent-2", "stream": false, "payload": 1}))
        .await;
    two.expect(json!({"type": "message", "from": "agent-1", "stream": false, "payload": 1}))
        .await;
    // No stream is open, so the sender's disconnect sends no frame.
    let mut watching = watch(&_hub, "agent-1");
    one.close().await;
    until_offline(&mut watching).await;
    two.expect_nothing().await;
}

#[tokio::test]
async fn replies_go_back_one_shot_and_streamed_with_the_same_and_a_new_stream_id() {
    let (_hub, mut one, mut two) = two_agents().await;
    one.send_text(STREAM_START).await;
    two.frame().await;
    for stream_id in ["stream-1", "a-new-one"] {
        for (up, down) in [
            (
                json!({"type": "reply", "to": "agent-1", "stream_id": stream_id, "stream": true}),
                json!({"type": "reply", "from": "agent-2", "stream_id": stream_id, "stream": true}),
            ),
            (
                json!({"type": "reply_chunk", "to": "agent-1", "stream_id": stream_id, "chunk": "an"}),
                json!({"type": "reply_chunk", "from": "agent-2", "stream_id": stream_id, "chunk": "an"}),
            ),
            (
                json!({"type": "reply_end", "to": "agent-1", "stream_id": stream_id}),
                json!({"type": "reply_end", "from": "agent-2", "stream_id": stream_id}),
            ),
        ] {
            two.send(up).await;
            one.expect(down).await;
        }
    }
    two.send(json!({"type": "reply", "to": "agent-1", "payload": {"answer": 42}}))
        .await;
    one.expect(json!({"type": "reply", "from": "agent-2", "payload": {"answer": 42}}))
        .await;
    two.expect_nothing().await;
}

#[tokio::test]
async fn requests_and_replies_are_matched_by_request_id() {
    let (_hub, mut one, mut two) = two_agents().await;
    for id in ["r-1", "r-2"] {
        one.send(json!({"type": "send", "to": "agent-2", "payload": {"request_id": id}}))
            .await;
    }
    let first = two.frame().await;
    let second = two.frame().await;
    for message in [second, first] {
        let payload = json!({"request_id": message["payload"]["request_id"]});
        two.send(json!({"type": "reply", "to": message["from"], "payload": payload}))
            .await;
    }
    assert_eq!(one.frame().await["payload"]["request_id"], "r-2");
    assert_eq!(one.frame().await["payload"]["request_id"], "r-1");
}

#[tokio::test]
async fn unknown_fields_survive_the_hop_byte_for_byte() {
    let (_hub, mut one, mut two) = two_agents().await;
    one.send_text(
        r#"{"x-trace":{"a":[1,2.50,1e3]},"type":"send_chunk","to":"agent-2","stream_id":"s","chunk":"\u00e9\ud83d\ude00","kind":"thinking","n":null}"#,
    )
    .await;
    assert_eq!(
        two.text().await,
        r#"{"type":"message_chunk","from":"agent-1","stream_id":"s","chunk":"\u00e9\ud83d\ude00","x-trace":{"a":[1,2.50,1e3]},"kind":"thinking","n":null}"#
    );
}

#[tokio::test]
async fn cancel_and_error_are_relayed() {
    let (_hub, mut one, mut two) = two_agents().await;
    one.send(json!({"type": "cancel", "to": "agent-2", "stream_id": "s"}))
        .await;
    two.expect(json!({"type": "cancel", "from": "agent-1", "stream_id": "s"}))
        .await;
    two.send(
        json!({"type": "error", "to": "agent-1", "code": "no", "message": "no!", "stream_id": "s"}),
    )
    .await;
    one.expect(json!({"type": "error", "from": "agent-2", "code": "no", "message": "no!", "stream_id": "s"}))
        .await;
}

#[tokio::test]
async fn a_forged_from_or_caller_is_replaced() {
    let (_hub, mut one, mut two) = two_agents().await;
    one.send(
        json!({"type": "send", "to": "agent-2", "from": "agent-9", "caller": "root", "payload": 1}),
    )
    .await;
    two.expect(json!({"type": "message", "from": "agent-1", "payload": 1}))
        .await;
    one.send(json!({"type": "reply_chunk", "to": "agent-2", "from": "agent-9", "stream_id": "s", "chunk": ""}))
        .await;
    two.expect(json!({"type": "reply_chunk", "from": "agent-1", "stream_id": "s", "chunk": ""}))
        .await;
}

#[tokio::test]
async fn two_senders_may_use_the_same_stream_id_towards_one_receiver() {
    let (hub, mut one, mut two) = two_agents().await;
    let mut three = hub.agora("agent-3").await;
    for sender in [&mut one, &mut three] {
        sender.send_text(STREAM_START).await;
    }
    let mut from = [two.frame().await, two.frame().await].map(|frame| frame["from"].clone());
    from.sort_by_key(Value::to_string);
    assert_eq!(from, ["agent-1", "agent-3"]);
    one.send_text(STREAM_END).await;
    two.expect(parsed(FORWARDED_END)).await;
    // Only the open stream is aborted by its sender's disconnect.
    one.close().await;
    three.close().await;
    two.expect_error(json!({"code": "offline", "from": "agent-3", "stream_id": "stream-1"}))
        .await;
    two.expect_nothing().await;
}

#[tokio::test]
async fn an_agent_may_write_to_itself() {
    let hub = TestHub::start().await;
    let mut one = hub.agora("agent-1").await;
    one.send(json!({"type": "send", "to": "agent-1", "payload": "note to self"}))
        .await;
    one.expect(json!({"type": "message", "from": "agent-1", "payload": "note to self"}))
        .await;
}

#[tokio::test]
async fn register_again_is_an_update() {
    let hub = TestHub::start().await;
    let mut one = hub.agora("agent-1").await;
    one.send(
        json!({"type": "register", "id": "agent-1", "name": "Renamed", "capabilities": ["sum"]}),
    )
    .await;
    one.expect(json!({"type": "registered", "id": "agent-1"}))
        .await;
    one.send(json!({"type": "list"})).await;
    let agents = one.frame().await;
    assert_eq!(agents["agents"].as_array().unwrap().len(), 1);
    assert_eq!(agents["agents"][0]["name"], "Renamed");
    assert_eq!(agents["agents"][0]["capabilities"], json!(["sum"]));
}

#[tokio::test]
async fn list_shows_name_endpoint_and_the_time_of_registration() {
    let hub = TestHub::start().await;
    let mut one = hub.connect().await;
    one.send(json!({"type": "register", "id": "agent-1", "name": "One", "endpoint": "http://192.0.2.1/x"}))
        .await;
    one.frame().await;
    // A client may discover agents without registering.
    let mut looker = hub.connect().await;
    looker.send(json!({"type": "list"})).await;
    let list = looker.frame().await;
    assert_eq!(list["type"], "agents");
    let agent = &list["agents"][0];
    assert_eq!(agent["id"], "agent-1");
    assert_eq!(agent["name"], "One");
    assert_eq!(agent["endpoint"], "http://192.0.2.1/x");
    let time = agent["registered_at"].as_str().unwrap();
    let (date, clock) = time.split_once('T').expect("ISO 8601");
    assert_eq!(date.split('-').map(str::len).collect::<Vec<_>>(), [4, 2, 2]);
    assert!(
        clock.ends_with('Z') && clock.matches(':').count() == 2,
        "{time}"
    );
}

#[tokio::test]
async fn list_finds_agents_by_all_their_capabilities() {
    let hub = TestHub::start().await;
    let mut raws = Vec::new();
    for (id, capabilities) in [
        ("a", json!(["sum", "plot"])),
        ("b", json!(["sum"])),
        ("c", json!([])),
    ] {
        let mut raw = hub.connect().await;
        raw.send(json!({"type": "register", "id": id, "capabilities": capabilities}))
            .await;
        raw.frame().await;
        raws.push(raw);
    }
    let mut looker = hub.connect().await;
    for (filter, expected) in [
        (json!({"type": "list"}), vec!["a", "b", "c"]),
        (json!({"type": "list", "capability": "sum"}), vec!["a", "b"]),
        (
            json!({"type": "list", "capabilities": ["sum", "plot"]}),
            vec!["a"],
        ),
        (json!({"type": "list", "capabilities": ["fly"]}), vec![]),
    ] {
        looker.send(filter).await;
        let list = looker.frame().await;
        let agents = list["agents"].as_array().unwrap();
        let ids: Vec<_> = agents
            .iter()
            .map(|agent| agent["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected);
    }
}

#[tokio::test]
async fn an_agent_is_removed_when_it_disconnects() {
    let (hub, mut one, two) = two_agents().await;
    let mut watching = watch(&hub, "agent-2");
    two.close().await;
    until_offline(&mut watching).await;
    one.send(json!({"type": "list"})).await;
    let list = one.frame().await;
    assert_eq!(list["agents"].as_array().unwrap().len(), 1);
    one.send_text(ONE_SHOT).await;
    one.expect_error(
        json!({"code": "offline", "to": "agent-2", "frame_type": "send", "field": "to"}),
    )
    .await;
}

#[tokio::test]
async fn a_uuid_is_one_agent_in_either_case() {
    let hub = TestHub::start().await;
    let lower = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
    let mut one = hub.connect().await;
    one.send(json!({"type": "register", "id": lower.to_uppercase()}))
        .await;
    one.expect(json!({"type": "registered", "id": lower})).await;
    let mut two = hub.agora("agent-2").await;
    two.send(json!({"type": "send", "to": lower.to_uppercase(), "payload": 1}))
        .await;
    one.expect(json!({"type": "message", "from": "agent-2", "payload": 1}))
        .await;
}
