//! REST binding: version 1.0 below an agent's address, version 0.3 below `/v1` of the same address.
//!
//! Version 0.3 has two forms. Its published clients use the JSON of its gRPC messages, other programs the
//! JSON of its JSON-RPC. The binding reads both and answers in the form of the request.

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    response::Response,
};
use http::{HeaderMap, Method, request::Parts};
use jackfield_wire::json::{self, RawMembers};
use serde_json::value::RawValue;

use super::{
    InboundRequest, agno,
    negotiate::{self, JSON, QueryPairs},
    operation::{OperationRequest, OperationResult},
    reply,
    rest_path::{RestPath, RestRoute},
    shape::BindingForm,
};
use crate::A2aDoor;
use crate::wire::official::{
    A2aVersion,
    error::{A2aError, A2aErrorKind},
    model::{PushParams, TaskParams},
};

/// Form of 0.3 that JSON-RPC uses.
const OLD: BindingForm = BindingForm::Plain(A2aVersion::V03);

/// Paths below an agent's address, for error messages.
const ROUTES: &str = "/message:send, /message:stream, /tasks, /tasks/{id}, /tasks/{id}:cancel, /tasks/{id}:subscribe, \
     /extendedAgentCard and /.well-known/agent-card.json, and those of version 0.3 below /v1";

/// Answers a REST request.
pub(super) async fn serve(
    a2a: Arc<A2aDoor>,
    agent: Option<&str>,
    found: RestPath,
    head: Parts,
    body: Body,
) -> Response {
    let version = found.version;
    let methods = found.place.methods();
    let kind = answer_type(version, &head.headers);
    let refused = |fault: &A2aError| refused(kind, version, fault);
    if !methods.contains(&head.method) {
        return reply::wrong_method(kind, &head.method, head.uri.path(), methods);
    }
    let inbound = match InboundRequest::new(a2a.clone(), agent, version, &head) {
        // Read no body from an unauthenticated sender.
        Err(fault) if fault.kind == A2aErrorKind::Unauthenticated => return refused(&fault),
        inbound => inbound,
    };
    let body = if head.method == Method::POST {
        negotiate::read_body(&a2a, &head.headers, body).await
    } else {
        Ok(Bytes::new())
    };
    let body = match body {
        Ok(body) => body,
        Err(fault) => return refused(&fault),
    };
    if let Some(operation) = agno::operation(&found.place, version, &body) {
        return agno::serve(inbound, operation, &body).await;
    }
    let asked = inbound.and_then(|inbound| {
        let query = QueryPairs::of(&head.uri)?;
        check_version(version, negotiate::version(&head.headers, &query)?)?;
        let (ask, shape) = read(found, &head, &query, &body, &a2a)?;
        Ok((inbound, ask, shape))
    });
    let (inbound, ask, shape) = match asked {
        Ok(asked) => asked,
        Err(fault) => return refused(&fault),
    };
    let response = match inbound.answer(ask).await {
        Ok(OperationResult::Stream(updates)) => {
            reply::events(&a2a, *updates, move |told| match told {
                Ok(item) => {
                    let mut out = String::new();
                    shape.write_item(item, &mut out);
                    out
                }
                Err(fault) => fault.rest_body(version),
            })
        }
        Ok(answer) => {
            let mut out = String::new();
            shape.write(&answer, &mut out);
            reply::json(kind, out)
        }
        Err(fault) => return refused(&fault),
    };
    reply::with_extensions(response, &inbound)
}

/// Returns the media type of answers and errors.
fn answer_type(version: A2aVersion, headers: &HeaderMap) -> &'static str {
    match version {
        A2aVersion::V03 => JSON,
        A2aVersion::V10 => negotiate::answer_type(headers),
    }
}

