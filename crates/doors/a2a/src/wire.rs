//! JSON of A2A, the protocol for agents that call each other over HTTP. The dialects share little but the
//! name, so each dialect has a module of its own.
//!
//! - [`seed`]: the interface of Agno Go (seed 001)
//! - [`official`]: the protocol of the A2A project, versions 0.3 and 1.0
//! - [`card`]: the agent cards of the official protocol

mod base64;
pub(crate) mod card;
pub(crate) mod official;
pub(crate) mod seed;
pub(crate) mod write;
