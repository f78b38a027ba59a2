//! The team door: teams and their task boards over HTTP, and one event stream per team. Viewers read the
//! stream over a WebSocket, flattened as the protocol's web client expects, or over SSE as envelopes. See
//! `docs/protocols/team.md`.

mod config;
mod door;
mod events;
mod limits;
mod matrix;
mod publish;
mod publisher;
mod schemas;
mod steer;
mod tasks;
pub mod team;
mod teams;
mod translate;
mod view;
mod viewer;
pub mod wire;

pub use self::{
    config::Config,
    door::{TeamDoor, router},
    limits::TeamLimits,
    matrix::MATRIX,
    team::teams::Teams,
};

/// Name of the door in logs, error messages and metrics.
pub const DOOR: &str = "team";
