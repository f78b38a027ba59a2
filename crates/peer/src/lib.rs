//! A libp2p peer: agents that meet by the protocols `/ai-agent/card/1.0.0` and `/ai-agent/handoff/1.0.0`. It knows no hub;
//! the p2p door, the registry, the sidecar and the commands `jackfield p2p …` are built on it.
//!
//! The node:
//!
//! - `identity.rs` the key in the data directory
//! - `node.rs` the handle of the node; `node/` the task that owns the swarm, the behaviours, the connected peers
//! - `streams.rs` raw streams on named protocols, in both directions; `protocol.rs` the names of ours
//! - `known.rs` the peers that the operator wants a connection with or blocks
//! - `address.rs` pure functions about multiaddrs, `origin.rs` which connections come from this machine
//! - `limits.rs` every limit with its reason, `retry.rs` the delays between attempts
//!
//! Cards and handoffs:
//!
//! - `wire.rs` the JSON of the protocols and of the registry; `exchange.rs` how a request and its answer go over a stream
//! - `delegate.rs` the caller's side of a handoff, `inquire.rs` the card and the lists of another peer
//! - `serve.rs` the callee's side: streams to a [`Host`](serve::Host), and its answers back
//! - `allowed.rs` which peers may hand off, `permits.rs` how much each may ask at once and per second
//! - `failure.rs` failures in the codes of the protocol, and back
//! - `card.rs` the card of one agent, `agent_id.rs` the id of a peer as an agent, `proof.rs` how a peer signs a registration

pub mod address;
pub mod agent_id;
pub mod allowed;
pub mod card;
pub mod delegate;
pub mod exchange;
pub mod failure;
pub mod identity;
pub mod inquire;
pub mod known;
pub mod limits;
pub mod node;
pub mod origin;
pub mod permits;
pub mod proof;
mod protocol;
pub mod retry;
pub mod serve;
pub mod streams;
pub mod wire;

pub use libp2p::{Multiaddr, PeerId, StreamProtocol, futures, identity as keys, multiaddr};

pub use self::protocol::{CARD, HANDOFF, HANDOFF_STREAM};
