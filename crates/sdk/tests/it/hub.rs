//! Agents and callers of the SDK against a real hub, with cut connections.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod asks;
mod background;
mod calls;
mod cuts;
mod gone;
mod peers;
mod restart;
mod tls;
mod transfers;
