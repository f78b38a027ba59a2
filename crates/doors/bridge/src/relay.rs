//! `POST /api/relay`: the platform sends a user's message to an agent. The answer is a stream, live or kept, or with
//! `mode: "async"` a word that it was accepted and later a callback. `GET /api/relay/events` goes on with a kept stream.
//!
//! - `order.rs` what the body asks for, checked in the order of the original hub
//! - `live.rs` and `kept.rs` the two streams, `teller.rs` what their events say, `words.rs` in which words
//! - `open.rs` which request is which call or task, `gather.rs` what a task's log adds up to, `outcome.rs` what came of it

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode};
use jackfield_core::{
    call::Life,
    failure::Failure,
    hub::Parent,
    id::{CallId, RequestId},
    task::Cursor,
};
use jackfield_wire::bridge::relay::{RelayRequest, response::Accepted};

use self::order::{Mode, Order};
use crate::{
    api::{
        Query, body,
        problem::{Problem, agent_id, peer_id},
    },
    bridge::Bridge,
};

pub(crate) mod gather;
mod kept;
mod live;
pub(crate) mod open;
mod order;
pub(crate) mod outcome;
mod teller;
pub(crate) mod words;

pub(crate) use self::live::respond as respond_live;

/// `POST /api/relay`.
pub(crate) async fn open(
    State(bridge): State<Arc<Bridge>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let body = body::read(request).await?;
    let parsed = RelayRequest::parse(&body, &bridge.wire_limits)?;
    let Order { mut request, mode } = Order::read(&bridge, &parsed)?;
    trace(&mut request, &headers)?;
    let (agent, id) = (request.target.clone(), request.request.clone());
    let id = id.expect("an order has a request id");
    if mode == Mode::Live {
        let asking = bridge.hub.call(request)?;
        bridge.open.add(&agent, &id, asking.call());
        return Ok(live::respond(&bridge, asking));
    }
    let task = bridge.hub.start_task(request).await?;
    bridge.open.keep(&agent, &id, &task);
    if mode == Mode::Kept {
        return Ok(kept::respond(&bridge, task.subscribe(None), None));
    }
    let accepted = Accepted {
        accepted: true,
        request_id: id.as_str(),
    };
    Ok((StatusCode::ACCEPTED, Json(accepted)).into_response())
}

/// `GET /api/relay/events?agent_id=&request_id=`: a kept stream from `Last-Event-ID`, or from its start.
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
    Ok(kept::respond(&bridge, task.subscribe(after), after))
}

/// Whose child the request is, and whose trace it belongs to.
pub(crate) fn trace(
    request: &mut jackfield_core::hub::Request,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if headers.contains_key("jackfield-call") {
        let parent = text("jackfield-call").and_then(CallId::parse);
        let parent = parent
            .ok_or_else(|| Problem::invalid("header Jackfield-Call must be the id of a call"))?;
        request.parent = Parent::Call(parent);
    }
    // A trace that cannot be read is not passed on: the standard wants a new one begun instead.
    request.traceparent = text("traceparent")
        .filter(|text| is_traceparent(text))
        .map(str::to_owned);
    Ok(())
}

fn is_traceparent(text: &str) -> bool {
    let pieces: Vec<&str> = text.split('-').collect();
    let is_hex = |text: &&str| {
        text.bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    pieces.iter().all(is_hex) && pieces.iter().map(|piece| piece.len()).eq([2, 32, 16, 2])
}

/// The code and the words of a failure at the end of a call.
pub(crate) fn told(failure: &Failure, life: Life) -> (&'static str, String) {
    let code = crate::failure::code(&failure.reason).name();
    (code, words::failure(failure, life).into_owned())
}
