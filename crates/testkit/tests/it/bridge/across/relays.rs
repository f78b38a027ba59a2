//! The platform relays to Agora agents in the same way as to bridge agents.

use jackfield_testkit::{CallbackReceiver, TestHub, relay_to, with_files};
use serde_json::json;

use super::{agora_files, bridge_files, pieces, reply_chunk};
use crate::bridge::{AMY, answer_all, failed, finished, text_event, with};

#[tokio::test]
async fn an_agora_agent_streams_to_the_platform() {
    let hub = TestHub::start().await;
    let mut ada = hub.agora("ada").await;
    let mut body = relay_to("ada", "r-1");
    body["attachments"] =
        json!([{"name": "a.png", "url": "https://files.example/a", "type": "image/png"}]);
    body["client_id"] = "client-1".into();
    body["with_files"] = true.into();
    let mut events = hub.platform().stream("/api/relay", body).await;
    let message = ada.frame().await;
    let to = &message["from"];
    assert_eq!(
        message,
        json!({
            "type": "message", "from": to, "caller": "platform",
            "payload": {
                "action": "query", "request_id": "r-1", "session_id": "s-1",
                "body": {
                    "question": "hi",
                    "parts": [{"file": {"name": "a.png", "mime": "image/png", "uri": "https://files.example/a"}}],
                    "attachments": [{"name": "a.png", "url": "https://files.example/a", "type": "image/png"}],
                },
            },
            "metadata": {"client_id": "client-1", "with_files": true},
        })
    );
    for (text, fields) in pieces() {
        ada.send(reply_chunk(to, text, &fields)).await;
        events.expect(with(text_event(text), &fields)).await;
    }
    ada.send(json!({"type": "reply_end", "to": to, "stream_id": "x", "payload": {"answer": "it is 2", "attachments": agora_files()}}))
        .await;
    let mut end = finished();
    end["attachments"] = bridge_files();
    assert_eq!(with_files(events.rest().await.into()).await, json!([end]));
}

#[tokio::test]
async fn an_agora_agent_answers_fails_leaves_and_is_cancelled() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let mut ada = hub.agora("ada").await;
    let mut events = platform.relay("ada", "r-1").await;
    let to = ada.frame().await["from"].clone();
    ada.send(json!({"type": "reply", "to": to, "payload": {"answer": "yes"}}))
        .await;
    assert_eq!(events.rest().await, [text_event("yes"), finished()]);

    let mut events = platform.relay("ada", "r-1").await;
    let to = ada.frame().await["from"].clone();
    ada.send(json!({"type": "error", "to": to, "code": "quota", "message": "no more"}))
        .await;
    assert_eq!(events.rest().await, [failed("quota", "no more")]);

    let mut events = platform.relay("ada", "r-1").await;
    let to = ada.frame().await["from"].clone();
    let cancel = json!({"agent_id": "ada", "session_id": "s-1", "request_id": "r-1"});
    assert_eq!(platform.post("/api/cancel", cancel).await.0, 200);
    ada.expect(json!({"type": "cancel", "from": to, "request_id": "r-1"}))
        .await;
    assert_eq!(
        events.rest().await,
        [failed("session_not_found", "Request cancelled")]
    );

    let events = platform.relay("ada", "r-1").await;
    let to = ada.frame().await["from"].clone();
    drop(events);
    ada.expect(json!({"type": "cancel", "from": to, "request_id": "r-1"}))
        .await;

    let mut events = platform.relay("ada", "r-1").await;
    ada.frame().await;
    ada.close().await;
    assert_eq!(
        events.rest().await,
        [failed("agent_offline", "Agent disconnected")]
    );
    let (status, refused) = platform.post("/api/relay", relay_to("ada", "r-1")).await;
    assert_eq!((status, &refused["error"]), (404, &json!("agent_offline")));
}

#[tokio::test]
async fn two_requests_of_one_session_reach_an_agent_that_can_tell_them_apart_at_once() {
    let hub = TestHub::start().await;
    let platform = hub.platform();
    let mut ada = hub.agora("ada").await;
    let mut amy = hub.bridge_with(AMY, &["meta"]).await;
    for agent in ["ada", AMY] {
        let mut first = platform.relay(agent, "r-1").await;
        let mut second = platform.relay(agent, "r-2").await;
        if agent == AMY {
            amy.expect_message("hi").await;
            amy.expect_message("hi").await;
            answer_all(&mut amy, "r-2", "two").await;
            answer_all(&mut amy, "r-1", "one").await;
        } else {
            let (one, two) = (ada.frame().await, ada.frame().await);
            ada.send(json!({"type": "reply", "to": two["from"], "payload": "two"}))
                .await;
            ada.send(json!({"type": "reply", "to": one["from"], "payload": "one"}))
                .await;
        }
        assert_eq!(first.rest().await, [text_event("one"), finished()]);
        assert_eq!(second.rest().await, [text_event("two"), finished()]);
    }
}

