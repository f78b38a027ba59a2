//! Agents of this machine at a real hub: what their processes print arrives at callers, and nothing of them stays behind.
//! The agents are stand-ins that print the documented lines, since the real programs cannot run where the tests do.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod claude;
mod exec;
mod files;
mod owner;
mod peers;
mod rig;
