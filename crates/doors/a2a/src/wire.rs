//! A2A: agents that call each other over HTTP. Its dialects share little but the name, so each has a module of its own.
//!
//! [`seed`] is the interface of Agno Go (seed 001); [`official`] is the protocol of the A2A project, in its versions 0.3
//! and 1.0; [`card`] is how an agent introduces itself there.

mod base64;
pub(crate) mod card;
pub(crate) mod official;
pub(crate) mod seed;
pub(crate) mod write;
