//! The protocol-neutral heart of Jackfield: agents, principals, calls, pipes, tasks, the hub. No sockets.
//!
//! A door turns its protocol's requests into [`hub::Request`]s and implements [`agent::Link`] for its agents; between
//! the two, a [`call::Call`] carries events from socket to socket through its pipes. See `docs/architecture.md`.

pub mod agent;
pub mod budget;
pub mod call;
pub mod chain;
mod clock;
mod door;
pub mod entry;
pub mod gate;
pub mod hub;
pub mod inbox;
pub mod limits;
pub mod metrics;
pub mod observer;
pub mod outbox;
pub mod pipe;
pub mod principal;
pub mod ready;
pub mod reply;
pub mod resolver;
pub mod resume;
pub mod shared;
pub mod shares;
pub mod store;
pub mod tap;
pub mod task;
pub mod token;
pub mod units;
