//! The seed's own examples, copied from it, against a hub.

use jackfield_model::{FileSource, Json, Part};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::seed::harness::{A2aHub, CURL, PARTS, SEND, STREAM, answered, changed};

#[tokio::test]
async fn the_seeds_curl_command_is_answered_in_the_seeds_shape() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let (answer, call) = tokio::join!(
        hub.post(SEND, CURL),
        answered(&mut agent, "Hello from agent!")
    );
    let (status, mut body) = answer;
    assert_eq!(status, StatusCode::OK);
    let reply = &mut body["result"]["task"]["history"][1];
    let id = reply["messageId"].take();
    let uuid = id.as_str().unwrap().strip_prefix("msg-").unwrap();
    assert_eq!(uuid.len(), 36);
    let time = reply["timestamp"].take();
    let time = time.as_str().unwrap();
    assert!(
        time.len() == "2026-03-04T05:06:07Z".len() && time.ends_with('Z'),
        "{time}"
    );
    let input: Value = serde_json::from_str(CURL).unwrap();
    let wanted = json!({
        "jsonrpc": "2.0",
        "id": "req-1",
        "result": {"task": {
            "id": format!("task-{}", call.id),
            "context_id": "session-123",
            "status": "completed",
            "history": [
                input["params"]["message"],
                {
                    "messageId": null,
                    "role": "agent",
                    "agentId": "my-agent",
                    "contextId": "session-123",
                    "parts": [{"kind": "text", "text": "Hello from agent!"}],
                    "timestamp": null,
                },
            ],
        }},
    });
    assert_eq!(body, wanted);
    assert_eq!(call.message.joined_text(), "Hello!");
    assert_eq!(call.message.id.as_deref(), Some("msg-1"));
    assert_eq!(call.message.metadata, None);
    assert_eq!(call.agent_session.as_str(), "session-123");
}

#[tokio::test]
async fn the_seeds_kinds_of_parts_reach_the_agent() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    // As in the seed, but for the bytes, which are no base64 there.
    let parts = r#"[
{
  "kind": "text",
  "text": "消息内容"
},
{
  "kind": "file",
  "file": {
    "uri": "https://example.com/image.png",
    "mimeType": "image/png",
    "name": "image.png"
  }
},
{
  "kind": "file",
  "file": {
    "bytes": "aGVsbG8=",
    "mimeType": "image/png",
    "name": "image.png"
  }
},
{
  "kind": "data",
  "data": {
    "content": "{\"key\": \"value\"}",
    "mimeType": "application/json"
  }
}
]"#;
    let sending = hub.post(SEND, changed(PARTS, parts));
    let ((status, body), call) = tokio::join!(sending, answered(&mut agent, "ok"));
    assert_eq!(status, StatusCode::OK);
    let echoed = &body["result"]["task"]["history"][0]["parts"];
    assert_eq!(*echoed, serde_json::from_str::<Value>(parts).unwrap());
    let [
        Part::Text(text),
        Part::File(link),
        Part::File(bytes),
        Part::Data(data),
    ] = &call.message.parts[..]
    else {
        panic!("{:?}", call.message.parts);
    };
    assert_eq!(text, "消息内容");
    assert_eq!(
        link.source,
        FileSource::Uri("https://example.com/image.png".into())
    );
    assert_eq!(link.mime.as_deref(), Some("image/png"));
    assert_eq!(bytes.source, FileSource::Bytes("aGVsbG8=".into()));
    assert_eq!(bytes.name.as_deref(), Some("image.png"));
    assert_eq!(*data, Json::parse(r#"{"key": "value"}"#).unwrap());
}

#[tokio::test]
async fn the_seeds_error_is_the_seeds_error() {
    let hub = A2aHub::start().await;
    for path in [SEND, STREAM] {
        let (status, body) = hub
            .post(path, changed(r#""agentId": "my-agent","#, ""))
            .await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        let seed = r#"{
  "jsonrpc": "2.0",
  "id": "req-1",
  "error": {
    "code": -32600,
    "message": "Invalid request: agentId is required"
  }
}"#;
        assert_eq!(body, serde_json::from_str::<Value>(seed).unwrap());
    }
}

#[tokio::test]
async fn the_route_and_not_the_method_decides_how_the_answer_comes() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let body = changed("message/send", "message/stream");
    let ((status, _), _) = tokio::join!(hub.post(SEND, body), answered(&mut agent, "whole"));
    assert_eq!(status, StatusCode::OK);
    let (mut stream, _) = tokio::join!(hub.stream(CURL), answered(&mut agent, "streamed"));
    stream.expect("task_update").await;
}
