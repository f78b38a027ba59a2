//! HTTP routes of the official protocol: find the agent and the binding that a request is for.

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
    routing::{any, post},
};
use http::Method;
use percent_encoding::percent_decode_str;

use super::{jsonrpc, rest, rest_path::RestPath};
use crate::wire::card::{KINDS, PATH};
use crate::{A2aDoor, seed::SeedProblem};

/// Returns the routes of all agents below `prefix`, and of the hub itself. With an empty prefix the hub
/// serves only the known paths, so that other doors keep theirs.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2aDoor>> {
    let skipped = prefix.matches('/').count();
    let at_agent = any(
        async move |State(a2a): State<Arc<A2aDoor>>, request: Request| {
            at_agent(a2a, skipped, request).await
        },
    );
    let mut routes = Router::new();
    for kind in KINDS {
        let base = format!("{prefix}/{kind}/{{id}}");
        routes = routes
            .route(&base, at_agent.clone())
            .route(&format!("{base}/"), at_agent.clone())
            .route(&format!("{base}/{{*rest}}"), at_agent.clone());
    }
    let known: Arc<str> = prefix.into();
    let at_hub = async move |State(a2a): State<Arc<A2aDoor>>, request: Request| {
        at_hub(a2a, &known, request).await
    };
    if prefix.is_empty() {
        // Without a prefix, only the known paths belong to this door.
        for path in [
            "/message:send",
            "/message:stream",
            "/tasks",
            "/tasks/{*rest}",
            "/extendedAgentCard",
            "/v1/message:send",
            "/v1/message:stream",
            "/v1/tasks",
            "/v1/tasks/{*rest}",
            "/v1/tasks:get",
            "/v1/tasks:cancel",
            "/v1/card",
        ] {
            routes = routes.route(path, any(at_hub.clone()));
        }
        return routes.route("/", post(at_hub));
    }
    routes
        .route(prefix, any(at_hub.clone()))
        .route(&format!("{prefix}/"), any(at_hub.clone()))
        .route(&format!("{prefix}/{{*rest}}"), any(at_hub))
}

/// Returns the routes that clients of 0.3 request at the root, even when their configured address has a path.
pub(crate) fn root_routes() -> Router<Arc<A2aDoor>> {
    let card =
        async |State(a2a): State<Arc<A2aDoor>>, request: Request| at_hub(a2a, "", request).await;
    Router::new().route("/v1/card", any(card))
}

async fn at_agent(a2a: Arc<A2aDoor>, skipped: usize, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let mut segments = path.split('/').skip(1 + skipped + 1);
    let agent = segments.next().unwrap_or_default();
    // A segment that cannot be decoded matches no agent either.
    let agent = percent_decode_str(agent).decode_utf8_lossy();
    let segments: Vec<&str> = segments.collect();
    if is_base(&segments) {
        if head.method != Method::POST {
            let card = format!("{}{PATH}", path.trim_end_matches('/'));
            return jsonrpc::only_post(&head.method, &path, &card);
        }
        return jsonrpc::serve(a2a, Some(&agent), head, body).await;
    }
    let found = RestPath::of(&segments);
    let found = found.filter(|found| found.tenant.as_deref().is_none_or(|it| it == agent));
    match found {
        Some(found) => rest::serve(a2a, Some(&agent), found, head, body).await,
        None => rest::not_found(&path, &head.headers),
    }
}

/// Serves the hub's own address, which stands for all agents: the request names an agent, or the hub has a
/// default agent.
async fn at_hub(a2a: Arc<A2aDoor>, prefix: &str, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let path = head.uri.path().to_owned();
    let skipped = prefix.matches('/').count();
    let segments: Vec<&str> = path.split('/').skip(1 + skipped).collect();
    if is_base(&segments) {
        if head.method != Method::POST {
            return jsonrpc::only_post(&head.method, &path, PATH);
        }
        return jsonrpc::serve(a2a, None, head, body).await;
    }
    match RestPath::of(&segments) {
        Some(found) => rest::serve(a2a, None, found, head, body).await,
        None => SeedProblem::not_found(&path, prefix).into_response(),
    }
}

/// Returns true for the address itself, with or without a trailing slash.
fn is_base(segments: &[&str]) -> bool {
    matches!(segments, [] | [""])
}
