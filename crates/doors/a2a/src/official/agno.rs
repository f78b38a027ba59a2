//! Dialect of Python Agno: JSON-RPC envelopes of version 0.3, sent to REST-like addresses.
//!
//! Errors are plain texts with an HTTP status. The stream differs from the protocol's: Agno's readers stop at
//! the first task, so the task comes last, and the agent's text comes as messages.

mod stream;

use axum::{http::StatusCode, response::Response};
use jackfield_wire::json::RawMembers;
use serde::Serialize;

use super::{
    InboundRequest,
    negotiate::JSON,
    operation::{OperationRequest, OperationResult},
    reply,
    rest_path::RestRoute,
    shape::BindingForm,
};
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    method::Operation,
    model::{Role, SendParams, StreamItem},
    rpc,
};
use crate::wire::write::to_json;

/// Returns the operation if the body is a JSON-RPC envelope. The address decides the operation, not the
/// envelope.
pub(super) fn operation(place: &RestRoute, version: A2aVersion, body: &[u8]) -> Option<Operation> {
    let operation = match place {
        RestRoute::Send => Operation::Send,
        RestRoute::Stream => Operation::Stream,
        RestRoute::AgnoGet => Operation::Get,
        RestRoute::AgnoCancel => Operation::Cancel,
        RestRoute::Tasks
        | RestRoute::Task(_)
        | RestRoute::Cancel(_)
        | RestRoute::Subscribe(_)
        | RestRoute::Pushes(_)
        | RestRoute::Push(..)
        | RestRoute::ExtendedCard => return None,
    };
    let members: RawMembers<'_> = serde_json::from_slice(body).ok()?;
    let is_envelope = version == A2aVersion::V03 && members.get("jsonrpc").is_some();
    is_envelope.then_some(operation)
}

/// Answers a request of the dialect.
pub(super) async fn serve(
    inbound: Result<InboundRequest, A2aError>,
    operation: Operation,
    body: &[u8],
) -> Response {
    match answer(inbound, operation, body).await {
        Ok(response) => response,
        Err(fault) => refused(&fault),
    }
}

async fn answer(
    inbound: Result<InboundRequest, A2aError>,
    operation: Operation,
    body: &[u8],
) -> Result<Response, A2aError> {
    let inbound = inbound?;
    let rpc::RpcCall { id, params, .. } = rpc::RpcCall::read(body).map_err(|(_, fault)| fault)?;
    let max_depth = inbound.a2a.hub.limits().json_depth;
    let ask = OperationRequest::read(operation, A2aVersion::V03, params, max_depth)?;
    if let OperationRequest::Send(params) | OperationRequest::Stream(params) = &ask {
        check_role(params)?;
    }
    let mut status = StatusCode::OK;
    if let OperationRequest::Send(params) = &ask
        && params.configuration.return_immediately == Some(true)
    {
        status = StatusCode::ACCEPTED;
    }
    let answer = match inbound.answer(ask).await? {
        OperationResult::Stream(updates) => return Ok(stream::respond(inbound, id, *updates)),
        answer => answer,
    };
    if let OperationResult::Sent(StreamItem::Message(_)) = &answer {
        status = StatusCode::OK;
    }
    let body = rpc::write_result(&id, |out| {
        BindingForm::Plain(A2aVersion::V03).write(&answer, out)
    });
    let mut response = reply::json(JSON, body);
    *response.status_mut() = status;
    Ok(response)
}

fn check_role(params: &SendParams) -> Result<(), A2aError> {
    match params.message.role {
        Role::User => Ok(()),
        Role::Agent => Err(A2aError::new(
            A2aErrorKind::InvalidRequest,
            "Only user messages are accepted",
        )),
    }
}

fn refused(fault: &A2aError) -> Response {
    let detail = match fault.kind {
        A2aErrorKind::InvalidParams | A2aErrorKind::Parse => {
            format!("Invalid A2A request: {}", fault.message)
        }
        _ => fault.message.clone(),
    };
    #[derive(Serialize)]
    struct AgnoErrorBody {
        detail: String,
    }
    let status = reply::status(fault.http_status(A2aVersion::V03));
    reply::refusal(JSON, status, fault, to_json(&AgnoErrorBody { detail }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_envelope_is_of_this_dialect() {
        let read = |place, version, body: &str| operation(&place, version, body.as_bytes());
        let envelope = r#"{"jsonrpc":"2.0","method":"message/send"}"#;
        let (old, new) = (A2aVersion::V03, A2aVersion::V10);
        assert_eq!(read(RestRoute::Send, old, envelope), Some(Operation::Send));
        assert_eq!(
            read(RestRoute::AgnoGet, old, envelope),
            Some(Operation::Get)
        );
        assert_eq!(read(RestRoute::Send, new, envelope), None);
        assert_eq!(read(RestRoute::Tasks, old, envelope), None);
        for body in [r#"{"message":{}}"#, "[]", "", "{"] {
            assert_eq!(read(RestRoute::Send, old, body), None, "{body}");
        }
    }
}
