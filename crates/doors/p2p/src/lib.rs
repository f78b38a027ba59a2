//! The p2p door: agents that meet over libp2p, by the protocols `/ai-agent/card/1.0.0` and `/ai-agent/handoff/1.0.0`.
//!
//! The node, which knows nothing of the hub:
//!
//! - `identity.rs` the key in the data directory
//! - `node.rs` the handle of the node; `node/` the task that owns the swarm, what it is made of, what it shows
//! - `streams.rs` raw streams on named protocols, in both directions
//! - `exchange.rs` how a request and its answer go over a stream
//! - `delegate.rs` the caller's side of a handoff, `inquire.rs` what else is asked of a peer
//! - `permits.rs` how much a peer may ask at once and per second
//! - `address.rs` pure functions about multiaddrs, `origin.rs` which connections come from this machine, `limits.rs` every limit with its reason, `waits.rs` when to try again
//!
//! The hub's side of it:
//!
//! - `serve.rs` handoffs to agents of the hub, `card.rs` how they introduce themselves
//! - `registry.rs` the AI Registry
//! - `peers.rs` peers as agents of the hub, `contacts.rs` those that it keeps or refuses
//! - `wire.rs` the protocol's JSON; `translate.rs` pure functions between its types and the core's
//!
//! Without a hub:
//!
//! - `sidecar.rs` a node beside one agent behind HTTP

pub mod address;
mod card;
mod config;
mod contacts;
pub mod delegate;
mod door;
pub mod exchange;
pub mod identity;
mod inquire;
pub mod limits;
mod matrix;
pub mod node;
pub mod origin;
mod peers;
pub mod permits;
pub mod registry;
pub mod serve;
pub mod sidecar;
pub mod streams;
mod translate;
mod waits;
pub mod wire;

pub use libp2p::{Multiaddr, PeerId};

pub use self::{
    config::{Config, EndpointConfig},
    door::{CARD, HANDOFF, HANDOFF_STREAM, P2p, Setting, StartError},
    inquire::{fetch, fetch_card},
    matrix::MATRIX,
};

/// The door's name, for people and metrics.
pub const DOOR: &str = "p2p";
