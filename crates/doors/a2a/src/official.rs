//! The official protocol, versions 0.3 and 1.0, for every agent of the hub. Its tasks are the core's kept calls: a caller
//! that leaves changes nothing.
//!
//! What is asked for is the same in every binding and version, so that it stands once:
//! - `visit.rs` one request: who asks, of which agent, in which version
//! - `send.rs`, `tasks.rs`, `follow.rs`, `push.rs` the operations
//! - `story.rs` what a task's log adds up to, `teller.rs` what a stream tells of it, `updates.rs` such a stream
//! - `translate.rs` pure functions between the wire's model and the core's events, `failure.rs` the errors
//!
//! The bindings read a request, make the visit and write its answer: `jsonrpc.rs`, `rest.rs`, `grpc.rs`, and `agno.rs` for
//! the envelopes that Python Agno sends to addresses that look like REST. Over HTTP they share:
//! - `serve.rs` the addresses, `place.rs` the paths of REST below them, `negotiate.rs` versions and media types
//! - `ask.rs` what is asked and answered, `shape.rs` the forms it is written in, `reply.rs` the responses

mod agno;
mod ask;
mod failure;
mod follow;
#[cfg(feature = "grpc")]
mod grpc;
mod jsonrpc;
mod negotiate;
mod place;
mod push;
mod reply;
mod rest;
mod rules;
mod send;
mod serve;
mod shape;
mod story;
mod tasks;
mod teller;
pub(crate) mod translate;
mod updates;
mod visit;

use std::sync::Arc;

use axum::Router;

use crate::A2a;

pub(crate) use self::{
    reply::Refused,
    updates::{Update, Updates},
    visit::Visit,
};

/// All bindings, below a prefix.
pub(crate) fn routes(prefix: &str) -> Router<Arc<A2a>> {
    let routes = serve::routes(prefix);
    #[cfg(feature = "grpc")]
    let routes = routes.merge(grpc::routes(prefix));
    routes
}

/// What is asked for at the root, whatever the prefix is.
pub(crate) fn root_routes() -> Router<Arc<A2a>> {
    let routes = serve::root_routes();
    #[cfg(feature = "grpc")]
    let routes = routes.merge(grpc::root_routes());
    routes
}

#[cfg(test)]
mod tests;
