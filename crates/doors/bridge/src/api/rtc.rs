//! `POST /api/rtc-signal/{id}`: an HTTP caller sends a signal about a file transfer to an agent, and fetches
//! the agent's waiting signals.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, Request, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use jackfield_model::{Failure, Reason};
use jackfield_transfer::signal::{POLL, PREPARE_UPLOAD};
use jackfield_wire::bridge::{BridgeErrorCode, is_free_client_id};
use tokio::time::Instant;

use super::{
    agents::path_id,
    describe::{BodyErrors, bodies::RtcBody},
    problem::{RelayApiError, agent_id},
    read_body,
};
use crate::{
    door::Bridge,
    parties::for_platform,
    signals::{self, SignalToAgent, announced_offer, check_type},
    wire::{
        body::RtcSignalRequest,
        response::{RelayErrorBody, SignalView, SignalsResponse},
    },
};

/// Sends a signal about a file transfer to an agent, and fetches the agent's signals.
#[utoipa::path(
    post,
    path = "/api/rtc-signal/{id}",
    tag = "relay",
    security(("platform_secret" = [])),
    params(("id" = String, Path, description = "The agent", pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")),
    request_body = RtcBody,
    responses(
        (status = 200, description = "What the agent said", body = SignalsResponse<'static>),
        BodyErrors,
        (status = 403, description = "Another caller's transfer: auth_failed", body = RelayErrorBody<'static>),
        (status = 404, description = "The agent is not connected by this protocol: agent_offline", body = RelayErrorBody<'static>),
        (status = 429, description = "The agent does not read what it is sent: agent_busy", body = RelayErrorBody<'static>),
        (status = 502, description = "The agent has just left: agent_offline", body = RelayErrorBody<'static>),
    ),
)]
pub(crate) async fn exchange(
    State(bridge): State<Arc<Bridge>>,
    path: Result<Path<String>, PathRejection>,
    request: Request,
) -> Result<Response, RelayApiError> {
    let id = agent_id(&path_id(path)?)?;
    let body = read_body(&bridge, request).await?;
    let body = RtcSignalRequest::parse(&body, bridge.max_depth)?;
    let transfer = body.transfer_id.required()?;
    let signal_type = body.signal_type.required()?.as_ref();
    let now = Instant::now();
    let refused = |failure: Failure| {
        let code = BridgeErrorCode::AuthFailed.name();
        RelayApiError::new(StatusCode::FORBIDDEN, code, failure.text)
    };
    let id = for_platform(&bridge, id, transfer).map_err(refused)?;
    if signal_type != POLL {
        check_type(signal_type, true).map_err(RelayApiError::invalid)?;
        let client_id = body.client_id.optional()?;
        if client_id.is_some_and(|id| !is_free_client_id(id)) {
            return Err(RelayApiError::unsafe_client_id());
        }
        let word = SignalToAgent {
            signal_type,
            payload: body.payload.optional()?.copied(),
            client_id: client_id.map(AsRef::as_ref),
            ice_servers: body.ice_servers.optional()?.copied(),
        };
        // An invalid offer is passed on unchanged, as in the original hub, and belongs to no caller.
        let offer = (signal_type == PREPARE_UPLOAD)
            .then(|| announced_offer(transfer, word.payload))
            .flatten();
        let book = &bridge.transfers;
        let announced = offer.map(|offer| book.announced(&id, &bridge.platform, offer, now));
        let announced = announced.transpose().map_err(refused)?;
        if let Err(failure) = signals::send_to_agent(&bridge, &id, transfer, &word) {
            if let Some(announced) = announced {
                book.withdraw(&announced);
            }
            return Err(not_sent(&failure));
        }
    }
    let taken = bridge.signals.take(&id, transfer, now);
    let signals = taken.iter().map(|waiting| SignalView {
        signal_type: &waiting.signal_type,
        payload: waiting.payload.as_deref(),
    });
    let answer = SignalsResponse {
        ok: true,
        signals: signals.collect(),
    };
    Ok(Json(answer).into_response())
}

/// Returns the [`RelayApiError`] for an agent that is offline (404), does not read (429), or left just now (502).
fn not_sent(failure: &Failure) -> RelayApiError {
    if failure.reason == Reason::Busy {
        return failure.clone().into();
    }
    if *failure == Failure::agent_left() {
        let code = BridgeErrorCode::AgentOffline.name();
        return RelayApiError::new(StatusCode::BAD_GATEWAY, code, "Agent disconnected");
    }
    RelayApiError::offline("Agent is not connected")
}
