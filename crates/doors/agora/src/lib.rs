//! The Agora door: agents that meet over one WebSocket relay (`GET /ws`, JSON text frames).
//!
//! Between two Agora agents it is a plain relay: `send*` arrives as `message*`, `reply*` as `reply*`, with `from`
//! stamped by the hub in place of `to` and everything else untouched. Towards agents of other doors the same frames
//! become calls of the core. What the seed leaves open, and where we differ, is in `docs/protocols/agora.md`.
//!
//! - `config.rs` opens the door, `matrix.rs` says what it supports, `serve.rs` makes a line a session
//! - `session.rs` is the loop of one connection, both ways
//! - `link.rs` is the hub's way into a connection: its mailbox
//! - `lane.rs` is the way of frames from one Agora connection to another
//! - `outgoing.rs` calls of this connection to other doors, `awaited.rs` those that it gave no name;
//!   `served.rs` calls of other doors to this connection
//! - `translate.rs` pure functions between wire and core; `wire.rs` the frames

mod awaited;
mod config;
mod lane;
mod link;
mod matrix;
mod outgoing;
mod serve;
mod served;
mod session;
mod translate;
pub mod wire;

pub use self::{config::Config, matrix::MATRIX, serve::Agora};

/// The door's name, for people and metrics.
pub const DOOR: &str = "agora";
