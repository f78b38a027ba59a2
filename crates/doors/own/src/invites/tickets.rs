//! Open invite tickets. Stored in memory only, as hashes: a restart of the hub drops the tickets, and reading
//! the hub's memory or files reveals no usable ticket.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use jackfield_core::principal::Grant;
use jackfield_model::{AgentId, Failure, Owner, Reason};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// Lifetime of a ticket: long enough to walk to the other machine.
pub(crate) const LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Maximum number of open tickets per owner, and in total: people create tickets by hand.
const PER_OWNER: usize = 32;
const TOTAL: usize = 1024;
/// Maximum number of wrong tickets per minute before lookups are refused.
const MISSES: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// Purpose of a ticket.
#[derive(Clone)]
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

/// Open [`InviteTicket`]s. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct InviteTickets {
    out: Arc<Mutex<OpenTickets>>,
}

#[derive(Default)]
struct OpenTickets {
    tickets: HashMap<[u8; 32], (InviteTicket, Instant)>,
    /// Start of the current minute, and wrong tickets since.
    misses: Option<(Instant, u32)>,
}

impl fmt::Debug for InviteTickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

impl InviteTickets {
    /// Creates a [`InviteTicket`]. Only the caller knows the returned secret.
    pub(crate) fn issue(&self, ticket: InviteTicket) -> Result<String, Failure> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let secret: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let now = Instant::now();
        let tickets = &mut self.out.lock().tickets;
        tickets.retain(|_, (_, until)| *until > now);
        let of_owner = tickets.values().filter(|(it, _)| it.owner == ticket.owner);
        if of_owner.count() >= PER_OWNER || tickets.len() >= TOTAL {
            let text = "too many invites are waiting to be used; try again in 15 minutes";
            return Err(Failure::new(Reason::RateLimited, text));
        }
        tickets.insert(hash(&secret), (ticket, now + LIFETIME));
        Ok(secret)
    }

    /// Redeems a [`InviteTicket`]. Works once per ticket. Returns also the end of its lifetime, for
    /// [`give_back`](Self::give_back).
    pub(crate) fn take(&self, secret: &str) -> Result<(InviteTicket, Instant), Failure> {
        let now = Instant::now();
        let mut out = self.out.lock();
        let found = out.tickets.remove(&hash(secret));
        let good =
            found.filter(|(ticket, until)| *until > now && !ticket.by.revoked.is_cancelled());
        match good {
            Some(taken) => Ok(taken),
            None => Err(out.count_miss(now)),
        }
    }

    /// Restores a ticket after a failed exchange. Its lifetime ends when it would have ended anyway.
    pub(crate) fn restore(&self, secret: &str, ticket: InviteTicket, until: Instant) {
        self.out
            .lock()
            .tickets
            .insert(hash(secret), (ticket, until));
    }
}

impl OpenTickets {
    /// Counts a wrong ticket. Valid tickets always work, regardless of the count.
    fn count_miss(&mut self, now: Instant) -> Failure {
        let (since, count) = self.misses.get_or_insert((now, 0));
        if now - *since >= MINUTE {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count > MISSES {
            let text = "too many invites were tried that do not exist; try again in a minute";
            return Failure::new(Reason::RateLimited, text);
        }
        let text = "this invite has expired or was used already; make a new one with `jackfield invite AGENT`";
        Failure::new(Reason::NotFound, text)
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(owner: &str) -> InviteTicket {
        InviteTicket {
            agent: AgentId::parse("amy").unwrap(),
            agent_type: "claude".to_owned(),
            owner: Owner::parse(owner).unwrap(),
            by: Arc::default(),
        }
    }

    fn reason(result: Result<(InviteTicket, Instant), Failure>) -> Reason {
        match result {
            Ok(_) => panic!("the ticket was good"),
            Err(failure) => failure.reason,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_works_once_and_within_its_time() {
        let tickets = InviteTickets::default();
        let [once, late] = [(); 2].map(|()| tickets.issue(ticket("ann")).unwrap());
        assert_eq!(tickets.take(&once).unwrap().0.agent.as_str(), "amy");
        assert_eq!(reason(tickets.take(&once)), Reason::NotFound);
        tokio::time::advance(LIFETIME).await;
        assert_eq!(reason(tickets.take(&late)), Reason::NotFound);
    }

    #[test]
    fn a_ticket_of_a_revoked_token_is_none() {
        let tickets = InviteTickets::default();
        let made = ticket("ann");
        let grant = made.by.clone();
        let secret = tickets.issue(made).unwrap();
        grant.revoked.cancel();
        assert_eq!(reason(tickets.take(&secret)), Reason::NotFound);
    }

    #[test]
    fn a_ticket_for_which_nothing_was_given_works_again() {
        let tickets = InviteTickets::default();
        let secret = tickets.issue(ticket("ann")).unwrap();
        let (taken, until) = tickets.take(&secret).unwrap();
        tickets.restore(&secret, taken, until);
        tickets.take(&secret).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_ticket_that_is_given_back_keeps_its_end() {
        let tickets = InviteTickets::default();
        let secret = tickets.issue(ticket("ann")).unwrap();
        tokio::time::advance(LIFETIME - MINUTE).await;
        let (taken, until) = tickets.take(&secret).unwrap();
        tickets.restore(&secret, taken, until);
        tokio::time::advance(MINUTE).await;
        assert_eq!(reason(tickets.take(&secret)), Reason::NotFound);
    }

    #[tokio::test(start_paused = true)]
    async fn an_owner_has_a_number_of_tickets_that_come_back_with_time() {
        let tickets = InviteTickets::default();
        for _ in 0..PER_OWNER {
            tickets.issue(ticket("ann")).unwrap();
        }
        let refused = tickets.issue(ticket("ann")).unwrap_err();
        assert_eq!(refused.reason, Reason::RateLimited);
        tickets.issue(ticket("bob")).unwrap();
        tokio::time::advance(LIFETIME).await;
        tickets.issue(ticket("ann")).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_guesses_is_slowed_down_and_harms_nobody_with_a_ticket() {
        let tickets = InviteTickets::default();
        let good = tickets.issue(ticket("ann")).unwrap();
        for _ in 0..MISSES {
            assert_eq!(reason(tickets.take("guess")), Reason::NotFound);
        }
        assert_eq!(reason(tickets.take("guess")), Reason::RateLimited);
        tickets.take(&good).unwrap();
        tokio::time::advance(MINUTE).await;
        assert_eq!(reason(tickets.take("guess")), Reason::NotFound);
    }
}
