//! The gRPC binding as its callers meet it: a client that was generated from the published definition, on a real socket, and
//! an agent whose part the test plays. Messages are written as the JSON that the definition gives them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod harness;
mod limits;
mod operations;
mod refusals;
mod streams;
