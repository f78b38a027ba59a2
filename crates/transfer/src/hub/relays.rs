//! Archives that pass through the hub. The two requests find each other by a ticket, which the agent gets
//! over its own connection. A ticket cannot be guessed, works once, and expires.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jackfield_kit::api::lifetime::RequestLifetime;
use jackfield_model::{Failure, Reason};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

use super::{
    pipe::{ArchiveReceiver, ArchiveSender},
    registry::Transfer,
};

/// Time for an agent to connect with its ticket.
const MEET_WITHIN: Duration = Duration::from_secs(30);

/// The agent's side of a relayed archive.
#[derive(Debug)]
pub enum AgentSide {
    /// The agent sends into the [`ArchiveSender`], as long as the caller's [`RequestLifetime`] holds. The [`Transfer`] names
    /// the parties.
    Send(ArchiveSender, RequestLifetime, Arc<Transfer>),
    /// The agent receives from the [`ArchiveReceiver`].
    Receive(ArchiveReceiver),
}

#[derive(Debug)]
struct IssuedTicket {
    half: AgentSide,
    met: oneshot::Sender<()>,
}

type TicketHash = [u8; 32];

/// Issued tickets, as hashes, and the limit on relayed archives.
#[derive(Debug)]
pub struct ArchiveRelays {
    waiting: Mutex<HashMap<TicketHash, IssuedTicket>>,
    free: Arc<Semaphore>,
    max: usize,
}

impl ArchiveRelays {
    /// Creates the relays of a hub, for `max` archives at once.
    pub fn new(max: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            free: Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS))),
            max,
        }
    }

    /// Reserves a slot for one archive.
    pub fn permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        self.free.clone().try_acquire_owned().map_err(|_| {
            let text = format!(
                "{} archives go through the hub, as many as files.max_relayed allows; try again later",
                self.max
            );
            Failure::new(Reason::Busy, text)
        })
    }

    /// Issues a ticket for the agent's side. Returns the ticket, and the [`TicketWait`] that waits for the
    /// agent.
    pub fn issue(self: &Arc<Self>, half: AgentSide) -> Result<(String, TicketWait), Failure> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            tracing::error!(%error, "no random numbers");
            Failure::new(Reason::Internal, "the hub has no random numbers")
        })?;
        let ticket: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (met, comes) = oneshot::channel();
        let hash = hash(&ticket);
        self.waiting.lock().insert(hash, IssuedTicket { half, met });
        let meeting = TicketWait {
            relays: self.clone(),
            hash,
            comes,
        };
        Ok((ticket, meeting))
    }

    /// Redeems the ticket of a sending agent.
    pub fn take_inlet(
        &self,
        ticket: &str,
    ) -> Result<(ArchiveSender, RequestLifetime, Arc<Transfer>), Failure> {
        self.take(ticket, |half| match half {
            AgentSide::Send(inlet, lifetime, transfer) => Ok((inlet, lifetime, transfer)),
            AgentSide::Receive(_) => Err(half),
        })
    }

    /// Redeems the ticket of a receiving agent.
    pub fn take_outlet(&self, ticket: &str) -> Result<ArchiveReceiver, Failure> {
        self.take(ticket, |half| match half {
            AgentSide::Receive(outlet) => Ok(outlet),
            AgentSide::Send(..) => Err(half),
        })
    }

    /// Redeems a ticket. A ticket used for the wrong direction stays valid.
    fn take<T>(
        &self,
        ticket: &str,
        pick: impl FnOnce(AgentSide) -> Result<T, AgentSide>,
    ) -> Result<T, Failure> {
        let hash = hash(ticket);
        let mut waiting = self.waiting.lock();
        let IssuedTicket { half, met } = waiting.remove(&hash).ok_or_else(no_ticket)?;
        match pick(half) {
            Ok(picked) => {
                // The waiting caller may have left just now; the pipe then reports it.
                met.send(()).ok();
                Ok(picked)
            }
            Err(half) => {
                waiting.insert(hash, IssuedTicket { half, met });
                Err(no_ticket())
            }
        }
    }
}

fn hash(ticket: &str) -> TicketHash {
    Sha256::digest(ticket.as_bytes()).into()
}

fn no_ticket() -> Failure {
    let text = format!(
        "this ticket was used, is for the other direction, or is over: each works once, within {} s",
        MEET_WITHIN.as_secs()
    );
    Failure::new(Reason::NotFound, text)
}

/// The wait for an agent with its ticket, see [`ArchiveRelays::issue`]. Dropping the meeting revokes the ticket.
#[derive(Debug)]
pub struct TicketWait {
    relays: Arc<ArchiveRelays>,
    hash: TicketHash,
    comes: oneshot::Receiver<()>,
}

impl TicketWait {
    /// Waits until the agent connects.
    pub async fn wait(mut self) -> Result<(), Failure> {
        match timeout(MEET_WITHIN, &mut self.comes).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Failure::new(
                Reason::Timeout,
                format!(
                    "the agent did not come for the archive within {} s; it may not be able to move files, or not through the hub",
                    MEET_WITHIN.as_secs()
                ),
            )),
        }
    }
}

impl Drop for TicketWait {
    fn drop(&mut self) {
        self.relays.waiting.lock().remove(&self.hash);
    }
}

#[cfg(test)]
mod tests;
