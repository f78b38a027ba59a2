//! The frames of the agent protocols Jackfield speaks, one module each: reading them, writing them, and nothing else.
//!
//! This crate knows no sockets, no runtime and no hub. Doors translate between these types and the core's; the SDK
//! uses the same types from the other side. Values that are only passed on stay raw JSON text, byte for byte.

pub mod bridge;
mod echo;
mod frame;
pub mod json;
pub mod observers;
pub mod p2p;
pub mod read;
pub mod time;

pub use echo::{MAX_ECHO, echo};
