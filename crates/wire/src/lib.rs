//! JSON between agents and the hub: [`read`] reads it into derived types and names the field that is wrong, [`json`] handles
//! raw text that is passed on byte for byte.
//!
//! What more than one crate speaks of a protocol stands here too: the frames of the [`bridge`], which the SDK uses from the
//! other side, and the cards and paths of [`p2p`]. All else lives in the doors. This crate knows no sockets, no runtime
//! and no hub.

pub mod bridge;
mod echo;
pub mod json;
pub mod observers;
pub mod p2p;
pub mod read;
pub mod time;

pub use echo::{MAX_ECHO, echo};
