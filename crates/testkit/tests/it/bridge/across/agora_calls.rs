//! An Agora agent calls a bridge agent with the same frames as for an Agora agent.

use jackfield_testkit::with_files;
use serde_json::{Value, json};

use super::{both, pieces};
use crate::bridge::{AMY, chunk, done, error, with};

fn ask(payload: &Value) -> Value {
    json!({"type": "send", "to": AMY, "payload": payload})
}

fn why() -> Value {
    ask(
        &json!({"action": "query", "body": {"question": "why?"}, "request_id": "r-1", "session_id": "s-1"}),
    )
}

#[tokio::test]
async fn an_answer_without_chunks_is_one_reply() {
    let (_hub, mut amy, mut ada) = both().await;
    ada.send(why()).await;
    amy.expect(json!({"type": "message", "session_id": "s-1", "request_id": "r-1", "content": "why?", "attachments": []}))
        .await;
    let mut end = done("r-1");
    end["result"] = "because".into();
    amy.send(end).await;
    ada.expect(json!({"type": "reply", "from": AMY, "payload": {"action": "answer", "body": {"answer": "because"}, "request_id": "r-1", "session_id": "s-1"}}))
        .await;
}

#[tokio::test]
async fn a_streamed_answer_keeps_its_kinds_and_tools() {
    let (_hub, mut amy, mut ada) = both().await;
    ada.send(why()).await;
    amy.expect_message("why?").await;
    for (text, fields) in pieces() {
        amy.send(with(chunk("r-1", text), &fields)).await;
    }
    ada.expect(json!({"type": "reply", "from": AMY, "stream": true, "stream_id": "r-1", "payload": {"request_id": "r-1", "session_id": "s-1"}}))
        .await;
    for (text, fields) in pieces() {
        let frame = json!({"type": "reply_chunk", "from": AMY, "stream_id": "r-1", "chunk": text});
        ada.expect(with(frame, &fields)).await;
    }
    let files = json!([{"name": "a.png", "url": "https://files.example/a", "type": "image/png"}]);
    let mut end = done("r-1");
    end["result"] = "it is 2".into();
    end["attachments"] = files.clone();
    amy.send(end).await;
    // Streamed text isn't repeated.
    ada.expect(json!({"type": "reply_end", "from": AMY, "stream_id": "r-1", "payload": {"action": "answer", "request_id": "r-1", "session_id": "s-1", "attachments": files}}))
        .await;
}

#[tokio::test]
async fn files_are_attachments_of_the_message() {
    let (hub, mut amy, mut ada) = both().await;
    let file =
        json!({"file": {"name": "a.png", "mime": "image/png", "uri": "https://files.example/a"}});
    let bytes = json!({"file": {"name": "b.txt", "bytes": "aGk="}});
    let query =
        ask(&json!({"body": {"question": "what?", "parts": [file, bytes]}, "request_id": "r-1"}));
    ada.send(query.clone()).await;
    let links = json!([
        {"name": "a.png", "url": "https://files.example/a", "type": "image/png"},
        {"name": "b.txt", "url": "fetched: hi", "type": ""},
    ]);
    let message = with_files(amy.frame().await).await;
    assert_eq!(
        (&message["content"], &message["attachments"]),
        (&json!("what?"), &links)
    );
    // An agent with the extension `meta` also gets all other fields.
    let mut amy = hub.bridge_with(AMY, &["meta"]).await;
    assert_eq!(
        ada.frame().await["code"],
        "offline",
        "the old connection was replaced"
    );
    ada.send(query).await;
    let message = with_files(amy.frame().await).await;
    let meta = &message["meta"];
    assert_eq!(meta["caller"], "ada");
    assert_eq!(meta["parts"], json!([{"text": "what?"}, file, bytes]));
    assert_eq!(message["attachments"], links);
}

#[tokio::test]
async fn a_streamed_message_is_joined() {
    let (_hub, mut amy, mut ada) = both().await;
    for frame in [
        json!({"type": "send", "to": AMY, "stream": true, "stream_id": "s", "payload": {"body": {"question": "Sum up:"}}}),
        json!({"type": "send_chunk", "to": AMY, "stream_id": "s", "chunk": "This is"}),
        json!({"type": "send_chunk", "to": AMY, "stream_id": "s", "chunk": " a segment"}),
        json!({"type": "send_end", "to": AMY, "stream_id": "s"}),
    ] {
        ada.send(frame).await;
    }
    let request = amy.expect_message("Sum up:\nThis is a segment").await;
    amy.send(done(&request)).await;
    assert_eq!(ada.frame().await["stream_id"], "s");
}

#[tokio::test]
async fn a_failure_has_our_name_or_the_agents_own() {
    let (_hub, mut amy, mut ada) = both().await;
    for (code, told) in [
        ("adapter_crash", "crashed"),
        ("agent_busy", "busy"),
        ("timeout", "timeout"),
        ("quota", "quota"),
    ] {
        ada.send(why()).await;
        amy.expect_message("why?").await;
        amy.send(error("r-1", code, "no more")).await;
        ada.expect(json!({"type": "error", "code": told, "message": "no more", "from": AMY, "to": AMY, "stream_id": "r-1", "request_id": "r-1"}))
            .await;
    }
}

#[tokio::test]
async fn a_cancel_and_a_caller_that_leaves_reach_the_agent() {
    let (hub, mut amy, mut ada) = both().await;
    let cancel = json!({"type": "cancel", "session_id": "s-1", "request_id": "r-1"});
    ada.send(why()).await;
    amy.expect_message("why?").await;
    ada.send(json!({"type": "cancel", "to": AMY, "request_id": "r-1"}))
        .await;
    amy.expect(cancel.clone()).await;
    assert_eq!(ada.frame().await["code"], "cancelled");
    // Later frames reach no caller.
    amy.send(chunk("r-1", "late")).await;
    ada.send(why()).await;
    amy.expect_message("why?").await;
    amy.expect_no_bridge_frame().await;
    ada.expect_nothing().await;
    ada.close().await;
    amy.expect(cancel).await;
    let mut ada = hub.agora("ada").await;
    ada.send(why()).await;
    amy.expect_message("why?").await;
    amy.send(chunk("r-1", "well")).await;
    amy.close().await;
    assert_eq!(ada.frame().await["type"], "reply");
    assert_eq!(ada.frame().await["chunk"], "well");
    ada.expect_error(
        json!({"code": "offline", "from": AMY, "to": AMY, "stream_id": "r-1", "request_id": "r-1"}),
    )
    .await;
}

#[tokio::test]
async fn agents_of_both_doors_find_each_other() {
    let (_hub, mut amy, mut ada) = both().await;
    ada.send(json!({"type": "list"})).await;
    let list = ada.frame().await;
    let doors: Vec<_> = list["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["id"].clone(), it["door"].clone()))
        .collect();
    assert_eq!(
        doors,
        [
            (json!(AMY), json!("bridge")),
            (json!("ada"), json!("agora"))
        ]
    );
    amy.send(json!({"type": "discover_agents"})).await;
    let found = amy.frame().await;
    assert_eq!(
        found["agents"][1],
        json!({"id": "ada", "name": "ada", "agent_type": "agora", "capabilities": [], "is_online": true})
    );
}
