//! The team stream (seed 002): everything that happens in a team of agents, nested teams included, as one numbered stream.
//!
//! An event is made of its [`Source`] and its place ([`Outgoing`]) and written in two forms: [`write_envelope`] gives the
//! seed's envelope, one wrapper per level of nesting; [`flatten`] gives the message of the WebSocket, and
//! [`flatten_single`] that of a single agent. [`read_envelopes`] takes what outside runtimes publish, [`complete`] fills
//! in what they left out, and [`read_client_message`] takes what viewers say.
//!
//! Beyond the seed: `sequence` and `team_run_id` on the outermost envelope, what the published web client needs in the
//! flattened form, and `GAP`, which that client ignores as it does every type that it does not know.

use jackfield_wire::json::MAX_DEPTH;

mod client;
mod complete;
mod envelope;
mod event;
mod event_id;
mod event_type;
mod fault;
mod flatten;
mod frame;
mod leaf;
mod outgoing;
mod publish;
mod read;
mod segment;
mod splice;
mod status;
mod task;
#[cfg(test)]
mod tests;

pub use client::{ClientMessage, Decision, message_id, read_client_message};
pub use complete::{Fill, complete};
pub use envelope::write_envelope;
pub use event::MemberEvent;
pub use fault::{Fault, code};
pub use flatten::{flatten, flatten_single};
pub use frame::{accepted, connected_agent, connected_team, error, gap, snapshot_agent_status};
pub use outgoing::{Node, Outgoing, Source, Stamp};
pub use publish::{Published, Said, read_envelopes};
pub use segment::{Metadata, Segment, SegmentKind};
pub use status::{AgentStatus, TeamStatus};
pub use task::{Deliverable, TaskView};

/// The close code of a connection that named a team or an agent which is not there.
pub const CLOSE_NOT_FOUND: u16 = 4004;

/// How many teams may stand around an event, one in the other.
pub const MAX_NESTING: usize = 16;

/// What a message or an envelope may not exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep the whole JSON may be nested.
    pub max_depth: usize,
    /// How many `SUB_TEAM` wrappers may stand around an event.
    pub max_nesting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_depth: MAX_DEPTH,
            max_nesting: MAX_NESTING,
        }
    }
}
