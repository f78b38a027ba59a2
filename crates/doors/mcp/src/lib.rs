//! The MCP door: models find agents and call them as tools, over MCP's streamable HTTP at `/mcp`. See
//! `docs/protocols/mcp.md`, and <https://modelcontextprotocol.io> for the protocol. The crate `rmcp`
//! implements the protocol.
//!
//! The door keeps no state between requests, so a restart of the hub loses no session. The session id
//! distinguishes the requests of different clients, for cancelling, and says whether the client can ask its user. What waits,
//! waits in the core's task; see decision 40.

mod config;
mod door;
mod failure;
mod handler;
mod limits;
mod outcome;
mod progress;
mod questions;
mod running;
mod serve;
mod session;
mod tasks;
mod tool_request;
mod tools;
mod waiting;

pub use self::{
    config::Config,
    door::{McpState, router},
};

/// Name of the door in logs, error messages and metrics.
pub const DOOR: &str = "mcp";
