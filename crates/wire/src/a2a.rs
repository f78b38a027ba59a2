//! A2A: agents that call each other over HTTP. Its dialects share little but the name, so each has a module of its own.
//!
//! [`seed`] is the interface of Agno Go (seed 001).

pub mod seed;
