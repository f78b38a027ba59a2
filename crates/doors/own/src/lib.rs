//! The hub's own HTTP API: agents, calls and tasks, events, files, tokens, tickets, invites, health. JSON with
//! snake_case names; streams are SSE; errors are always `{"error", "message"}` with a code from
//! docs/promises.md, section Failures.
//!
//! [`router`] builds the API. Its routes can be merged with the routers of other doors, and its description
//! with theirs; [`openapi_route`] serves the merged description. Missing permissions yield 401 instead of
//! 403, as in every door of the hub. Only file links yield 403: no token can help there.

mod agents;
mod callbacks;
mod calls;
mod config;
mod describe;
mod door;
mod events;
mod files;
mod health;
mod invites;
pub mod proof;
mod schemas;
mod stream;
mod task_response;
mod tasks;
mod tickets;
mod tokens;
pub mod translate;

pub use jackfield_kit::api::{ApiErrorBody, status};

pub use self::{
    config::Config,
    door::{OwnState, router},
    health::openapi_route,
};

/// Name of the door in logs, error messages and metrics.
pub const DOOR: &str = "own";
