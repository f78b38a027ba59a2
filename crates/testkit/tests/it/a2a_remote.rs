//! Published A2A servers of other authors as agents of a hub: each is called from every door. `cargo xtask test` prepares
//! them; without them their tests only say so.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod callers;
mod promises;
mod server;
mod servers;
mod troubles;
mod unknown;
