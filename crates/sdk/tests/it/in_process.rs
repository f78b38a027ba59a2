//! Agents, workflows and teams inside the hub's process, without sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
#[path = "../../examples/conformance/behaviour.rs"]
mod behaviour;
mod conformance;
mod hub;
mod peers;
mod teams;
mod workflows;
