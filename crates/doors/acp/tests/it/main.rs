//! The ACP door over a WebSocket, in raw frames.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bad_input;
mod cancels;
mod handshake;
mod harness;
mod loading;
mod prompts;
mod questions;
