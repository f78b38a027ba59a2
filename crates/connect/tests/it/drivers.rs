//! Drivers against stand-ins for the agents that they drive, whose real programs and servers cannot run here, and a real
//! hub. What callers get is looked at as raw JSON.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod a2a;
mod acp;
mod http;
mod openai;
mod server;
mod world;
