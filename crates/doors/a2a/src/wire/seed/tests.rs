//! Golden bodies: every example of the seed, read as it stands there, and every answer, written byte for byte.
//! Refusals and properties stand in files of their own.

use jackfield_wire::json::JsonText;
use serde_json::value::RawValue;

use super::{
    event::{SeedUpdate, StreamIds},
    request::SeedRole,
    task::{SeedErrorCode, SeedReply, SeedStatus, SeedTask, TaskError, result},
    *,
};

mod malformed;
mod properties;

/// The body of the seed's curl command, copied.
pub(super) const CURL: &str = r#"{
    "jsonrpc": "2.0",
    "method": "message/send",
    "id": "req-1",
    "params": {
      "message": {
        "messageId": "msg-1",
        "role": "user",
        "agentId": "my-agent",
        "contextId": "session-123",
        "parts": [{"kind": "text", "text": "Hello!"}]
      }
    }
  }"#;

/// The body of the seed's section on `message/send`, copied.
const SECTION: &str = r#"{
  "jsonrpc": "2.0",
  "method": "message/send",
  "id": "request-id",
  "params": {
    "message": {
      "messageId": "msg-id",
      "role": "user",
      "agentId": "agent-id",
      "contextId": "context-id",
      "parts": [
        {"kind": "text", "text": "Hello"}
      ]
    }
  }
}"#;

pub(super) fn read(body: &str) -> Result<SeedRequest<'_>, SeedRefusal> {
    SeedRequest::parse(body.as_bytes(), &Rules::default())
}

/// A body with these parts.
pub(super) fn with_parts(parts: &str) -> String {
    CURL.replace(r#"[{"kind": "text", "text": "Hello!"}]"#, parts)
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

fn reply<'a>(parts: &'a [SeedPart<'a>]) -> SeedReply<'a> {
    SeedReply {
        message_id: "msg-9",
        agent_id: "my-agent",
        context_id: "session-123",
        parts,
        timestamp: "2026-03-04T05:06:07Z",
    }
}

#[test]
fn the_seeds_requests_are_read_as_they_stand_there() {
    let request = read(CURL).unwrap();
    assert!(matches!(&request.id, SeedRequestId::Given(raw) if raw.get() == "\"req-1\""));
    let message = request.message;
    assert_eq!(message.id, "msg-1");
    assert_eq!(message.role, SeedRole::User);
    assert_eq!(message.agent_id, "my-agent");
    assert_eq!(message.context_id.as_deref(), Some("session-123"));
    assert_eq!(message.parts, [SeedPart::Text("Hello!".into())]);
    assert!(message.extra.is_empty() && request.extra.is_empty());
    assert!(CURL.contains(message.raw.get()), "byte for byte");
    assert_eq!(read(SECTION).unwrap().message.agent_id, "agent-id");
}

#[test]
fn the_seeds_kinds_of_parts_are_read_as_they_stand_there() {
    let name = || Some("image.png".into());
    let file = |source| {
        SeedPart::File(SeedFile {
            source,
            mime_type: "image/png".into(),
            name: name(),
        })
    };
    for (seed, part) in [
        (
            r#"{
  "kind": "text",
  "text": "消息内容"
}"#,
            SeedPart::Text("消息内容".into()),
        ),
        (
            r#"{
  "kind": "file",
  "file": {
    "uri": "https://example.com/image.png",
    "mimeType": "image/png",
    "name": "image.png"
  }
}"#,
            file(SeedFileSource::Uri("https://example.com/image.png".into())),
        ),
        (
            r#"{
  "kind": "file",
  "file": {
    "bytes": "base64-encoded-content",
    "mimeType": "image/png",
    "name": "image.png"
  }
}"#,
            file(SeedFileSource::Bytes("base64-encoded-content".into())),
        ),
        (
            r#"{
  "kind": "data",
  "data": {
    "content": "{\"key\": \"value\"}",
    "mimeType": "application/json"
  }
}"#,
            SeedPart::Data(SeedData {
                content: r#"{"key": "value"}"#.into(),
                mime_type: "application/json".into(),
                name: None,
            }),
        ),
    ] {
        let body = with_parts(&format!("[{seed}]"));
        let request = read(&body).unwrap();
        assert_eq!(request.message.parts, std::slice::from_ref(&part), "{seed}");
        let written = crate::wire::write::to_json(&part::SeedPartOut::of(&part));
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&written), value(seed), "written again");
    }
}

#[test]
fn what_nobody_knows_is_kept_in_its_order() {
    let body = r#"{"jsonrpc":"2.0","method":"message/stream","id":7,"params":{"configuration":{"blocking":false},
        "message":{"kind":"message","messageId":"m","role":"agent","agentId":"a","parts":[{"kind":"text","text":"x"}],
        "metadata":{"userId":"u","n":1.50},"taskId":"t"},"metadata":{}}}"#;
    let request = read(body).unwrap();
    let kept = |extra: &[jackfield_wire::json::RawMember<'_>]| -> Vec<String> {
        let shown = |member: &jackfield_wire::json::RawMember<'_>| {
            format!("{}={}", member.name, member.value)
        };
        extra.iter().map(shown).collect()
    };
    assert_eq!(
        kept(&request.message.extra),
        [
            "kind=\"message\"",
            r#"metadata={"userId":"u","n":1.50}"#,
            "taskId=\"t\""
        ]
    );
    assert_eq!(
        kept(&request.extra),
        [r#"configuration={"blocking":false}"#, "metadata={}"]
    );
    assert_eq!(request.message.role, SeedRole::Agent);
    assert_eq!(request.message.context_id, None);
}

