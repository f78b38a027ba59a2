//! The Agora door: agents connected through one WebSocket relay (`GET /ws`, JSON text frames).
//!
//! Between two Agora agents the hub is a plain relay: `send*` arrives as `message*`, `reply*` as `reply*`,
//! with `from` set by the hub in place of `to` and all other fields unchanged. For agents of other doors the
//! same frames become calls of the core. `docs/protocols/agora.md` lists the points left open by the original
//! protocol (the seed), and our differences.
//!
//! - `config.rs` opens the door ([`Config`]), `matrix.rs` lists its features ([`MATRIX`]), `door.rs` starts a
//!   session for a connection ([`Agora`])
//! - `session.rs` is the loop of one connection, both ways
//! - `link.rs` is the link of the hub to a connection, with its mailbox
//! - `route.rs` is the direct route of frames from one Agora connection to another
//! - `outbound_call.rs` handles calls of the connection to other doors, `awaited.rs` those without an id;
//!   `inbound_call.rs` handles calls of other doors to the connection
//! - `translate.rs` holds pure functions between wire and core; [`wire`] holds the frames

mod awaited;
mod config;
mod door;
mod inbound_call;
mod link;
mod matrix;
mod outbound_call;
mod route;
mod session;
mod translate;
pub mod wire;

pub use self::{config::Config, door::Agora, matrix::MATRIX};

/// Name of the door, for display and metrics.
pub const DOOR: &str = "agora";
