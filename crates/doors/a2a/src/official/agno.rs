//! Dialect of Python Agno: JSON-RPC envelopes of version 0.3, sent to REST-like addresses.
//!
//! Errors are plain texts with an HTTP status. The stream differs from the protocol's: Agno's readers stop at
//! the first task, so the task comes last, and the agent's text comes as messages.

mod stream;

use axum::{http::StatusCode, response::Response};
use jackfield_wire::json::Members;
use serde::Serialize;

use super::{
    Visit,
    ask::{Answer, Ask},
    negotiate::JSON,
    place::Place,
    reply,
    shape::Shape,
};
use crate::wire::official::{
    Version,
    error::{Fault, Kind},
    method::Operation,
    model::{Item, Role, SendParams},
    rpc,
};
use crate::wire::write::to_json;

/// Returns the operation if the body is a JSON-RPC envelope. The address decides the operation, not the
/// envelope.
pub(super) fn operation(place: &Place, version: Version, body: &[u8]) -> Option<Operation> {
    let operation = match place {
        Place::Send => Operation::Send,
        Place::Stream => Operation::Stream,
        Place::AgnoGet => Operation::Get,
        Place::AgnoCancel => Operation::Cancel,
        Place::Tasks
        | Place::Task(_)
        | Place::Cancel(_)
        | Place::Subscribe(_)
        | Place::Pushes(_)
        | Place::Push(..)
        | Place::ExtendedCard => return None,
    };
    let members: Members<'_> = serde_json::from_slice(body).ok()?;
    let is_envelope = version == Version::V03 && members.get("jsonrpc").is_some();
    is_envelope.then_some(operation)
}

/// Answers a request of the dialect.
pub(super) async fn serve(
    visit: Result<Visit, Fault>,
    operation: Operation,
    body: &[u8],
) -> Response {
    match answer(visit, operation, body).await {
        Ok(response) => response,
        Err(fault) => refused(&fault),
    }
}

async fn answer(
    visit: Result<Visit, Fault>,
    operation: Operation,
    body: &[u8],
) -> Result<Response, Fault> {
    let visit = visit?;
    let rpc::Call { id, params, .. } = rpc::Call::read(body).map_err(|(_, fault)| fault)?;
    let max_depth = visit.a2a.hub.limits().json_depth;
    let ask = Ask::read(operation, Version::V03, params, max_depth)?;
    if let Ask::Send(params) | Ask::Stream(params) = &ask {
        check_role(params)?;
    }
    let mut status = StatusCode::OK;
    if let Ask::Send(params) = &ask
        && params.configuration.return_immediately == Some(true)
    {
        status = StatusCode::ACCEPTED;
    }
    let answer = match visit.answer(ask).await? {
        Answer::Stream(updates) => return Ok(stream::respond(visit, id, *updates)),
        answer => answer,
    };
    if let Answer::Sent(Item::Message(_)) = &answer {
        status = StatusCode::OK;
    }
    let body = rpc::write_result(&id, |out| Shape::Plain(Version::V03).write(&answer, out));
    let mut response = reply::json(JSON, body);
    *response.status_mut() = status;
    Ok(response)
}

fn check_role(params: &SendParams) -> Result<(), Fault> {
    match params.message.role {
        Role::User => Ok(()),
        Role::Agent => Err(Fault::new(
            Kind::InvalidRequest,
            "Only user messages are accepted",
        )),
    }
}

fn refused(fault: &Fault) -> Response {
    let detail = match fault.kind {
        Kind::InvalidParams | Kind::Parse => format!("Invalid A2A request: {}", fault.message),
        _ => fault.message.clone(),
    };
    #[derive(Serialize)]
    struct Body {
        detail: String,
    }
    let status = reply::status(fault.http_status(Version::V03));
    reply::refusal(JSON, status, fault, to_json(&Body { detail }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_envelope_is_of_this_dialect() {
        let read = |place, version, body: &str| operation(&place, version, body.as_bytes());
        let envelope = r#"{"jsonrpc":"2.0","method":"message/send"}"#;
        let (old, new) = (Version::V03, Version::V10);
        assert_eq!(read(Place::Send, old, envelope), Some(Operation::Send));
        assert_eq!(read(Place::AgnoGet, old, envelope), Some(Operation::Get));
        assert_eq!(read(Place::Send, new, envelope), None);
        assert_eq!(read(Place::Tasks, old, envelope), None);
        for body in [r#"{"message":{}}"#, "[]", "", "{"] {
            assert_eq!(read(Place::Send, old, body), None, "{body}");
        }
    }
}
