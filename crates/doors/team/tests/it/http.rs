//! The routes of teams over real HTTP, beside the hub's own API, on a hub with a store in memory and agents whose part the
//! tests play. Every answer in JSON is checked against the hub's own description.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod board;
mod description;
mod harness;
mod making;
mod publishing;
mod refusals;
mod seed;
mod steering;
