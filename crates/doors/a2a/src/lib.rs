//! The A2A door: agents of the hub, called over HTTP.
//!
//! One dialect so far, that of Agno Go (seed 001): JSON-RPC bodies at `POST /a2a/message/send` and
//! `POST /a2a/message/stream`, for all agents of the hub in one space of ids. What it accepts and sends, what it cannot
//! carry and where it differs from the original is in `docs/protocols/a2a.md`.
//!
//! - `door.rs` the routes, and what their handlers share
//! - `seed.rs` and `seed/` the dialect: `serve.rs` a request becomes a call, `send.rs` and `stream.rs` its two answers,
//!   `listen.rs` and `gather.rs` what an answer is made of, `translate.rs` pure functions between wire and core,
//!   `failure.rs` the codes

mod door;
mod seed;

pub use self::door::{A2a, router, router_at};

/// The door's name, for people and metrics.
pub const DOOR: &str = "a2a";
