//! The ticket of an invite: what it allows, for how long, and how many there may be.

use std::{sync::Arc, time::Duration};

use jackfield_core::principal::Grant;
use jackfield_kit::ticket::{TicketKind, Tickets};
use jackfield_model::{AgentId, Failure, Owner, Reason};

/// Unused tickets of invites.
pub(crate) type InviteTickets = Tickets<InviteTicket>;

/// Purpose of a ticket.
#[derive(Debug, Clone)]
pub(crate) struct InviteTicket {
    /// Agent that the token may register.
    pub(crate) agent: AgentId,
    /// Type of the agent.
    pub(crate) agent_type: String,
    /// Owner of the agent.
    pub(crate) owner: Owner,
    /// Grant of the creator. Revoking the creator's token invalidates the ticket.
    pub(crate) by: Arc<Grant>,
}

impl TicketKind for InviteTicket {
    /// Long enough to walk to the other machine.
    const LIFETIME: Duration = Duration::from_secs(15 * 60);
    /// People create invites by hand.
    const PER_OWNER: usize = 32;
    const TOTAL: usize = 1024;
    /// Clients of Agent Mesh know tickets without a prefix.
    const PREFIX: &'static str = "";

    fn owner(&self) -> &Owner {
        &self.owner
    }

    fn grant(&self) -> &Grant {
        &self.by
    }

    fn too_many() -> Failure {
        let text = "too many invites are waiting to be used; try again in 15 minutes";
        Failure::new(Reason::RateLimited, text)
    }

    fn unknown() -> Failure {
        let text = "this invite has expired or was used already; make a new one with `jackfield invite AGENT`";
        Failure::new(Reason::NotFound, text)
    }
}
