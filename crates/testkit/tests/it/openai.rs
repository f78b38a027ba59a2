//! The OpenAI door through a whole hub: published clients, with agents of every kind behind it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod judges;
