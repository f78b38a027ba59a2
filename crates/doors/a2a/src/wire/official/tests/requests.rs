//! What a client writes, and what it makes of the answers.

use super::*;
use crate::wire::official::{
    model::{A2aState, GetParams, StreamItem, TaskParams},
    rpc::{RpcResponse, write_call, write_error, write_result},
    v03_proto::{self, FileBytes},
};

const ASKED: &str = r#"{"tenant":"ten","message":{"messageId":"m","contextId":"c","role":"ROLE_USER","parts":[{"text":"hi"},{"raw":"aGk=","mediaType":"text/plain"}],"mood":"good"},"configuration":{"historyLength":0,"returnImmediately":true,"taskPushNotificationConfig":{"id":"p","url":"https://e.x/hook","authentication":{"scheme":"Bearer","credentials":"s"}}},"metadata":{"a":1}}"#;

#[test]
fn a_send_is_asked_in_the_words_of_the_version() {
    let params = A2aVersion::V10
        .read_send(Some(raw(ASKED)), MAX_DEPTH)
        .unwrap();
    let new = written(|out| A2aVersion::V10.write_send_params(&params, out));
    assert_eq!(new, ASKED);
    assert_eq!(
        written(|out| A2aVersion::V03.write_send_params(&params, out)),
        r#"{"message":{"kind":"message","messageId":"m","contextId":"c","role":"user","parts":[{"kind":"text","text":"hi"},{"kind":"file","file":{"bytes":"aGk=","mimeType":"text/plain"}}]},"configuration":{"acceptedOutputModes":[],"historyLength":0,"blocking":false,"pushNotificationConfig":{"id":"p","url":"https://e.x/hook","authentication":{"schemes":["Bearer"],"credentials":"s"}}},"metadata":{"a":1}}"#
    );
    assert_eq!(
        written(|out| v03_proto::write_send_params(FileBytes::Twice, &params, out)),
        r#"{"message":{"messageId":"m","contextId":"c","role":"ROLE_USER","content":[{"text":"hi"},{"file":{"fileWithBytes":"YUdrPQ==","mimeType":"text/plain"}}]},"configuration":{"historyLength":0,"blocking":false,"pushNotification":{"id":"p","url":"https://e.x/hook","authentication":{"schemes":["Bearer"],"credentials":"s"}}},"metadata":{"a":1}}"#
    );
}

#[test]
fn who_wants_nothing_in_particular_says_nothing() {
    let json = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;
    let params = A2aVersion::V10
        .read_send(Some(raw(json)), MAX_DEPTH)
        .unwrap();
    assert_eq!(
        written(|out| A2aVersion::V10.write_send_params(&params, out)),
        json
    );
    let old = written(|out| A2aVersion::V03.write_send_params(&params, out));
    assert!(!old.contains("configuration"), "{old}");
}

#[test]
fn a_task_is_named_with_its_tenant_where_there_are_tenants() {
    let get = GetParams {
        tenant: Some("ten".to_owned()),
        id: "t".to_owned(),
        history_length: Some(2),
    };
    let task = TaskParams {
        tenant: get.tenant.clone(),
        id: get.id.clone(),
        metadata: None,
    };
    for (version, got, named) in [
        (
            A2aVersion::V03,
            r#"{"id":"t","historyLength":2}"#,
            r#"{"id":"t"}"#,
        ),
        (
            A2aVersion::V10,
            r#"{"tenant":"ten","id":"t","historyLength":2}"#,
            r#"{"tenant":"ten","id":"t"}"#,
        ),
    ] {
        assert_eq!(written(|out| version.write_get_params(&get, out)), got);
        assert_eq!(written(|out| version.write_task_params(&task, out)), named);
    }
}

#[test]
fn an_envelope_is_answered_by_the_response_that_bears_its_id() {
    let call = write_call("a\"1", "GetTask", |out| out.push_str("{}"));
    assert_eq!(
        call,
        r#"{"jsonrpc":"2.0","id":"a\"1","method":"GetTask","params":{}}"#
    );
    let call = rpc_call(&call);
    let answer = write_result(&call, |out| out.push('7'));
    let response = RpcResponse::read(answer.as_bytes()).unwrap();
    assert!(response.answers("a\"1") && !response.answers("a"));
    assert_eq!(response.outcome.unwrap().get(), "7");
}

fn rpc_call(body: &str) -> crate::wire::official::rpc::RpcId {
    crate::wire::official::rpc::RpcCall::read(body.as_bytes())
        .unwrap()
        .id
}

