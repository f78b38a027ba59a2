//! `GET /v1/files/{id}/{name}`: download of a file that arrived as bytes. The signature in the link is the
//! only permission needed: agents of other protocols have no token, or do not send it.

use std::convert::Infallible;

use axum::{body::Body, extract::State, response::Response};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use jackfield_kit::api::{ApiError, ApiErrorBody, ApiQuery, PathIds};
use jackfield_kit::files::{BadLink, Link, ServedFile};
use jackfield_model::{Failure, Reason};

use crate::OwnState;

/// Media type of a file whose own type is not valid in a header.
const ANY_BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");

/// Downloads a file by a link of the hub. Needs no token: the signature in the link is the permission.
#[utoipa::path(
    get,
    path = "/v1/files/{id}/{name}",
    tag = "files",
    security(()),
    params(
        ("id" = String, Path, description = "Which file"),
        ("name" = String, Path, description = "Its name"),
        ("expires" = String, Query, description = "When the link ends, in seconds since 1970"),
        ("sig" = String, Query, description = "The hub's signature"),
    ),
    responses(
        (status = 200, description = "The file, with the media type that its sender gave it", body = String, content_type = "*/*"),
        (status = 400, description = "The query is malformed: invalid", body = ApiErrorBody),
        (status = 403, description = "The hub did not make this link: unauthorized", body = ApiErrorBody),
        (status = 410, description = "The link has ended, or its file had to make room: not_found", body = ApiErrorBody),
    ),
)]
pub(crate) async fn fetch(
    State(state): State<OwnState>,
    PathIds(id, name): PathIds,
    mut params: ApiQuery,
) -> Result<Response, ApiError> {
    // A missing parameter fails the signature check.
    let expires: String = params.one("expires")?.unwrap_or_default();
    let signature: String = params.one("sig")?.unwrap_or_default();
    params.finish()?;
    let link = Link {
        id: &id,
        name: &name,
        expires: &expires,
        signature: &signature,
    };
    match state.files.open(link) {
        Ok(held) => Ok(response(&held)),
        Err(bad) => Err(problem(bad)),
    }
}

fn problem(bad: BadLink) -> ApiError {
    // The link is wrong, so a token would not help.
    let (reason, status) = match bad {
        BadLink::Forged => (Reason::Unauthorized, StatusCode::FORBIDDEN),
        BadLink::Gone => (Reason::NotFound, StatusCode::GONE),
    };
    ApiError::from(Failure::new(reason, bad.to_string())).with_status(status)
}

/// Builds the download response. The content is untrusted: browsers must not guess its type, run it, or show
/// it as a page of the hub.
fn response(held: &ServedFile) -> Response {
    let pieces = held.pieces().map(Ok::<_, Infallible>);
    let mut response = Response::new(Body::from_stream(stream::iter(pieces)));
    let disposition = format!("attachment; filename*=UTF-8''{}", held.encoded_name());
    let disposition = HeaderValue::try_from(disposition);
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_str(held.mime()).unwrap_or(ANY_BYTES),
        ),
        (header::CONTENT_LENGTH, held.len().into()),
        (
            header::CONTENT_DISPOSITION,
            disposition.unwrap_or(HeaderValue::from_static("attachment")),
        ),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::CACHE_CONTROL,
            HeaderValue::from_static("private, no-store"),
        ),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox"),
        ),
    ];
    response.headers_mut().extend(headers);
    response
}
