//! A call tree over four protocols: an outside caller calls an agent on a laptop (attached by `connect`), which calls an
//! A2A server (dialled by the hub), which calls a team, whose coordinator calls a libp2p peer. Hub and `connect` are the
//! real program.
//!
//! ```text
//! root ─relay─▶ laptop ─own─▶ server ─A2A─▶ squad (lead) ─bridge─▶ guest, by p2p
//! ```
//!
//! The test acts as the peer: it sends the next piece once the root has received the previous one, so that no result
//! depends on time.

#![cfg(feature = "p2p")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cancelled;
mod chain;
mod cut;
mod hub;
mod killed;
mod laptop;
mod peer;
mod published;
mod root;
mod server;
mod streamed;
mod team;
