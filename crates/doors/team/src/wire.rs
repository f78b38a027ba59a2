//! Wire types of the team stream (seed 002): all events of a team of agents, including nested teams, as a
//! single numbered stream.
//!
//! - An [`OutgoingEvent`] event consists of its [`EventSource`] and its position, and is written in two forms:
//!   [`write_envelope`] writes the seed's envelope with a wrapper per nesting level. [`flatten`] writes the
//!   WebSocket message for viewers of a team, [`flatten_single`] for viewers of a single agent.
//! - [`read_envelopes`] reads envelopes published by outside runtimes, and [`complete`] fills in missing
//!   fields.
//! - [`read_client_message`] reads messages of viewers.
//!
//! Additions to the seed: `sequence` and `team_run_id` on the outermost envelope, fields in the flattened
//! form that the published web client needs, and `GAP`. The client ignores `GAP` like every unknown type.

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
mod innermost;
mod outgoing;
mod publish;
mod read;
mod schemas;
mod segment;
mod splice;
mod status;
mod task;
#[cfg(test)]
mod tests;

pub use client::{ClientMessage, ToolDecision, message_id, read_client_message};
pub use complete::{EnvelopeDefaults, complete};
use envelope::EnvelopeOut;
pub use envelope::write_envelope;
pub use event::AgentEventData;
pub use fault::{MessageFault, code};
pub use flatten::{flatten, flatten_single};
pub use frame::{accepted, connected_agent, connected_team, error, gap, snapshot_agent_status};
pub use outgoing::{EventSource, OutgoingEvent, Stamp, SubTeamNode};
pub use publish::{PublishedEnvelope, PublishedSource, read_envelopes};
pub(crate) use schemas::{commands, messages, with_envelope};
pub use segment::{SegmentEvent, SegmentKind, SegmentMetadata};
pub use status::{AgentStatus, TeamStatus};
pub use task::{Deliverable, PlanTask};

/// Close code of a connection that named an unknown team or agent.
pub const CLOSE_NOT_FOUND: u16 = 4004;

/// Close code of a connection whose ticket is refused.
pub const CLOSE_REFUSED: u16 = 1008;

/// Maximum number of nested teams around an event.
pub const MAX_NESTING: usize = 16;

/// Limits for [`read_client_message`] and [`read_envelopes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EnvelopeLimits {
    /// Maximum nesting depth of the JSON text.
    pub max_depth: usize,
    /// Maximum number of `SUB_TEAM` wrappers around an event.
    pub max_nesting: usize,
}

impl Default for EnvelopeLimits {
    fn default() -> Self {
        EnvelopeLimits {
            max_depth: MAX_DEPTH,
            max_nesting: MAX_NESTING,
        }
    }
}
