//! `POST /api/relay`: the platform sends a user's message to an agent. The answer is a stream, live or
//! durable. With `mode: "async"` the request is accepted at once, and the answer follows as a callback. `GET
//! /api/relay/events` resumes a durable stream.
//!
//! - `order.rs` reads the body ([`RelayOrder`]), checked in the order of the original hub
//! - `stream.rs` is the stream, `renderer.rs` renders its events, `sentences.rs` holds the
//!   sentences
//! - `requests.rs` maps requests to calls and tasks, `outcome.rs` reads their results

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode};
use jackfield_core::{call::Life, task::Cursor};
use jackfield_kit::trace;
use jackfield_model::{Failure, RequestId};

use self::order::{RelayMode, RelayOrder};
use crate::{
    api::{
        RelayQuery,
        describe::{QueryErrors, RelayFrame, RelayResponses, bodies::RelayBody},
        problem::{RelayApiError, agent_id, peer_id},
        read_body,
    },
    door::Bridge,
    wire::{
        body::RelayRequest,
        response::{RelayAccepted, RelayErrorBody},
    },
};

mod keepalive;
mod order;
pub(crate) mod outcome;
pub(crate) mod renderer;
pub(crate) mod requests;
pub(crate) mod sentences;
mod stream;

pub(crate) use self::stream::respond_live;

/// Sends a message to an agent. The answer is a stream, or with `mode: "async"` a callback.
///
/// The stream sends `chunk` and `keepalive`, and at its end `done` or `error`. Closing the stream cancels the
/// request, unless `keep` or `wait_online` is set.
#[utoipa::path(
    post,
    path = "/api/relay",
    tag = "relay",
    security(("platform_secret" = [])),
    params(("Jackfield-Call" = Option<String>, Header, description = "The call for which this one is made", format = "uuid")),
    request_body = RelayBody,
    responses(RelayResponses),
)]
pub(crate) async fn open(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Response, RelayApiError> {
    let headers = request.headers().clone();
    let body = read_body(&bridge, request).await?;
    let parsed = RelayRequest::parse(&body, bridge.max_depth)?;
    let RelayOrder { mut request, mode } = RelayOrder::read(&bridge, &parsed)?;
    trace::set_origin(&mut request, &headers)?;
    let (agent, id) = (request.target.clone(), request.request.clone());
    let id = id.expect("an order has a request id");
    if mode == RelayMode::Live {
        let asking = bridge.hub.calls().open(request)?;
        bridge.requests.add(&agent, &id, asking.call());
        return Ok(stream::respond_live(&bridge, asking));
    }
    if let Some(callback) = &request.callback {
        bridge.callbacks.admit(callback).await?;
    }
    let task = bridge.hub.tasks().start(request).await?;
    bridge.requests.keep(&agent, &id, &task);
    if mode == RelayMode::Durable {
        return Ok(stream::respond_durable(&bridge, task.subscribe(None), None));
    }
    let accepted = RelayAccepted {
        accepted: true,
        request_id: id.as_str(),
    };
    Ok((StatusCode::ACCEPTED, Json(accepted)).into_response())
}

/// Resumes a durable stream, from its start or after an event.
#[utoipa::path(
    get,
    path = "/api/relay/events",
    tag = "relay",
    security(("platform_secret" = [])),
    params(
        ("agent_id" = String, Query, description = "Who was asked", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$"),
        ("request_id" = String, Query, description = "The request", min_length = 1, max_length = 256, pattern = r"^[^\x00-\x1f\x7f-\x9f]+$"),
        ("Last-Event-ID" = Option<String>, Header, description = "The id of the last event that was read", pattern = "^[0-9]{1,9}-[0-9]{1,18}$"),
    ),
    responses(
        (status = 200, description = "The events", content((RelayFrame = "text/event-stream"))),
        QueryErrors,
        (status = 404, description = "No such request: not_found", body = RelayErrorBody<'static>),
        (status = 500, description = "A fault of the hub: internal_error", body = RelayErrorBody<'static>),
    ),
)]
pub(crate) async fn resume(
    State(bridge): State<Arc<Bridge>>,
    query: RelayQuery,
    headers: HeaderMap,
) -> Result<Response, RelayApiError> {
    let agent = agent_id(query.required("agent_id")?)?;
    let id = peer_id(
        "request_id",
        query.required("request_id")?,
        RequestId::parse,
    )?;
    let after = match headers.get("last-event-id") {
        None => None,
        Some(value) => {
            let cursor = value
                .to_str()
                .ok()
                .and_then(|text| text.parse::<Cursor>().ok());
            Some(cursor.ok_or_else(|| {
                RelayApiError::bad_query("Last-Event-ID must be the id of an event, such as 0-42")
            })?)
        }
    };
    let task = bridge.requests.find(&bridge, &agent, &id).await?;
    let task = task.ok_or_else(RelayApiError::no_task)?;
    Ok(stream::respond_durable(
        &bridge,
        task.subscribe(after),
        after,
    ))
}

/// Returns the code and the text of a failure at the end of a call.
pub(crate) fn code_and_text(failure: &Failure, life: Life) -> (&str, String) {
    let code = crate::failure::code(&failure.reason);
    (code, sentences::failure(failure, life).into_owned())
}
