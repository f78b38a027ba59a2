//! One call tree over four protocols: an outside caller asks an agent on a laptop (brought by `connect`), which asks an A2A
//! server (dialled by the hub), which asks a team, whose coordinator asks a libp2p peer. The hub is the real program, and
//! so is what brings the laptop's agent.
//!
//! ```text
//! root ─relay─▶ laptop ─own─▶ server ─A2A─▶ squad (lead) ─bridge─▶ guest, by p2p
//! ```
//!
//! The test is the peer: it speaks the next piece when the root has heard the one before, so that nothing depends on time.

#![cfg(feature = "p2p")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cancelled;
mod chain;
mod crew;
mod cut;
mod guest;
mod hub;
mod killed;
mod laptop;
mod published;
mod root;
mod server;
mod streamed;
