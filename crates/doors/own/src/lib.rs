//! The hub's own HTTP API.
