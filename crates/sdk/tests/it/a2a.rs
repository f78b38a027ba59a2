//! Agents on one's own axum server: requests as raw JSON, with sockets only where hanging up matters.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod hang_up;
mod server;
