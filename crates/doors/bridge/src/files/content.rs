//! `GET` and `PUT /v1/agents/{id}/transfers/{transfer}/content`: the archive through the hub, when the
//! parties find no direct connection. The agent gets the signal `relay` with a ticket, and connects with the
//! ticket (`tickets.rs`).

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Request, State},
    response::Response,
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{
        Actor, ActsAsHeader, ApiError, ApiErrorBody, ApiQuery, CallErrorResponses, PathIds,
        invalid, lifetime::RequestLifetime,
    },
    body::discard,
    server::PassThrough,
};
use jackfield_model::{Failure, Reason};
use jackfield_transfer::{
    hub::{AgentSide, ArchiveSender, TicketWait, Toward, Transfer, pipe},
    signal::{RELAY, RelayDirection, RelayTicket},
};

use super::{FilesApi, announce::check_size, payload_from};
use crate::signals::{self, SignalToAgent};

/// Fetches the archive offered by the agent, through the hub. `Range: bytes=N-` resumes a download.
#[utoipa::path(
    get,
    path = "/v1/agents/{id}/transfers/{transfer}/content",
    tag = "files",
    params(
        ("id" = String, Path, description = "The agent"),
        ("transfer" = String, Path, description = "The transfer"),
        ("Range" = Option<String>, Header, description = "From where on, as `bytes=N-`; any other range is not looked at"),
        ActsAsHeader,
    ),
    responses(
        (status = 200, description = "The archive", body = String, content_type = "application/zip"),
        (status = 206, description = "The archive from there on", body = String, content_type = "application/zip"),
        CallErrorResponses,
        (status = 403, description = "No transfer of yours, or none that the hub knows: unauthorized", body = ApiErrorBody),
        (status = 416, description = "The archive ends before that: invalid", body = ApiErrorBody),
    ),
)]
pub(crate) async fn download(
    State(api): State<FilesApi>,
    Actor(principal): Actor,
    PathIds(id, transfer): PathIds,
    params: ApiQuery,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    params.finish()?;
    let transfer = api.transfer(&principal, &id, &transfer)?;
    let range = range(&headers, &transfer).map_err(past_the_end)?;
    Ok(relayed_archive(&api, &principal, &transfer, range, &method).await?)
}

fn past_the_end(failure: Failure) -> ApiError {
    ApiError::from(failure).with_status(StatusCode::RANGE_NOT_SATISFIABLE)
}

/// Returns the archive of a caller's [`Transfer`], from the start of `range` on.
pub(super) async fn relayed_archive(
    api: &FilesApi,
    principal: &Principal,
    transfer: &Arc<Transfer>,
    range: Option<u64>,
    method: &Method,
) -> Result<Response, Failure> {
    check(api, transfer, Toward::Caller)?;
    if method == Method::HEAD {
        return Ok(response(transfer, range, Body::empty()));
    }
    let offset = range.unwrap_or(0);
    let (inlet, outlet) = pipe(transfer.offer.zip_size - offset, api.0.relays.permit()?);
    let lifetime = RequestLifetime::until_stop(principal, api.0.tasks.stop_token());
    let half = AgentSide::Send(inlet, lifetime, transfer.clone());
    let meeting = issue_ticket(api, transfer, half, offset, RelayDirection::Send)?;
    wait_for_agent(api, principal, meeting).await?;
    Ok(response(transfer, range, Body::from_stream(outlet)))
}

/// Sends an announced archive to the agent, through the hub. `offset` resumes an upload.
#[utoipa::path(
    put,
    path = "/v1/agents/{id}/transfers/{transfer}/content",
    tag = "files",
    params(
        ("id" = String, Path, description = "The agent"),
        ("transfer" = String, Path, description = "The transfer"),
        ("offset" = Option<u64>, Query, description = "How many bytes the agent has already"),
        ActsAsHeader,
    ),
    request_body(content = String, content_type = "application/octet-stream", description = "The rest of the archive"),
    responses(
        (status = 204, description = "The agent took all of it"),
        CallErrorResponses,
        (status = 403, description = "No transfer of yours, or none that the hub knows: unauthorized", body = ApiErrorBody),
    ),
)]
pub(crate) async fn upload(
    State(api): State<FilesApi>,
    Actor(principal): Actor,
    PathIds(id, transfer): PathIds,
    params: ApiQuery,
    request: Request,
) -> Result<StatusCode, ApiError> {
    PassThrough::mark(&request);
    let body = request.into_body();
    let (inlet, meeting) = match begin_upload(&api, &principal, &id, &transfer, params) {
        Ok(begun) => begun,
        Err(problem) => {
            discard(body).await;
            return Err(problem);
        }
    };
    if let Err(failure) = wait_for_agent(&api, &principal, meeting).await {
        discard(body).await;
        return Err(failure.into());
    }
    let lifetime = RequestLifetime::until_stop(&principal, api.0.tasks.stop_token());
    match inlet.copy_body(body.into_data_stream(), lifetime).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(failure) if failure.reason == Reason::Cancelled => Err(Failure::agent_left().into()),
        Err(failure) => Err(failure.into()),
    }
}

