//! JSON-RPC binding: both versions at the same address. The request names its version; without a version, the
//! method name decides.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use jackfield_core::units::Size;
use jackfield_kit::body;

use super::{
    InboundRequest,
    negotiate::{self, JSON, QueryPairs},
    operation::{OperationRequest, OperationResult},
    reply,
    shape::BindingForm,
};
use crate::A2aDoor;
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    method::Operation,
    rpc::{self, RpcId},
};

/// Bytes to read from an unauthenticated request, to find the request's id. Most requests are smaller; the
/// refusal of a larger request has the id `null`.
const UNAUTHENTICATED_BODY: Size = Size::kib(16);

/// Answers a JSON-RPC call.
pub(super) async fn serve(
    a2a: Arc<A2aDoor>,
    agent: Option<&str>,
    head: Parts,
    body: Body,
) -> Response {
    let said =
        QueryPairs::of(&head.uri).and_then(|query| negotiate::version(&head.headers, &query));
    // Errors about an unknown version use the form of 1.0, which defines their code.
    let mut spoken = said
        .as_ref()
        .map_or(A2aVersion::V10, |said| said.unwrap_or(A2aVersion::V03));
    let inbound = InboundRequest::new(a2a.clone(), agent, spoken, &head);
    let inbound = match inbound {
        Err(fault) if fault.kind == A2aErrorKind::Unauthenticated => {
            let id = unauthenticated_id(&a2a, body).await;
            return refused(spoken, &id, &fault);
        }
        inbound => inbound,
    };
    let body = match negotiate::read_body(&a2a, &head.headers, body).await {
        Ok(body) => body,
        Err(fault) => return refused(spoken, &RpcId::Null, &fault),
    };
    let call = match rpc::RpcCall::read(&body) {
        Ok(call) => call,
        Err((id, fault)) => return refused(spoken, &id, &fault),
    };
    if matches!(said, Ok(None)) && !call.method.contains('/') {
        // Method names without a slash exist only in 1.0. Known or not, such a method gets errors of 1.0, so
        // that a client sees a single form of errors.
        spoken = A2aVersion::V10;
    }
    let mut inbound = match inbound {
        Ok(inbound) => inbound,
        Err(fault) => return refused(spoken, &call.id, &fault),
    };
    let (operation, version) = match said.and_then(|said| named(&call.method, said)) {
        Ok(named) => named,
        Err(fault)
            if fault.kind == A2aErrorKind::MethodNotFound
                && is_new_without_version(&call, &head) =>
        {
            let fault = no_version(&call.method);
            return refused(A2aVersion::V10, &call.id, &fault);
        }
        Err(fault) => return refused(spoken, &call.id, &fault),
    };
    inbound.version = version;
    let max_depth = a2a.hub.limits().json_depth;
    let ask = OperationRequest::read(operation, version, call.params, max_depth);
    let answer = match ask {
        Ok(ask) => inbound.answer(ask).await,
        Err(fault) => Err(fault),
    };
    match answer {
        Ok(answer) => {
            let response = answered(&a2a, version, call.id, answer);
            reply::with_extensions(response, &inbound)
        }
        Err(fault) if is_event(operation, &inbound, &fault) => {
            let body = rpc::write_error(version, &call.id, &fault);
            reply::refused_stream(&fault, body)
        }
        Err(fault) => refused(version, &call.id, &fault),
    }
}

/// Returns the id of an unauthenticated request. Reads no more of the body than [`UNAUTHENTICATED_BODY`].
async fn unauthenticated_id(a2a: &A2aDoor, body: Body) -> RpcId {
    let body = body::read(body, UNAUTHENTICATED_BODY, a2a.hub.limits().write_stuck).await;
    body.map_or(RpcId::Null, |body| RpcId::read(&body))
}

/// Returns the operation of this name, in the version that the request names or in the version that defines
/// the name.
fn named(method: &str, said: Option<A2aVersion>) -> Result<(Operation, A2aVersion), A2aError> {
    let Some((operation, version)) = Operation::from_name(method) else {
        let text = format!("method '{method}' not found");
        return Err(A2aError::new(A2aErrorKind::MethodNotFound, text));
    };
    match said {
        Some(said) if said != version => {
            let name = operation.name(said);
            let text = format!(
                "method '{method}' is of version {version}; in version {said} it is '{name}'"
            );
            Err(A2aError::new(A2aErrorKind::MethodNotFound, text))
        }
        _ => Ok((operation, version)),
    }
}

/// Returns true if the request calls a method of 1.0 with an empty version header, which means 0.3.
fn is_new_without_version(call: &rpc::RpcCall<'_>, head: &Parts) -> bool {
    let is_new = matches!(
        Operation::from_name(&call.method),
        Some((_, A2aVersion::V10))
    );
    is_new && negotiate::is_version_empty(&head.headers)
}

fn no_version(method: &str) -> A2aError {
    let text = format!(
        "A2A-Version is empty, which means 0.3, and '{method}' is a method of 1.0; send A2A-Version: 1.0"
    );
    A2aError::new(A2aErrorKind::VersionNotSupported, text).with("supportedVersions", "1.0, 0.3")
}

/// Returns true if the error must be sent as an event. Streaming clients of 0.3 read errors only from the
/// stream, clients of 1.0 only from a plain response.
fn is_event(operation: Operation, inbound: &InboundRequest, fault: &A2aError) -> bool {
    inbound.version == A2aVersion::V03
        && matches!(operation, Operation::Stream | Operation::Subscribe)
        && status_of(fault) == StatusCode::OK
        && negotiate::takes_events(&inbound.headers)
}

fn answered(a2a: &A2aDoor, version: A2aVersion, id: RpcId, answer: OperationResult) -> Response {
    let shape = BindingForm::Plain(version);
    match answer {
        OperationResult::Stream(updates) => reply::events(a2a, *updates, move |told| match told {
            Ok(item) => rpc::write_result(&id, |out| shape.write_item(item, out)),
            Err(fault) => rpc::write_error(version, &id, fault),
        }),
        answer => {
            let body = rpc::write_result(&id, |out| shape.write(&answer, out));
            reply::json(JSON, body)
        }
    }
}

/// Returns the response to an HTTP method other than POST.
pub(super) fn only_post(method: &Method, path: &str, card: &str) -> Response {
    let text = format!("invalid request: {path} takes POST, got {method}; its card is at {card}");
    let fault = A2aError::new(A2aErrorKind::InvalidRequest, text);
    let body = rpc::write_error(A2aVersion::V10, &RpcId::Null, &fault);
    let mut response = reply::refusal(JSON, StatusCode::METHOD_NOT_ALLOWED, &fault, body);
    let allow = HeaderValue::from_static("POST");
    response.headers_mut().insert(header::ALLOW, allow);
    response
}

fn refused(version: A2aVersion, id: &RpcId, fault: &A2aError) -> Response {
    let body = rpc::write_error(version, id, fault);
    reply::refusal(JSON, status_of(fault), fault, body)
}

/// Returns the HTTP status of a fault. JSON-RPC errors have status 200, except for an unknown agent or a
/// missing authentication.
fn status_of(fault: &A2aError) -> StatusCode {
    match fault.kind {
        A2aErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        A2aErrorKind::AgentNotFound => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}
