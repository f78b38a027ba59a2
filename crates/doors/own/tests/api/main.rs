//! The whole API over real HTTP, on a hub with a store in memory and scripted agents. Every answer in
//! JSON is checked against the hub's own description.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod callbacks;
mod calls;
mod decisions;
mod description;
mod files;
mod harness;
mod invites;
mod open_calls;
mod refusals;
mod tasks;
mod tickets;
mod tokens;
mod turns;
mod watch;
