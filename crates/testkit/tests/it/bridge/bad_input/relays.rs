//! Requests of the platform that are too large, unsafe or for other callers' calls.

use futures_util::stream;
use jackfield_testkit::{CallbackReceiver, TestHub, answer, relay_to};
use reqwest::{Body, Method};
use serde_json::json;

use super::Bystander;
use crate::bridge::{AMY, answer_all, chunk, done, finished, text_event};

#[tokio::test]
async fn a_body_over_5_mib_is_refused_however_it_is_sent() {
    let hub = TestHub::start().await;
    let mut bystander = Bystander::join(&hub).await;
    let mut amy = hub.bridge(AMY).await;
    let mut body = relay_to(AMY, "r-1");
    body["content"] = "x".repeat(5 << 20).into();
    let text = body.to_string();
    let pieces: Vec<_> = text
        .as_bytes()
        .chunks(64 << 10)
        .map(|it| Ok::<_, std::io::Error>(it.to_vec()))
        .collect();
    // Chunked, without a length in the head.
    let chunked = Body::wrap_stream(stream::iter(pieces));
    for body in [chunked, Body::from(text)] {
        let request = hub.platform().ask(Method::POST, "/api/relay").body(body);
        let (status, refused) = answer(request).await;
        assert_eq!(
            (status, &refused["error"]),
            (413, &json!("payload_too_large"))
        );
    }
    amy.expect_no_bridge_frame().await;
    bystander.is_undisturbed().await;
}

#[tokio::test]
async fn unsafe_and_empty_fields_never_reach_the_agent() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let long = "x".repeat(129);
    let mut rows = vec![
        ("content", json!("")),
        ("session_id", json!("a\u{0}b")),
        ("request_id", json!("x".repeat(257))),
    ];
    rows.extend(
        [
            "../etc", "a/b", "..", ".hidden", "a\\b", "C:", "a b", "a\n", &long,
        ]
        .map(|id| ("client_id", json!(id))),
    );
    for (field, value) in rows {
        let mut body = relay_to(AMY, "r-1");
        body[field] = value.clone();
        let (status, refused) = hub.platform().post("/api/relay", body).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("invalid_message")),
            "{field} {value}"
        );
        assert!(
            refused["message"].as_str().unwrap().contains(field),
            "{refused}"
        );
    }
    amy.expect_no_bridge_frame().await;
}

#[tokio::test]
async fn a_callback_to_a_private_address_is_refused_and_nothing_is_posted() {
    let receiver = CallbackReceiver::start_accepting().await;
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    for url in [
        receiver.url("/"),
        receiver.url("/").replace("127.0.0.1", "localhost"),
        hub.url("/v1/tokens"),
        "http://169.254.169.254/latest/meta-data/".to_owned(),
        "http://[::1]/".to_owned(),
        "http://10.0.0.1/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "/relative".to_owned(),
    ] {
        let mut body = relay_to(AMY, "r-1");
        body["mode"] = "async".into();
        body["callback_url"] = url.clone().into();
        let (status, refused) = hub.platform().post("/api/relay", body).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("invalid_message")),
            "{url}"
        );
        assert!(
            refused["message"]
                .as_str()
                .unwrap()
                .contains("callback_url"),
            "{refused}"
        );
    }
    amy.expect_no_bridge_frame().await;
    assert!(receiver.is_idle());
}

/// Ids chosen by peers are scoped to the peer: two principals may choose the same id.
#[tokio::test]
async fn the_request_ids_of_two_callers_never_meet() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    let platform = hub.platform();
    let mut ours = platform.relay(AMY, "r-1").await;
    assert_eq!(amy.expect_message("hi").await, "r-1");
    let path = format!("/v1/agents/{AMY}/calls");
    let mut theirs = hub
        .web()
        .stream(
            &path,
            json!({"text": "and I?", "request_id": "r-1", "keep": true}),
        )
        .await;
    let other = amy.expect_message("and I?").await;
    assert_ne!(other, "r-1", "the agent can tell them apart");
    // Neither platform may see, cancel or write to the other's request.
    let (status, _) = platform
        .get(&format!(
            "/api/task-status?agent_id={AMY}&request_id={other}"
        ))
        .await;
    assert_eq!(status, 404);
    let session = json!({"agent_id": AMY, "session_id": "s-1", "request_id": other});
    assert_eq!(platform.post("/api/cancel", session).await.0, 200);
    amy.expect_no_bridge_frame().await;
    amy.send(chunk(&other, "yours")).await;
    amy.send(done(&other)).await;
    answer_all(&mut amy, "r-1", "ours").await;
    assert_eq!(ours.rest().await, [text_event("ours"), finished()]);
    let event = theirs.rest().await;
    assert!(event.iter().any(|it| it["text"] == "yours"), "{event:?}");
}

/// Agents create a folder from the client id; callers of other doors may claim one, too.
#[tokio::test]
async fn an_unsafe_client_id_does_not_come_in_by_another_door() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge(AMY).await;
    for (id, shown) in [("../../etc", None), ("client-1", Some("client-1"))] {
        let body = json!({"text": "hi", "metadata": {"client_id": id}});
        let events = hub
            .web()
            .stream(&format!("/v1/agents/{AMY}/calls"), body)
            .await;
        assert_eq!(amy.frame().await["client_id"].as_str(), shown);
        drop(events);
        assert_eq!(amy.frame().await["type"], "cancel");
    }
}
