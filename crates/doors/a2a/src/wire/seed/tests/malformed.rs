//! The table of refusals: what is wrong, and what the caller is told.

use super::*;

/// The refusal of a body as it goes out.
fn refused(body: &str) -> String {
    match read(body) {
        Err(refusal) => refusal.to_body(),
        Ok(_) => panic!("{body} was taken"),
    }
}

fn error(id: &str, code: i32, message: &str) -> String {
    let message = serde_json::to_string(message).unwrap();
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#)
}

fn unreadable(detail: &str) -> String {
    let detail = serde_json::to_string(detail).unwrap();
    format!(
        r#"{{"jsonrpc":"2.0","id":"","error":{{"code":-32700,"message":"Failed to parse JSON","data":{{"detail":{detail}}}}}}}"#
    )
}

#[test]
fn what_cannot_be_read_is_a_parse_error_that_names_the_field() {
    for (from, to, detail) in [
        (
            r#""req-1""#,
            "true",
            "field \"id\" must be a string or a number",
        ),
        (
            r#""req-1""#,
            "{}",
            "field \"id\" must be a string or a number",
        ),
        (
            r#""req-1""#,
            "[1]",
            "field \"id\" must be a string or a number",
        ),
        (r#""2.0""#, "2.0", "field \"jsonrpc\" must be a string"),
        (
            r#""message/send""#,
            "1",
            "field \"method\" must be a string",
        ),
        (
            r#""user""#,
            "{}",
            "field \"params.message.role\" must be a string",
        ),
        (
            r#""role": "user""#,
            r#""role": "user", "role": "agent""#,
            "field \"params.message.role\" is given twice",
        ),
        (
            r#"[{"kind": "text", "text": "Hello!"}]"#,
            r#"{"kind": "text"}"#,
            "field \"params.message.parts\" must be an array",
        ),
        (
            r#"{"kind": "text", "text": "Hello!"}"#,
            r#""Hello!""#,
            "field \"params.message.parts[0]\" must be an object",
        ),
        (
            r#"{"kind": "text", "text": "Hello!"}"#,
            r#"{"kind": "text", "text": "x"}, {"kind": "text", "text": 5}"#,
            "field \"params.message.parts[1].text\" must be a string",
        ),
        (
            r#"{"kind": "text", "text": "Hello!"}"#,
            r#"{"kind": "file", "file": {"uri": 5}}"#,
            "field \"params.message.parts[0].file.uri\" must be a string",
        ),
        (
            r#"{"kind": "text", "text": "Hello!"}"#,
            r#"{"kind": "data", "data": {"content": {"key": 1}}}"#,
            "field \"params.message.parts[0].data.content\" must be a string",
        ),
        (
            r#"{"kind": "text", "text": "Hello!"}"#,
            r#"{"kind": "data", "data": [1]}"#,
            "field \"params.message.parts[0].data\" must be an object",
        ),
    ] {
        assert!(CURL.contains(from), "{from}");
        let body = CURL.replacen(from, to, 1);
        assert_eq!(refused(&body), unreadable(detail), "{to}");
    }
    for (body, detail) in [
        ("5", "the body must be an object"),
        ("null", "the body must be an object"),
        (r#"{"params": []}"#, "field \"params\" must be an object"),
        (
            r#"{"params": {"message": 5}}"#,
            "field \"params.message\" must be an object",
        ),
        (r#"{"id": "a", "id": "b"}"#, "field \"id\" is given twice"),
    ] {
        assert_eq!(refused(body), unreadable(detail), "{body}");
    }
    for body in [
        "",
        "  ",
        "{",
        "{]",
        "nonsense",
        "[1, 2",
        "{} {}",
        "\u{feff}{}",
    ] {
        let told = refused(body);
        assert!(
            told.contains("-32700") && told.contains("Failed to parse JSON"),
            "{told}"
        );
    }
    let told = SeedRequest::parse(b"{\"id\":\"\xff\"}", &Rules::default()).unwrap_err();
    assert_eq!(told.code, SeedCode::Parse);
}

#[test]
fn values_are_checked_in_the_order_of_the_original() {
    // Each mistake is added before the ones that are there already, and is the one that is told.
    let mut body = CURL.replace("\"Hello!\"", "\"\"");
    let mut told = |from: &str, to: &str, wanted: String| {
        assert!(from.is_empty() || body.contains(from), "{from} in {body}");
        body = body.replacen(from, to, 1);
        assert_eq!(refused(&body), wanted, "{body}");
    };
    let invalid = |message| error("\"req-1\"", -32600, message);
    told(
        "",
        "",
        invalid(
            "invalid message: invalid part at index 0: text part requires non-empty text field",
        ),
    );
    told(
        r#"[{"kind": "text", "text": ""}]"#,
        "[]",
        invalid("invalid message: at least one message part is required"),
    );
    told(
        r#""agentId": "my-agent","#,
        "",
        invalid("Invalid request: agentId is required"),
    );
    told(
        r#""user""#,
        r#""robot""#,
        invalid("invalid message: invalid role: expected 'user' or 'agent', got 'robot'"),
    );
    told(
        r#""msg-1""#,
        r#""""#,
        invalid("invalid message: messageId is required"),
    );
    told(
        r#""req-1""#,
        "null",
        error("\"\"", -32600, "request id is required"),
    );
    told(
        r#""message/send""#,
        r#""tasks/get""#,
        error(
            "\"\"",
            -32601,
            "invalid method: expected 'message/send' or 'message/stream', got 'tasks/get'",
        ),
    );
    told(
        r#""2.0""#,
        r#""1.0""#,
        error(
            "\"\"",
            -32600,
            "invalid jsonrpc version: expected '2.0', got '1.0'",
        ),
    );
}

#[test]
fn what_is_missing_is_as_good_as_empty() {
    for (field, message) in [
        (
            r#""jsonrpc": "2.0","#,
            error(
                "\"req-1\"",
                -32600,
                "invalid jsonrpc version: expected '2.0', got ''",
            ),
        ),
        (
            r#""method": "message/send","#,
            error(
                "\"req-1\"",
                -32601,
                "invalid method: expected 'message/send' or 'message/stream', got ''",
            ),
        ),
        (
            r#""id": "req-1","#,
            error("\"\"", -32600, "request id is required"),
        ),
        (
            r#""messageId": "msg-1","#,
            error(
                "\"req-1\"",
                -32600,
                "invalid message: messageId is required",
            ),
        ),
        (
            r#""role": "user","#,
            error(
                "\"req-1\"",
                -32600,
                "invalid message: invalid role: expected 'user' or 'agent', got ''",
            ),
        ),
    ] {
        assert!(CURL.contains(field), "{field}");
        assert_eq!(refused(&CURL.replace(field, "")), message);
    }
    for params in [
        "",
        r#","params":null"#,
        r#","params":{}"#,
        r#","params":{"message":null}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"message/send","id":"r"{params}}}"#);
        let wanted = error("\"r\"", -32600, "invalid message: messageId is required");
        assert_eq!(refused(&body), wanted, "{body}");
    }
    let empty_id = CURL.replace("\"req-1\"", "\"\"");
    assert_eq!(
        refused(&empty_id),
        error("\"\"", -32600, "request id is required")
    );
}

#[test]
fn a_bad_part_is_named_by_its_index_and_reason() {
    for (part, reason) in [
        (
            r#"{"kind":"text"}"#,
            "text part requires non-empty text field",
        ),
        (
            r#"{"kind":"text","text":""}"#,
            "text part requires non-empty text field",
        ),
        (r#"{"kind":"file"}"#, "file part requires file field"),
        (
            r#"{"kind":"file","file":{"mimeType":"a/b"}}"#,
            "file part requires either uri or bytes field",
        ),
        (
            r#"{"kind":"file","file":{"uri":"","mimeType":"a/b"}}"#,
            "file part requires either uri or bytes field",
        ),
        (
            r#"{"kind":"file","file":{"uri":"https://e/f"}}"#,
            "file part requires mimeType field",
        ),
        (r#"{"kind":"data"}"#, "data part requires data field"),
        (
            r#"{"kind":"data","data":{"mimeType":"a/b"}}"#,
            "data part requires non-empty content field",
        ),
        (
            r#"{"kind":"data","data":{"content":"x"}}"#,
            "data part requires mimeType field",
        ),
        (
            r#"{"kind":"video"}"#,
            "invalid part kind: expected 'text', 'file', or 'data', got 'video'",
        ),
        (
            r#"{}"#,
            "invalid part kind: expected 'text', 'file', or 'data', got ''",
        ),
    ] {
        let body = with_parts(&format!(r#"[{{"kind":"text","text":"x"}},{part}]"#));
        let message = format!("invalid message: invalid part at index 1: {reason}");
        assert_eq!(refused(&body), error("\"req-1\"", -32600, &message));
    }
}

#[test]
fn bytes_that_are_no_base64_are_told_in_the_words_of_the_original() {
    for (mime, what) in [
        ("image/png", "image"),
        ("IMAGE/PNG", "image"),
        ("audio/wav", "audio"),
        ("text/plain", "file"),
        ("video/mp4", "file"),
    ] {
        let file = format!(r#"{{"bytes":"aGk*","mimeType":"{mime}"}}"#);
        let body = with_parts(&format!(r#"[{{"kind":"file","file":{file}}}]"#));
        let request = read(&body).expect("the agent is looked for before the bytes are");
        let message = format!(
            "failed to process {what}: failed to decode base64 {what}: illegal base64 data at input byte 3"
        );
        let told = request.check_files().unwrap_err().to_body();
        assert_eq!(told, error("\"req-1\"", -32602, &message));
    }
    let link = r#"[{"kind":"file","file":{"uri":"https://e/f","bytes":"*","mimeType":"a/b"}}]"#;
    read(&with_parts(link))
        .unwrap()
        .check_files()
        .expect("a link wins over bytes");
}

#[test]
fn batches_depth_and_numbers_of_parts_are_refused_clearly() {
    for batch in ["[]", &format!("[{CURL}]"), &format!(" [{CURL},\n{CURL}] ")] {
        let message = "invalid request: batches are not supported, send one request at a time";
        assert_eq!(refused(batch), error("\"\"", -32600, message));
    }
    let nested = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        CURL.replace(
            r#""role""#,
            &format!(r#""metadata": {open}{close}, "role""#),
        )
    };
    // The body, its params and its message are three levels.
    read(&nested(61)).unwrap();
    let deep = error(
        "\"\"",
        -32600,
        "invalid request: nested deeper than 64 levels",
    );
    assert_eq!(refused(&nested(62)), deep);
    let many = |count: usize| {
        let parts = vec![r#"{"kind":"text","text":"x"}"#; count].join(",");
        with_parts(&format!("[{parts}]"))
    };
    read(&many(MAX_PARTS)).unwrap();
    let message = "invalid message: at most 1000 message parts are allowed";
    assert_eq!(
        refused(&many(MAX_PARTS + 1)),
        error("\"req-1\"", -32600, message)
    );
}

#[test]
fn keys_of_another_case_are_other_keys() {
    let body = CURL.replace("messageId", "MessageID");
    let message = "invalid message: messageId is required";
    assert_eq!(refused(&body), error("\"req-1\"", -32600, message));
}

#[test]
fn a_refusal_repeats_a_callers_words_only_up_to_a_length() {
    let long = "é".repeat(10_000);
    for words in ["2.0", "message/send", "user"] {
        let told = refused(&CURL.replacen(words, &long, 1));
        assert!(told.contains("éé") && told.len() < 600, "{}", told.len());
    }
    let told = refused(&with_parts(&format!(r#"[{{"kind":"{long}"}}]"#)));
    assert!(told.contains("éé") && told.len() < 600, "{}", told.len());
    let told = SeedRefusal::no_such_entity(SeedRequestId::Unknown, &long);
    assert_eq!(
        told.message.chars().filter(|char| *char == 'é').count(),
        128
    );
}
