//! A Jackfield hub as a library: its configuration ([`config`]), and its store, core, doors and server put together
//! ([`assembly`]). The program `jackfield` runs it, and so do tests, on port 0.

pub mod address;
pub mod assembly;
pub mod callbacks;
pub mod cards;
pub mod carried;
pub mod config;
pub mod files;
#[cfg(feature = "p2p")]
mod p2p;
pub mod platform;
mod signpost;
mod ws;