fn begin_upload(
    api: &FilesApi,
    principal: &Principal,
    id: &str,
    transfer: &str,
    mut params: ApiQuery,
) -> Result<(ArchiveSender, TicketWait), ApiError> {
    let offset = params.one::<u64>("offset")?.unwrap_or(0);
    params.finish()?;
    let transfer = api.transfer(principal, id, transfer)?;
    check(api, &transfer, Toward::Agent)?;
    let size = transfer.offer.zip_size;
    let Some(rest) = size.checked_sub(offset).filter(|rest| *rest > 0) else {
        let text = format!("query parameter offset must be less than the archive's {size} bytes");
        return Err(invalid(text).into());
    };
    let (inlet, outlet) = pipe(rest, api.0.relays.permit()?);
    let meeting = issue_ticket(
        api,
        &transfer,
        AgentSide::Receive(outlet),
        offset,
        RelayDirection::Receive,
    )?;
    Ok((inlet, meeting))
}

/// Checks the direction of the archive, and whether it may pass through the hub.
fn check(api: &FilesApi, transfer: &Transfer, toward: Toward) -> Result<(), Failure> {
    if transfer.toward != toward {
        let text = match transfer.toward {
            Toward::Caller => "the agent sends this archive: fetch it with GET",
            Toward::Agent => "you announced this archive: send it with PUT",
        };
        return Err(Failure::new(Reason::Conflict, text));
    }
    check_size(transfer.offer.zip_size, api.0.files.max_size)
}

/// Issues a ticket, and sends it to the agent.
fn issue_ticket(
    api: &FilesApi,
    transfer: &Arc<Transfer>,
    half: AgentSide,
    offset: u64,
    direction: RelayDirection,
) -> Result<TicketWait, Failure> {
    let (ticket, meeting) = api.0.relays.issue(half)?;
    let ticket = RelayTicket {
        ticket,
        offset,
        direction,
    };
    let payload = payload_from(&ticket);
    let word = SignalToAgent {
        signal_type: RELAY,
        payload: payload.as_deref(),
        ..SignalToAgent::default()
    };
    signals::send_to_transfer(&api.0, transfer, &word)?;
    Ok(meeting)
}

/// Waits for the agent to connect ([`TicketWait`]).
async fn wait_for_agent(
    api: &FilesApi,
    principal: &Principal,
    meeting: TicketWait,
) -> Result<(), Failure> {
    let lifetime = RequestLifetime::until_stop(principal, api.0.tasks.stop_token());
    tokio::select! {
        met = meeting.wait() => met,
        failure = lifetime.ended() => Err(failure),
    }
}

/// Returns the requested start of the archive, if the caller asks for a range of this very archive. Fails for
/// a start past the end.
pub(super) fn range(headers: &HeaderMap, transfer: &Transfer) -> Result<Option<u64>, Failure> {
    let (asked, size) = (asked_range(headers, transfer), transfer.offer.zip_size);
    match asked.filter(|from| *from >= size) {
        Some(from) => {
            let text = format!("the archive has {size} bytes; there is nothing from {from} on");
            Err(invalid(text))
        }
        None => Ok(asked),
    }
}

fn asked_range(headers: &HeaderMap, transfer: &Transfer) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if headers.contains_key(header::IF_RANGE) && text(header::IF_RANGE) != Some(&etag(transfer)) {
        return None;
    }
    let digits = text(header::RANGE)?
        .strip_prefix("bytes=")?
        .strip_suffix('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // A number too large to parse is past the end of any archive.
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

fn etag(transfer: &Transfer) -> String {
    format!("\"{}\"", transfer.offer.zip_sha256)
}

/// Returns the archive as a download, because its content is untrusted.
fn response(transfer: &Transfer, range: Option<u64>, body: Body) -> Response {
    let size = transfer.offer.zip_size;
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let length = size - range.unwrap_or(0);
    headers.insert(header::CONTENT_LENGTH, length.into());
    for (name, value) in [
        (header::CONTENT_TYPE, "application/zip"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (header::ACCEPT_RANGES, "bytes"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "private, no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Hexadecimal digits are valid in any header.
    if let Ok(etag) = HeaderValue::try_from(etag(transfer)) {
        headers.insert(header::ETAG, etag);
    }
    if let Some(from) = range {
        let value = HeaderValue::try_from(format!("bytes {from}-{}/{size}", size - 1));
        headers.extend(value.ok().map(|value| (header::CONTENT_RANGE, value)));
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
    }
    response
}
