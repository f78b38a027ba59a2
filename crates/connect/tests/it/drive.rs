//! Local agents at a real hub: callers receive the output of the agent processes, and no process is left behind. The
//! agents are stand-ins that print the documented lines, since the real programs can't run in tests.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claude;
mod exec;
mod files;
mod fixture;
mod owner;
mod peers;
