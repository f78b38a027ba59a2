//! Drivers against stand-ins for their agents, at a real hub. The real programs and servers can't run in tests. Callers
//! read raw JSON.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod a2a;
mod acp;
mod fixture;
mod http;
mod hubs;
mod openai;
mod server;
