//! Every way a frame can be wrong, and what the refusal says.
//! The texts are part of the contract: a client's author reads them.

use super::*;

fn refused(text: &str) -> Malformed {
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
        assert_eq!(malformed.fault, Fault::Syntax, "{text}");
        assert!(
            malformed
                .problem
                .starts_with("the frame is not valid JSON: "),
            "{malformed}"
        );
    }
    for text in ["null", "[]", "\"ping\"", "1", "true"] {
        let malformed = refused(text);
        assert_eq!(malformed.fault, Fault::Syntax, "{text}");
        assert_eq!(malformed.to_string(), "the frame must be a JSON object");
    }
}

#[test]
fn each_mistake_names_the_frame_and_the_field() {
    for (text, expected) in [
        (r#"{}"#, r#"field "type" is missing"#),
        (r#"{"type":null}"#, r#"field "type" is missing"#),
        (r#"{"type":1}"#, r#"field "type" must be a string"#),
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
        (r#"{"type":"send"}"#, r#"send: field "to" is missing"#),
        (
            r#"{"type":"cancel","stream_id":"s"}"#,
            r#"cancel: field "to" is missing"#,
        ),
        (
            r#"{"type":"send","to":null}"#,
            r#"send: field "to" is missing"#,
        ),
        (
            r#"{"type":"send","to":["b"]}"#,
            r#"send: field "to" must be a string"#,
        ),
        (
            r#"{"type":"send","to":"b","to":"c"}"#,
            r#"send: field "to" is given twice"#,
        ),
        (
            r#"{"type":"send","to":"b","t\u006f":"c"}"#,
            r#"send: field "to" is given twice"#,
        ),
        (
            r#"{"type":"send","to":"b","payload":1,"payload":null}"#,
            r#"send: field "payload" is given twice"#,
        ),
        (
            r#"{"type":"send","type":"ping","to":"b"}"#,
            r#"send: field "type" is given twice"#,
        ),
        (
            r#"{"type":"send","to":"b","stream":"yes"}"#,
            r#"send: field "stream" must be a boolean"#,
        ),
        (
            r#"{"type":"send","to":"b","stream":true}"#,
            r#"send: field "stream_id" is missing"#,
        ),
        (
            r#"{"type":"reply","to":"b","stream":true}"#,
            r#"reply: field "stream_id" is missing"#,
        ),
        (
            r#"{"type":"send","to":"b","stream_id":1}"#,
            r#"send: field "stream_id" must be a string"#,
        ),
        (
            r#"{"type":"send","to":"b","request_id":1}"#,
            r#"send: field "request_id" must be a string"#,
        ),
        (
            r#"{"type":"send_chunk","to":"b","chunk":"x"}"#,
            r#"send_chunk: field "stream_id" is missing"#,
        ),
        (
            r#"{"type":"reply_chunk","to":"b","stream_id":null,"chunk":"x"}"#,
            r#"reply_chunk: field "stream_id" is missing"#,
        ),
        (
            r#"{"type":"send_end","to":"b"}"#,
            r#"send_end: field "stream_id" is missing"#,
        ),
        (
            r#"{"type":"reply_end","to":"b"}"#,
            r#"reply_end: field "stream_id" is missing"#,
        ),
        (
            r#"{"type":"send_chunk","to":"b","stream_id":"s"}"#,
            r#"send_chunk: field "chunk" is missing"#,
        ),
        (
            r#"{"type":"send_chunk","to":"b","stream_id":"s","chunk":{}}"#,
            r#"send_chunk: field "chunk" must be a string"#,
        ),
        (
            r#"{"type":"reply_chunk","to":"b","stream_id":"s","chunk":5}"#,
            r#"reply_chunk: field "chunk" must be a string"#,
        ),
        (
            r#"{"type":"cancel","to":"b"}"#,
            r#"cancel: field "stream_id" is missing, and so is "request_id"; one of them is needed"#,
        ),
        (
            r#"{"type":"cancel","to":"b","stream":true,"request_id":"r"}"#,
            r#"cancel: field "stream_id" is missing"#,
        ),
        (
            r#"{"type":"error","to":"b","message":"m"}"#,
            r#"error: field "code" is missing"#,
        ),
        (
            r#"{"type":"error","to":"b","code":"c"}"#,
            r#"error: field "message" is missing"#,
        ),
        (
            r#"{"type":"error","to":"b","code":5,"message":"m"}"#,
            r#"error: field "code" must be a string"#,
        ),
        (
            r#"{"type":"register"}"#,
            r#"register: field "id" is missing"#,
        ),
        (
            r#"{"type":"register","id":1}"#,
            r#"register: field "id" must be a string"#,
        ),
        (
            r#"{"type":"register","id":"a","id":"b"}"#,
            r#"register: field "id" is given twice"#,
        ),
        (
            r#"{"type":"register","id":"a","name":[]}"#,
            r#"register: field "name" must be a string"#,
        ),
        (
            r#"{"type":"register","id":"a","capabilities":"x"}"#,
            r#"register: field "capabilities" must be an array of strings"#,
        ),
        (
            r#"{"type":"register","id":"a","capabilities":["x",1]}"#,
            r#"register: field "capabilities" must be an array of strings"#,
        ),
        (
            r#"{"type":"list","capability":["x"]}"#,
            r#"list: field "capability" must be a string"#,
        ),
        (
            r#"{"type":"list","capabilities":{}}"#,
            r#"list: field "capabilities" must be an array of strings"#,
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
    assert_eq!(malformed.fault, Fault::Invalid);
    assert_eq!(
        malformed.to_frame("invalid"),
        r#"{"type":"error","code":"invalid","message":"send_chunk: field \"chunk\" must be a string","to":"b","stream_id":"s1","request_id":"r","field":"chunk","frame_type":"send_chunk"}"#
    );
    assert_eq!(refused(r#"{"type":"nope"}"#).fault, Fault::Unsupported);
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
        let Ok(Uplink::Relay(relay)) = parse(frame) else {
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
        let Ok(Uplink::Relay(relay)) = parse(&text) else {
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
    assert_eq!(malformed.fault, Fault::TooLarge);
    assert_eq!(
        malformed.to_string(),
        "send_chunk: field \"chunk\" is larger than 1048576 bytes"
    );
    let tight = Limits {
        max_chunk: 3,
        ..Limits::default()
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
            assert_eq!(
                malformed.to_string(),
                format!("send: field \"{field}\" is nested deeper than 64 levels")
            );
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
    let flat = Limits {
        max_depth: 1,
        ..Limits::default()
    };
    assert!(parse_with(r#"{"type":"send","to":"b","payload":[[]]}"#, &flat).is_err());
}
