//! The JSON-RPC binding: both versions at one address. The version is the one that the request names, or else the one
//! that calls the method so.

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{HeaderValue, Method, StatusCode, header, request::Parts};
use jackfield_core::units::Size;
use jackfield_kit::body;

use super::{
    Visit,
    ask::{Answer, Ask},
    negotiate::{self, JSON, Query},
    reply,
    shape::Shape,
};
use crate::A2a;
use crate::wire::official::{
    Version,
    error::{Fault, Kind},
    method::Operation,
    rpc::{self, Id},
};

/// How much is read of a request whose sender is not let in, to find its id. Most requests are smaller; the refusal of a
/// larger one has the id `null`.
const STRANGERS_BODY: Size = Size::kib(16);

/// Answers one call.
pub(super) async fn serve(a2a: Arc<A2a>, agent: Option<&str>, head: Parts, body: Body) -> Response {
    let said = Query::of(&head.uri).and_then(|query| negotiate::version(&head.headers, &query));
    // Errors of a version that is not known are new, as is their code.
    let mut spoken = said
        .as_ref()
        .map_or(Version::V10, |said| said.unwrap_or(Version::V03));
    let visit = Visit::new(a2a.clone(), agent, spoken, &head);
    let visit = match visit {
        Err(fault) if fault.kind == Kind::Unauthenticated => {
            let id = strangers_id(&a2a, body).await;
            return refused(spoken, &id, &fault);
        }
        visit => visit,
    };
    let body = match negotiate::read_body(&a2a, &head.headers, body).await {
        Ok(body) => body,
        Err(fault) => return refused(spoken, &Id::Null, &fault),
    };
    let call = match rpc::Call::read(&body) {
        Ok(call) => call,
        Err((id, fault)) => return refused(spoken, &id, &fault),
    };
    if matches!(said, Ok(None)) && !call.method.contains('/') {
        // So are methods called only in 1.0, known ones or not: all errors of one client look alike.
        spoken = Version::V10;
    }
    let mut visit = match visit {
        Ok(visit) => visit,
        Err(fault) => return refused(spoken, &call.id, &fault),
    };
    let (operation, version) = match said.and_then(|said| named(&call.method, said)) {
        Ok(named) => named,
        Err(fault)
            if fault.kind == Kind::MethodNotFound && is_new_without_version(&call, &head) =>
        {
            let fault = no_version(&call.method);
            return refused(Version::V10, &call.id, &fault);
        }
        Err(fault) => return refused(spoken, &call.id, &fault),
    };
    visit.version = version;
    let max_depth = a2a.hub.limits().json_depth;
    let ask = Ask::read(operation, version, call.params, max_depth);
    let answer = match ask {
        Ok(ask) => visit.answer(ask).await,
        Err(fault) => Err(fault),
    };
    match answer {
        Ok(answer) => {
            let response = answered(&a2a, version, call.id, answer);
            reply::with_extensions(response, &visit)
        }
        Err(fault) if is_event(operation, &visit, &fault) => {
            let body = rpc::write_error(version, &call.id, &fault);
            reply::refused_stream(&fault, body)
        }
        Err(fault) => refused(version, &call.id, &fault),
    }
}

/// The id of a request by somebody who is not let in. No more is read of it than an id needs.
async fn strangers_id(a2a: &A2a, body: Body) -> Id {
    let body = body::read(body, STRANGERS_BODY, a2a.hub.limits().write_stuck).await;
    body.map_or(Id::Null, |body| Id::read(&body))
}

/// The operation of this name, in the version that the request named or else in the one that has the name.
fn named(method: &str, said: Option<Version>) -> Result<(Operation, Version), Fault> {
    let Some((operation, version)) = Operation::from_name(method) else {
        let text = format!("method '{method}' not found");
        return Err(Fault::new(Kind::MethodNotFound, text));
    };
    match said {
        Some(said) if said != version => {
            let name = operation.name(said);
            let text = format!(
                "method '{method}' is of version {version}; in version {said} it is '{name}'"
            );
            Err(Fault::new(Kind::MethodNotFound, text))
        }
        _ => Ok((operation, version)),
    }
}

/// Whether a method of 1.0 is called under an empty version, which means 0.3.
fn is_new_without_version(call: &rpc::Call<'_>, head: &Parts) -> bool {
    let is_new = matches!(Operation::from_name(&call.method), Some((_, Version::V10)));
    is_new && negotiate::is_version_empty(&head.headers)
}

fn no_version(method: &str) -> Fault {
    let text = format!(
        "A2A-Version is empty, which means 0.3, and '{method}' is a method of 1.0; send A2A-Version: 1.0"
    );
    Fault::new(Kind::VersionNotSupported, text).with("supportedVersions", "1.0, 0.3")
}

/// Clients of 0.3 that asked for a stream read errors only from one; those of 1.0 only outside.
fn is_event(operation: Operation, visit: &Visit, fault: &Fault) -> bool {
    visit.version == Version::V03
        && matches!(operation, Operation::Stream | Operation::Subscribe)
        && status_of(fault) == StatusCode::OK
        && negotiate::takes_events(&visit.headers)
}

fn answered(a2a: &A2a, version: Version, id: Id, answer: Answer) -> Response {
    let shape = Shape::Plain(version);
    match answer {
        Answer::Stream(updates) => reply::events(a2a, *updates, move |told| match told {
            Ok(item) => rpc::write_result(&id, |out| shape.write_item(item, out)),
            Err(fault) => rpc::write_error(version, &id, fault),
        }),
        answer => {
            let body = rpc::write_result(&id, |out| shape.write(&answer, out));
            reply::json(JSON, body)
        }
    }
}

/// The response to a request by another method of HTTP, which is none of JSON-RPC.
pub(super) fn only_post(method: &Method, path: &str, card: &str) -> Response {
    let text = format!("invalid request: {path} takes POST, got {method}; its card is at {card}");
    let fault = Fault::new(Kind::InvalidRequest, text);
    let body = rpc::write_error(Version::V10, &Id::Null, &fault);
    let mut response = reply::refusal(JSON, StatusCode::METHOD_NOT_ALLOWED, &fault, body);
    let allow = HeaderValue::from_static("POST");
    response.headers_mut().insert(header::ALLOW, allow);
    response
}

fn refused(version: Version, id: &Id, fault: &Fault) -> Response {
    let body = rpc::write_error(version, id, fault);
    reply::refusal(JSON, status_of(fault), fault, body)
}

/// Errors are answers to JSON-RPC; HTTP has a say only where it is about the address or who asks.
fn status_of(fault: &Fault) -> StatusCode {
    match fault.kind {
        Kind::Unauthenticated => StatusCode::UNAUTHORIZED,
        Kind::AgentNotFound => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}
