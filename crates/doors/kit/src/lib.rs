//! Infrastructure shared by all doors of Jackfield. Nothing here knows a protocol.
//!
//! - [`server`], [`socket`], [`io`], [`tls`]: the HTTP server and its sockets.
//! - [`ws`], [`ws_connection`], [`mailbox`]: the WebSocket and the actor of one WebSocket connection; [`upgrade`]
//!   turns an HTTP request into a WebSocket.
//! - [`auth`], [`ticket`], [`peer_user`]: authentication, and credentials that work once.
//! - [`guard`]: the checks of the `Host` and `Origin` headers, and the answers to web pages of other origins.
//! - [`sse`], [`body`], [`etag`], [`json`], [`trace`]: bodies and headers of responses and requests.
//! - [`similar`]: suggestions for a mistyped id.
//! - [`api`]: the parts shared by the routes of the hub's own API.
//! - [`outbound`]: the only client for outgoing requests; [`outbox`]: the courier that delivers queued
//!   callbacks.
//! - [`files`]: files under signed links, for protocols that know only links.
//! - [`door`], [`dial`], [`matrix`]: the contract of a door, its part about dialling, and the table of supported
//!   features.

pub mod api;
pub mod auth;
pub mod body;
pub mod dial;
pub mod door;
pub mod etag;
pub mod files;
pub mod guard;
pub mod io;
pub mod json;
pub mod mailbox;
pub mod matrix;
pub mod outbound;
pub mod outbox;
pub mod peer_user;
pub mod schemas;
pub mod server;
pub mod similar;
pub mod socket;
pub mod sse;
pub mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod ticket;
pub mod tls;
pub mod trace;
pub mod upgrade;
pub mod ws;
pub mod ws_connection;
