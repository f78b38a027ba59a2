//! `POST /v1/agents/{id}/transfers`: a caller announces an archive to an agent, ahead of a message.

use axum::{Json, extract::State};
use http::StatusCode;
use jackfield_core::units::Size;
use jackfield_kit::api::{
    Actor, ActsAsHeader, ApiError, ApiErrorBody, CallErrorResponses, PathId, UnreadBody, invalid,
};
use jackfield_model::{AgentId, Failure, Offer, Reason};
use jackfield_transfer::signal::PREPARE_UPLOAD;
use jackfield_wire::bridge::{FREE_CLIENT_ID_RULE, is_free_client_id};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{FilesApi, forbidden, payload_from, rules::IceServer};
use crate::{
    client,
    signals::{self, SignalToAgent},
};

/// An archive that the caller will send.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTransfer {
    /// Id chosen by the caller. It must be hard to guess: use a new UUID.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = "^[A-Za-z0-9._:@-]{1,128}$"
    )]
    transfer_id: String,
    /// Size of the archive in bytes.
    #[schema(minimum = 1, maximum = 9007199254740992u64)]
    zip_size: u64,
    /// SHA-256 of the archive, in hexadecimal.
    #[schema(pattern = "^[0-9A-Fa-f]{64}$")]
    zip_sha256: String,
    /// Number of files in the archive.
    #[schema(maximum = 9007199254740992u64)]
    file_count: u64,
    /// Client that the files belong to, for an agent with a folder for each of its callers. Must not begin
    /// with `agent.`. An agent that announces an archive without this field is a client of its own.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$"
    )]
    client_id: Option<String>,
}

/// The announced transfer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TransferAnnounced {
    /// Id of the transfer.
    transfer_id: String,
    /// ICE servers for a direct connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ice_servers: Option<Vec<IceServer>>,
}

/// Announces an archive to an agent, which gets the signal `prepare-upload`.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/transfers",
    tag = "files",
    params(("id" = String, Path, description = "The agent"), ActsAsHeader),
    request_body = NewTransfer,
    responses(
        (status = 201, description = "The agent was told", body = TransferAnnounced),
        CallErrorResponses,
        (status = 403, description = "The id is another transfer's: unauthorized", body = ApiErrorBody),
    ),
)]
pub(crate) async fn announce(
    State(api): State<FilesApi>,
    Actor(principal): Actor,
    PathId(id): PathId,
    body: UnreadBody,
) -> Result<(StatusCode, Json<TransferAnnounced>), ApiError> {
    let bridge = &api.0;
    // As everywhere, a UUID matches in either case.
    let agent = AgentId::parse(&id).map_err(|_| Failure::no_such_agent(&id))?;
    let agent = bridge
        .hub
        .agents()
        .find(&principal, agent.as_str())?
        .id
        .clone();
    let NewTransfer {
        transfer_id,
        zip_size,
        zip_sha256,
        file_count,
        client_id,
    } = body.read(&api).await?;
    if client_id
        .as_deref()
        .is_some_and(|id| !is_free_client_id(id))
    {
        return Err(invalid(format!("field \"client_id\" {FREE_CLIENT_ID_RULE}")).into());
    }
    let client_id = client_id.or_else(|| client::of_caller(&principal));
    let offer = Offer {
        transfer_id,
        zip_size,
        zip_sha256,
        file_count,
    };
    let offer = offer.checked().map_err(|bad| invalid(bad.to_string()))?;
    check_size(offer.zip_size, bridge.files.max_size)?;
    let book = &bridge.transfers;
    let announced = book.announced(&agent, &principal, offer, Instant::now());
    let transfer = announced.map_err(forbidden)?;
    // Earlier signals under this id were meant for a different caller.
    bridge.signals.forget(&agent, &transfer.offer.transfer_id);
    let payload = payload_from(&transfer.offer);
    let servers = bridge.files.raw_servers();
    let word = SignalToAgent {
        signal_type: PREPARE_UPLOAD,
        payload: payload.as_deref(),
        client_id: client_id.as_deref(),
        ice_servers: servers.as_deref(),
    };
    if let Err(failure) = signals::send_to_transfer(bridge, &transfer, &word) {
        book.withdraw(&transfer);
        return Err(failure.into());
    }
    let announced = TransferAnnounced {
        transfer_id: transfer.offer.transfer_id.clone(),
        ice_servers: bridge.files.servers(),
    };
    Ok((StatusCode::CREATED, Json(announced)))
}

/// Checks whether an archive of this size may pass through the hub.
pub(super) fn check_size(size: u64, max: Size) -> Result<(), Failure> {
    if size <= max.0 as u64 {
        return Ok(());
    }
    let text = format!("the archive has {size} bytes, and files.max_size of this hub is {max}");
    Err(Failure::new(Reason::TooLarge, text))
}