/// Refuses a version header that contradicts the version of the path.
fn check_version(version: A2aVersion, said: Option<A2aVersion>) -> Result<(), A2aError> {
    let text = match (said, version) {
        (Some(A2aVersion::V10), A2aVersion::V03) => {
            "below /v1 is version 0.3; version 1.0 is at the same address without it"
        }
        (Some(A2aVersion::V03), A2aVersion::V10) => "this is version 1.0; version 0.3 is below /v1",
        (Some(A2aVersion::V03 | A2aVersion::V10) | None, _) => return Ok(()),
    };
    Err(A2aError::new(A2aErrorKind::VersionNotSupported, text))
}

/// Reads the operation with its params, and chooses the form of the answer.
fn read(
    found: RestPath,
    head: &Parts,
    query: &QueryPairs,
    body: &[u8],
    a2a: &A2aDoor,
) -> Result<(OperationRequest, BindingForm), A2aError> {
    let RestPath {
        version,
        tenant,
        place,
    } = found;
    let max_depth = a2a.hub.limits().json_depth;
    let body = parse(body)?;
    let pairs = query.pairs();
    let given = BindingForm::rest(version, negotiate::file_bytes(&head.headers));
    let mut shape = given;
    let ask = match place {
        RestRoute::Send | RestRoute::Stream => {
            let mut params = given.read_send(body, max_depth)?;
            params.tenant = tenant.or(params.tenant);
            if version == A2aVersion::V03 {
                shape = shape_of_send(body, given);
            }
            if matches!(shape, BindingForm::Proto03(_)) && has_configuration(body) {
                // In this form an absent value means false, and clients leave false out.
                let blocking = &mut params.configuration.return_immediately;
                *blocking = blocking.or(Some(true));
            }
            match place {
                RestRoute::Stream => OperationRequest::Stream(params),
                _ => OperationRequest::Send(params),
            }
        }
        RestRoute::Tasks => {
            let mut params = version.list_from_query(pairs)?;
            params.tenant = tenant.or(params.tenant);
            OperationRequest::List(params)
        }
        RestRoute::Task(id) => {
            let mut params = version.get_from_query(&id, pairs)?;
            params.tenant = tenant.or(params.tenant);
            OperationRequest::Get(params)
        }
        RestRoute::Cancel(id) => {
            OperationRequest::Cancel(task(version, &id, tenant, body, max_depth)?)
        }
        RestRoute::Subscribe(id) => {
            OperationRequest::Subscribe(task(version, &id, tenant, body, max_depth)?)
        }
        RestRoute::Pushes(task) if head.method == Method::POST => {
            if version == A2aVersion::V03 {
                shape = shape_of_push(body, given);
            }
            let mut params = version.push_from_body(&task, body, max_depth)?;
            params.tenant = tenant.or(params.tenant);
            OperationRequest::CreatePush(params)
        }
        RestRoute::Pushes(task) => {
            let mut params = version.push_list_from_query(&task, pairs)?;
            params.tenant = tenant.or(params.tenant);
            OperationRequest::ListPush(params)
        }
        RestRoute::Push(task_id, id) => {
            let params = PushParams {
                tenant: tenant.or_else(|| query.get("tenant")),
                task_id,
                id: Some(id),
            };
            if head.method == Method::DELETE {
                OperationRequest::DeletePush(params)
            } else {
                OperationRequest::GetPush(params)
            }
        }
        RestRoute::ExtendedCard => {
            OperationRequest::ExtendedCard(tenant.or_else(|| query.get("tenant")))
        }
        RestRoute::AgnoGet | RestRoute::AgnoCancel => {
            let text = "this address takes the envelope of JSON-RPC";
            return Err(A2aError::new(A2aErrorKind::InvalidRequest, text));
        }
    };
    Ok((ask, shape))
}

fn parse(body: &[u8]) -> Result<Option<&RawValue>, A2aError> {
    if body.trim_ascii().is_empty() {
        return Ok(None);
    }
    let parsed = serde_json::from_slice(body).map(Some);
    parsed.map_err(|error| {
        A2aError::new(
            A2aErrorKind::Parse,
            format!("the body is not JSON: {error}"),
        )
    })
}

