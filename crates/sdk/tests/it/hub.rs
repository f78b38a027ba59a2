//! Being an agent and calling one, against a real hub, with cuts in between.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod asks;
mod beside;
mod calls;
mod cuts;
mod gone;
mod peers;
mod restart;
mod tls;
mod transfers;
