//! Bodies and events of the relay API: the seed's examples, the wire notes' answers, and every mistake by name.

use jackfield_wire::{
    bridge::Attachment,
    json::MAX_DEPTH,
    read::{FieldError, FieldErrorKind},
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::body::{
    A2aCall, AgentsByToken, CancelRequest, DisconnectRequest, RelayRequest, RtcSignalRequest,
};
use super::response::{
    AgentStatusResponse, CallbackBody, CancelResponse, DisconnectResponse, HealthResponse,
    RelayAccepted, RelayErrorBody, SignalView, SignalsResponse, TaskStatusResponse, TokenAgent,
    TokenAgents,
};
use super::sse::{self, ChunkEvent, DoneEvent};

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

fn relay(body: &str) -> RelayRequest<'_> {
    RelayRequest::parse(body.as_bytes(), MAX_DEPTH).unwrap()
}

/// The seed's example, as printed there.
const SEED_RELAY: &str = r#"{
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

#[test]
fn the_seeds_relay_request_is_understood() {
    let request = relay(SEED_RELAY);
    assert_eq!(request.agent_id.required().unwrap(), "uuid");
    assert_eq!(request.session_id.required().unwrap(), "uuid");
    assert_eq!(request.request_id.required().unwrap(), "uuid");
    assert_eq!(request.content.required().unwrap(), "User message");
    assert!(request.attachments.required().unwrap().is_empty());
    assert_eq!(
        request.client_id.optional().unwrap().unwrap(),
        "client-uuid"
    );
    assert_eq!(request.with_files.optional().unwrap(), Some(&true));
    assert_eq!(request.task_id.get().unwrap(), "platform-task-id");
    assert_eq!(
        request.callback_url.get().unwrap(),
        "/api/tasks/{id}/callback"
    );
    assert!(!request.is_async());
    assert!(request.keep.get().is_none() && request.wait_online.get().is_none());
}

