//! Agents, workflows and teams in the process of a hub, without sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod hub;
mod peers;
mod teams;
mod workflows;
