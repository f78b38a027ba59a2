//! `kill -9` against the real program: whatever the hub said it accepted ends, and whoever wanted to be told is told.
//!
//! docs/promises.md (Restarts) says what becomes of a task whose hub was killed, and each test names the rule that it is about:
//!
//! - **accepted**: `202` only after the commit.
//! - **unsent**: it goes out when its agent registers.
//! - **sent**: it waits for an agent that resumes it, or is found again at the server that works on it.
//! - **the rest** fails `offline`, and the callback says so: no message is run twice.
//! - **outbox**: the end and its callback are one commit, and a callback is tried until somebody takes it, always under
//!   the same `Idempotency-Key`.
//!
//! A hub is killed when something has been seen of it (a frame, an answer, a post), never after a time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accepted;
mod agent;
mod dialled;
mod dice;
mod ended;
mod gentle;
mod hub;
mod many;
mod memory;
mod outbox;
mod places;
mod platform;
mod receiver;
mod resumed;
mod sent;
mod server;
