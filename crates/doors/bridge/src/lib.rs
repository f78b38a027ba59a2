//! The bridge door: Agent Mesh Bridge Protocol v1 and v2 for agents (a WebSocket at `/ws?agent_id=…`), and the relay
//! HTTP API below `/api` for the platform that sends them messages.
//!
//! - `config.rs` opens the door, `matrix.rs` says what it supports
//! - `session.rs` is the loop of one agent's connection, `link.rs` the hub's way into it
//! - `served.rs` calls that the agent works on, `calling.rs` calls that it makes, `lineage.rs` what outlives a connection
//! - `wire.rs` what is said over HTTP, `translate.rs` pure functions between wire and core, `failure.rs` the codes
//! - `signals.rs` signalling about transfers of files, `parties.rs` who may, `client.rs` as whom, `files.rs` transfers for
//!   every caller
//! - `api.rs` the routes of the HTTP API, `relay.rs` its heart, `callbacks.rs` what async relays come back with

mod api;
mod attachment;
mod bridge;
mod callbacks;
mod calling;
mod client;
mod config;
mod failure;
mod files;
mod lineage;
mod link;
mod matrix;
mod parties;
mod relay;
mod secret;
mod serve;
mod served;
mod session;
mod signals;
mod translate;
mod wire;

pub use self::{
    api::{description, router},
    bridge::{Bridge, Platform},
    callbacks::CallbackRules,
    config::{Config, FilesConfig, IceServerConfig, OLD_PLATFORM_SECRET, PLATFORM_SECRET},
    files::{
        files_router,
        rules::{FileRules, IceServer},
    },
    matrix::MATRIX,
    secret::Secret,
};

/// The door's name, for people and metrics.
pub const DOOR: &str = "bridge";
