//! HTTP responses of the official protocol: JSON, errors and event streams.

use std::time::Duration;

use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::{HeaderValue, Method, StatusCode, header};
use jackfield_core::metrics::Connected;
use jackfield_kit::sse::{SseBody, SseFrame};

use super::{InboundRequest, StreamUpdate, UpdateStream};
use crate::wire::official::{
    error::{A2aError, A2aErrorKind, http_error},
    model::StreamItem,
};
use crate::{A2aDoor, DOOR};

/// Interval between keepalive comments. Published clients give up after five seconds without a byte.
const KEEPALIVE: Duration = Duration::from_secs(4);

/// Response extension that marks an error response, for any HTTP status.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusalMarker {
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
    fault: &A2aError,
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
/// ([`InboundRequest::room`]) to the server.
pub(super) fn with_extensions(mut response: Response, inbound: &InboundRequest) -> Response {
    if let Some(room) = &inbound.room {
        response.extensions_mut().insert(room.clone());
    }
    if let Some((name, value)) = inbound.extensions() {
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

/// Adds the [`RefusalMarker`] marker for `fault` to a response.
pub(super) fn mark(response: &mut Response, fault: &A2aError) {
    let counts = match fault.kind {
        A2aErrorKind::Parse
        | A2aErrorKind::InvalidRequest
        | A2aErrorKind::MethodNotFound
        | A2aErrorKind::InvalidParams
        | A2aErrorKind::ContentType
        | A2aErrorKind::ExtensionRequired
        | A2aErrorKind::VersionNotSupported
        | A2aErrorKind::TooLarge
        | A2aErrorKind::Conflict => true,
        A2aErrorKind::Internal
        | A2aErrorKind::TaskNotFound
        | A2aErrorKind::TaskNotCancelable
        | A2aErrorKind::PushNotSupported
        | A2aErrorKind::Unsupported
        | A2aErrorKind::InvalidAgentResponse
        | A2aErrorKind::NoExtendedCard
        | A2aErrorKind::Unauthenticated
        | A2aErrorKind::AgentNotFound
        | A2aErrorKind::Busy
        | A2aErrorKind::Unavailable => false,
    };
    response.extensions_mut().insert(RefusalMarker { counts });
}

/// Converts the HTTP status of a fault; an invalid number becomes 500.
pub(super) fn status(number: u16) -> StatusCode {
    StatusCode::from_u16(number).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns the event stream of a task. The binding's `write` serializes each element, and the fault if the
/// stream ends before the task does. A reader that disconnects does not affect the task.
pub(super) fn events(
    a2a: &A2aDoor,
    updates: UpdateStream,
    write: impl Fn(Result<&StreamItem, &A2aError>) -> String + Send + 'static,
) -> Response {
    struct EventStreamState<W> {
        updates: UpdateStream,
        write: W,
        _counted: Connected,
    }
    let telling = EventStreamState {
        updates,
        write,
        _counted: a2a.hub.metrics().connection(DOOR),
    };
    let frames = stream::unfold(telling, |mut telling| async move {
        let told = telling.updates.next().await?;
        let frame = SseFrame::data((telling.write)(told.as_ref().map(|update| &update.item)));
        let frame = match told {
            Ok(StreamUpdate { id: Some(id), .. }) => frame.with_id(id),
            Ok(StreamUpdate { id: None, .. }) | Err(_) => frame,
        };
        Some((frame, telling))
    });
    SseBody::new(frames)
        .with_keepalive(keepalive(a2a))
        .into_response()
}

/// Returns the keepalive interval of streams: the hub's limit, at most [`KEEPALIVE`].
pub(super) fn keepalive(a2a: &A2aDoor) -> Duration {
    a2a.hub.limits().keepalive.0.min(KEEPALIVE)
}

/// Returns an event stream with one event, the error.
pub(super) fn refused_stream(fault: &A2aError, body: String) -> Response {
    let frame = stream::iter([SseFrame::data(body)]);
    let mut response = SseBody::new(frame).into_response();
    mark(&mut response, fault);
    response
}
