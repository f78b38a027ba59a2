//! Request handler: turns a request into a call. The checks have the order of the original: the body, the
//! agent, then the files. The agent receives the message only after all checks.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::Response,
    routing::post,
};
use http::{HeaderMap, header};
use jackfield_core::{hub, principal::Principal};
use jackfield_kit::{body, trace};
use jackfield_model::{AgentId, Reason};

use super::{
    failure::Problem,
    send, stream,
    translate::{is_json, message_from, parent_from, session_from},
};
use crate::wire::seed::{self, AGENT_HEADER, Id, Rules};
use crate::{A2a, DOOR};

/// Returns the two routes below `prefix`.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2a>> {
    Router::new()
        .route(&format!("{prefix}/message/send"), post(sent))
        .route(&format!("{prefix}/message/stream"), post(streamed))
}

async fn sent(State(a2a): State<Arc<A2a>>, request: Request) -> Result<Response, Problem> {
    serve(&a2a, request, Wish::Whole).await
}

async fn streamed(State(a2a): State<Arc<A2a>>, request: Request) -> Result<Response, Problem> {
    serve(&a2a, request, Wish::Stream).await
}

/// Kind of answer, chosen by the route and not by the method in the body.
#[derive(Debug, Clone, Copy)]
enum Wish {
    Whole,
    Stream,
}

async fn serve(a2a: &A2a, request: Request, wish: Wish) -> Result<Response, Problem> {
    let (head, body) = request.into_parts();
    let unread = |failure| Problem::of(Id::Unknown, failure);
    let principal = a2a.gatekeeper.admit_request(&head).map_err(unread)?;
    check_type(&head.headers)?;
    let limits = a2a.hub.limits();
    let body = body::read(body, limits.message, limits.write_stuck)
        .await
        .map_err(unread)?;
    let agent = head.headers.get(AGENT_HEADER);
    let agent = agent.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let rules = Rules {
        max_depth: limits.json_depth,
        agent: agent.as_deref().filter(|agent| !agent.is_empty()),
    };
    let request = seed::Request::parse(&body, &rules)?;
    let order = order_from(a2a, principal, &request, &head.headers)?;
    let (id, input) = (request.id.clone(), request.message.raw);
    let asking = a2a
        .hub
        .calls()
        .open(order)
        .map_err(|failure| match failure.reason {
            Reason::NotFound => Problem::no_such_entity(id.clone(), &request.message.agent_id),
            _ => Problem::of(id.clone(), failure),
        })?;
    // The agent has its own copy of the message. Only the text of the input is still needed, for the history.
    drop(request);
    let call = asking.call().clone();
    tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "live call");
    let mut response = match wish {
        Wish::Whole => send::respond(a2a, id, asking, input).await?,
        Wish::Stream => stream::respond(a2a, asking),
    };
    trace::name(response.headers_mut(), call.id);
    Ok(response)
}

/// Builds the core's request.
fn order_from(
    a2a: &A2a,
    principal: Principal,
    request: &seed::Request<'_>,
    headers: &HeaderMap,
) -> Result<hub::Request, Problem> {
    let agent = &request.message.agent_id;
    // Agents of other owners, unknown ids and invalid ids give the same error.
    let target = AgentId::parse(agent).ok();
    let target = target.filter(|id| a2a.hub.agents().find(&principal, id.as_str()).is_ok());
    let target = target.ok_or_else(|| Problem::no_such_entity(request.id.clone(), agent))?;
    let message = message_from(request, a2a.hub.limits().json_depth)?;
    let mut order = hub::Request::new(principal, DOOR, target, message);
    order.session = session_from(request)?;
    order.parent = parent_from(request)?;
    trace::follow(&mut order, headers)
        .map_err(|failure| Problem::of(request.id.clone(), failure))?;
    Ok(order)
}

/// Refuses a body with a media type other than JSON. A missing media type counts as JSON.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(value.as_bytes());
    let kind = text.split(';').next().unwrap_or_default().trim();
    if is_json(kind) {
        return Ok(());
    }
    Err(Problem::wrong_type(kind))
}
