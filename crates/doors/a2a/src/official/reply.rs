//! HTTP responses of the official protocol: JSON, errors and event streams.

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderValue, Method, StatusCode, header};
use jackfield_core::metrics::Connected;
use jackfield_kit::sse::{SseBody, SseFrame};

use super::{Update, Updates, Visit};
use crate::wire::official::{
    error::{Fault, Kind, http_error},
    model::Item,
};
use crate::{A2a, DOOR};

/// Interval between keepalive comments. Published clients give up after five seconds without a byte.
const KEEPALIVE: Duration = Duration::from_secs(4);

/// Response extension that marks an error response, for any HTTP status.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refused {
    /// True if the author of the request caused the error.
    pub(crate) counts: bool,
}

/// Returns a JSON response of media type `kind`.
pub(super) fn json(kind: &'static str, body: String) -> Response {
    let kind = HeaderValue::from_static(kind);
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// Returns an error response with the media type and body of a binding.
pub(super) fn refusal(
    kind: &'static str,
    status: StatusCode,
    fault: &Fault,
    body: String,
) -> Response {
    let mut response = json(kind, body);
    *response.status_mut() = status;
    mark(&mut response, fault);
    if status == StatusCode::UNAUTHORIZED {
        let how = HeaderValue::from_static("Bearer realm=\"jackfield\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, how);
    }
    response
}

/// Adds the header with the active extensions, if any, and hands the answer's memory account
/// ([`Visit::room`]) to the server.
pub(super) fn with_extensions(mut response: Response, visit: &Visit) -> Response {
    if let Some(room) = &visit.room {
        response.extensions_mut().insert(room.clone());
    }
    if let Some((name, value)) = visit.extensions() {
        response.headers_mut().insert(name, value);
    }
    response
}

/// Returns the response to an HTTP method that a path does not accept.
pub(super) fn wrong_method(
    kind: &'static str,
    method: &Method,
    path: &str,
    methods: &[Method],
) -> Response {
    let methods: Vec<&str> = methods.iter().map(Method::as_str).collect();
    let allowed = methods.join(", ");
    let text = format!("{path} takes {allowed}, got {method}");
    let status = StatusCode::METHOD_NOT_ALLOWED.as_u16();
    let mut response = json(kind, http_error(status, "UNIMPLEMENTED", &text));
    *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
    if let Ok(allowed) = HeaderValue::from_str(&allowed) {
        response.headers_mut().insert(header::ALLOW, allowed);
    }
    response
}

/// Adds the [`Refused`] marker for `fault` to a response.
pub(super) fn mark(response: &mut Response, fault: &Fault) {
    let counts = match fault.kind {
        Kind::Parse
        | Kind::InvalidRequest
        | Kind::MethodNotFound
        | Kind::InvalidParams
        | Kind::ContentType
        | Kind::ExtensionRequired
        | Kind::VersionNotSupported
        | Kind::TooLarge
        | Kind::Conflict => true,
        Kind::Internal
        | Kind::TaskNotFound
        | Kind::TaskNotCancelable
        | Kind::PushNotSupported
        | Kind::Unsupported
        | Kind::InvalidAgentResponse
        | Kind::NoExtendedCard
        | Kind::Unauthenticated
        | Kind::AgentNotFound
        | Kind::Busy
        | Kind::Unavailable => false,
    };
    response.extensions_mut().insert(Refused { counts });
}

/// Converts the HTTP status of a fault; an invalid number becomes 500.
pub(super) fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns the event stream of a task. The binding's `write` serializes each element, and the fault if the
/// stream ends before the task does. A reader that disconnects does not affect the task.
pub(super) fn events(
    a2a: &A2a,
    updates: Updates,
    write: impl Fn(Result<&Item, &Fault>) -> String + Send + 'static,
) -> Response {
    struct Telling<W> {
        updates: Updates,
        write: W,
        _counted: Connected,
    }
    let telling = Telling {
        updates,
        write,
        _counted: a2a.hub.metrics().connection(DOOR),
    };
    let frames = stream::unfold(telling, |mut telling| async move {
        let told = telling.updates.next().await?;
        let frame = SseFrame::data((telling.write)(told.as_ref().map(|update| &update.item)));
        let frame = match told {
            Ok(Update { id: Some(id), .. }) => frame.with_id(id),
            Ok(Update { id: None, .. }) | Err(_) => frame,
        };
        Some((frame, telling))
    });
    SseBody::new(frames)
        .with_keepalive(keepalive(a2a))
        .into_response()
}

/// Returns the keepalive interval of streams: the hub's limit, at most [`KEEPALIVE`].
pub(super) fn keepalive(a2a: &A2a) -> Duration {
    a2a.hub.limits().keepalive.0.min(KEEPALIVE)
}

/// Returns an event stream with one event, the error.
pub(super) fn refused_stream(fault: &Fault, body: String) -> Response {
    let frame = stream::iter([SseFrame::data(body)]);
    let mut response = SseBody::new(frame).into_response();
    mark(&mut response, fault);
    response
}
