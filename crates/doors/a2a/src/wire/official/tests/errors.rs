//! The codes of every error in every binding.

use super::*;

/// Kind; code in JSON-RPC; status over HTTP in 0.3 and 1.0; number and name in gRPC; name in REST; reason.
type Row = (
    A2aErrorKind,
    i64,
    u16,
    u16,
    i32,
    &'static str,
    &'static str,
    &'static str,
);

const ROWS: [Row; 20] = [
    (
        A2aErrorKind::Parse,
        -32700,
        400,
        400,
        3,
        "INVALID_ARGUMENT",
        "INVALID_ARGUMENT",
        "PARSE",
    ),
    (
        A2aErrorKind::InvalidRequest,
        -32600,
        400,
        400,
        3,
        "INVALID_ARGUMENT",
        "INVALID_ARGUMENT",
        "INVALID_REQUEST",
    ),
    (
        A2aErrorKind::MethodNotFound,
        -32601,
        404,
        404,
        12,
        "UNIMPLEMENTED",
        "NOT_FOUND",
        "METHOD_NOT_FOUND",
    ),
    (
        A2aErrorKind::InvalidParams,
        -32602,
        400,
        400,
        3,
        "INVALID_ARGUMENT",
        "INVALID_ARGUMENT",
        "INVALID_PARAMS",
    ),
    (
        A2aErrorKind::Internal,
        -32603,
        500,
        500,
        13,
        "INTERNAL",
        "INTERNAL",
        "INTERNAL",
    ),
    (
        A2aErrorKind::TaskNotFound,
        -32001,
        404,
        404,
        5,
        "NOT_FOUND",
        "NOT_FOUND",
        "TASK_NOT_FOUND",
    ),
    (
        A2aErrorKind::TaskNotCancelable,
        -32002,
        409,
        400,
        9,
        "FAILED_PRECONDITION",
        "FAILED_PRECONDITION",
        "TASK_NOT_CANCELABLE",
    ),
    (
        A2aErrorKind::PushNotSupported,
        -32003,
        501,
        400,
        9,
        "FAILED_PRECONDITION",
        "FAILED_PRECONDITION",
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ),
    (
        A2aErrorKind::Unsupported,
        -32004,
        501,
        400,
        9,
        "FAILED_PRECONDITION",
        "FAILED_PRECONDITION",
        "UNSUPPORTED_OPERATION",
    ),
    (
        A2aErrorKind::ContentType,
        -32005,
        415,
        400,
        3,
        "INVALID_ARGUMENT",
        "INVALID_ARGUMENT",
        "CONTENT_TYPE_NOT_SUPPORTED",
    ),
    (
        A2aErrorKind::InvalidAgentResponse,
        -32006,
        502,
        500,
        13,
        "INTERNAL",
        "INTERNAL",
        "INVALID_AGENT_RESPONSE",
    ),
    (
        A2aErrorKind::NoExtendedCard,
        -32007,
        404,
        400,
        9,
        "FAILED_PRECONDITION",
        "FAILED_PRECONDITION",
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    ),
    (
        A2aErrorKind::ExtensionRequired,
        -32008,
        400,
        400,
        9,
        "FAILED_PRECONDITION",
        "FAILED_PRECONDITION",
        "EXTENSION_SUPPORT_REQUIRED",
    ),
    (
        A2aErrorKind::VersionNotSupported,
        -32009,
        400,
        400,
        9,
        "FAILED_PRECONDITION",
        "FAILED_PRECONDITION",
        "VERSION_NOT_SUPPORTED",
    ),
    (
        A2aErrorKind::Unauthenticated,
        -32000,
        401,
        401,
        16,
        "UNAUTHENTICATED",
        "UNAUTHENTICATED",
        "UNAUTHENTICATED",
    ),
    (
        A2aErrorKind::AgentNotFound,
        -32000,
        404,
        404,
        5,
        "NOT_FOUND",
        "NOT_FOUND",
        "AGENT_NOT_FOUND",
    ),
    (
        A2aErrorKind::TooLarge,
        -32602,
        413,
        413,
        8,
        "RESOURCE_EXHAUSTED",
        "RESOURCE_EXHAUSTED",
        "TOO_LARGE",
    ),
    (
        A2aErrorKind::Busy,
        -32000,
        429,
        429,
        8,
        "RESOURCE_EXHAUSTED",
        "RESOURCE_EXHAUSTED",
        "BUSY",
    ),
    (
        A2aErrorKind::Unavailable,
        -32603,
        503,
        503,
        14,
        "UNAVAILABLE",
        "UNAVAILABLE",
        "UNAVAILABLE",
    ),
    (
        A2aErrorKind::Conflict,
        -32600,
        409,
        409,
        10,
        "ABORTED",
        "ABORTED",
        "CONFLICT",
    ),
];

#[test]
fn every_error_has_its_code_in_every_binding() {
    for (kind, code, old, new, number, name, status, reason) in ROWS {
        let fault = A2aError::new(kind, "x");
        assert_eq!(fault.code(), code, "{kind:?}");
        assert_eq!(fault.http_status(A2aVersion::V03), old, "{kind:?}");
        assert_eq!(fault.http_status(A2aVersion::V10), new, "{kind:?}");
        let grpc = fault.grpc_code();
        assert_eq!((grpc.number(), grpc.name()), (number, name), "{kind:?}");
        assert_eq!(
            (fault.status_name(), fault.reason()),
            (status, reason),
            "{kind:?}"
        );
    }
}

#[test]
fn a_rest_body_is_that_of_the_version() {
    let fault = A2aError::new(A2aErrorKind::TaskNotFound, "task 't' not found").with("taskId", "t");
    assert_eq!(
        fault.rest_body(A2aVersion::V10),
        r#"{"error":{"code":404,"status":"NOT_FOUND","message":"task 't' not found","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org","metadata":{"taskId":"t"}}]}}"#
    );
    assert_eq!(
        fault.rest_body(A2aVersion::V03),
        r#"{"code":-32001,"message":"task 't' not found","data":{"reason":"TASK_NOT_FOUND","taskId":"t"}}"#
    );
}

#[test]
fn several_violations_are_all_told() {
    let mut fault = A2aError::field("a", "x");
    fault.violations.push(("b".into(), "y".into()));
    assert_eq!(
        fault.rest_body(A2aVersion::V03),
        r#"{"code":-32602,"message":"invalid params: a: x","data":{"reason":"INVALID_PARAMS","fieldViolations":[{"field":"a","description":"x"},{"field":"b","description":"y"}]}}"#
    );
}
