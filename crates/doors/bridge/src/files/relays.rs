//! Archives that go through the hub: the two requests find each other by a ticket, which the agent is told over its own
//! line. It cannot be guessed, works once, and only for a while.

use std::{collections::HashMap, sync::Arc, time::Duration};

use jackfield_core::transfers::Transfer;
use jackfield_kit::api::leash::Leash;
use jackfield_model::{Failure, Reason};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

use super::pipe::{Inlet, Outlet};

/// How long an agent has to come with its ticket.
pub(crate) const MEET_WITHIN: Duration = Duration::from_secs(30);

/// What the agent does with its request.
#[derive(Debug)]
pub(crate) enum Half {
    /// It sends: here its body goes in, for as long as the caller may have it. Whose it is.
    Send(Inlet, Leash, Arc<Transfer>),
    /// It receives: this is what it gets.
    Receive(Outlet),
}

#[derive(Debug)]
struct Waiting {
    half: Half,
    met: oneshot::Sender<()>,
}

type Hash = [u8; 32];

/// The tickets that are out, as hashes, and how much may be under way.
#[derive(Debug)]
pub(crate) struct Relays {
    waiting: Mutex<HashMap<Hash, Waiting>>,
    free: Arc<Semaphore>,
    max: usize,
}

impl Relays {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            free: Arc::new(Semaphore::new(max.min(Semaphore::MAX_PERMITS))),
            max,
        }
    }

    /// Leave for one more archive.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Failure> {
        self.free.clone().try_acquire_owned().map_err(|_| {
            let text = format!(
                "{} archives go through the hub, as many as files.max_relayed allows; try again later",
                self.max
            );
            Failure::new(Reason::Busy, text)
        })
    }

    /// A ticket for the agent's half, and the wait for whoever shows it.
    pub(crate) fn issue(self: &Arc<Self>, half: Half) -> Result<(String, Meeting), Failure> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| {
            tracing::error!(%error, "no random numbers");
            Failure::new(Reason::Internal, "the hub has no random numbers")
        })?;
        let ticket: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (met, comes) = oneshot::channel();
        let hash = hash(&ticket);
        self.waiting.lock().insert(hash, Waiting { half, met });
        let meeting = Meeting {
            relays: self.clone(),
            hash,
            comes,
        };
        Ok((ticket, meeting))
    }

    /// Where the agent with this ticket sends to, once.
    pub(crate) fn take_inlet(
        &self,
        ticket: &str,
    ) -> Result<(Inlet, Leash, Arc<Transfer>), Failure> {
        self.take(ticket, |half| match half {
            Half::Send(inlet, leash, transfer) => Ok((inlet, leash, transfer)),
            Half::Receive(_) => Err(half),
        })
    }

    /// What the agent with this ticket receives, once.
    pub(crate) fn take_outlet(&self, ticket: &str) -> Result<Outlet, Failure> {
        self.take(ticket, |half| match half {
            Half::Receive(outlet) => Ok(outlet),
            Half::Send(..) => Err(half),
        })
    }

    /// Takes the half of a ticket. One that is for the other direction stays good.
    fn take<T>(
        &self,
        ticket: &str,
        pick: impl FnOnce(Half) -> Result<T, Half>,
    ) -> Result<T, Failure> {
        let hash = hash(ticket);
        let mut waiting = self.waiting.lock();
        let Waiting { half, met } = waiting.remove(&hash).ok_or_else(no_ticket)?;
        match pick(half) {
            Ok(picked) => {
                // Whoever waited may have left just now: the half then says so.
                met.send(()).ok();
                Ok(picked)
            }
            Err(half) => {
                waiting.insert(hash, Waiting { half, met });
                Err(no_ticket())
            }
        }
    }
}

fn hash(ticket: &str) -> Hash {
    Sha256::digest(ticket.as_bytes()).into()
}

fn no_ticket() -> Failure {
    let text = format!(
        "this ticket was used, is for the other direction, or is over: each works once, within {} s",
        MEET_WITHIN.as_secs()
    );
    Failure::new(Reason::NotFound, text)
}

/// The wait for an agent with its ticket. Dropping it ends the ticket.
#[derive(Debug)]
pub(crate) struct Meeting {
    relays: Arc<Relays>,
    hash: Hash,
    comes: oneshot::Receiver<()>,
}

impl Meeting {
    /// Resolves when the agent is there.
    pub(crate) async fn met(mut self) -> Result<(), Failure> {
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

impl Drop for Meeting {
    fn drop(&mut self) {
        self.relays.waiting.lock().remove(&self.hash);
    }
}

#[cfg(test)]
mod tests;
