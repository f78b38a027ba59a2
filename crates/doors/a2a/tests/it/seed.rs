//! The seed's interface as its callers meet it: raw bodies to a real server, and an agent whose part the test plays.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bodies;
mod callers;
mod ends;
mod examples;
mod harness;
mod refusals;
mod send;
mod slow;
mod stream;
