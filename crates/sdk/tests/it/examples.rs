//! The examples, run as a reader would run them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod a2a_server;
mod attached;
mod program;
