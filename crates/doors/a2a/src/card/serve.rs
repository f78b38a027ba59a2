//! Routes of cards, with caching headers and conditional requests.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use jackfield_kit::{
    auth::{Ingress, bearer},
    etag::matches_if_none_match,
};
use jackfield_model::{Failure, Reason};
use jiff::fmt::rfc2822::DateTimeParser;

use super::cache::IssuedCard;
use crate::A2aDoor;
use crate::official::negotiate::{QueryPairs, version_name};
use crate::wire::{
    card::{CardAudience, KEYS_PATH, KINDS, OLD_PATH, PATH},
    official::{A2aVersion, error::http_error},
};

/// Seconds for which a card may be cached. An agent changes its card only when it connects again, and a
/// minute is an acceptable delay for callers.
const MAX_AGE: u32 = 60;
/// Caching of the keys: they change only when the key file is removed.
const KEYS_MAX_AGE: &str = "public, max-age=3600";

/// Returns the routes of agents' cards below `prefix`. Below a version's name is the card for readers of only
/// that version, for readers that refuse unknown fields and cannot send a header.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2aDoor>> {
    let mut routes = Router::new();
    for kind in KINDS {
        let agent = format!("{prefix}/{kind}/{{id}}");
        for path in [PATH, OLD_PATH] {
            routes = routes.route(&format!("{agent}{path}"), agents(None));
            for version in [A2aVersion::V03, A2aVersion::V10] {
                let path = format!("{agent}/{version}{path}");
                routes = routes.route(&path, agents(Some(version)));
            }
        }
    }
    routes
}

/// Returns the routes of the hub's own card and keys, which are at the root.
pub(crate) fn root_routes() -> Router<Arc<A2aDoor>> {
    Router::new()
        .route(PATH, get(hub).fallback(wrong_method))
        .route(OLD_PATH, get(hub).fallback(wrong_method))
        .route(KEYS_PATH, get(keys).fallback(wrong_method))
}

fn agents(version: Option<A2aVersion>) -> MethodRouter<Arc<A2aDoor>> {
    let card = async move |State(a2a): State<Arc<A2aDoor>>,
                           id: Result<Path<String>, PathRejection>,
                           uri: Uri,
                           came: Ingress,
                           headers: HeaderMap| {
        let reader = version.map_or_else(|| reader(&headers, &uri), CardAudience::Of);
        // An invalid id looks like an unknown id.
        let id = id.map(|Path(id)| id).unwrap_or_default();
        let issued = match a2a.gatekeeper.admit(bearer(&headers), &came) {
            Ok(principal) => a2a.card_of(&principal, &id, reader, &came),
            // A reader without a token learns from the card how to authenticate.
            Err(refused) if !headers.contains_key(header::AUTHORIZATION) => {
                a2a.public_card_of(&id, reader, &came).ok_or(refused)
            }
            Err(refused) => Err(refused),
        };
        answer(&a2a, &headers, &came, issued)
    };
    get(card).fallback(wrong_method)
}

async fn hub(
    State(a2a): State<Arc<A2aDoor>>,
    uri: Uri,
    came: Ingress,
    headers: HeaderMap,
) -> Response {
    let reader = reader(&headers, &uri);
    let issued = a2a
        .gatekeeper
        .admit(bearer(&headers), &came)
        .and_then(|principal| a2a.hub_card(&principal, reader, &came));
    answer(&a2a, &headers, &came, issued)
}

/// Serves the public keys. Keys need no token, so that a third party can verify a card.
async fn keys(State(a2a): State<Arc<A2aDoor>>) -> Response {
    let set = match &a2a.cards.key {
        Some(key) => key.to_set(),
        None => r#"{"keys":[]}"#.to_owned(),
    };
    let mut response = json(StatusCode::OK, set);
    let age = HeaderValue::from_static(KEYS_MAX_AGE);
    response.headers_mut().insert(header::CACHE_CONTROL, age);
    response
}

/// Returns the audience of the card: the version that the header or the query names. Everything else,
/// including a query that cannot be read, gives [`CardAudience::Any`].
fn reader(headers: &HeaderMap, uri: &Uri) -> CardAudience {
    let query = QueryPairs::of(uri).unwrap_or_default();
    let named = version_name(headers, &query);
    let version = named.and_then(|name| A2aVersion::from_name(&name));
    version.map_or(CardAudience::Any, CardAudience::Of)
}

fn answer(
    a2a: &A2aDoor,
    headers: &HeaderMap,
    came: &Ingress,
    issued: Result<Arc<IssuedCard>, Failure>,
) -> Response {
    let mut response = match issued {
        Ok(issued) => {
            let mut response = if is_known(headers, &issued) {
                StatusCode::NOT_MODIFIED.into_response()
            } else {
                json(StatusCode::OK, issued.body.to_string())
            };
            let fresh = response.headers_mut();
            fresh.insert(header::ETAG, issued.tag.clone());
            fresh.insert(header::LAST_MODIFIED, issued.modified.clone());
            let is_public =
                a2a.gatekeeper.trusts(came) || !headers.contains_key(header::AUTHORIZATION);
            let whose = if is_public { "public" } else { "private" };
            if let Ok(value) = HeaderValue::try_from(format!("{whose}, max-age={MAX_AGE}")) {
                fresh.insert(header::CACHE_CONTROL, value);
            }
            response
        }
        Err(failure) => refused(&failure),
    };
    let vary = HeaderValue::from_static("authorization, a2a-version");
    response.headers_mut().insert(header::VARY, vary);
    response
}

/// Returns true if the reader already has the current card: by its tag, or else by its date, which has no
/// fractions of a second.
fn is_known(headers: &HeaderMap, issued: &IssuedCard) -> bool {
    if headers.contains_key(header::IF_NONE_MATCH) {
        return matches_if_none_match(headers, &issued.tag);
    }
    let since = headers.get(header::IF_MODIFIED_SINCE);
    let since = since.and_then(|value| value.to_str().ok());
    let since = since.and_then(|text| DateTimeParser::new().parse_timestamp(text).ok());
    since.is_some_and(|since| issued.at.as_second() <= since.as_second())
}

fn refused(failure: &Failure) -> Response {
    let (status, name) = match failure.reason {
        Reason::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
        // Every other refusal means that the card does not exist.
        _ => (StatusCode::NOT_FOUND, "NOT_FOUND"),
    };
    let mut response = error(status, name, &failure.text);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if status == StatusCode::UNAUTHORIZED {
        let asks = HeaderValue::from_static("Bearer realm=\"jackfield\"");
        headers.insert(header::WWW_AUTHENTICATE, asks);
    }
    response
}

async fn wrong_method(method: Method, uri: Uri) -> Response {
    let text = format!("{} takes GET, got {method}", uri.path());
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "UNIMPLEMENTED", &text);
    let allowed = HeaderValue::from_static("GET, HEAD");
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

/// Returns an error in the form of version 1.0.
fn error(status: StatusCode, name: &'static str, message: &str) -> Response {
    json(status, http_error(status.as_u16(), name, message))
}

fn json(status: StatusCode, body: impl IntoResponse) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
