//! Golden frames: every example of the seed read and forwarded, and every frame the hub or a client writes.
//! Refusals, payloads and properties stand in files of their own below.

use jackfield_wire::{json::JsonText, read::FieldErrorKind};
use serde_json::Value;
use serde_json::value::RawValue;

use super::*;

mod malformed;
mod payloads;
mod properties;

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn raw(text: &str) -> &RawValue {
    serde_json::from_str(text).unwrap()
}

fn relay(text: &str) -> Relay<'_> {
    match parse(text) {
        Ok(AgoraUplink::Relay(relay)) => relay,
        other => panic!("{text} is no relayed frame: {other:?}"),
    }
}

fn delivery(text: &str) -> DeliveredFrame<'_> {
    match parse_downlink(text) {
        Ok(AgoraDownlink::Delivery(delivery)) => delivery,
        other => panic!("{text} is no delivery: {other:?}"),
    }
}

/// The seed's examples, as printed there, each beside what the receiver gets.
const SEED: [(&str, &str); 5] = [
    (
        r#"{
  "type": "send",
  "to": "agent-2",
  "stream_id": "stream-1",
  "stream": true,
  "payload": { "action": "query", "body": { "question": "..." } }
}"#,
        r#"{
  "type": "message",
  "from": "agent-1",
  "stream_id": "stream-1",
  "stream": true,
  "payload": { "action": "query", "body": { "question": "..." } }
}"#,
    ),
    (
        r#"{
  "type": "send_chunk",
  "to": "agent-2",
  "stream_id": "stream-1",
  "chunk": "This is"
}"#,
        r#"{
  "type": "message_chunk",
  "from": "agent-1",
  "stream_id": "stream-1",
  "chunk": "This is"
}"#,
    ),
    (
        r#"{
  "type": "send_chunk",
  "to": "agent-2",
  "stream_id": "stream-1",
  "chunk": " a segment"
}"#,
        r#"{
  "type": "message_chunk",
  "from": "agent-1",
  "stream_id": "stream-1",
  "chunk": " a segment"
}"#,
    ),
    (
        r#"{
  "type": "send_end",
  "to": "agent-2",
  "stream_id": "stream-1"
}"#,
        r#"{
  "type": "message_end",
  "from": "agent-1",
  "stream_id": "stream-1"
}"#,
    ),
    (
        r#"{
  "type": "send",
  "to": "agent-2",
  "payload": { "action": "query", "body": { "question": "..." } }
}"#,
        r#"{
  "type": "message",
  "from": "agent-1",
  "payload": { "action": "query", "body": { "question": "..." } }
}"#,
    ),
];

#[test]
fn every_example_of_the_seed_is_forwarded_as_the_seed_says() {
    for (sent, received) in SEED {
        let frame = relay(sent).forward("agent-1");
        assert_eq!(value(&frame), value(received), "{sent}");
        assert!(matches!(
            parse_downlink(received),
            Ok(AgoraDownlink::Delivery(_))
        ));
    }
}

#[test]
fn what_is_passed_on_keeps_its_bytes() {
    let sent = relay(SEED[0].0);
    assert_eq!(
        sent.forward("agent-1"),
        concat!(
            r#"{"type":"message","from":"agent-1","stream_id":"stream-1","stream":true,"#,
            r#""payload":{ "action": "query", "body": { "question": "..." } }}"#
        )
    );
    let odd = r#"{"chunk":"\u00e9\/ \ud83d","xy":1.50e+3,"stream_id":"s\u0031","to":"b","type":"reply_chunk","z":[ ],"stream":false,"payload":null}"#;
    assert_eq!(
        relay(odd).forward("a"),
        r#"{"type":"reply_chunk","from":"a","stream_id":"s\u0031","stream":false,"payload":null,"chunk":"\u00e9\/ \ud83d","xy":1.50e+3,"z":[ ]}"#
    );
    assert_eq!(relay(odd).stream_id.unwrap(), "s1");
    assert_eq!(relay(odd).chunk_text().unwrap(), "é/ \u{fffd}");
    assert!(relay(odd).payload().is_none());
}

