//! How many exchanges a peer may have open and begin per second. Peer ids are free to create, so new
//! exchanges are also counted by IP address. Pure bookkeeping; `serve_peers` takes the permits, and nothing
//! here waits.

use std::{hash::Hash, net::IpAddr, sync::Arc, time::Duration};

use libp2p::PeerId;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tokio::time::Instant;

use crate::limits;

/// Kind of exchange that a permit is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A peer asks for the card.
    Card,
    /// A peer hands off work.
    Handoff,
}

/// The limit that refused a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMany {
    /// The peer has too many open exchanges of this kind.
    #[error("too many open exchanges of this peer")]
    Open,
    /// The peer, or its IP address, begins exchanges too fast.
    #[error("too many exchanges per second")]
    Rate,
    /// All peers together have too many open exchanges.
    #[error("too many open exchanges")]
    Total,
}

/// Issuer of permits. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub struct Permits {
    books: Arc<Mutex<Books>>,
}

/// The right to one exchange; given back on drop.
#[derive(Debug)]
pub struct Permit {
    books: Arc<Mutex<Books>>,
    peer: PeerId,
    kind: Kind,
}

#[derive(Debug, Default)]
struct Books {
    open: FxHashMap<(PeerId, Kind), usize>,
    total: usize,
    by_peer: Buckets<PeerId>,
    by_address: Buckets<IpAddr>,
}

impl Permits {
    /// Creates an issuer without open permits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a permit for one exchange with this peer, whose connection comes from `address` (`None` behind a
    /// relay).
    pub fn take(
        &self,
        peer: PeerId,
        address: Option<IpAddr>,
        kind: Kind,
    ) -> Result<Permit, TooMany> {
        let now = Instant::now();
        let mut books = self.books.lock();
        let rate = (limits::BURST_PER_PEER, limits::RATE_PER_PEER);
        if !books.by_peer.take(peer, rate, now) {
            return Err(TooMany::Rate);
        }
        let rate = (limits::BURST_PER_ADDRESS, limits::RATE_PER_ADDRESS);
        if address.is_some_and(|address| !books.by_address.take(address, rate, now)) {
            return Err(TooMany::Rate);
        }
        if books.total >= limits::EXCHANGES {
            return Err(TooMany::Total);
        }
        let most = match kind {
            Kind::Card => limits::CARDS_PER_PEER,
            Kind::Handoff => limits::HANDOFFS_PER_PEER,
        };
        let open = books.open.entry((peer, kind)).or_default();
        if *open >= most {
            return Err(TooMany::Open);
        }
        *open += 1;
        books.total += 1;
        drop(books);
        Ok(Permit {
            books: Arc::clone(&self.books),
            peer,
            kind,
        })
    }

    /// Returns the number of open permits.
    pub fn open(&self) -> usize {
        self.books.lock().total
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut books = self.books.lock();
        books.total -= 1;
        let key = (self.peer, self.kind);
        if let Some(open) = books.open.get_mut(&key) {
            *open -= 1;
            if *open == 0 {
                books.open.remove(&key);
            }
        }
    }
}

/// One token bucket per key. Full buckets are removed, since a missing bucket counts as full.
#[derive(Debug)]
struct Buckets<K> {
    levels: FxHashMap<K, Level>,
    /// Number of buckets at which full ones are removed; twice the number that was left, so that sweeps stay
    /// rare.
    sweep_at: usize,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    tokens: f64,
    at: Instant,
}

impl Level {
    fn refilled(self, (burst, rate): (u32, u32), now: Instant) -> f64 {
        let passed: Duration = now.saturating_duration_since(self.at);
        (self.tokens + passed.as_secs_f64() * f64::from(rate)).min(f64::from(burst))
    }
}

/// Least number of buckets for a sweep.
const SWEEP_AT: usize = 256;

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Self {
            levels: FxHashMap::default(),
            sweep_at: SWEEP_AT,
        }
    }
}

