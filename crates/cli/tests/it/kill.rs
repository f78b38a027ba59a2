//! `kill -9` against the real program: every accepted request ends, and every callback is delivered.
//!
//! docs/promises.md (Restarts) defines what happens to the tasks of a killed hub. Each test names the rule it covers:
//!
//! - **accepted**: `202` only after the commit.
//! - **unsent**: the message is sent when its agent registers.
//! - **sent**: the task waits for an agent that resumes it, or is found again at the remote server.
//! - **the rest** fails as `offline`, with a callback: no message is run twice.
//! - **outbox**: an end and its callback are a single commit. A callback is retried until accepted, always under the
//!   same `Idempotency-Key`.
//!
//! Tests kill the hub after an observed event (a frame, a response, a post), never after a fixed time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accepted;
mod agent;
mod dialled;
mod ended;
mod gentle;
mod hub;
mod many;
mod memory;
mod outbox;
mod places;
mod platform;
mod random;
mod receiver;
mod resumed;
mod sent;
mod server;
