//! Remote servers as agents of a hub: a real server at the other end, a hub with the routes that manage them, and a clock
//! that stands still until the test moves it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod adding;
mod harness;
mod lives;
mod repeats;
mod routes;
mod streams;