#[test]
fn only_an_error_may_be_without_an_id() {
    for (body, answers) in [
        (
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#,
            true,
        ),
        (
            r#"{"jsonrpc":"2.0","id":"b","error":{"code":-32700,"message":"?"}}"#,
            false,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, false),
        (r#"{"jsonrpc":"2.0","id":null,"result":{}}"#, false),
        (r#"{"jsonrpc":"2.0","result":{}}"#, false),
        (
            r#"{"jsonrpc":"2.0","id":"a","result":{},"error":null}"#,
            true,
        ),
    ] {
        let response = RpcResponse::read(body.as_bytes()).unwrap();
        assert_eq!(response.answers("a"), answers, "{body}");
    }
    for body in [
        "",
        "<html>",
        "[]",
        "{}",
        r#"{"jsonrpc":"1.0","id":"a","result":{}}"#,
        r#"{"jsonrpc":"2.0","id":["a"],"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"a"}"#,
        r#"{"jsonrpc":"2.0","id":"a","error":"broken"}"#,
        r#"{"jsonrpc":"2.0","id":"a","error":{"message":"broken"}}"#,
    ] {
        assert!(RpcResponse::read(body.as_bytes()).is_err(), "{body}");
    }
}

#[test]
fn an_error_is_read_as_it_was_meant() {
    for kind in [
        A2aErrorKind::Parse,
        A2aErrorKind::InvalidParams,
        A2aErrorKind::TaskNotFound,
        A2aErrorKind::Unsupported,
        A2aErrorKind::VersionNotSupported,
        A2aErrorKind::Busy,
        A2aErrorKind::Unavailable,
        A2aErrorKind::Conflict,
    ] {
        let fault = A2aError::new(kind, "no");
        for version in BOTH {
            let body = write_error(version, &Default::default(), &fault);
            let read = RpcResponse::read(body.as_bytes()).unwrap();
            assert_eq!(read.outcome.unwrap_err(), fault, "{body}");
            let status = fault.http_status(version);
            let body = fault.rest_body(version);
            assert_eq!(
                A2aError::from_rest(status, raw(&body)),
                Some(fault.clone()),
                "{body}"
            );
        }
    }
    for (code, kind) in [
        (-32001, A2aErrorKind::TaskNotFound),
        (-32600, A2aErrorKind::InvalidRequest),
        (-32602, A2aErrorKind::InvalidParams),
        (-32603, A2aErrorKind::Internal),
        (-32009, A2aErrorKind::VersionNotSupported),
        (-32000, A2aErrorKind::Internal),
        (42, A2aErrorKind::Internal),
    ] {
        assert_eq!(A2aErrorKind::from_code(code), kind, "{code}");
    }
}

#[test]
fn an_error_that_lost_its_code_is_known_by_its_words() {
    for (message, kind) in [
        ("Task not found: t", A2aErrorKind::TaskNotFound),
        ("Task not cancelable: t", A2aErrorKind::TaskNotCancelable),
        ("It broke: Task not found: t", A2aErrorKind::Internal),
    ] {
        assert_eq!(A2aError::from_rpc(-32603, message, None).kind, kind);
        assert_eq!(
            A2aError::from_rpc(-32602, message, None).kind,
            A2aErrorKind::InvalidParams
        );
        let body = format!(r#"{{"code":-32603,"message":"{message}"}}"#);
        assert_eq!(A2aError::from_rest(500, raw(&body)).unwrap().kind, kind);
    }
}

#[test]
fn errors_over_http_are_read_in_every_form_that_servers_give_them() {
    for (status, body, kind, message) in [
        (
            404,
            r#"{"message":"Task not found"}"#,
            A2aErrorKind::TaskNotFound,
            "Task not found",
        ),
        (
            409,
            r#"{"message":"too late"}"#,
            A2aErrorKind::TaskNotCancelable,
            "too late",
        ),
        (501, r#"{"message":"no"}"#, A2aErrorKind::Unsupported, "no"),
        (
            400,
            r#"{"code":-32004,"message":"no"}"#,
            A2aErrorKind::Unsupported,
            "no",
        ),
        (
            404,
            r#"{"detail":"Agent not found"}"#,
            A2aErrorKind::TaskNotFound,
            "Agent not found",
        ),
        (
            422,
            r#"{"detail":[{"loc": ["x"]}]}"#,
            A2aErrorKind::InvalidParams,
            r#"[{"loc":["x"]}]"#,
        ),
        (
            400,
            r#"{"type":"about:blank","title":"Bad"}"#,
            A2aErrorKind::InvalidRequest,
            "Bad",
        ),
        (
            500,
            r#"{"error":"Failed"}"#,
            A2aErrorKind::Internal,
            "Failed",
        ),
        (
            400,
            r#"{"error":{"code":400,"status":"FAILED_PRECONDITION","message":"over","details":[{"@type":"x"},{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org"}]}}"#,
            A2aErrorKind::TaskNotCancelable,
            "over",
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"x","details":[{"reason":"TASK_NOT_FOUND","domain":"else.where"}]}}"#,
            A2aErrorKind::InvalidRequest,
            "x",
        ),
    ] {
        let fault = A2aError::from_rest(status, raw(body)).unwrap();
        assert_eq!((fault.kind, &*fault.message), (kind, message), "{body}");
    }
    for body in ["[]", "{}", "7", r#"{"task":{}}"#, r#"{"error":{}}"#] {
        assert_eq!(A2aError::from_rest(500, raw(body)), None, "{body}");
    }
}

#[test]
fn what_servers_leave_out_goes_without_saying() {
    let json = r#"{"task":{"id":"t","context_id":"c","status":"completed","history":[{"messageId":"m","role":"agent","parts":[]},{"messageId":"n"}]}}"#;
    for version in BOTH {
        let StreamItem::Task(task) = version.read_item(raw(json)).unwrap() else {
            panic!("no task");
        };
        assert_eq!((&*task.id, &*task.context_id), ("t", "c"));
        assert_eq!(task.status.state, A2aState::Completed);
        assert!(task.history.iter().all(|message| message.parts.is_empty()));
    }
}
