//! The kit from outside: a whole server, spoken to over real sockets.
#![allow(clippy::unwrap_used, reason = "the helpers are tests too")]

mod common;
mod endless;
mod http2;
mod server;
mod shares;
mod websocket;
