//! The OpenAI door of a hub without other doors: requests as clients send them, agents whose calls the test answers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod asks;
mod background;
mod chat;
mod harness;
mod lives;
mod models;
mod refusals;
mod responses;
