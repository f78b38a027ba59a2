//! The envelope of JSON-RPC.

use super::*;
use crate::wire::{
    official::rpc::{RpcCall, RpcId, write_error, write_result},
    write::to_json,
};

#[test]
fn a_call_is_read_with_its_id_as_it_was_written() {
    for id in [
        r#""a\u00e9""#,
        "7",
        "-1",
        "1.0",
        "123456789012345678901234567890",
        "null",
    ] {
        let body =
            format!(r#" {{"jsonrpc":"2.0","id":{id},"method":"GetTask","params":{{"id":"t"}}}} "#);
        let call = RpcCall::read(body.as_bytes()).unwrap();
        assert_eq!(call.method, "GetTask");
        assert_eq!(call.params.unwrap().get(), r#"{"id":"t"}"#);
        assert_eq!(
            write_result(&call.id, |out| out.push_str("null")),
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#)
        );
    }
}

#[test]
fn a_call_without_an_id_is_refused_and_null_is_an_id() {
    let (id, fault) =
        RpcCall::read(br#"{"jsonrpc":"2.0","method":"x","params":null}"#).unwrap_err();
    assert!(matches!(id, RpcId::Null));
    assert_eq!(fault.code(), -32600);
    assert!(fault.message.contains("id is missing"), "{}", fault.message);
    let call = RpcCall::read(br#"{"jsonrpc":"2.0","id":null,"method":"x","params":null,"more":1}"#);
    let call = call.unwrap();
    assert!(matches!(call.id, RpcId::Null) && call.params.is_none());
}

#[test]
fn the_id_of_a_request_is_found_whatever_else_it_says() {
    for (body, id) in [
        (r#"{"id":"a","method":7}"#, r#""a""#),
        (r#"{"id":7}"#, "7"),
        (r#"{"id":{}}"#, "null"),
        (r#"{"id":1,"id":2}"#, "null"),
        ("[]", "null"),
        ("{", "null"),
        ("", "null"),
    ] {
        assert_eq!(to_json(&RpcId::read(body.as_bytes())), id, "{body}");
    }
}

#[test]
fn params_are_left_to_whoever_knows_the_method() {
    for params in ["[]", "\"not_a_dict\"", "7"] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{params}}}"#);
        let call = RpcCall::read(body.as_bytes()).unwrap();
        for version in BOTH {
            let fault = version.read_get(call.params, MAX_DEPTH).unwrap_err();
            assert_eq!((field(&fault), fault.code()), ("params", -32602));
        }
    }
}

#[test]
fn a_body_that_is_no_call_is_refused_with_the_id_that_it_has() {
    for (body, code, id) in [
        (&b"{\"jsonrpc\": \"2.0\""[..], -32700, "null"),
        (b"", -32700, "null"),
        (b"{]", -32700, "null"),
        (b"[1,", -32700, "null"),
        (b"\xff{}", -32700, "null"),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
            "null",
        ),
        (b"{} {}", -32700, "null"),
        (b"[]", -32600, "null"),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"x"}]"#,
            -32600,
            "null",
        ),
        (b"5", -32600, "null"),
        (b"\"x\"", -32600, "null"),
        (b"{}", -32600, "null"),
        (br#"{"id":1,"method":"x"}"#, -32600, "1"),
        (
            br#"{"jsonrpc":"1.0","id":"a","method":"x"}"#,
            -32600,
            r#""a""#,
        ),
        (
            br#"{"jsonrpc":2.0,"id":"a","method":"x"}"#,
            -32600,
            r#""a""#,
        ),
        (br#"{"jsonrpc":"2.0","id":"a"}"#, -32600, r#""a""#),
        (
            br#"{"jsonrpc":"2.0","id":"a","method":5}"#,
            -32600,
            r#""a""#,
        ),
        (
            br#"{"jsonrpc":"2.0","id":{"bad":"type"},"method":"x","params":{}}"#,
            -32600,
            "null",
        ),
        (
            br#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#,
            -32600,
            "null",
        ),
        (
            br#"{"jsonrpc":"2.0","id":true,"method":"x"}"#,
            -32600,
            "null",
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"id":2,"method":"x"}"#,
            -32600,
            "null",
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"x","method":"y"}"#,
            -32600,
            "1",
        ),
    ] {
        let (found, fault) = RpcCall::read(body).unwrap_err();
        let body = String::from_utf8_lossy(body);
        assert_eq!(
            (fault.code(), to_json(&found).as_str()),
            (code, id),
            "{body}"
        );
    }
}

#[test]
fn whoever_sends_a_batch_is_told_to_send_one_at_a_time() {
    let (_, fault) = RpcCall::read(b"[]").unwrap_err();
    assert!(fault.message.contains("one request at a time"), "{fault:?}");
}

#[test]
fn an_error_is_told_in_the_words_of_the_version() {
    let fault = A2aError::field("message.parts[0].text", "must be a string").with("agentId", "a");
    let call = RpcCall::read(br#"{"jsonrpc":"2.0","id":7,"method":"x"}"#).unwrap();
    assert_eq!(
        write_error(A2aVersion::V10, &call.id, &fault),
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid params: message.parts[0].text: must be a string","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INVALID_PARAMS","domain":"a2a-protocol.org","metadata":{"agentId":"a"}},{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.parts[0].text","description":"must be a string"}]}]}}"#
    );
    assert_eq!(
        write_error(A2aVersion::V03, &call.id, &fault),
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"invalid params: message.parts[0].text: must be a string","data":{"reason":"INVALID_PARAMS","field":"message.parts[0].text","agentId":"a"}}}"#
    );
    let plain = A2aError::new(A2aErrorKind::TaskNotFound, "task 't' not found");
    assert_eq!(
        write_error(A2aVersion::V10, &RpcId::Null, &plain),
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"task 't' not found","data":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}]}}"#
    );
}
