//! What this crate promises, with real files and archives that are made by hand.

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
