//! Subcommands, one file each.

pub(crate) mod acp;
pub(crate) mod add;
pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod cert;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod connect;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod fetch;
pub(crate) mod invite;
pub(crate) mod ls;
pub(crate) mod mcp;
#[cfg(feature = "p2p")]
pub(crate) mod p2p;
pub(crate) mod rm;
pub(crate) mod serve;
pub(crate) mod share;
pub(crate) mod show;
pub(crate) mod task;
pub(crate) mod team;
pub(crate) mod token;
pub(crate) mod watch;