#[test]
fn replies_cancels_and_errors_arrive_under_their_own_type() {
    for (sent, received) in [
        (
            r#"{"type":"reply","to":"b","payload":{"request_id":"r"}}"#,
            r#"{"type":"reply","from":"a","payload":{"request_id":"r"}}"#,
        ),
        (
            r#"{"type":"reply","to":"b","stream":true,"stream_id":"s"}"#,
            r#"{"type":"reply","from":"a","stream_id":"s","stream":true}"#,
        ),
        (
            r#"{"type":"reply_chunk","to":"b","stream_id":"s","chunk":"x","kind":"thinking"}"#,
            r#"{"type":"reply_chunk","from":"a","stream_id":"s","chunk":"x","kind":"thinking"}"#,
        ),
        (
            r#"{"type":"reply_end","to":"b","stream_id":"s","payload":[1]}"#,
            r#"{"type":"reply_end","from":"a","stream_id":"s","payload":[1]}"#,
        ),
        (
            r#"{"type":"cancel","to":"b","request_id":"r"}"#,
            r#"{"type":"cancel","from":"a","request_id":"r"}"#,
        ),
        (
            r#"{"type":"error","to":"b","code":"busy","message":"later","stream_id":"s"}"#,
            r#"{"type":"error","from":"a","stream_id":"s","code":"busy","message":"later"}"#,
        ),
    ] {
        let frame = relay(sent).forward("a");
        assert_eq!(frame, received);
        assert_eq!(frame.len(), relay(sent).forwarded_len("\"a\""));
    }
}

#[test]
fn fields_known_only_to_other_types_are_passed_on_unread() {
    let sent =
        r#"{"type":"send","to":"b","message":{"x":1},"code":7,"chunk":[],"id":2,"name":null}"#;
    assert_eq!(
        relay(sent).forward("a"),
        r#"{"type":"message","from":"a","chunk":[],"code":7,"message":{"x":1},"id":2,"name":null}"#
    );
    assert!(relay(sent).chunk.is_none());
}

