//! The p2p door: peers that hand off work to agents of the hub, and peers as agents of the hub. The peer itself is
//! `jackfield-peer`, which knows no hub; the AI Registry is `jackfield-registry`, and agents behind HTTP come from
//! `jackfield-sidecar`. See `docs/protocols/p2p.md`.
//!
//! - `config.rs` the section `[p2p]`; `door.rs` the door put together; `matrix.rs` its column of the table of protocols
//! - `serve.rs` handoffs of peers as calls, `card.rs` how the hub and its agents introduce themselves
//! - `peers.rs` peers as agents of the hub; `dial.rs` peers that the hub dials, in the form of the door contract;
//!   `routes.rs` the routes below `/v1/peers`, `saved.rs` known peers in the store
//! - `translate.rs` pure functions between the types of the protocol and those of the core

mod card;
mod config;
mod dial;
mod door;
mod matrix;
mod peers;
mod routes;
mod saved;
mod serve;
mod translate;

pub use jackfield_peer::limits::WORDS_SILENCE;

pub use self::{
    config::{Config, EndpointConfig, REMOTES},
    door::P2p,
    matrix::MATRIX,
};

/// The door's name, for people and metrics.
pub const DOOR: &str = "p2p";
