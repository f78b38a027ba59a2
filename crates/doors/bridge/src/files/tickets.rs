//! `PUT` and `GET /v1/transfers/{ticket}`: the agent's side of an archive that passes through the hub. The
//! ticket was sent over the agent's own connection, and is the only permission needed.

use axum::{
    body::Body,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderValue, Method, StatusCode, Uri, header};
use jackfield_kit::{
    api::{ApiError, ApiQuery, CallErrorResponses, PathId, wrong_method},
    body::discard,
    server::PassThrough,
};

use super::FilesApi;
use crate::signals;

/// Sends the archive to the waiting receiver. Needs no token: the ticket is the permission.
#[utoipa::path(
    put,
    path = "/v1/transfers/{ticket}",
    tag = "files",
    security(()),
    params(("ticket" = String, Path, description = "The ticket of the signal `relay`")),
    request_body(content = String, content_type = "application/octet-stream", description = "The archive, from the offset of the signal on"),
    responses((status = 204, description = "All of it arrived"), CallErrorResponses),
)]
pub(crate) async fn send(
    State(api): State<FilesApi>,
    PathId(ticket): PathId,
    params: ApiQuery,
    request: Request,
) -> Result<StatusCode, ApiError> {
    params.finish()?;
    PassThrough::mark(&request);
    let body = request.into_body();
    match api.0.relays.take_inlet(&ticket) {
        Ok((inlet, lifetime, transfer)) => {
            let carried = inlet.copy_body(body.into_data_stream(), lifetime).await;
            if let Err(failure) = &carried {
                // The receiver's body ends early and cannot state the reason.
                let why = format!("the agent's end of it: {failure}");
                signals::notify_interrupted(&api.0, &transfer, &why);
            }
            carried?;
            Ok(StatusCode::NO_CONTENT)
        }
        Err(failure) => {
            discard(body).await;
            Err(failure.into())
        }
    }
}

/// Receives the archive from its sender. Needs no token: the ticket is the permission.
#[utoipa::path(
    get,
    path = "/v1/transfers/{ticket}",
    tag = "files",
    security(()),
    params(("ticket" = String, Path, description = "The ticket of the signal `relay`")),
    responses(
        (status = 200, description = "The archive, from the offset of the signal on", body = String, content_type = "application/zip"),
        CallErrorResponses,
    ),
)]
pub(crate) async fn receive(
    State(api): State<FilesApi>,
    PathId(ticket): PathId,
    params: ApiQuery,
    method: Method,
    uri: Uri,
) -> Result<Response, ApiError> {
    params.finish()?;
    // A HEAD request would use up the ticket.
    if method == Method::HEAD {
        return Ok(wrong_method(method, uri).await.into_response());
    }
    let outlet = api.0.relays.take_outlet(&ticket)?;
    let len = outlet.bytes_left();
    let mut response = Response::new(Body::from_stream(outlet));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_LENGTH, len.into());
    for (name, value) in [
        (header::CONTENT_TYPE, "application/zip"),
        (header::CACHE_CONTROL, "private, no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
