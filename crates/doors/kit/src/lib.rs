//! What Jackfield's doors share and none of them owns: the HTTP server and its sockets, the WebSocket
//! that a door's actor loop turns on, the upgrade that leads from one to the other, the `Host` and
//! `Origin` guard, the body of an SSE response, the tags by which clients know an answer again, ids that may have been
//! meant, what routes of the hub's own API share, the one way out, and the courier that empties the outbox.
//! Nothing here knows a protocol.

pub mod api;
pub mod auth;
pub mod body;
pub mod door;
pub mod etag;
pub mod guard;
pub mod io;
pub mod json;
pub mod line;
pub mod mailbox;
pub mod matrix;
pub mod outbound;
pub mod outbox;
pub mod peer_user;
pub mod server;
pub mod similar;
pub mod socket;
pub mod sse;
pub mod tasks;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tls;
pub mod trace;
pub mod upgrade;
pub mod ws;