#[tokio::test]
async fn an_async_relay_to_either_door_is_called_back() {
    let mut receiver = CallbackReceiver::start_accepting().await;
    let hub = TestHub::start_with(|config| config.allow_private_outbound = true).await;
    let platform = hub.platform();
    let mut ada = hub.agora("ada").await;
    let mut amy = hub.bridge(AMY).await;
    for (agent, request) in [("ada", "r-1"), (AMY, "r-2"), ("ada", "r-3"), (AMY, "r-4")] {
        let mut body = relay_to(agent, request);
        body["mode"] = "async".into();
        body["callback_url"] = receiver.url("/back").into();
        let (status, accepted) = platform.post("/api/relay", body).await;
        assert_eq!((status, &accepted["request_id"]), (202, &json!(request)));
        let fails = matches!(request, "r-3" | "r-4");
        if agent == AMY {
            amy.expect_message("hi").await;
            // The result is taken from the chunks if the end doesn't repeat the text.
            amy.send(crate::bridge::chunk(request, "all ")).await;
            amy.send(crate::bridge::chunk(request, "of it")).await;
            let end = match fails {
                true => crate::bridge::error(request, "agent_busy", "no"),
                false => crate::bridge::done(request),
            };
            amy.send(end).await;
        } else {
            let to = ada.frame().await["from"].clone();
            ada.send(reply_chunk(&to, "all ", &json!({}))).await;
            ada.send(reply_chunk(&to, "of it", &json!({}))).await;
            let end = match fails {
                true => json!({"type": "error", "to": to, "code": "agent_busy", "message": "no"}),
                false => {
                    json!({"type": "reply_end", "to": to, "stream_id": "x", "payload": {"attachments": agora_files()}})
                }
            };
            ada.send(end).await;
        }
        let mut posted = with_files(receiver.next().await.body()).await;
        posted["duration_ms"].take();
        let mut expected = json!({"request_id": request, "status": "completed", "result": "all of it", "duration_ms": null, "session_key": "s-1"});
        if agent == "ada" {
            expected["attachments"] = bridge_files();
        }
        if fails {
            expected = json!({"request_id": request, "status": "failed", "error_code": "agent_busy", "error_message": "no", "duration_ms": null});
        }
        assert_eq!(posted, expected);
    }
}

/// The caller and the agent have disconnected long before.
#[tokio::test]
async fn an_async_relay_is_called_back_when_its_agent_leaves() {
    let mut receiver = CallbackReceiver::start_accepting().await;
    let hub = TestHub::start_with(|config| config.allow_private_outbound = true).await;
    let ada = hub.agora("ada").await;
    let amy = hub.bridge(AMY).await;
    for (agent, mut raw) in [("ada", ada), (AMY, amy)] {
        let mut body = relay_to(agent, "r-1");
        body["mode"] = "async".into();
        body["callback_url"] = receiver.url("/back").into();
        assert_eq!(hub.platform().post("/api/relay", body).await.0, 202);
        raw.frame().await;
        raw.close().await;
        let posted = receiver.next().await.body();
        assert_eq!(
            posted,
            json!({"request_id": "r-1", "status": "failed", "error_code": "agent_offline", "error_message": "Agent disconnected"})
        );
    }
}

#[tokio::test]
async fn the_status_of_an_agent_of_another_door_is_what_is_known_of_it() {
    let hub = TestHub::start().await;
    let _ada = hub.agora("ada").await;
    let (_, mut status) = hub.platform().get("/api/agents/ada/status").await;
    assert!(
        status["connected_at"]
            .take()
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    assert!(
        status["last_heartbeat"]
            .take()
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    assert_eq!(
        status,
        json!({"online": true, "agent_type": "agora", "capabilities": [], "connected_at": null, "last_heartbeat": null, "active_sessions": 0, "user_id": "local"})
    );
}

#[tokio::test]
async fn a_question_of_an_agent_is_a_status_for_the_platform_and_its_owner_may_answer_it() {
    let hub = TestHub::start().await;
    let mut amy = hub.bridge_with(AMY, &["input", "meta"]).await;
    let mut events = hub.platform().relay(AMY, "r-1").await;
    let message = amy.frame().await;
    let call = message["meta"]["parent"].as_str().unwrap();
    amy.send(json!({"type": "ask", "request_id": "r-1", "ask_id": "q-1", "kind": "input", "text": "which city?"}))
        .await;
    events
        .expect(json!({"type": "chunk", "delta": "which city?", "kind": "status"}))
        .await;
    let answer = json!({"ask_id": "q-1", "content": "Rome"});
    let (status, _) = hub
        .web()
        .post(&format!("/v1/calls/{call}/answer"), answer)
        .await;
    assert_eq!(status, 204);
    amy.expect(json!({"type": "answer", "request_id": "r-1", "ask_id": "q-1", "content": "Rome"}))
        .await;
    answer_all(&mut amy, "r-1", "sunny").await;
    assert_eq!(events.rest().await, [text_event("sunny"), finished()]);
}
