//! Every way a frame can be wrong, and which field the refusal names.

use super::*;
use crate::MAX_ECHO;

fn refused(text: &str) -> MalformedFrame {
    match parse(text, MAX_DEPTH) {
        Err(malformed) => malformed,
        Ok(frame) => panic!("{text} was taken for {frame:?}"),
    }
}

#[test]
fn text_that_is_no_object_is_refused() {
    for text in ["", "  ", "hello", "{", r#"{"type":"ask"} x"#, "nul"] {
        let malformed = refused(text);
        assert_eq!(malformed.misread.mistake, FieldErrorKind::Syntax, "{text}");
        assert!(malformed.is_not_an_object(), "{text}");
    }
    for text in ["null", "[]", "\"chunk\"", "1", "true"] {
        let malformed = refused(text);
        assert_eq!(malformed.misread.mistake, FieldErrorKind::Invalid, "{text}");
        assert!(malformed.is_not_an_object(), "{text}");
    }
}

#[test]
fn each_mistake_names_the_frame_and_the_field() {
    use FieldErrorKind::{Invalid, Missing, Twice};
    for (text, mistake, field) in [
        (r#"{}"#, Missing, "type"),
        (r#"{"type":null}"#, Missing, "type"),
        (r#"{"type":1}"#, Invalid, "type"),
        (
            r#"{"type":"chunk","request_id":1,"delta":"x"}"#,
            Invalid,
            "request_id",
        ),
        (r#"{"type":"chunk","request_id":"r"}"#, Missing, "delta"),
        (
            r#"{"type":"chunk","request_id":"r","delta":null}"#,
            Missing,
            "delta",
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":["x"]}"#,
            Invalid,
            "delta",
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","delta":"y"}"#,
            Twice,
            "delta",
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","kind":1}"#,
            Invalid,
            "kind",
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","tool_name":{}}"#,
            Invalid,
            "tool_name",
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","seq":-1}"#,
            Invalid,
            "seq",
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","seq":"1"}"#,
            Invalid,
            "seq",
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","seq":1.5}"#,
            Invalid,
            "seq",
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":{}}"#,
            Invalid,
            "attachments",
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":["u"]}"#,
            Invalid,
            "attachments[0]",
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":[{"url":"u"},{"name":"n"}]}"#,
            Missing,
            "attachments[1].url",
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":[{"url":"u","type":1}]}"#,
            Invalid,
            "attachments[0].type",
        ),
        (
            r#"{"type":"done","request_id":"r","result":{}}"#,
            Invalid,
            "result",
        ),
        (
            r#"{"type":"done","request_id":"r","result":"a","result":"b"}"#,
            Twice,
            "result",
        ),
        (
            r#"{"type":"error","request_id":"r","message":"m"}"#,
            Missing,
            "code",
        ),
        (
            r#"{"type":"error","request_id":"r","code":"timeout"}"#,
            Missing,
            "message",
        ),
        (r#"{"type":"register","id":"a"}"#, Missing, "agent_id"),
        (
            r#"{"type":"register","agent_id":"a","token":5}"#,
            Invalid,
            "token",
        ),
        (
            r#"{"type":"register","agent_id":"a","capabilities":"x"}"#,
            Invalid,
            "capabilities",
        ),
        (
            r#"{"type":"register","agent_id":"a","agent_id":"b"}"#,
            Twice,
            "agent_id",
        ),
        (
            r#"{"type":"register","agent_id":"a","extensions":[1]}"#,
            Invalid,
            "extensions[0]",
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":"x"}"#,
            Invalid,
            "resume",
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{}}"#,
            Missing,
            "resume.token",
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","open":{}}}"#,
            Invalid,
            "resume.open",
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","open":[{"sent":1}]}}"#,
            Missing,
            "resume.open[0].request_id",
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","open":[{"request_id":"r","sent":"1"}]}}"#,
            Invalid,
            "resume.open[0].sent",
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","calls":1}}"#,
            Invalid,
            "resume.calls",
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","calls":[{"call_id":7}]}}"#,
            Invalid,
            "resume.calls[0].call_id",
        ),
        (
            r#"{"type":"discover_agents","limit":"all"}"#,
            Invalid,
            "limit",
        ),
        (
            r#"{"type":"call_agent","task_description":"x"}"#,
            Missing,
            "target_agent_id",
        ),
        (
            r#"{"type":"call_agent","target_agent_id":"b"}"#,
            Missing,
            "task_description",
        ),
        (
            r#"{"type":"call_agent","target_agent_id":"b","task_description":"x","with_files":1}"#,
            Invalid,
            "with_files",
        ),
        (
            r#"{"type":"rtc_signal","transfer_id":"t","signal_type":"offer"}"#,
            Missing,
            "target_agent_id",
        ),
        (
            r#"{"type":"rtc_signal","transfer_id":"t","target_agent_id":"b","signal_type":"o","payload":1,"payload":2}"#,
            Twice,
            "payload",
        ),
        (
            r#"{"type":"artifact","request_id":"r","artifact_id":"a"}"#,
            Missing,
            "parts",
        ),
        (
            r#"{"type":"artifact","request_id":"r","artifact_id":"a","parts":{}}"#,
            Invalid,
            "parts",
        ),
        (
            r#"{"type":"ask","request_id":"r","ask_id":"q","text":"?"}"#,
            Missing,
            "kind",
        ),
        (
            r#"{"type":"ask","request_id":"r","ask_id":"q","kind":"aproval","text":"?"}"#,
            Invalid,
            "kind",
        ),
        (
            r#"{"type":"ask","request_id":"r","kind":"input","text":"?"}"#,
            Missing,
            "ask_id",
        ),
        (
            r#"{"type":"chunk","type":"done","delta":"x"}"#,
            Twice,
            "type",
        ),
        (
            r#"{"type":"done","attachments":[{"url":"u","url":"v"}]}"#,
            Twice,
            "attachments[0].url",
        ),
    ] {
        let malformed = refused(text);
        let found = (malformed.misread.mistake, malformed.field());
        assert_eq!(found, (mistake, Some(field)), "{text}: {malformed}");
        assert!(!malformed.is_not_an_object(), "{text}");
        let named = text.split_once(r#""type":""#);
        let named = named.and_then(|(_, rest)| rest.split('"').next());
        assert_eq!(malformed.frame_type.as_deref(), named, "{text}");
    }
}

#[test]
fn a_refusal_says_what_to_write_instead() {
    for (text, expected) in [
        (
            r#"{"type":"chunk","request_id":"r"}"#,
            r#"chunk: field "delta" is required"#,
        ),
        (
            r#"{"type":"chunk","delta":"x","seq":-1}"#,
            r#"chunk: field "seq" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"done","result":{}}"#,
            r#"done: field "result" must be a string"#,
        ),
        (
            r#"{"type":"artifact","artifact_id":"a","parts":{}}"#,
            r#"artifact: field "parts" must be an array"#,
        ),
        (
            r#"{"type":"ask","ask_id":"q","kind":"aproval","text":"?"}"#,
            r#"ask: field "kind" must be "input" or "approval""#,
        ),
        (
            r#"{"type":"done","attachments":[{"url":"u"},{"name":"n"}]}"#,
            r#"done: field "attachments[1].url" is required"#,
        ),
    ] {
        assert_eq!(refused(text).to_string(), expected, "{text}");
    }
}

#[test]
fn a_refusal_says_which_request_or_call_it_means() {
    let malformed = refused(r#"{"type":"done","request_id":"r","result":1}"#);
    assert_eq!(malformed.request_id.as_deref(), Some("r"));
    assert_eq!(
        malformed.to_frame(),
        r#"{"type":"error","code":"invalid_message","message":"done: field \"result\" must be a string","request_id":"r","field":"result","frame_type":"done"}"#
    );
    let malformed = refused(r#"{"type":"call_agent","call_id":"c"}"#);
    assert_eq!(malformed.call_id.as_deref(), Some("c"));
    assert!(malformed.to_frame().contains(r#""call_id":"c""#));
}

#[test]
fn a_refusal_repeats_no_whole_frame_and_no_line_breaks() {
    let long = "x".repeat(5000);
    let malformed = refused(&format!(r#"{{"type":"chunk","request_id":"{long}"}}"#));
    assert_eq!(malformed.request_id.unwrap().len(), MAX_ECHO);
    let malformed = refused(r#"{"type":"chunk","request_id":"r","delta":1,"kind":"\n"}"#);
    assert!(!malformed.to_string().contains('\n'));
    let text = format!(r#"{{"type":"register","agent_id":"a","bridge_version":"{long}"}}"#);
    let Uplink::Register(register) = read(&text) else {
        panic!("no register");
    };
    assert_eq!(register.bridge_version.text().len(), MAX_ECHO);
}

#[test]
fn values_nested_too_deeply_are_refused_wherever_they_stand() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for field in [
        "payload",
        "usage",
        "unknown",
        "session_id",
        "schema",
        "delta",
    ] {
        for frame_type in ["chunk", "done", "rtc_signal", "ask"] {
            let text = format!(
                r#"{{"type":"{frame_type}","request_id":"r","{field}":{}}}"#,
                nested(65)
            );
            let malformed = refused(&text);
            let found = (malformed.misread.mistake, malformed.field());
            assert_eq!(found, (FieldErrorKind::TooDeep, Some(field)));
            assert_eq!(malformed.frame_type.as_deref(), Some(frame_type));
        }
    }
    let text = format!(
        r#"{{"type":"done","request_id":"r","usage":{}}}"#,
        nested(64)
    );
    assert!(matches!(read(&text), Uplink::Done(_)));
    let text = format!(r#"{{"type":"done","usage":{}}}"#, nested(200_000));
    assert_eq!(refused(&text).field(), Some("usage"));
}

#[test]
fn a_chunk_may_be_as_large_as_its_frame() {
    let chunk = |size: usize| {
        let delta = "x".repeat(size);
        format!(r#"{{"type":"chunk","request_id":"r","delta":"{delta}"}}"#)
    };
    // The hub splits it.
    assert!(matches!(read(&chunk(2 << 20)), Uplink::Chunk(_)));
}

#[test]
fn an_agent_refuses_only_what_it_cannot_use() {
    for (text, field) in [
        (r#"{"type":"message","content":"c"}"#, "request_id"),
        (r#"{"type":"message","request_id":"r"}"#, "content"),
        (r#"{"type":"cancel"}"#, "request_id"),
        (r#"{"type":"registered"}"#, "status"),
        (r#"{"type":"ack","request_id":"r"}"#, "seq"),
        (r#"{"type":"call_agent_done"}"#, "call_id"),
        (r#"{"type":"discover_agents_result"}"#, "agents"),
    ] {
        let malformed = parse_downlink(text).unwrap_err();
        let found = (malformed.misread.mistake, malformed.field());
        assert_eq!(found, (FieldErrorKind::Missing, Some(field)), "{text}");
    }
    let twice = r#"{"type":"cancel","request_id":"r","request_id":"r"}"#;
    let malformed = parse_downlink(twice).unwrap_err();
    assert_eq!(malformed.misread.mistake, FieldErrorKind::Twice);
    let text = r#"{"type":"message","session_id":5,"request_id":"r","content":"c","attachments":[1,{"url":"u"}],"with_files":"x","meta":7,"client_id":null}"#;
    let Downlink::Message(message) = read_downlink(text) else {
        panic!("no message");
    };
    assert_eq!(message.attachments, [Attachment::new("", "u", "")]);
    assert!(!message.with_files && message.meta.is_none() && message.client_id.is_none());
}
