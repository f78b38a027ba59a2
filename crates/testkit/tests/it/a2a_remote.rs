//! Published A2A servers of other authors as agents of a hub, each called from every door. `cargo xtask test` installs
//! them; without them their tests only print a notice.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod callers;
mod found;
mod promises;
mod server;
mod servers;
mod troubles;
mod unknown;
