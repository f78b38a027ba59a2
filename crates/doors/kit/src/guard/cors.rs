//! CORS: answers to web pages of the listed origins. A browser lets a page read an answer only if the answer
//! names the page's origin, and asks first (*preflight*) before it sends a method or a header that a plain form
//! could not send.
//!
//! The [`Guard`](super::Guard) has refused all other origins before, so `*` is never sent. Credentials of the
//! browser (cookies) are never allowed: the hub has none, and a page shows a token or a ticket. The headers
//! themselves are written by [`CorsLayer`].

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method, header, request::Parts};
use tower_http::cors::{AllowOrigin, AllowPrivateNetwork, CorsLayer};

use super::HostRules;
use crate::trace::CALL_HEADER;

/// Time for which a browser may remember the answer to a preflight: as long as Chromium does at most.
const MAX_AGE: Duration = Duration::from_secs(2 * 60 * 60);

/// Methods of the routes.
const METHODS: [Method; 6] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::PATCH,
    Method::DELETE,
];

/// Headers of requests that any route may read.
const ACCEPTED: [HeaderName; 9] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::IF_NONE_MATCH,
    header::RANGE,
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("jackfield-agent"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static(CALL_HEADER),
];

/// Headers of answers that any route may send, beyond those that a page may always read.
const EXPOSED: [HeaderName; 8] = [
    header::ACCEPT_RANGES,
    header::CONTENT_DISPOSITION,
    header::CONTENT_RANGE,
    header::ETAG,
    header::LOCATION,
    header::RETRY_AFTER,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static(CALL_HEADER),
];

/// Headers of a door's protocol that web pages send and read, beyond those of all doors.
#[derive(Debug, Clone, Default)]
pub struct BrowserHeaders {
    /// Headers of requests, in lower case.
    pub accepted: Vec<&'static str>,
    /// Headers of answers, in lower case.
    pub exposed: Vec<&'static str>,
}

impl BrowserHeaders {
    /// Adds the headers of another door.
    pub fn merge(&mut self, other: Self) {
        self.accepted.extend(other.accepted);
        self.exposed.extend(other.exposed);
    }
}

/// Creates the layer that writes the headers. `None` if no origin is listed: then no answer has any of them.
pub(super) fn layer(hosts: &Arc<HostRules>, headers: &BrowserHeaders) -> Option<Arc<CorsLayer>> {
    if hosts.allowed_origins.is_empty() {
        return None;
    }
    let listed = hosts.clone();
    let is_listed = move |origin: &HeaderValue, _: &Parts| {
        let origin = origin.to_str();
        origin.is_ok_and(|origin| listed.lists_origin(origin))
    };
    let of_doors = |names: &[&'static str]| -> Vec<HeaderName> {
        names.iter().copied().map(HeaderName::from_static).collect()
    };
    let mut accepted = of_doors(&headers.accepted);
    accepted.extend(ACCEPTED);
    let mut exposed = of_doors(&headers.exposed);
    exposed.extend(EXPOSED);
    for names in [&mut accepted, &mut exposed] {
        names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
    }
    Some(Arc::new(
        CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(is_listed))
            .allow_methods(METHODS)
            .allow_headers(accepted)
            .expose_headers(exposed)
            // Chromium asks for it when a page of the internet reaches a hub in a private network.
            .allow_private_network(AllowPrivateNetwork::yes())
            .max_age(MAX_AGE),
    ))
}

/// Returns whether a request that the guard lets pass is a preflight. Other requests with the method `OPTIONS`
/// are for the routes.
pub(super) fn is_preflight(method: &Method, headers: &HeaderMap) -> bool {
    *method == Method::OPTIONS
        && headers.contains_key(header::ORIGIN)
        && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}
