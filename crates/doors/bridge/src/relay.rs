//! `POST /api/relay`: the platform sends a user's message to an agent. The answer is a stream, live or kept, or with
//! `mode: "async"` a word that it was accepted and later a callback. `GET /api/relay/events` goes on with a kept stream.
//!
//! - `order.rs` what the body asks for, checked in the order of the original hub
//! - `stream.rs` the stream, `teller.rs` what its events say, `words.rs` in which words
//! - `open.rs` which request is which call or task, `outcome.rs` what came of it

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

use self::order::{Mode, Order};
use crate::{
    api::{
        Query,
        describe::{Refused, RelayAnswers, RelayFrame, bodies::RelayBody},
        problem::{Problem, agent_id, peer_id},
        read_body,
    },
    bridge::Bridge,
    wire::{
        body::RelayRequest,
        response::{Accepted, ErrorBody},
    },
};

pub(crate) mod open;
mod order;
pub(crate) mod outcome;
mod silence;
mod stream;
pub(crate) mod teller;
pub(crate) mod words;

pub(crate) use self::stream::respond_live;

/// Sends a message to an agent. The answer is a stream, or with `mode: "async"` a callback.
///
/// The stream says `chunk`, `keepalive`, and at its end `done` or `error`; losing it cancels the request, unless it is kept.
#[utoipa::path(
    post,
    path = "/api/relay",
    tag = "relay",
    security(("platform_secret" = [])),
    params(("Jackfield-Call" = Option<String>, Header, description = "The call for which this one is made", format = "uuid")),
    request_body = RelayBody,
    responses(RelayAnswers),
)]
pub(crate) async fn open(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let body = read_body(&bridge, request).await?;
    let parsed = RelayRequest::parse(&body, bridge.max_depth)?;
    let Order { mut request, mode } = Order::read(&bridge, &parsed)?;
    trace::follow(&mut request, &headers)?;
    let (agent, id) = (request.target.clone(), request.request.clone());
    let id = id.expect("an order has a request id");
    if mode == Mode::Live {
        let asking = bridge.hub.calls().open(request)?;
        bridge.open.add(&agent, &id, asking.call());
        return Ok(stream::respond_live(&bridge, asking));
    }
    if let Some(callback) = &request.callback {
        bridge.callbacks.admit(callback).await?;
    }
    let task = bridge.hub.tasks().start(request).await?;
    bridge.open.keep(&agent, &id, &task);
    if mode == Mode::Kept {
        return Ok(stream::respond_durable(&bridge, task.subscribe(None), None));
    }
    let accepted = Accepted {
        accepted: true,
        request_id: id.as_str(),
    };
    Ok((StatusCode::ACCEPTED, Json(accepted)).into_response())
}

/// Goes on with a kept stream, from its start or from an event on.
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
        Refused,
        (status = 404, description = "No such request: not_found", body = ErrorBody<'static>),
        (status = 500, description = "A fault of the hub: internal_error", body = ErrorBody<'static>),
    ),
)]
pub(crate) async fn resume(
    State(bridge): State<Arc<Bridge>>,
    query: Query,
    headers: HeaderMap,
) -> Result<Response, Problem> {
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
                Problem::bad_query("Last-Event-ID must be the id of an event, such as 0-42")
            })?)
        }
    };
    let task = bridge.open.find(&bridge, &agent, &id).await?;
    let task = task.ok_or_else(Problem::no_task)?;
    Ok(stream::respond_durable(
        &bridge,
        task.subscribe(after),
        after,
    ))
}

/// The code and the words of a failure at the end of a call.
pub(crate) fn told(failure: &Failure, life: Life) -> (&str, String) {
    let code = crate::failure::code(&failure.reason);
    (code, words::failure(failure, life).into_owned())
}