fn task(
    version: A2aVersion,
    id: &str,
    tenant: Option<String>,
    body: Option<&RawValue>,
    max_depth: usize,
) -> Result<TaskParams, A2aError> {
    let params = version.task_from_body(id, body, max_depth)?;
    Ok(TaskParams {
        tenant: tenant.or(params.tenant),
        ..params
    })
}

/// Returns the form of a 0.3 body with a message. The form of JSON-RPC has `kind` members and its own role
/// names.
fn shape_of_send(body: Option<&RawValue>, proto: BindingForm) -> BindingForm {
    let body = body.and_then(RawMembers::of);
    let message = body.and_then(|body| RawMembers::of(body.get("message")?));
    let Some(message) = message else {
        return proto;
    };
    let role = message.text("role");
    let has_kind =
        |part: &&RawValue| RawMembers::of(part).is_some_and(|it| it.get("kind").is_some());
    let parts = message.get("parts").and_then(json::elements);
    let is_plain = message.get("kind").is_some()
        || matches!(role.as_deref(), Some("user" | "agent"))
        || parts.is_some_and(|parts| parts.iter().any(has_kind));
    if is_plain && message.get("content").is_none() {
        OLD
    } else {
        proto
    }
}

/// Returns the form of a 0.3 body with a push config. The form of gRPC has resource names.
fn shape_of_push(body: Option<&RawValue>, proto: BindingForm) -> BindingForm {
    let body = body.and_then(RawMembers::of).unwrap_or_default();
    let names = ["parent", "config", "name"];
    if names.iter().any(|name| body.get(name).is_some()) {
        proto
    } else {
        OLD
    }
}

fn has_configuration(body: Option<&RawValue>) -> bool {
    let body = body.and_then(RawMembers::of);
    body.is_some_and(|body| body.get("configuration").is_some())
}

fn refused(kind: &'static str, version: A2aVersion, fault: &A2aError) -> Response {
    let status = reply::status(fault.http_status(version));
    reply::refusal(kind, status, fault, fault.rest_body(version))
}

/// Returns the response for an unknown path below an agent's address.
pub(super) fn not_found(path: &str, headers: &HeaderMap) -> Response {
    let text = format!("there is nothing at {path}; below an agent's address are {ROUTES}");
    let fault = A2aError::new(A2aErrorKind::MethodNotFound, text);
    refused(negotiate::answer_type(headers), A2aVersion::V10, &fault)
}

#[cfg(test)]
mod tests {
    use crate::wire::official::v03_proto::FileBytes;

    use super::*;

    const PROTO: BindingForm = BindingForm::Proto03(FileBytes::Once);

    fn raw(text: &str) -> &RawValue {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_body_of_0_3_is_answered_in_its_own_form() {
        for (body, shape) in [
            (
                r#"{"message":{"role":"ROLE_USER","content":[{"text":"a"}]}}"#,
                PROTO,
            ),
            (r#"{"message":{"role":1,"parts":[{"text":"a"}]}}"#, PROTO),
            (r#"{"message":{"role":"user","parts":[{"text":"a"}]}}"#, OLD),
            (r#"{"message":{"parts":[{"kind":"text","text":"a"}]}}"#, OLD),
            (r#"{"message":{"kind":"message"}}"#, OLD),
            (
                r#"{"message":{"role":"user","content":[{"text":"a"}]}}"#,
                PROTO,
            ),
            (r#"{"message":{}}"#, PROTO),
            ("[]", PROTO),
        ] {
            assert_eq!(shape_of_send(Some(raw(body)), PROTO), shape, "{body}");
        }
        assert_eq!(shape_of_send(None, PROTO), PROTO);
        for (body, shape) in [
            (r#"{"parent":"tasks/t","config":{}}"#, PROTO),
            (r#"{"name":"tasks/t/pushNotificationConfigs/c"}"#, PROTO),
            (r#"{"taskId":"t","pushNotificationConfig":{}}"#, OLD),
        ] {
            assert_eq!(shape_of_push(Some(raw(body)), PROTO), shape, "{body}");
        }
    }
}
