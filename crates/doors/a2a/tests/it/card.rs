//! The cards of agents as their readers meet them: raw requests to a real server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod access;
mod caching;
mod content;
mod harness;
mod signing;
