//! Tickets: credentials that work once, for a short time. [`Tickets`] is the one mechanism. A [`TicketKind`] says
//! what a ticket of its kind allows and for how long: [`BrowserTicket`] opens one WebSocket of a web page, and an
//! invite of the hub's own API brings one agent to the hub.
//!
//! Tickets are stored in memory only, as hashes: a restart of the hub drops them, and reading the hub's memory
//! or files reveals no usable ticket. A ticket ends with the token that its creator used.

mod browser;
#[cfg(test)]
mod tests;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use jackfield_core::principal::Grant;
use jackfield_model::{Failure, Owner, Reason};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::time::Instant;

pub(crate) use self::browser::redeem;
pub use self::browser::{
    BROWSER_PROTOCOL, BrowserTicket, TICKET_PARAMETER, TICKET_PROTOCOL, TicketOutcome,
};

/// Maximum number of wrong tickets of one kind per minute before further ones are refused as `rate_limited`.
const MISSES: u32 = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// What a ticket allows, and the limits of tickets of this kind.
pub trait TicketKind {
    /// Lifetime of a ticket.
    const LIFETIME: Duration;
    /// Maximum number of unused tickets per owner.
    const PER_OWNER: usize;
    /// Maximum number of unused tickets in total.
    const TOTAL: usize;
    /// First characters of a ticket.
    const PREFIX: &'static str;

    /// Returns the owner whose number of tickets is limited.
    fn owner(&self) -> &Owner;

    /// Returns the grant of the creator. Its end invalidates the ticket.
    fn grant(&self) -> &Grant;

    /// Returns the failure for a creator with too many unused tickets.
    fn too_many() -> Failure;

    /// Returns the failure for a ticket that has expired, was used, or never existed.
    fn unknown() -> Failure;
}

/// The unused tickets of one kind. Cheap to clone.
pub struct Tickets<K> {
    unused: Arc<Mutex<UnusedTickets<K>>>,
}

impl<K> Clone for Tickets<K> {
    fn clone(&self) -> Self {
        Self {
            unused: self.unused.clone(),
        }
    }
}

impl<K> Default for Tickets<K> {
    fn default() -> Self {
        let unused = UnusedTickets {
            by_hash: HashMap::new(),
            misses: None,
        };
        Self {
            unused: Arc::new(Mutex::new(unused)),
        }
    }
}

impl<K> fmt::Debug for Tickets<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").finish_non_exhaustive()
    }
}

struct UnusedTickets<K> {
    by_hash: HashMap<[u8; 32], (K, Instant)>,
    /// Start of the current minute, and wrong tickets since.
    misses: Option<(Instant, u32)>,
}

impl<K: TicketKind> Tickets<K> {
    /// Creates a ticket. Only the caller knows the returned secret.
    pub fn issue(&self, ticket: K) -> Result<String, Failure> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        let secret = bytes.iter().fold(K::PREFIX.to_owned(), |text, byte| {
            text + &format!("{byte:02x}")
        });
        let now = Instant::now();
        let by_hash = &mut self.unused.lock().by_hash;
        by_hash.retain(|_, (_, until)| *until > now);
        let owners = by_hash
            .values()
            .filter(|(other, _)| other.owner() == ticket.owner());
        if owners.count() >= K::PER_OWNER || by_hash.len() >= K::TOTAL {
            return Err(K::too_many());
        }
        by_hash.insert(hash(&secret), (ticket, now + K::LIFETIME));
        Ok(secret)
    }

    /// Uses a ticket up, whether or not the caller may use it. Returns also the end of its lifetime, for
    /// [`restore`](Self::restore).
    pub fn take(&self, secret: &str) -> Result<(K, Instant), Failure> {
        let now = Instant::now();
        let hash = hash(secret);
        let mut unused = self.unused.lock();
        let found = unused.by_hash.remove_entry(&hash);
        let valid = found.filter(|(key, (ticket, until))| {
            bool::from(key.ct_eq(&hash)) && *until > now && !ticket.grant().is_over()
        });
        match valid {
            Some((_, taken)) => Ok(taken),
            None => Err(unused.count_miss(now)),
        }
    }

    /// Restores a ticket for which nothing was given. Its lifetime ends when it would have ended anyway.
    pub fn restore(&self, secret: &str, ticket: K, until: Instant) {
        let by_hash = &mut self.unused.lock().by_hash;
        by_hash.insert(hash(secret), (ticket, until));
    }
}

impl<K: TicketKind> UnusedTickets<K> {
    /// Counts a wrong ticket. Valid tickets always work, regardless of the count.
    fn count_miss(&mut self, now: Instant) -> Failure {
        let (since, count) = self.misses.get_or_insert((now, 0));
        if now - *since >= MINUTE {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count > MISSES {
            let text = "too many tickets were tried that do not exist; try again in a minute";
            return Failure::new(Reason::RateLimited, text);
        }
        K::unknown()
    }
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}
