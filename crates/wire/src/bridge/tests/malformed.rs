//! Every way a frame can be wrong, and what the refusal says.
//! The texts are part of the contract: a client's author reads them.

use super::*;
use crate::MAX_ECHO;

fn refused(text: &str) -> Malformed {
    match parse(text, &Limits::default()) {
        Err(malformed) => malformed,
        Ok(frame) => panic!("{text} was taken for {frame:?}"),
    }
}

#[test]
fn text_that_is_no_object_is_refused() {
    for text in ["", "  ", "hello", "{", r#"{"type":"ask"} x"#, "nul"] {
        let malformed = refused(text);
        assert_eq!(malformed.fault, Fault::Syntax, "{text}");
        assert!(
            malformed
                .problem
                .starts_with("the frame is not valid JSON: "),
            "{malformed}"
        );
    }
    for text in ["null", "[]", "\"chunk\"", "1", "true"] {
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
            r#"{"type":"chunk","request_id":1,"delta":"x"}"#,
            r#"chunk: field "request_id" must be a string"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r"}"#,
            r#"chunk: field "delta" is missing"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":null}"#,
            r#"chunk: field "delta" is missing"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":["x"]}"#,
            r#"chunk: field "delta" must be a string"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","delta":"y"}"#,
            r#"chunk: field "delta" is given twice"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","kind":1}"#,
            r#"chunk: field "kind" must be a string"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","tool_name":{}}"#,
            r#"chunk: field "tool_name" must be a string"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","seq":-1}"#,
            r#"chunk: field "seq" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","seq":"1"}"#,
            r#"chunk: field "seq" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"chunk","request_id":"r","delta":"x","seq":1.5}"#,
            r#"chunk: field "seq" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":{}}"#,
            r#"done: field "attachments" must be an array"#,
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":["u"]}"#,
            r#"done: field "attachments[0]" must be an object"#,
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":[{"url":"u"},{"name":"n"}]}"#,
            r#"done: field "attachments[1].url" is missing"#,
        ),
        (
            r#"{"type":"done","request_id":"r","attachments":[{"url":"u","type":1}]}"#,
            r#"done: field "attachments[0].type" must be a string"#,
        ),
        (
            r#"{"type":"done","request_id":"r","result":{}}"#,
            r#"done: field "result" must be a string"#,
        ),
        (
            r#"{"type":"done","request_id":"r","result":"a","result":"b"}"#,
            r#"done: field "result" is given twice"#,
        ),
        (
            r#"{"type":"error","request_id":"r","message":"m"}"#,
            r#"error: field "code" is missing"#,
        ),
        (
            r#"{"type":"error","request_id":"r","code":"timeout"}"#,
            r#"error: field "message" is missing"#,
        ),
        (
            r#"{"type":"register","id":"a"}"#,
            r#"register: field "agent_id" is missing"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","token":5}"#,
            r#"register: field "token" must be a string"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","capabilities":"x"}"#,
            r#"register: field "capabilities" must be an array of strings"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","agent_id":"b"}"#,
            r#"register: field "agent_id" is given twice"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","extensions":[1]}"#,
            r#"register: field "extensions" must be an array of strings"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":"x"}"#,
            r#"register: field "resume" must be an object"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{}}"#,
            r#"register: field "resume.token" is missing"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","open":{}}}"#,
            r#"register: field "resume.open" must be an array"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","open":[{"sent":1}]}}"#,
            r#"register: field "resume.open[0].request_id" is missing"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","open":[{"request_id":"r","sent":"1"}]}}"#,
            r#"register: field "resume.open[0].sent" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","calls":1}}"#,
            r#"register: field "resume.calls" must be an array"#,
        ),
        (
            r#"{"type":"register","agent_id":"a","resume":{"token":"x","calls":[{"call_id":7}]}}"#,
            r#"register: field "resume.calls[0].call_id" must be a string"#,
        ),
        (
            r#"{"type":"discover_agents","limit":"all"}"#,
            r#"discover_agents: field "limit" must be a whole number from 0"#,
        ),
        (
            r#"{"type":"call_agent","task_description":"x"}"#,
            r#"call_agent: field "target_agent_id" is missing"#,
        ),
        (
            r#"{"type":"call_agent","target_agent_id":"b"}"#,
            r#"call_agent: field "task_description" is missing"#,
        ),
        (
            r#"{"type":"call_agent","target_agent_id":"b","task_description":"x","with_files":1}"#,
            r#"call_agent: field "with_files" must be a boolean"#,
        ),
        (
            r#"{"type":"rtc_signal","transfer_id":"t","signal_type":"offer"}"#,
            r#"rtc_signal: field "target_agent_id" is missing"#,
        ),
        (
            r#"{"type":"rtc_signal","transfer_id":"t","target_agent_id":"b","signal_type":"o","payload":1,"payload":2}"#,
            r#"rtc_signal: field "payload" is given twice"#,
        ),
        (
            r#"{"type":"artifact","request_id":"r","artifact_id":"a"}"#,
            r#"artifact: field "parts" is missing"#,
        ),
        (
            r#"{"type":"artifact","request_id":"r","artifact_id":"a","parts":{}}"#,
            r#"artifact: field "parts" must be an array"#,
        ),
        (
            r#"{"type":"ask","request_id":"r","ask_id":"q","text":"?"}"#,
            r#"ask: field "kind" is missing"#,
        ),
        (
            r#"{"type":"ask","request_id":"r","ask_id":"q","kind":"aproval","text":"?"}"#,
            r#"ask: field "kind" must be "input" or "approval""#,
        ),
        (
            r#"{"type":"ask","request_id":"r","kind":"input","text":"?"}"#,
            r#"ask: field "ask_id" is missing"#,
        ),
    ] {
        let malformed = refused(text);
        assert_eq!(malformed.to_string(), expected, "{text}");
        assert_eq!(malformed.fault, Fault::Invalid, "{text}");
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
            assert_eq!(
                refused(&text).to_string(),
                format!("{frame_type}: field \"{field}\" is nested deeper than 64 levels")
            );
        }
    }
    let text = format!(
        r#"{{"type":"done","request_id":"r","usage":{}}}"#,
        nested(64)
    );
    assert!(matches!(read(&text), Uplink::Done(_)));
    let text = format!(r#"{{"type":"done","usage":{}}}"#, nested(200_000));
    assert_eq!(refused(&text).field.as_deref(), Some("usage"));
}

