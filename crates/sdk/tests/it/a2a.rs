//! Agents on the user's own axum server: requests as raw JSON, with sockets only where a disconnect
//! matters.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod hang_up;
mod server;
