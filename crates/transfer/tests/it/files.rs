//! Promises of this crate, tested with real files and hand-made archives.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod behind;
mod helpers;
mod loose;
mod pack;
mod part;
mod pipe;
mod raw;
mod round_trip;
mod transfer;
mod unpack;
