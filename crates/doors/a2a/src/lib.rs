//! A2A door: agents of the hub, called over HTTP and gRPC.
//!
//! The door serves two protocols:
//! - Official A2A, versions 0.3 and 1.0, at an address per agent. `docs/protocols/a2a.md` lists the accepted
//!   and sent messages.
//! - The dialect of Agno Go (seed 001): JSON-RPC bodies at `POST /a2a/message/send` and `POST
//!   /a2a/message/stream`, for all agents of the hub, see `docs/protocols/a2a-seed.md`.
//!
//! The modules:
//! - `config`: the configuration ([`Config`]), which opens the door, `matrix`: the supported features
//!   ([`MATRIX`])
//! - `door`: the routes and the shared state of their handlers ([`A2aDoor`])
//! - `card`: the cards of agents ([`Cards`])
//! - `dial`: remote servers that the hub calls ([`Remotes`])
//! - `official`: the official versions, in all bindings
//! - `wire`: reading and writing of the JSON of both protocols
//! - `seed`: the dialect of Agno Go

mod card;
mod config;
mod dial;
mod door;
mod matrix;
mod official;
mod seed;
mod wire;

pub use self::card::{BadCardKey, CardKey, Cards};
pub use self::config::{CARD_KEY, Config, REMOTES};
pub use self::dial::{
    Auth, OAuth, RemoteSpec, Remotes, RemotesStartError, SecretLocation, cards_router,
};
pub use self::door::{A2aDoor, router, router_at};
pub use self::matrix::MATRIX;
pub use self::wire::official::A2aVersion;

/// Name of the door, for display and metrics.
pub const DOOR: &str = "a2a";
