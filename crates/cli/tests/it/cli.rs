//! The commands as users run them: the real binary against a real hub.

mod acp;
mod admin;
mod agents;
mod asks;
mod callbacks;
mod calls;
mod codes;
mod connect;
mod connected;
mod decisions;
mod demo;
mod docs;
mod fake;
mod files;
mod invite;
mod local;
mod mcp;
#[cfg(feature = "p2p")]
mod p2p;
#[cfg(feature = "p2p")]
mod peers;
#[cfg(feature = "p2p")]
mod picture;
mod proxy;
mod remotes;
mod remotes_found;
mod serve;
#[cfg(feature = "p2p")]
mod sidecar;
mod survives;
mod tasks;
mod teams;
mod terminal;
mod tls;
mod tokens;
mod typed;
mod unnamed;
mod watch;
mod watch_team;
