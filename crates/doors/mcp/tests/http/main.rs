//! The MCP door over HTTP, in raw JSON-RPC.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod asks;
mod cancels;
mod elicitation;
mod handshake;
mod harness;
mod origins;
mod refusals;
mod results;
mod tasks;
