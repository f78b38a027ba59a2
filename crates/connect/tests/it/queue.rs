//! The queue of a machine: who gets in, in which order, and what is left of those who die.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod one_process;
mod processes;

use std::time::Duration;

/// Long enough for anything that is to happen at all.
const SOON: Duration = Duration::from_secs(60);
