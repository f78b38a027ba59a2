//! `POST /v1/agents/{id}/transfers/{transfer}/signals`: a caller says something to the agent about their transfer, and waits
//! for what the agent says.

use std::time::Duration;

use axum::{Json, extract::State};
use jackfield_core::units::Span;
use jackfield_kit::api::{
    Actor, ActsAs, CallRefused, ErrorView, Ids, Params, Problem, Unread, invalid, leash::Leash,
};
use jackfield_model as event;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{FilesApi, rules::IceServer};
use crate::signals::{self, OFFER, POLL, Waiting, Word, check_type};

/// How long a caller may wait for signals at most: less than they are kept.
const LONGEST: Duration = Duration::from_secs(30);

/// What a caller says to the agent of a transfer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSignal {
    /// What it is: `offer`, `answer`, `candidate`, or whatever the two agree on; `poll` says nothing and only fetches.
    #[schema(min_length = 1, max_length = 128)]
    signal_type: String,
    /// Its content.
    #[schema(max_length = 65536)]
    payload: Option<String>,
}

/// What the agent said.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TransferSignals {
    /// In its order.
    signals: Vec<TransferSignal>,
    /// Servers for a direct way.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ice_servers: Option<Vec<IceServer>>,
}

/// One thing that the agent said.
#[derive(Debug, Serialize, ToSchema)]
struct TransferSignal {
    /// What it is.
    signal_type: String,
    /// Its content, as the agent wrote it: a text in practice.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    payload: Option<event::Json>,
}

impl From<Waiting> for TransferSignal {
    fn from(waiting: Waiting) -> Self {
        Self {
            signal_type: waiting.signal_type,
            payload: waiting.payload.map(Into::into),
        }
    }
}

/// Says something to the agent about a transfer of yours, and returns what it says; with `wait`, as soon as it says
/// something.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/transfers/{transfer}/signals",
    tag = "files",
    params(
        ("id" = String, Path, description = "The agent"),
        ("transfer" = String, Path, description = "The transfer"),
        ("wait" = Option<String>, Query, description = "How long to wait if the agent has said nothing, at most 30s", pattern = "^[0-9]{1,2}s$", example = "0s"),
        ActsAs,
    ),
    request_body = NewSignal,
    responses(
        (status = 200, description = "What the agent said", body = TransferSignals),
        CallRefused,
        (status = 403, description = "No transfer of yours, or none that the hub knows: unauthorized", body = ErrorView),
    ),
)]
pub(crate) async fn exchange(
    State(api): State<FilesApi>,
    Actor(principal): Actor,
    Ids(id, transfer): Ids,
    mut params: Params,
    body: Unread,
) -> Result<Json<TransferSignals>, Problem> {
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
        let word = Word {
            signal_type: &body.signal_type,
            payload: payload.as_ref().map(event::Json::raw),
            client_id: None,
            ice_servers: servers.as_deref(),
        };
        signals::tell(bridge, &transfer, &word)?;
    }
    let until = Instant::now() + wait.min(LONGEST);
    let id = &transfer.offer.transfer_id;
    let leash = Leash::until_stop(&principal, bridge.tasks.stop_token());
    let said = tokio::select! {
        said = bridge.signals.wait(&transfer.agent, id, until) => said,
        failure = leash.broken() => return Err(failure.into()),
    };
    Ok(Json(TransferSignals {
        signals: said.into_iter().map(Into::into).collect(),
        ice_servers: bridge.files.servers(),
    }))
}
