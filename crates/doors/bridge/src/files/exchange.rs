//! `POST /v1/agents/{id}/transfers/{transfer}/signals`: a caller sends a signal to the agent of a transfer,
//! and waits for signals of the agent.

use std::time::Duration;

use axum::{Json, extract::State};
use jackfield_core::units::Span;
use jackfield_kit::api::{
    Actor, ActsAsHeader, ApiError, ApiErrorBody, ApiQuery, CallErrorResponses, PathIds, UnreadBody,
    invalid, lifetime::RequestLifetime,
};
use jackfield_model as event;
use jackfield_transfer::signal::{OFFER, POLL};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{FilesApi, rules::IceServer};
use crate::signals::{self, PendingSignal, SignalToAgent, check_type};

/// Maximum wait for signals: less than the time for which signals are stored.
const LONGEST: Duration = Duration::from_secs(30);

/// A signal from a caller to the agent of a transfer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSignal {
    /// Type of the signal: `offer`, `answer`, `candidate`, or any type that the two parties agree on; `poll`
    /// sends no signal and only fetches.
    #[schema(min_length = 1, max_length = 128)]
    signal_type: String,
    /// Content of the signal.
    #[schema(max_length = 65536)]
    payload: Option<String>,
}

/// Signals of the agent.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TransferSignals {
    /// Signals in the order of arrival.
    signals: Vec<TransferSignal>,
    /// ICE servers for a direct connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ice_servers: Option<Vec<IceServer>>,
}

/// One signal of the agent.
#[derive(Debug, Serialize, ToSchema)]
struct TransferSignal {
    /// Type of the signal.
    signal_type: String,
    /// Content as written by the agent, a text in practice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<event::Json>,
}

impl From<PendingSignal> for TransferSignal {
    fn from(waiting: PendingSignal) -> Self {
        Self {
            signal_type: waiting.signal_type,
            payload: waiting.payload.map(Into::into),
        }
    }
}

/// Sends a signal about your transfer to the agent, and returns the agent's signals.
///
/// With `wait`, returns as soon as the agent sends a signal.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/transfers/{transfer}/signals",
    tag = "files",
    params(
        ("id" = String, Path, description = "The agent"),
        ("transfer" = String, Path, description = "The transfer"),
        ("wait" = Option<String>, Query, description = "How long to wait if the agent has said nothing, at most 30s", pattern = "^[0-9]{1,2}s$", example = "0s"),
        ActsAsHeader,
    ),
    request_body = NewSignal,
    responses(
        (status = 200, description = "What the agent said", body = TransferSignals),
        CallErrorResponses,
        (status = 403, description = "No transfer of yours, or none that the hub knows: unauthorized", body = ApiErrorBody),
    ),
)]
pub(crate) async fn exchange(
    State(api): State<FilesApi>,
    Actor(principal): Actor,
    PathIds(id, transfer): PathIds,
    mut params: ApiQuery,
    body: UnreadBody,
) -> Result<Json<TransferSignals>, ApiError> {
    let wait = params
        .one::<Span>("wait")?
        .map_or(Duration::ZERO, |span| span.0);
    params.finish()?;
    let bridge = &api.0;
    let transfer = api.transfer(&principal, &id, &transfer)?;
    let body: NewSignal = body.read(&api).await?;
    if body.signal_type != POLL {
        check_type(&body.signal_type, false).map_err(invalid)?;
        let payload = body.payload.map(|text| event::Json::of(&text)).transpose();
        let payload = payload.map_err(|_| invalid("field \"payload\" must be a text"))?;
        let servers = (body.signal_type == OFFER).then(|| bridge.files.raw_servers());
        let servers = servers.flatten();
        let word = SignalToAgent {
            signal_type: &body.signal_type,
            payload: payload.as_ref().map(event::Json::raw),
            client_id: None,
            ice_servers: servers.as_deref(),
        };
        signals::send_to_transfer(bridge, &transfer, &word)?;
    }
    let until = Instant::now() + wait.min(LONGEST);
    let id = &transfer.offer.transfer_id;
    let lifetime = RequestLifetime::until_stop(&principal, bridge.tasks.stop_token());
    let said = tokio::select! {
        said = bridge.signals.wait(&transfer.agent, id, until) => said,
        failure = lifetime.ended() => return Err(failure.into()),
    };
    Ok(Json(TransferSignals {
        signals: said.into_iter().map(Into::into).collect(),
        ice_servers: bridge.files.servers(),
    }))
}
