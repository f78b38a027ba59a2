//! The machine-wide queue: admission, order, and cleanup after killed processes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod one_process;
mod processes;

use std::time::Duration;

/// Timeout that only a failing test reaches.
const SOON: Duration = Duration::from_secs(60);