#[test]
fn the_header_names_the_agent_only_where_the_message_does_not() {
    let rules = Rules {
        agent: Some("other"),
        ..Rules::default()
    };
    let named = SeedRequest::parse(CURL.as_bytes(), &rules).unwrap();
    assert_eq!(named.message.agent_id, "my-agent");
    for unnamed in ["", r#""agentId": "","#, r#""agentId": null,"#] {
        let body = CURL.replace(r#""agentId": "my-agent","#, unnamed);
        let request = SeedRequest::parse(body.as_bytes(), &rules).unwrap();
        assert_eq!(request.message.agent_id, "other", "{unnamed}");
    }
}

#[test]
fn ids_come_back_as_they_came() {
    for id in ["\"req-1\"", "\"\\u00e9\"", "7", "-1", "1.50", "1e3", "0"] {
        let body = CURL.replace("\"req-1\"", id);
        let request = read(&body).unwrap();
        let refusal = SeedRefusal::no_such_entity(request.id, "x");
        let start = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#);
        assert!(refusal.to_body().starts_with(&start), "{id}");
    }
}

#[test]
fn a_result_has_the_seeds_shape() {
    let parts = [
        SeedPart::Text("Hello \"you\"\n".into()),
        SeedPart::File(SeedFile {
            source: SeedFileSource::Bytes("aGk=".into()),
            mime_type: "image/png".into(),
            name: None,
        }),
        SeedPart::Data(SeedData {
            content: "[1]".into(),
            mime_type: "application/json".into(),
            name: Some("n".into()),
        }),
    ];
    let task = SeedTask {
        id: "task-1",
        context_id: "session-123",
        status: SeedStatus::Completed,
        input: raw(r#"{ "messageId": "msg-1", "x": 1.0 }"#),
        reply: Some(reply(&parts)),
        error: None,
    };
    let id = SeedRequestId::of(raw("7")).unwrap();
    assert_eq!(
        result(&id, &task),
        concat!(
            r#"{"jsonrpc":"2.0","id":7,"result":{"task":{"id":"task-1","context_id":"session-123","status":"completed","#,
            r#""history":[{ "messageId": "msg-1", "x": 1.0 },{"messageId":"msg-9","role":"agent","agentId":"my-agent","#,
            r#""contextId":"session-123","parts":[{"kind":"text","text":"Hello \"you\"\n"},"#,
            r#"{"kind":"file","file":{"bytes":"aGk=","mimeType":"image/png"}},"#,
            r#"{"kind":"data","data":{"content":"[1]","mimeType":"application/json","name":"n"}}],"#,
            r#""timestamp":"2026-03-04T05:06:07Z"}]}}}"#
        )
    );
    let cancelled = SeedTask {
        status: SeedStatus::Cancelled,
        reply: None,
        error: Some(TaskError {
            code: SeedErrorCode::Execution,
            message: "no",
            reason: "cancelled",
        }),
        ..task
    };
    assert_eq!(
        result(&SeedRequestId::Unknown, &cancelled),
        concat!(
            r#"{"jsonrpc":"2.0","id":"","result":{"task":{"id":"task-1","context_id":"session-123","status":"cancelled","#,
            r#""history":[{ "messageId": "msg-1", "x": 1.0 }],"#,
            r#""error":{"code":"execution_error","message":"no","details":{"reason":"cancelled"}}}}}"#
        )
    );
}

#[test]
fn the_events_of_a_stream_are_one_line_each() {
    let about = StreamIds {
        task_id: "task-1",
        context_id: "c",
    };
    let text = SeedUpdate {
        delta: JsonText::from("a\r\nb"),
        kind: "text",
        tool_name: None,
        tool_call_id: None,
    };
    let tool = SeedUpdate {
        delta: JsonText::from(""),
        kind: "tool_start",
        tool_name: Some("Bash"),
        tool_call_id: Some("t1"),
    };
    let parts = [SeedPart::Text("a\nb".into())];
    let error = TaskError {
        code: SeedErrorCode::Conversion,
        message: "too\nlarge",
        reason: "too_large",
    };
    for (data, wanted) in [
        (
            about.update(&text),
            r#"{"taskId":"task-1","contextId":"c","status":"working","delta":"a\r\nb","kind":"text"}"#,
        ),
        (
            about.update(&tool),
            r#"{"taskId":"task-1","contextId":"c","status":"working","delta":"","kind":"tool_start","tool_name":"Bash","tool_call_id":"t1"}"#,
        ),
        (
            about.completed(&reply(&parts)),
            r#"{"taskId":"task-1","contextId":"c","status":"completed","message":{"messageId":"msg-9","role":"agent","agentId":"my-agent","contextId":"session-123","parts":[{"kind":"text","text":"a\nb"}],"timestamp":"2026-03-04T05:06:07Z"}}"#,
        ),
        (
            about.error(SeedStatus::Failed, &error),
            r#"{"taskId":"task-1","contextId":"c","status":"failed","error":{"code":"conversion_error","message":"too\nlarge","details":{"reason":"too_large"}}}"#,
        ),
    ] {
        assert_eq!(data, wanted);
        assert!(!data.contains(['\n', '\r']), "{data:?}");
    }
}
