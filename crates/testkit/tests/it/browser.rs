//! Web pages of other origins at a whole hub: what they may send and read, by raw requests, and a page in a browser.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cors;
mod page;
