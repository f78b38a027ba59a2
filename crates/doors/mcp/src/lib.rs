//! The MCP door: a model finds agents and calls them as tools, over MCP's streamable HTTP at `/mcp`. See
//! `docs/protocols/mcp.md`, and <https://modelcontextprotocol.io> for the protocol, which the crate `rmcp` speaks.
//!
//! Nothing is remembered between two requests, so that a restart of the hub loses no session. The session id that a
//! client gets tells its requests from those of others, for cancelling, and is otherwise not looked at.

mod asked;
mod cancels;
mod config;
mod handler;
mod limits;
mod outcome;
mod progress;
mod refusal;
mod serve;
mod tools;
mod waiting;

pub use self::config::Config;

use std::sync::Arc;

use axum::{Router, middleware};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::{Api, count_refused, wrong_method},
    auth::Gatekeeper,
};
use tokio_util::sync::CancellationToken;
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{cancels::Cancels, serve::Service};

/// The door's name, for people and metrics.
pub const DOOR: &str = "mcp";

/// What the door needs.
#[derive(Debug, Clone)]
pub struct Mcp {
    /// The hub.
    pub hub: Hub,
    /// Who decides who is calling.
    pub gatekeeper: Gatekeeper,
    /// The hub's version, for people.
    pub version: &'static str,
    /// Cancelled when the server begins to stop: who waits is told so, and how to go on.
    pub stop: CancellationToken,
}

/// The door as its route has it.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) mcp: Mcp,
    pub(crate) cancels: Arc<Cancels>,
    pub(crate) service: Service,
}

impl Api for Door {
    fn hub(&self) -> &Hub {
        &self.mcp.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.mcp.gatekeeper
    }
}

/// The door's route, and its description.
pub fn router(mcp: Mcp) -> (Router, OpenApi) {
    let door = Door {
        service: serve::service(&mcp),
        cancels: Arc::default(),
        mcp,
    };
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(serve::post))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            (door.mcp.hub.clone(), DOOR),
            count_refused,
        ))
        .with_state(door);
    (router, api)
}