#[test]
fn async_needs_the_mode_and_an_address() {
    for (body, expected) in [
        (r#"{"mode":"async","callback_url":"https://x"}"#, true),
        (r#"{"mode":"async"}"#, false),
        (r#"{"mode":"async","callback_url":""}"#, false),
        (r#"{"callback_url":"https://x"}"#, false),
        (r#"{"mode":"later","callback_url":"https://x"}"#, false),
    ] {
        assert_eq!(relay(body).is_async(), expected, "{body}");
    }
}

#[test]
fn a_wrong_field_is_no_mistake_until_it_is_asked_for() {
    let request = relay(
        r#"{"session_id":5,"request_id":"","content":null,"attachments":[{}],"with_files":"yes","mode":["async"],"client_id":"\ud83d","keep":true,"new":1}"#,
    );
    use FieldErrorKind::{Invalid, Missing};
    for (result, mistake, path) in [
        (request.agent_id.required().map(drop), Missing, "agent_id"),
        (
            request.session_id.required().map(drop),
            Invalid,
            "session_id",
        ),
        (
            request.request_id.required().map(drop),
            Missing,
            "request_id",
        ),
        (request.content.required().map(drop), Missing, "content"),
        (
            request.attachments.optional().map(drop),
            Missing,
            "attachments[0].url",
        ),
        (
            request.with_files.optional().map(drop),
            Invalid,
            "with_files",
        ),
        (request.mode.optional().map(drop), Invalid, "mode"),
    ] {
        let misread = result.unwrap_err();
        assert_eq!((misread.mistake, &*misread.path), (mistake, path));
    }
    assert!(request.content.optional().unwrap().is_none());
    assert_eq!(request.client_id.get().unwrap(), "\u{fffd}");
    assert_eq!(request.keep.get(), Some(&true));
    assert!(request.mode.get().is_none());
}

#[test]
fn fields_given_twice_or_nested_too_deeply_are_refused_at_once() {
    let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
    for (body, mistake, path) in [
        (
            r#"{"keep":true,"keep":true}"#.to_owned(),
            FieldErrorKind::Twice,
            "keep",
        ),
        (
            format!(r#"{{"wait_online":{deep}}}"#),
            FieldErrorKind::TooDeep,
            "wait_online",
        ),
    ] {
        let misread = RelayRequest::parse(body.as_bytes(), MAX_DEPTH).unwrap_err();
        assert_eq!((misread.mistake, &*misread.path), (mistake, path));
    }
}

#[test]
fn a_body_that_is_no_object_is_refused() {
    let parse = |body: &[u8]| -> FieldError { RelayRequest::parse(body, MAX_DEPTH).unwrap_err() };
    for body in [&b""[..], b"{", b"hello", b"{} x"] {
        let misread = parse(body);
        assert_eq!(
            (misread.mistake, misread.field()),
            (FieldErrorKind::Syntax, None)
        );
    }
    for body in [&b"[]"[..], b"null", b"1", b"{\"a\":\"\xff\"}"] {
        let misread = parse(body);
        assert_eq!(
            (misread.mistake, misread.field()),
            (FieldErrorKind::Invalid, None)
        );
    }
}

#[test]
fn the_other_bodies_are_understood() {
    let seed = br#"{
  "caller_agent_id": "uuid",
  "target_agent_id": "uuid",
  "task_description": "Translate this text to Chinese"
}"#;
    let call = A2aCall::parse(seed, MAX_DEPTH).unwrap();
    assert_eq!(call.caller_agent_id.required().unwrap(), "uuid");
    assert_eq!(call.target_agent_id.required().unwrap(), "uuid");
    assert_eq!(
        call.task_description.required().unwrap(),
        "Translate this text to Chinese"
    );

    let cancel = CancelRequest::parse(br#"{"agent_id":"a","session_id":"s"}"#, MAX_DEPTH).unwrap();
    assert_eq!(cancel.agent_id.required().unwrap(), "a");
    assert_eq!(cancel.session_id.required().unwrap(), "s");
    assert!(cancel.request_id.optional().unwrap().is_none());

    let disconnect = DisconnectRequest::parse(br#"{"agent_id":"a"}"#, MAX_DEPTH).unwrap();
    assert_eq!(disconnect.agent_id.required().unwrap(), "a");
    let by_token = AgentsByToken::parse(br#"{"token_hash":"00ff"}"#, MAX_DEPTH).unwrap();
    assert_eq!(by_token.token_hash.required().unwrap(), "00ff");

    let body = br#"{"transfer_id":"t","signal_type":"offer","payload":"v=0\r\n","client_id":"c","ice_servers":[{"urls":["turn:x"],"credential":"p"}]}"#;
    let signal = RtcSignalRequest::parse(body, MAX_DEPTH).unwrap();
    assert_eq!(signal.transfer_id.required().unwrap(), "t");
    assert_eq!(signal.signal_type.required().unwrap(), "offer");
    assert_eq!(signal.payload.required().unwrap().get(), r#""v=0\r\n""#);
    assert_eq!(signal.client_id.get().unwrap(), "c");
    assert!(signal.ice_servers.get().unwrap().get().starts_with("[{"));
}

fn answers(answer: &impl Serialize, expected: &str) {
    let written = serde_json::to_string(answer).unwrap();
    assert_eq!(value(&written), value(expected));
}

#[test]
fn answers_have_exactly_the_fields_of_the_original() {
    answers(
        &RelayErrorBody {
            error: "agent_offline",
            message: Some("Agent is not connected"),
        },
        r#"{"error":"agent_offline","message":"Agent is not connected"}"#,
    );
    answers(
        &RelayErrorBody {
            error: "Expected WebSocket upgrade",
            message: None,
        },
        r#"{"error":"Expected WebSocket upgrade"}"#,
    );
    answers(
        &RelayAccepted {
            accepted: true,
            request_id: "r",
        },
        r#"{"accepted":true,"request_id":"r"}"#,
    );
    answers(
        &AgentStatusResponse::default(),
        r#"{"online":false,"agent_type":"","capabilities":[],"connected_at":"","last_heartbeat":"","active_sessions":0,"user_id":""}"#,
    );
    answers(
        &CancelResponse {
            success: true,
            session_id: "s",
            request_id: "r",
        },
        r#"{"success":true,"session_id":"s","request_id":"r"}"#,
    );
    answers(
        &DisconnectResponse {
            success: true,
            was_online: false,
        },
        r#"{"success":true,"was_online":false}"#,
    );
    let agent = TokenAgent {
        agent_id: "a",
        agent_type: "claude",
    };
    answers(
        &TokenAgents {
            agents: vec![agent],
        },
        r#"{"agents":[{"agent_id":"a","agent_type":"claude"}]}"#,
    );
    let signal = SignalView {
        signal_type: "answer",
        payload: Some(raw(r#""v=0""#)),
    };
    answers(
        &SignalsResponse {
            ok: true,
            signals: vec![signal],
        },
        r#"{"ok":true,"signals":[{"signal_type":"answer","payload":"v=0"}]}"#,
    );
    answers(&HealthResponse::default(), r#"{"status":"ok"}"#);
}

#[test]
fn task_statuses_and_callbacks_have_exactly_the_fields_of_the_original() {
    let attachments = [Attachment::new("n", "u", "t")];
    let offer = Some(raw(r#"{"transfer_id":"t"}"#));
    answers(
        &TaskStatusResponse::Running {
            request_id: "r",
            started_at: "2026-03-01T00:00:00.000Z",
        },
        r#"{"request_id":"r","status":"running","started_at":"2026-03-01T00:00:00.000Z"}"#,
    );
    answers(
        &TaskStatusResponse::Completed {
            request_id: "r",
            result: "",
            attachments: &[],
            file_transfer_offer: None,
            duration_ms: 5,
            completed_at: "t",
        },
        r#"{"request_id":"r","status":"completed","result":"","duration_ms":5,"completed_at":"t"}"#,
    );
    answers(
        &TaskStatusResponse::Failed {
            request_id: "r",
            error_code: "timeout",
            error_message: "No activity for 5 minutes",
            duration_ms: 5,
            completed_at: "t",
        },
        r#"{"request_id":"r","status":"failed","error_code":"timeout","error_message":"No activity for 5 minutes","duration_ms":5,"completed_at":"t"}"#,
    );
    answers(
        &CallbackBody::Completed {
            request_id: "r",
            result: "x",
            attachments: &attachments,
            file_transfer_offer: offer,
            duration_ms: 5,
            session_key: "s",
            session_title: Some("T"),
            user_message: None,
        },
        r#"{"request_id":"r","status":"completed","result":"x","attachments":[{"name":"n","url":"u","type":"t"}],"file_transfer_offer":{"transfer_id":"t"},"duration_ms":5,"session_key":"s","session_title":"T"}"#,
    );
    answers(
        &CallbackBody::Failed {
            request_id: "r",
            error_code: "agent_offline",
            error_message: "Agent disconnected",
        },
        r#"{"request_id":"r","status":"failed","error_code":"agent_offline","error_message":"Agent disconnected"}"#,
    );
}

#[test]
fn events_are_written_as_the_original_writes_them() {
    let chunk = ChunkEvent {
        delta: "hi\n".into(),
        kind: Some("tool_result"),
        tool_name: Some(""),
        tool_call_id: Some("c"),
    };
    let attachment = raw(r#"{"name": "n", "url": "u", "type": "t", "size": 1}"#);
    let attachments = [Attachment {
        raw: Some(attachment),
        ..Attachment::new("n", "u", "t")
    }];
    for (written, expected) in [
        (
            sse::chunk(&chunk),
            r#"{"type":"chunk","delta":"hi\n","kind":"tool_result","tool_call_id":"c"}"#,
        ),
        (
            sse::chunk(&ChunkEvent::default()),
            r#"{"type":"chunk","delta":""}"#,
        ),
        (sse::done(&DoneEvent::default()), r#"{"type":"done"}"#),
        (
            sse::done(&DoneEvent {
                attachments: &attachments,
                file_transfer_offer: Some(raw(r#"{"transfer_id":"t"}"#)),
                result: Some("all".into()),
            }),
            r#"{"type":"done","attachments":[{"name": "n", "url": "u", "type": "t", "size": 1}],"file_transfer_offer":{"transfer_id":"t"},"result":"all"}"#,
        ),
        (
            sse::done(&DoneEvent {
                file_transfer_offer: Some(raw("{\r\n  \"transfer_id\":\n \"a\\nb\"\n}")),
                ..DoneEvent::default()
            }),
            r#"{"type":"done","file_transfer_offer":{  "transfer_id": "a\nb"}}"#,
        ),
        (
            sse::error("timeout", "Agent did not respond within 120 seconds"),
            r#"{"type":"error","code":"timeout","message":"Agent did not respond within 120 seconds"}"#,
        ),
        (sse::KEEPALIVE.to_owned(), r#"{"type":"keepalive"}"#),
        (sse::gap("2-17"), r#"{"type":"gap","next":"2-17"}"#),
    ] {
        assert_eq!(written, expected);
        value(&written);
        assert!(!written.contains('\n'), "an event is one line: {written}");
    }
}
