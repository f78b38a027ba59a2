//! Payloads of every shape agents are known to send, and the ones we write.
//! Each table row is one agent's habit.

use super::*;

fn text_of_answer(payload: &str) -> Option<String> {
    answer_of(raw(payload)).text
}

#[test]
fn the_opening_of_a_stream_says_only_what_stands_where_answers_do() {
    for (payload, expected) in [
        (r#""plain""#, Some("plain")),
        (r#"{"answer":"a"}"#, Some("a")),
        (r#"{"body":{"text":"t"},"request_id":"r"}"#, Some("t")),
        (r#"{"body":"b"}"#, Some("b")),
        (r#"{"action":"answer","body":{"format":"markdown"}}"#, None),
        (r#"{"body":{"question":"q"}}"#, None),
        (r#"{"question":"q","format":"markdown"}"#, None),
        (r#"{"input_required":true,"question":"q"}"#, Some("q")),
        ("[1]", None),
        ("null", None),
    ] {
        let found = opening_of(raw(payload)).text;
        assert_eq!(found.as_deref(), expected, "{payload}");
    }
}

#[test]
fn the_text_of_an_answer_is_found_where_agents_put_it() {
    for (payload, expected) in [
        (r#""plain""#, Some("plain")),
        (r#"{"answer":"a","text":"t"}"#, Some("a")),
        (r#"{"text":"t","content":"c"}"#, Some("t")),
        (r#"{"content":"c","result":"r"}"#, Some("c")),
        (r#"{"result":"r"}"#, Some("r")),
        (r#"{"message":"m"}"#, Some("m")),
        (r#"{"response":"r"}"#, Some("r")),
        (r#"{"question":"q"}"#, Some("q")),
        (r#"{"answer":null,"body":{"answer":"a"}}"#, Some("a")),
        (r#"{"body":{"text":"t"},"request_id":"r"}"#, Some("t")),
        (r#"{"body":"b"}"#, Some("b")),
        (r#"{"answer":1,"text":"t"}"#, Some("t")),
        (r#"{"answer":""}"#, Some("")),
        (r#"[ 1, 2 ]"#, Some("[1,2]")),
        ("42", Some("42")),
        (
            r#"{ "rows": [ 1 ], "request_id": "r" }"#,
            Some(r#"{"rows":[1],"request_id":"r"}"#),
        ),
        (r#"{"body":{"rows":[]}}"#, Some(r#"{"body":{"rows":[]}}"#)),
        (r#"{"body":[1]}"#, Some(r#"{"body":[1]}"#)),
        (r#"{"answer":{"x":1}}"#, Some(r#"{"answer":{"x":1}}"#)),
        ("null", None),
        ("{}", None),
        (
            r#"{"action":"answer","body":{},"request_id":"r","session_id":"s"}"#,
            None,
        ),
        (r#"{"request_id":"r","other":null}"#, None),
        (r#"{"result":{"x":1},"usage":{},"state":"completed"}"#, None),
    ] {
        assert_eq!(text_of_answer(payload).as_deref(), expected, "{payload}");
    }
}

#[test]
fn a_result_that_is_the_text_is_not_given_twice() {
    assert!(answer_of(raw(r#"{"result":"r"}"#)).result.is_none());
    let both = answer_of(raw(r#"{"answer":"a","result":"r"}"#));
    assert_eq!(both.result.unwrap().get(), "\"r\"");
    let structured = answer_of(raw(r#"{"result":{"x": 1}}"#));
    assert_eq!(structured.result.unwrap().get(), r#"{"x": 1}"#);
}

#[test]
fn an_answer_we_write_reads_back_whole() {
    let ask = InputRequired {
        id: Some("ask-1".into()),
        kind: Some("approval".into()),
        text: "may I?".into(),
        schema: Some(raw(r#"{"type":"boolean"}"#).to_owned()),
        tool: Some("sh".into()),
    };
    let payload = AnswerPayload {
        body: Some(AnswerContent {
            answer: Some("so".into()),
            parts: Some(raw("[0]")),
        }),
        request_id: Some("r"),
        session_id: Some("s"),
        state: Some("input_required"),
        attachments: Some(raw("[1]")),
        artifacts: Some(raw("[2]")),
        usage: Some(raw("{}")),
        stop_reason: Some("end_turn"),
        result: Some(raw("3")),
        input_required: Some(&ask),
    };
    let frame = downlink::reply_end("b", "s", Some(FramePayload::Answer(&payload)));
    assert_eq!(
        frame,
        concat!(
            r#"{"type":"reply_end","from":"b","stream_id":"s","payload":{"action":"answer","#,
            r#""body":{"answer":"so","parts":[0]},"request_id":"r","session_id":"s","#,
            r#""state":"input_required","attachments":[1],"artifacts":[2],"usage":{},"#,
            r#""stop_reason":"end_turn","result":3,"input_required":{"id":"ask-1","#,
            r#""kind":"approval","text":"may I?","schema":{"type":"boolean"},"tool":"sh"}}}"#
        )
    );
    let answer = answer_of(delivery(&frame).payload.unwrap());
    assert_eq!(answer.text.as_deref(), Some("so"));
    assert_eq!(answer.parts.unwrap().get(), "[0]");
    assert_eq!(answer.request_id.as_deref(), Some("r"));
    assert_eq!(answer.state.as_deref(), Some("input_required"));
    assert_eq!(answer.attachments.unwrap().get(), "[1]");
    assert_eq!(answer.artifacts.unwrap().get(), "[2]");
    assert_eq!(answer.usage.unwrap().get(), "{}");
    assert_eq!(answer.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(answer.result.unwrap().get(), "3");
    let read = answer.input_required.unwrap();
    assert_eq!(read.id, ask.id);
    assert_eq!(read.kind, ask.kind);
    assert_eq!(read.text, ask.text);
    assert_eq!(read.tool, ask.tool);
    assert_eq!(read.schema.unwrap().get(), r#"{"type":"boolean"}"#);
}

#[test]
fn an_empty_answer_is_only_its_action() {
    let payload = AnswerPayload::default();
    let frame = uplink::reply_end("b", "s", Some(FramePayload::Answer(&payload)));
    assert_eq!(
        frame,
        r#"{"type":"reply_end","to":"b","stream_id":"s","payload":{"action":"answer"}}"#
    );
    assert!(answer_of(raw(r#"{"action":"answer"}"#)).text.is_none());
}

#[test]
fn a_question_back_may_be_bare() {
    let ask = |payload| answer_of(raw(payload)).input_required;
    assert_eq!(
        ask(r#"{"input_required":"which?"}"#).unwrap().text,
        "which?"
    );
    assert_eq!(ask(r#"{"input_required":true}"#).unwrap().text, "");
    assert_eq!(
        ask(r#"{"input_required":{"question":"q"}}"#).unwrap().text,
        "q"
    );
    assert!(ask(r#"{"input_required":false}"#).is_none());
    assert!(ask(r#"{"input_required":null}"#).is_none());
}

#[test]
fn the_text_of_a_question_is_found_where_agents_put_it() {
    for (payload, expected) in [
        (r#""plain""#, "plain"),
        (r#"{"action":"query","body":{"question":"q"}}"#, "q"),
        (r#"{"body":{"text":"t"},"question":"outer"}"#, "t"),
        (r#"{"body":{"task":"do"}}"#, "do"),
        (r#"{"body":"b"}"#, "b"),
        (r#"{"prompt":"p"}"#, "p"),
        (r#"{"message":"m","content":"c"}"#, "c"),
        ("null", ""),
        ("{}", ""),
        (
            r#"{"request_id":"r","session_id":"s","parts":[1],"attachments":[2],"metadata":{}}"#,
            "",
        ),
        (r#"{"action":"query","body":{}}"#, ""),
        (
            r#"{ "action": "sum", "body": { "of": [1, 2] } }"#,
            r#"{"action":"sum","body":{"of":[1,2]}}"#,
        ),
        ("[1, 2]", "[1,2]"),
    ] {
        assert_eq!(query_of(Some(raw(payload))).text, expected, "{payload}");
    }
    assert_eq!(query_of(None).text, "");
}

#[test]
fn a_question_carries_its_ids_and_parts() {
    let query = query_of(Some(raw(
        r#"{"action":"query","body":{"question":"q","parts":[1]},"attachments":[2],"session_id":"s","request_id":"r","parent_request_id":"p","metadata":{"k":1}}"#,
    )));
    assert_eq!(query.action.as_deref(), Some("query"));
    assert_eq!(query.parts.unwrap().get(), "[1]");
    assert_eq!(query.attachments.unwrap().get(), "[2]");
    assert_eq!(query.session_id.as_deref(), Some("s"));
    assert_eq!(query.request_id.as_deref(), Some("r"));
    assert_eq!(query.parent_request_id.as_deref(), Some("p"));
    assert_eq!(query.metadata.unwrap().get(), r#"{"k":1}"#);
}
