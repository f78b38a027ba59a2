//! Every way a frame can be wrong, and which field the refusal names.

use super::*;

fn refused(text: &str) -> FrameError {
    match parse(text) {
        Err(malformed) => malformed,
        Ok(frame) => panic!("{text} was taken for {frame:?}"),
    }
}

#[test]
fn text_that_is_no_object_is_refused() {
    for text in [
        "",
        "  ",
        "hello",
        "{",
        r#"{"type":"ping"} x"#,
        r#"{"type":"ping",}"#,
        "nul",
    ] {
        let malformed = refused(text);
        assert_eq!(malformed.fault, FrameFault::Syntax, "{text}");
        assert_eq!(malformed.misread.mistake, FieldErrorKind::Syntax, "{text}");
        assert_eq!(malformed.field(), None);
    }
    for text in ["null", "[]", "\"ping\"", "1", "true"] {
        let malformed = refused(text);
        assert_eq!(malformed.fault, FrameFault::Syntax, "{text}");
        assert_eq!(malformed.misread.mistake, FieldErrorKind::Invalid, "{text}");
        assert_eq!(malformed.field(), None);
    }
}

#[test]
fn each_mistake_names_the_frame_and_the_field() {
    use FieldErrorKind::{Invalid, Missing, Twice};
    for (text, mistake, field) in [
        (r#"{}"#, Missing, "type"),
        (r#"{"type":null}"#, Missing, "type"),
        (r#"{"type":1}"#, Invalid, "type"),
        (r#"{"type":"sing","to":"b"}"#, Invalid, "type"),
        (r#"{"type":"message","to":"b"}"#, Invalid, "type"),
        (
            r#"{"type":"message_chunk","to":"b","chunk":"x"}"#,
            Invalid,
            "type",
        ),
        (r#"{"type":"send"}"#, Missing, "to"),
        (r#"{"type":"cancel","stream_id":"s"}"#, Missing, "to"),
        (r#"{"type":"send","to":null}"#, Missing, "to"),
        (r#"{"type":"send","to":["b"]}"#, Invalid, "to"),
        (r#"{"type":"send","to":"b","to":"c"}"#, Twice, "to"),
        (r#"{"type":"send","to":"b","t\u006f":"c"}"#, Twice, "to"),
        (
            r#"{"type":"send","to":"b","payload":1,"payload":null}"#,
            Twice,
            "payload",
        ),
        (r#"{"type":"send","type":"ping","to":"b"}"#, Twice, "type"),
        (
            r#"{"type":"send","to":"b","stream":"yes"}"#,
            Invalid,
            "stream",
        ),
        (
            r#"{"type":"send","to":"b","stream":true}"#,
            Missing,
            "stream_id",
        ),
        (
            r#"{"type":"reply","to":"b","stream":true}"#,
            Missing,
            "stream_id",
        ),
        (
            r#"{"type":"send","to":"b","stream_id":1}"#,
            Invalid,
            "stream_id",
        ),
        (
            r#"{"type":"send","to":"b","request_id":1}"#,
            Invalid,
            "request_id",
        ),
        (
            r#"{"type":"send_chunk","to":"b","chunk":"x"}"#,
            Missing,
            "stream_id",
        ),
        (
            r#"{"type":"reply_chunk","to":"b","stream_id":null,"chunk":"x"}"#,
            Missing,
            "stream_id",
        ),
        (r#"{"type":"send_end","to":"b"}"#, Missing, "stream_id"),
        (r#"{"type":"reply_end","to":"b"}"#, Missing, "stream_id"),
        (
            r#"{"type":"send_chunk","to":"b","stream_id":"s"}"#,
            Missing,
            "chunk",
        ),
        (
            r#"{"type":"send_chunk","to":"b","stream_id":"s","chunk":{}}"#,
            Invalid,
            "chunk",
        ),
        (
            r#"{"type":"reply_chunk","to":"b","stream_id":"s","chunk":5}"#,
            Invalid,
            "chunk",
        ),
        (r#"{"type":"cancel","to":"b"}"#, Invalid, "stream_id"),
        (
            r#"{"type":"cancel","to":"b","stream":true,"request_id":"r"}"#,
            Missing,
            "stream_id",
        ),
        (
            r#"{"type":"error","to":"b","message":"m"}"#,
            Missing,
            "code",
        ),
        (
            r#"{"type":"error","to":"b","code":"c"}"#,
            Missing,
            "message",
        ),
        (
            r#"{"type":"error","to":"b","code":5,"message":"m"}"#,
            Invalid,
            "code",
        ),
        (r#"{"type":"register"}"#, Missing, "id"),
        (r#"{"type":"register","id":1}"#, Invalid, "id"),
        (r#"{"type":"register","id":"a","id":"b"}"#, Twice, "id"),
        (r#"{"type":"register","id":"a","name":[]}"#, Invalid, "name"),
        (
            r#"{"type":"register","id":"a","capabilities":"x"}"#,
            Invalid,
            "capabilities",
        ),
        (
            r#"{"type":"register","id":"a","capabilities":["x",1]}"#,
            Invalid,
            "capabilities[1]",
        ),
        (
            r#"{"type":"list","capability":["x"]}"#,
            Invalid,
            "capability",
        ),
        (
            r#"{"type":"list","capabilities":{}}"#,
            Invalid,
            "capabilities",
        ),
    ] {
        let malformed = refused(text);
        let found = (malformed.misread.mistake, malformed.field());
        assert_eq!(found, (mistake, Some(field)), "{text}: {malformed}");
        let named = text.split_once(r#""type":""#);
        let named = named.and_then(|(_, rest)| rest.split('"').next());
        assert_eq!(malformed.frame_type.as_deref(), named, "{text}");
    }
}

#[test]
fn a_refusal_says_what_to_write_instead() {
    for (text, expected) in [
        (
            r#"{"type":"sing","to":"b"}"#,
            r#"sing: field "type" is not a known frame type; clients send register, list, send, send_chunk, send_end, reply, reply_chunk, reply_end, cancel, error, ping"#,
        ),
        (
            r#"{"type":"message","to":"b"}"#,
            r#"message: field "type" is what you receive; what you send is "send", or "reply" to answer"#,
        ),
        (
            r#"{"type":"message_chunk","to":"b","chunk":"x"}"#,
            r#"message_chunk: field "type" is what you receive; what you send is "send_chunk", or "reply_chunk" to answer"#,
        ),
        (
            r#"{"type":"cancel","to":"b"}"#,
            r#"cancel: field "stream_id" or "request_id" is required"#,
        ),
        (
            r#"{"type":"register","id":"a","name":[]}"#,
            r#"register: field "name" must be a string"#,
        ),
        (
            r#"{"type":"send","to":"b","stream":"yes"}"#,
            r#"send: field "stream" must be true or false"#,
        ),
    ] {
        assert_eq!(refused(text).to_string(), expected, "{text}");
    }
}

#[test]
fn a_refusal_echoes_what_could_be_read() {
    let malformed = refused(
        r#"{"chunk":1,"request_id":"r","type":"send_chunk","stream_id":"s\u0031","to":"b"}"#,
    );
    assert_eq!(malformed.fault, FrameFault::Invalid);
    assert_eq!(
        malformed.to_frame("invalid"),
        r#"{"type":"error","code":"invalid","message":"send_chunk: field \"chunk\" must be a string","to":"b","stream_id":"s1","request_id":"r","field":"chunk","frame_type":"send_chunk"}"#
    );
    assert_eq!(refused(r#"{"type":"nope"}"#).fault, FrameFault::Unsupported);
    let malformed =
        refused(r#"{"type":"reply","to":"b","stream":1,"payload":{"request_id":"r-1"}}"#);
    assert_eq!(malformed.request_id.as_deref(), Some("r-1"));
}

#[test]
fn the_address_of_a_call_needs_no_stream() {
    for frame in [
        r#"{"type":"reply","to":"call:1","stream":true}"#,
        r#"{"type":"reply_chunk","to":"call:1","chunk":"x"}"#,
        r#"{"type":"reply_end","to":"call:1"}"#,
        r#"{"type":"cancel","to":"call:1"}"#,
        r#"{"type":"error","to":"call:1","stream":true,"code":"c","message":"m"}"#,
    ] {
        let Ok(AgoraUplink::Relay(relay)) = parse(frame) else {
            panic!("{frame} was refused");
        };
        assert_eq!(relay.stream_id, None);
    }
}

#[test]
fn an_answer_beside_its_payload_is_found() {
    for (beside, name) in [
        (r#""text":"hi""#, Some("text")),
        (r#""answer":7"#, Some("answer")),
        (r#""body":{"answer":"hi"}"#, Some("body")),
        (r#""message":"hi""#, Some("message")),
        (r#""text":null,"trace":"t","code":"c""#, None),
    ] {
        let text = format!(r#"{{"type":"reply","to":"b","payload":{{}},{beside}}}"#);
        let Ok(AgoraUplink::Relay(relay)) = parse(&text) else {
            panic!("{text} was refused");
        };
        assert_eq!(relay.answer_beside_payload(), name, "{text}");
    }
}

#[test]
fn an_echo_is_short_and_cannot_break_a_line() {
    let long = "ü".repeat(500);
    let malformed = refused(&format!(r#"{{"type":"{long}","to":"{long}"}}"#));
    assert_eq!(malformed.frame_type.unwrap().chars().count(), 128);
    assert_eq!(malformed.to.unwrap().chars().count(), 128);
    let malformed = refused(r#"{"type":"a\nb"}"#);
    assert!(
        malformed
            .to_string()
            .starts_with(r#"a\nb: field "type" is not a known frame type"#),
        "{malformed}"
    );
}

#[test]
fn a_chunk_may_be_as_large_as_the_limit_and_no_larger() {
    let frame = |bytes: usize| {
        format!(
            r#"{{"type":"send_chunk","to":"b","stream_id":"s","chunk":"{}"}}"#,
            "[".repeat(bytes)
        )
    };
    assert!(parse(&frame(MAX_CHUNK)).is_ok());
    let malformed = refused(&frame(MAX_CHUNK + 1));
    assert_eq!(malformed.fault, FrameFault::TooLarge);
    assert_eq!(malformed.field(), Some("chunk"));
    let tight = FrameLimits {
        max_chunk: 3,
        ..FrameLimits::default()
    };
    assert!(parse_with(&frame(3), &tight).is_ok());
    assert!(parse_with(&frame(4), &tight).is_err());
}

#[test]
fn deep_values_are_refused_wherever_they_stand() {
    for depth in [65, 10_000, 1_000_000] {
        let deep = "[".repeat(depth) + &"]".repeat(depth);
        for field in ["payload", "unknown", "caller", "message"] {
            let malformed = refused(&format!(r#"{{"type":"send","to":"b","{field}":{deep}}}"#));
            let found = (malformed.misread.mistake, malformed.field());
            assert_eq!(found, (FieldErrorKind::TooDeep, Some(field)));
            assert_eq!(malformed.to.as_deref(), Some("b"));
        }
        assert!(parse(&format!(r#"{{"type":"register","id":"a","x":{deep}}}"#)).is_err());
        assert!(parse(&deep).is_err());
        // A client takes what the hub let through; reading it must not overflow the stack either.
        let text = format!(r#"{{"type":"message","from":"a","payload":{{"x":{deep}}}}}"#);
        let payload = delivery(&text).payload;
        assert_eq!(query_of(payload).text.len(), 2 * depth + 6);
        assert!(answer_of(payload.unwrap()).text.is_some());
    }
    let fine = "[".repeat(64) + &"]".repeat(64);
    assert!(parse(&format!(r#"{{"type":"send","to":"b","payload":{fine}}}"#)).is_ok());
    let flat = FrameLimits {
        max_depth: 1,
        ..FrameLimits::default()
    };
    assert!(parse_with(r#"{"type":"send","to":"b","payload":[[]]}"#, &flat).is_err());
}