#[test]
fn a_chunk_may_be_as_large_as_its_frame() {
    let chunk = |size: usize| {
        let delta = "x".repeat(size);
        format!(r#"{{"type":"chunk","request_id":"r","delta":"{delta}"}}"#)
    };
    // The hub splits it.
    assert!(matches!(read(&chunk(2 * MAX_CHUNK)), Uplink::Chunk(_)));
}

#[test]
fn an_agent_refuses_only_what_it_cannot_use() {
    for (text, expected) in [
        (
            r#"{"type":"message","content":"c"}"#,
            r#"message: field "request_id" is missing"#,
        ),
        (
            r#"{"type":"message","request_id":"r"}"#,
            r#"message: field "content" is missing"#,
        ),
        (
            r#"{"type":"cancel"}"#,
            r#"cancel: field "request_id" is missing"#,
        ),
        (
            r#"{"type":"registered"}"#,
            r#"registered: field "status" is missing"#,
        ),
        (
            r#"{"type":"ack","request_id":"r"}"#,
            r#"ack: field "seq" is missing"#,
        ),
        (
            r#"{"type":"call_agent_done"}"#,
            r#"call_agent_done: field "call_id" is missing"#,
        ),
        (
            r#"{"type":"discover_agents_result"}"#,
            r#"discover_agents_result: field "agents" must be an array"#,
        ),
    ] {
        assert_eq!(parse_downlink(text).unwrap_err().to_string(), expected);
    }
    let text = r#"{"type":"message","session_id":5,"request_id":"r","content":"c","attachments":[1,{"url":"u"}],"with_files":"x","meta":7,"client_id":null,"client_id":"c"}"#;
    let Downlink::Message(message) = read_downlink(text) else {
        panic!("no message");
    };
    assert_eq!(message.attachments, [Attachment::new("", "u", "")]);
    assert!(!message.with_files && message.meta.is_none() && message.client_id.is_none());
}
