//! The official A2A protocol, versions 0.3 and 1.0, for every agent of the hub. A2A tasks are durable calls
//! of the core: a caller that disconnects changes nothing.
//!
//! The operations are the same in every binding and version and are implemented once:
//! - [`inbound`]: one request with its caller, agent and version
//! - [`send`], [`tasks`], [`subscribe`], [`push`]: the operations
//! - [`snapshot`]: the task that results from a log, [`renderer`]: log items as stream updates, [`updates`]: a
//!   stream of updates
//! - [`translate`]: pure functions between the wire model and the core's events, [`failure`]: the errors
//!
//! A binding reads a request, runs the operation and writes the answer: [`jsonrpc`], [`rest`], `grpc` (behind
//! a feature), and [`agno`] for the JSON-RPC envelopes that Python Agno sends to REST-like addresses. The
//! bindings over HTTP share:
//! - [`serve`]: the routes, [`rest_path`]: the REST paths below an agent's address, [`negotiate`]: versions and
//!   media types
//! - [`operation`]: operations with params and results, [`shape`]: JSON forms, [`reply`]: HTTP responses

mod agno;
mod failure;
#[cfg(feature = "grpc")]
mod grpc;
mod inbound;
mod jsonrpc;
pub(crate) mod negotiate;
mod operation;
mod push;
mod renderer;
mod reply;
mod rest;
mod rest_path;
mod rules;
mod send;
mod serve;
mod shape;
mod snapshot;
mod subscribe;
mod tasks;
pub(crate) mod translate;
mod updates;

use std::sync::Arc;

use axum::Router;

use crate::A2aDoor;

pub(crate) use self::{
    inbound::InboundRequest,
    reply::RefusalMarker,
    updates::{StreamUpdate, UpdateStream},
};

/// Returns the routes of all bindings below `prefix`.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2aDoor>> {
    let routes = serve::routes(prefix);
    #[cfg(feature = "grpc")]
    let routes = routes.merge(grpc::routes(prefix));
    routes
}

/// Returns the routes that clients request at the root, independent of the prefix.
pub(crate) fn root_routes() -> Router<Arc<A2aDoor>> {
    let routes = serve::root_routes();
    #[cfg(feature = "grpc")]
    let routes = routes.merge(grpc::root_routes());
    routes
}

#[cfg(test)]
mod tests;
