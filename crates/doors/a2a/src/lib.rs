//! The A2A door: agents of the hub, called over HTTP.
//!
//! Official A2A, versions 0.3 and 1.0, at an address per agent: what it accepts and sends is in `docs/protocols/a2a.md`.
//! And the dialect of Agno Go (seed 001): JSON-RPC bodies at `POST /a2a/message/send` and `POST /a2a/message/stream`, for
//! all agents of the hub in one space of ids, see `docs/protocols/a2a-seed.md`.
//!
//! - `config.rs` the configuration, which opens the door; `matrix.rs` what it supports
//! - `door.rs` the routes, and what their handlers share
//! - `card.rs` and `card/` the cards of agents
//! - `dial.rs` and `dial/` servers elsewhere, which the hub dials
//! - `official.rs` and `official/` the official versions, in all their bindings
//! - `wire.rs` and `wire/` the JSON of both: read, written, and nothing else
//! - `seed.rs` and `seed/` the dialect: `serve.rs` a request becomes a call, `send.rs` and `stream.rs` its two answers,
//!   `listen.rs` what an answer is made of, `translate.rs` pure functions between wire and core,
//!   `failure.rs` the codes

mod card;
mod config;
mod dial;
mod door;
mod matrix;
mod official;
mod seed;
mod wire;

pub use self::card::{BadCardKey, CardKey, Cards};
pub use self::config::{CARD_KEY, Config, RemoteConfig};
pub use self::dial::{Auth, OAuth, RemoteSpec, Remotes, Source, StartError, remotes_router};
pub use self::door::{A2a, router, router_at};
pub use self::matrix::MATRIX;
pub use self::wire::official::Version;

/// The door's name, for people and metrics.
pub const DOOR: &str = "a2a";