impl<K: Hash + Eq> Buckets<K> {
    fn take(&mut self, key: K, limit: (u32, u32), now: Instant) -> bool {
        let burst = f64::from(limit.0);
        if self.levels.len() >= self.sweep_at {
            self.levels
                .retain(|_, level| level.refilled(limit, now) < burst);
            self.sweep_at = (self.levels.len() * 2).max(SWEEP_AT);
        }
        let level = self.levels.entry(key).or_insert(Level {
            tokens: burst,
            at: now,
        });
        let tokens = level.refilled(limit, now);
        let is_enough = tokens >= 1.0;
        *level = Level {
            tokens: if is_enough { tokens - 1.0 } else { tokens },
            at: now,
        };
        is_enough
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn take(permits: &Permits, peer: PeerId, kind: Kind) -> Result<Permit, TooMany> {
        permits.take(peer, None, kind)
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_has_so_many_handoffs_and_so_many_cards_at_a_time() {
        let permits = Permits::new();
        let peer = PeerId::random();
        let mut held: Vec<_> = (0..limits::HANDOFFS_PER_PEER)
            .map(|_| take(&permits, peer, Kind::Handoff).unwrap())
            .collect();
        assert_eq!(
            take(&permits, peer, Kind::Handoff).unwrap_err(),
            TooMany::Open
        );
        let cards: Vec<_> = (0..limits::CARDS_PER_PEER)
            .map(|_| take(&permits, peer, Kind::Card).unwrap())
            .collect();
        assert_eq!(take(&permits, peer, Kind::Card).unwrap_err(), TooMany::Open);
        // Another peer is not concerned.
        drop(take(&permits, PeerId::random(), Kind::Handoff).unwrap());
        held.pop();
        held.push(take(&permits, peer, Kind::Handoff).unwrap());
        drop((held, cards));
        assert_eq!(permits.open(), 0);
        assert!(permits.books.lock().open.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_begins_too_fast_waits_for_its_bucket_to_refill() {
        let permits = Permits::new();
        let peer = PeerId::random();
        for _ in 0..limits::BURST_PER_PEER {
            drop(take(&permits, peer, Kind::Card).unwrap());
        }
        assert_eq!(take(&permits, peer, Kind::Card).unwrap_err(), TooMany::Rate);
        advance(Duration::from_secs(1)).await;
        for _ in 0..limits::RATE_PER_PEER {
            drop(take(&permits, peer, Kind::Card).unwrap());
        }
        assert_eq!(take(&permits, peer, Kind::Card).unwrap_err(), TooMany::Rate);
    }

    #[tokio::test(start_paused = true)]
    async fn new_peer_ids_from_one_address_gain_nothing() {
        let permits = Permits::new();
        let address = Some("192.0.2.1".parse().unwrap());
        for _ in 0..limits::BURST_PER_ADDRESS {
            drop(permits.take(PeerId::random(), address, Kind::Card).unwrap());
        }
        let next = permits.take(PeerId::random(), address, Kind::Card);
        assert_eq!(next.unwrap_err(), TooMany::Rate);
        let elsewhere = Some("192.0.2.2".parse().unwrap());
        assert!(
            permits
                .take(PeerId::random(), elsewhere, Kind::Card)
                .is_ok()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn all_peers_together_have_a_limit() {
        let permits = Permits::new();
        let held: Vec<_> = (0..limits::EXCHANGES)
            .map(|_| take(&permits, PeerId::random(), Kind::Handoff).unwrap())
            .collect();
        let next = take(&permits, PeerId::random(), Kind::Handoff);
        assert_eq!(next.unwrap_err(), TooMany::Total);
        assert_eq!(held.len(), permits.open());
    }

    #[tokio::test(start_paused = true)]
    async fn peers_that_went_away_are_forgotten() {
        let permits = Permits::new();
        for _ in 0..20 {
            for _ in 0..SWEEP_AT {
                drop(take(&permits, PeerId::random(), Kind::Card).unwrap());
            }
            advance(Duration::from_secs(60)).await;
        }
        assert!(permits.books.lock().by_peer.levels.len() <= 2 * SWEEP_AT);
    }
}
