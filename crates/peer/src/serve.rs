//! The callee's side of cards and handoffs: streams of peers go to a [`Host`], and its answers go back. The
//! door of a hub and the sidecar are hosts; neither handles streams.
//!
//! - `host.rs` the interface of a host, `work.rs` the interface of the work that a handoff becomes
//! - `stream.rs` one task per stream, `frames.rs` the answer as a stream of lines

mod frames;
mod host;
mod stream;
mod work;

use std::time::Duration;

use jackfield_model::{Failure, Reason};

pub use self::{
    frames::{FrameOutput, Frames},
    host::{HandoffProtocol, HandoffReply, Host},
    stream::{hand_off, serve_peers},
    work::{Progress, Work, answer},
};
use crate::wire::HandOff;

/// Default time for a plain answer, as in the seed.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Refuses a handoff that has passed more than `limit` hops.
pub fn check_hops(hand_off: &HandOff, limit: usize) -> Result<(), Failure> {
    if hand_off.hops as usize <= limit {
        return Ok(());
    }
    let text = format!(
        "the request came through {} hops already, and at most {limit} are allowed",
        hand_off.hops
    );
    Err(Failure::new(Reason::Loop, text))
}