#[test]
fn a_field_name_written_with_escapes_is_passed_on_decoded() {
    let sent = r#"{"type":"send","t\u006f":"b","x\u0079\"":1}"#;
    assert_eq!(
        relay(sent).forward("a"),
        r#"{"type":"message","from":"a","xy\"":1}"#
    );
    // The one place where a lone surrogate is refused: a name that is no text cannot be told apart from others.
    let broken = parse(r#"{"type":"send","to":"b","\ud83d":1}"#).unwrap_err();
    assert_eq!(broken.fault, FrameFault::Syntax);
}

#[test]
fn nobody_can_say_who_they_are() {
    let sent = r#"{"type":"send","to":"b","from":"mallory","caller":{"id":"root"},"fr\u006fm":"x","keep":1}"#;
    let refused = parse(sent).unwrap_err();
    let found = (refused.misread.mistake, refused.field());
    assert_eq!(found, (FieldErrorKind::Twice, Some("from")));

    let sent =
        r#"{"type":"send","to":"b","fr\u006fm":"mallory","c\u0061ller":{"id":"root"},"keep":1}"#;
    assert_eq!(
        relay(sent).forward("al\"ice"),
        r#"{"type":"message","from":"al\"ice","keep":1}"#
    );
}

#[test]
fn a_relayed_frame_tells_what_a_door_asks_of_it() {
    let frame = relay(
        r#"{"type":"reply_chunk","to":"b","stream_id":"s","chunk":"ls","kind":"tool_start","tool_name":"sh","tool_call_id":"c1","payload":{"request_id":"inner"}}"#,
    );
    assert_eq!(frame.kind, RelayKind::ReplyChunk);
    assert!(frame.kind.is_chunk() && frame.kind.is_reply() && !frame.kind.is_end());
    assert_eq!(frame.chunk_text().unwrap(), "ls");
    assert_eq!(frame.chunk_kind().unwrap(), "tool_start");
    assert_eq!(frame.tool_name().unwrap(), "sh");
    assert_eq!(frame.tool_call_id().unwrap(), "c1");
    assert_eq!(frame.payload_request_id().unwrap(), "inner");
    assert_eq!(frame.any_request_id().unwrap(), "inner");
    assert_eq!(frame.extra().len(), 3);

    let error = relay(r#"{"type":"error","to":"b","code":"x","message":"y","request_id":"top"}"#);
    assert_eq!(error.code().unwrap(), "x");
    assert_eq!(error.message().unwrap(), "y");
    assert_eq!(error.any_request_id().unwrap(), "top");
}

#[test]
fn registering_and_listing_are_read() {
    let text = r#"{"type":"register","id":"a","name":"Älice","endpoint":null,"capabilities":["x","y"],"token":"t","future":{}}"#;
    let Ok(AgoraUplink::Register(register)) = parse(text) else {
        panic!("no register");
    };
    assert_eq!(
        register,
        RegisterFrame {
            id: "a".into(),
            name: Some("Älice".into()),
            token: Some("t".into()),
            capabilities: vec!["x".into(), "y".into()],
            ..RegisterFrame::default()
        }
    );
    for (text, expected) in [
        (r#"{"type":"list"}"#, &[][..]),
        (r#"{"type":"list","capability":"x"}"#, &["x"]),
        (r#"{"type":"list","capabilities":["x","y"]}"#, &["x", "y"]),
        (
            r#"{"type":"list","capability":"z","capabilities":["x"]}"#,
            &["x", "z"],
        ),
        (
            r#"{"type":"list","capability":"x","capabilities":["x"]}"#,
            &["x"],
        ),
    ] {
        let Ok(AgoraUplink::List(list)) = parse(text) else {
            panic!("{text} is no list");
        };
        assert_eq!(list.capabilities, expected);
    }
    assert!(matches!(
        parse(r#" {"type":"ping"} "#),
        Ok(AgoraUplink::Ping)
    ));
}

#[test]
fn the_hub_writes_these_frames() {
    let query = QueryPayload {
        body: QueryContent {
            question: "why?".into(),
            parts: Some(raw("[1]")),
            attachments: Some(raw("[2]")),
        },
        request_id: Some("r"),
        session_id: Some("s"),
    };
    let opening = Opening {
        payload: Some(FramePayload::Query(&query)),
        caller: Some("alice"),
        metadata: Some(raw(r#"{"k":1}"#)),
        ..Opening::default()
    };
    let chunk = FrameChunk {
        text: JsonText::Json(raw(r#""a\u0062""#)),
        kind: Some("tool_start"),
        tool_name: Some("sh"),
        tool_call_id: Some("c"),
    };
    let entry = AgentListEntry {
        id: "a".into(),
        name: Some("A".into()),
        registered_at: "2026-01-01T00:00:00Z".into(),
        capabilities: vec!["x".into()],
        online: true,
        ..AgentListEntry::default()
    };
    let ids = FramePayload::Ids {
        request_id: Some("r"),
        session_id: None,
    };
    for (frame, expected) in [
        (
            downlink::registered("a"),
            r#"{"type":"registered","id":"a"}"#,
        ),
        (downlink::pong(), r#"{"type":"pong"}"#),
        (
            downlink::agents(&[entry]),
            r#"{"type":"agents","agents":[{"id":"a","name":"A","registered_at":"2026-01-01T00:00:00Z","capabilities":["x"],"online":true}]}"#,
        ),
        (downlink::agents(&[]), r#"{"type":"agents","agents":[]}"#),
        (
            downlink::message("call-1", &opening),
            r#"{"type":"message","from":"call-1","payload":{"action":"query","body":{"question":"why?","parts":[1],"attachments":[2]},"request_id":"r","session_id":"s"},"caller":"alice","metadata":{"k":1}}"#,
        ),
        (
            downlink::message_chunk("c", "s", "a\nb"),
            r#"{"type":"message_chunk","from":"c","stream_id":"s","chunk":"a\nb"}"#,
        ),
        (
            downlink::message_end("c", "s"),
            r#"{"type":"message_end","from":"c","stream_id":"s"}"#,
        ),
        (
            downlink::reply(
                "b",
                &Opening {
                    stream_id: Some("s"),
                    stream: true,
                    payload: Some(ids),
                    ..Opening::default()
                },
            ),
            r#"{"type":"reply","from":"b","stream_id":"s","stream":true,"payload":{"request_id":"r"}}"#,
        ),
        (
            downlink::reply_chunk("b", "s", chunk),
            r#"{"type":"reply_chunk","from":"b","stream_id":"s","chunk":"a\u0062","kind":"tool_start","tool_name":"sh","tool_call_id":"c"}"#,
        ),
        (
            downlink::reply_end("b", "s", Some(FramePayload::Raw(raw("{}")))),
            r#"{"type":"reply_end","from":"b","stream_id":"s","payload":{}}"#,
        ),
        (
            downlink::cancel("b", None, Some("r")),
            r#"{"type":"cancel","from":"b","request_id":"r"}"#,
        ),
        (
            downlink::error(&ErrorFrame {
                to: Some("b".into()),
                stream_id: Some("s".into()),
                ..ErrorFrame::new("offline", "b is gone")
            }),
            r#"{"type":"error","code":"offline","message":"b is gone","to":"b","stream_id":"s"}"#,
        ),
    ] {
        assert_eq!(frame, expected);
    }
}

#[test]
fn a_client_reads_what_the_hub_writes() {
    let Ok(AgoraDownlink::Agents(agents)) = parse_downlink(
        r#"{"type":"agents","agents":[{"id":"a","name":"A","registered_at":"t"},7,{"name":"no id"},{"id":"b","online":false,"capabilities":["x",1],"door":"a2a"}]}"#,
    ) else {
        panic!("no agents");
    };
    assert_eq!(agents.len(), 2);
    assert!(agents[0].online && !agents[1].online);
    assert_eq!(agents[0].name.as_deref(), Some("A"));
    assert_eq!(agents[1].name, None);
    assert_eq!(agents[1].capabilities, ["x"]);

    let message = delivery(
        r#"{"type":"message","from":"x","caller":"alice","stream":1,"request_id":5,"payload":"hi","new":[1]}"#,
    );
    assert_eq!(message.kind, DeliveryKind::Message);
    assert_eq!(message.caller.as_deref(), Some("alice"));
    assert!(!message.stream && message.request_id.is_none());
    assert_eq!(message.payload.unwrap().get(), "\"hi\"");
    assert_eq!(message.extra.len(), 1);

    assert!(matches!(
        parse_downlink(r#"{"type":"registered","id":"a"}"#),
        Ok(AgoraDownlink::Registered(id)) if id == "a"
    ));
    assert!(matches!(
        parse_downlink(r#"{"type":"shiny"}"#),
        Ok(AgoraDownlink::Unknown(kind)) if kind == "shiny"
    ));
    assert!(matches!(
        parse_downlink(r#"{"type":"pong"}"#),
        Ok(AgoraDownlink::Pong)
    ));
    for (text, field) in [
        (r#"{"type":"message"}"#, "from"),
        (
            r#"{"type":"reply_chunk","from":"a","chunk":""}"#,
            "stream_id",
        ),
        (
            r#"{"type":"reply_chunk","from":"a","stream_id":"s"}"#,
            "chunk",
        ),
        (r#"{"type":"agents","agents":{}}"#, "agents"),
        (r#"{"from":"a"}"#, "type"),
    ] {
        let malformed = parse_downlink(text).unwrap_err();
        assert_eq!(malformed.field(), Some(field), "{text}");
    }
}
