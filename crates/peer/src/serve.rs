//! The callee's side of cards and handoffs: streams of peers go to a [`Host`], and what the host answers goes back. The
//! door of a hub is a host, and so is a sidecar; neither knows streams.
//!
//! - `host.rs` who serves, and what a peer gets; `work.rs` one handoff that is worked on
//! - `stream.rs` one task per stream; `frames.rs` the answer as a stream of lines

mod frames;
mod host;
mod stream;
mod work;

use std::time::Duration;

use jackfield_model::{Failure, Reason};

pub use self::{
    frames::{Frames, Piece},
    host::{Answer, Host, Way},
    stream::{hand_off, serve_peers},
    work::{Progress, Work, answer},
};
use crate::wire::HandOff;

/// How long an agent has for a plain answer, if not configured: as in the seed.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// Refuses a handoff that has passed more than `limit` hops. The caller of this counts on from the request; a request
/// over the limit does not get that far.
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
