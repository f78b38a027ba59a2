//! The bridge door: Agent Mesh Bridge Protocol v1 and v2 for agents (a WebSocket at `/ws?agent_id=…`), and
//! the relay HTTP API below `/api` for the platform that sends messages to agents.
//!
//! - `config.rs` opens the door ([`Config`]), `door.rs` holds its state ([`Bridge`]), `limits.rs` holds its limits ([`BridgeLimits`]), `matrix.rs` lists its
//!   features ([`MATRIX`])
//! - `session.rs` is the loop of one agent's connection, `link.rs` the hub's link to the connection
//! - `served_request.rs` handles calls that the agent works on, `agent_call.rs` calls that the agent makes, `lineage.rs`
//!   the state that outlives a connection
//! - `wire.rs` holds the HTTP bodies, `translate.rs` pure functions between wire and core, `failure.rs` the
//!   error codes
//! - `signals.rs` passes signals about file transfers, `parties.rs` checks permissions, `client.rs` derives
//!   client ids, `files.rs` serves transfers to every caller
//! - `api.rs` holds the routes of the HTTP API, `relay.rs` the relay itself, `callbacks.rs` the callbacks of
//!   async relays

mod agent_call;
mod api;
mod attachment;
mod callbacks;
mod client;
mod config;
mod door;
mod failure;
mod files;
mod limits;
mod lineage;
mod link;
mod matrix;
mod parties;
mod relay;
mod schemas;
mod secret;
mod served_request;
mod session;
mod signals;
mod translate;
mod wire;

pub use self::{
    api::{description, router},
    callbacks::CallbackRules,
    config::{Config, FilesConfig, IceServerConfig, OLD_PLATFORM_SECRET, PLATFORM_SECRET},
    door::{Bridge, PlatformSettings},
    files::{
        files_router,
        rules::{FileRules, IceServer},
    },
    limits::BridgeLimits,
    matrix::MATRIX,
    secret::SharedSecret,
};

/// Name of the door, for display and metrics.
pub const DOOR: &str = "bridge";
