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
    failure::SeedProblem,
    send, stream,
    translate::{is_json, message_from, parent_from, session_from},
};
use crate::wire::seed::{self, AGENT_HEADER, Rules, SeedRequestId};
use crate::{A2aDoor, DOOR};

/// Returns the two routes below `prefix`.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2aDoor>> {
    Router::new()
        .route(&format!("{prefix}/message/send"), post(sent))
        .route(&format!("{prefix}/message/stream"), post(streamed))
}

async fn sent(State(a2a): State<Arc<A2aDoor>>, request: Request) -> Result<Response, SeedProblem> {
    serve(&a2a, request, AnswerForm::Whole).await
}

async fn streamed(
    State(a2a): State<Arc<A2aDoor>>,
    request: Request,
) -> Result<Response, SeedProblem> {
    serve(&a2a, request, AnswerForm::Stream).await
}

/// Kind of answer, chosen by the route and not by the method in the body.
#[derive(Debug, Clone, Copy)]
enum AnswerForm {
    Whole,
    Stream,
}

async fn serve(a2a: &A2aDoor, request: Request, wish: AnswerForm) -> Result<Response, SeedProblem> {
    let (head, body) = request.into_parts();
    let unread = |failure| SeedProblem::of(SeedRequestId::Unknown, failure);
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
    let request = seed::SeedRequest::parse(&body, &rules)?;
    let order = order_from(a2a, principal, &request, &head.headers)?;
    let (id, input) = (request.id.clone(), request.message.raw);
    let asking = a2a
        .hub
        .calls()
        .open(order)
        .map_err(|failure| match failure.reason {
            Reason::NotFound => SeedProblem::no_such_entity(id.clone(), &request.message.agent_id),
            _ => SeedProblem::of(id.clone(), failure),
        })?;
    // The agent has its own copy of the message. Only the text of the input is still needed, for the history.
    drop(request);
    let call = asking.call().clone();
    tracing::debug!(call = %call.id, from = call.principal.label(), to = %call.target, "live call");
    let mut response = match wish {
        AnswerForm::Whole => send::respond(a2a, id, asking, input).await?,
        AnswerForm::Stream => stream::respond(a2a, asking),
    };
    trace::add_call_header(response.headers_mut(), call.id);
    Ok(response)
}

/// Builds the core's request.
fn order_from(
    a2a: &A2aDoor,
    principal: Principal,
    request: &seed::SeedRequest<'_>,
    headers: &HeaderMap,
) -> Result<hub::Request, SeedProblem> {
    let agent = &request.message.agent_id;
    // Agents of other owners, unknown ids and invalid ids give the same error.
    let target = AgentId::parse(agent).ok();
    let target = target.filter(|id| a2a.hub.agents().find(&principal, id.as_str()).is_ok());
    let target = target.ok_or_else(|| SeedProblem::no_such_entity(request.id.clone(), agent))?;
    let message = message_from(request, a2a.hub.limits().json_depth)?;
    let mut order = hub::Request::new(principal, DOOR, target, message);
    order.session = session_from(request)?;
    order.parent = parent_from(request)?;
    trace::set_origin(&mut order, headers)
        .map_err(|failure| SeedProblem::of(request.id.clone(), failure))?;
    Ok(order)
}

/// Refuses a body with a media type other than JSON. A missing media type counts as JSON.
fn check_type(headers: &HeaderMap) -> Result<(), SeedProblem> {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(value.as_bytes());
    let kind = text.split(';').next().unwrap_or_default().trim();
    if is_json(kind) {
        return Ok(());
    }
    Err(SeedProblem::wrong_type(kind))
}
