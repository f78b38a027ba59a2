//! JSON between agents and the hub. [`read`] parses JSON into derived types and names the wrong field in
//! errors; [`json`] handles raw text that is passed on byte for byte.
//!
//! Protocol types that more than one crate uses are here too: the frames of the [`bridge`], which the SDK
//! uses from the other side, and the cards and paths of [`p2p`]. All other protocol types live in the doors.
//! This crate has no sockets, no runtime and no dependency on the hub.

pub mod bridge;
mod echo;
pub mod json;
pub mod observers;
pub mod p2p;
pub mod read;
pub mod time;

pub use echo::{MAX_ECHO, echo};
