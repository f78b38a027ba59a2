//! The routes of cards: given out with what caches need, and not at all where the reader has the same card already.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Path, RawQuery, State, rejection::PathRejection},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use jackfield_kit::{
    auth::{Came, bearer},
    etag::has_already,
};
use jackfield_model::{Failure, Reason};
use jiff::fmt::rfc2822::DateTimeParser;

use super::shelf::Issued;
use crate::A2a;
use crate::wire::{
    card::{KEYS_PATH, OLD_PATH, PATH, Reader},
    official::{Version, error::http_error},
};

/// What an agent may be called in a path; they share one space of ids.
const KINDS: [&str; 3] = ["agents", "teams", "workflows"];
/// How long a card may be used without asking again: an agent changes its card only when it connects anew, and a
/// minute is what its callers can wait.
const MAX_AGE: u32 = 60;
/// How long the keys may be: they change only when their file is removed.
const KEYS_MAX_AGE: &str = "public, max-age=3600";

/// The cards of agents, below a prefix. Below a version's name stands the card for readers of that version alone, for
/// those that refuse unknown fields and cannot send a header.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2a>> {
    let mut routes = Router::new();
    for kind in KINDS {
        let agent = format!("{prefix}/{kind}/{{id}}");
        for path in [PATH, OLD_PATH] {
            routes = routes.route(&format!("{agent}{path}"), agents(None));
            for version in [Version::V03, Version::V10] {
                let path = format!("{agent}/{version}{path}");
                routes = routes.route(&path, agents(Some(version)));
            }
        }
    }
    routes
}

/// The hub's own card and its keys, which have their places at the root.
pub(crate) fn root_routes() -> Router<Arc<A2a>> {
    Router::new()
        .route(PATH, get(hub).fallback(wrong_method))
        .route(OLD_PATH, get(hub).fallback(wrong_method))
        .route(KEYS_PATH, get(keys).fallback(wrong_method))
}

fn agents(version: Option<Version>) -> MethodRouter<Arc<A2a>> {
    let card = async move |State(a2a): State<Arc<A2a>>,
                           id: Result<Path<String>, PathRejection>,
                           RawQuery(query): RawQuery,
                           came: Came,
                           headers: HeaderMap| {
        let reader = version.map_or_else(|| reader(&headers, query.as_deref()), Reader::Of);
        // What cannot be an id looks like one that is unknown.
        let id = id.map(|Path(id)| id).unwrap_or_default();
        let issued = match a2a.gatekeeper.admit(bearer(&headers), &came) {
            Ok(principal) => a2a.card_of(&principal, &id, reader, &came),
            // Whoever has no token yet learns from the card how to show one.
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
    State(a2a): State<Arc<A2a>>,
    RawQuery(query): RawQuery,
    came: Came,
    headers: HeaderMap,
) -> Response {
    let reader = reader(&headers, query.as_deref());
    let issued = a2a
        .gatekeeper
        .admit(bearer(&headers), &came)
        .and_then(|principal| a2a.hub_card(&principal, reader, &came));
    answer(&a2a, &headers, &came, issued)
}

/// Public keys need no token: who is shown a card by somebody else can check it too.
async fn keys(State(a2a): State<Arc<A2a>>) -> Response {
    let set = match &a2a.cards.key {
        Some(key) => key.to_set(),
        None => r#"{"keys":[]}"#.to_owned(),
    };
    let mut response = json(StatusCode::OK, set);
    let age = HeaderValue::from_static(KEYS_MAX_AGE);
    response.headers_mut().insert(header::CACHE_CONTROL, age);
    response
}

/// Whom the card is for: readers of the version that the request names, in its header or its query, else anybody.
fn reader(headers: &HeaderMap, query: Option<&str>) -> Reader {
    let named = headers
        .get(Version::HEADER)
        .and_then(|value| value.to_str().ok());
    let asked = || {
        let mut pairs = query.unwrap_or_default().split('&');
        pairs.find_map(|pair| pair.strip_prefix(Version::HEADER)?.strip_prefix('='))
    };
    named
        .or_else(asked)
        .and_then(Version::from_name)
        .map_or(Reader::Any, Reader::Of)
}

fn answer(
    a2a: &A2a,
    headers: &HeaderMap,
    came: &Came,
    issued: Result<Arc<Issued>, Failure>,
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

/// Whether the reader has the card as it is now: by its tag, or else by its date, which has no parts of a second.
fn is_known(headers: &HeaderMap, issued: &Issued) -> bool {
    if headers.contains_key(header::IF_NONE_MATCH) {
        return has_already(headers, &issued.tag);
    }
    let since = headers.get(header::IF_MODIFIED_SINCE);
    let since = since.and_then(|value| value.to_str().ok());
    let since = since.and_then(|text| DateTimeParser::new().parse_timestamp(text).ok());
    since.is_some_and(|since| issued.at.as_second() <= since.as_second())
}

fn refused(failure: &Failure) -> Response {
    let (status, name) = match failure.reason {
        Reason::Unauthorized => (StatusCode::UNAUTHORIZED, "UNAUTHENTICATED"),
        // All else that a card is refused for is that there is none.
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

/// An error in the shape of the protocol's newest version.
fn error(status: StatusCode, name: &'static str, message: &str) -> Response {
    json(status, http_error(status.as_u16(), name, message))
}

fn json(status: StatusCode, body: impl IntoResponse) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}
