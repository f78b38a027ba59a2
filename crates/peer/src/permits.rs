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
pub enum ExchangeKind {
    /// A peer asks for the card.
    Card,
    /// A peer hands off work.
    Handoff,
}

/// The limit that refused a permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LimitReached {
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

/// Issuer of [`Permit`]s. Clones share the counters.
#[derive(Debug, Clone, Default)]
pub struct Permits {
    usage: Arc<Mutex<Usage>>,
}

/// The right to one exchange; given back on drop.
#[derive(Debug)]
pub struct Permit {
    usage: Arc<Mutex<Usage>>,
    peer: PeerId,
    kind: ExchangeKind,
}

#[derive(Debug, Default)]
struct Usage {
    open: FxHashMap<(PeerId, ExchangeKind), usize>,
    total: usize,
    by_peer: Buckets<PeerId>,
    by_address: Buckets<IpAddr>,
}

impl Permits {
    /// Creates an issuer without open permits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a [`Permit`] for one exchange with this peer, whose connection comes from `address` (`None` behind a
    /// relay).
    pub fn take(
        &self,
        peer: PeerId,
        address: Option<IpAddr>,
        kind: ExchangeKind,
    ) -> Result<Permit, LimitReached> {
        let now = Instant::now();
        let mut usage = self.usage.lock();
        let rate = (limits::BURST_PER_PEER, limits::RATE_PER_PEER);
        if !usage.by_peer.take(peer, rate, now) {
            return Err(LimitReached::Rate);
        }
        let rate = (limits::BURST_PER_ADDRESS, limits::RATE_PER_ADDRESS);
        if address.is_some_and(|address| !usage.by_address.take(address, rate, now)) {
            return Err(LimitReached::Rate);
        }
        if usage.total >= limits::EXCHANGES {
            return Err(LimitReached::Total);
        }
        let most = match kind {
            ExchangeKind::Card => limits::CARDS_PER_PEER,
            ExchangeKind::Handoff => limits::HANDOFFS_PER_PEER,
        };
        let open = usage.open.entry((peer, kind)).or_default();
        if *open >= most {
            return Err(LimitReached::Open);
        }
        *open += 1;
        usage.total += 1;
        drop(usage);
        Ok(Permit {
            usage: Arc::clone(&self.usage),
            peer,
            kind,
        })
    }

    /// Returns the number of open permits.
    pub fn open(&self) -> usize {
        self.usage.lock().total
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut usage = self.usage.lock();
        usage.total -= 1;
        let key = (self.peer, self.kind);
        if let Some(open) = usage.open.get_mut(&key) {
            *open -= 1;
            if *open == 0 {
                usage.open.remove(&key);
            }
        }
    }
}

/// One token bucket per key. Full buckets are removed, since a missing bucket counts as full.
#[derive(Debug)]
struct Buckets<K> {
    levels: FxHashMap<K, TokenBucket>,
    /// Number of buckets at which full ones are removed; twice the number that was left, so that sweeps stay
    /// rare.
    sweep_at: usize,
}

#[derive(Debug, Clone, Copy)]
struct TokenBucket {
    tokens: f64,
    at: Instant,
}

impl TokenBucket {
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
        let level = self.levels.entry(key).or_insert(TokenBucket {
            tokens: burst,
            at: now,
        });
        let tokens = level.refilled(limit, now);
        let is_enough = tokens >= 1.0;
        *level = TokenBucket {
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

    fn take(permits: &Permits, peer: PeerId, kind: ExchangeKind) -> Result<Permit, LimitReached> {
        permits.take(peer, None, kind)
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_has_so_many_handoffs_and_so_many_cards_at_a_time() {
        let permits = Permits::new();
        let peer = PeerId::random();
        let mut held: Vec<_> = (0..limits::HANDOFFS_PER_PEER)
            .map(|_| take(&permits, peer, ExchangeKind::Handoff).unwrap())
            .collect();
        assert_eq!(
            take(&permits, peer, ExchangeKind::Handoff).unwrap_err(),
            LimitReached::Open
        );
        let cards: Vec<_> = (0..limits::CARDS_PER_PEER)
            .map(|_| take(&permits, peer, ExchangeKind::Card).unwrap())
            .collect();
        assert_eq!(
            take(&permits, peer, ExchangeKind::Card).unwrap_err(),
            LimitReached::Open
        );
        // Another peer is not concerned.
        drop(take(&permits, PeerId::random(), ExchangeKind::Handoff).unwrap());
        held.pop();
        held.push(take(&permits, peer, ExchangeKind::Handoff).unwrap());
        drop((held, cards));
        assert_eq!(permits.open(), 0);
        assert!(permits.usage.lock().open.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_begins_too_fast_waits_for_its_bucket_to_refill() {
        let permits = Permits::new();
        let peer = PeerId::random();
        for _ in 0..limits::BURST_PER_PEER {
            drop(take(&permits, peer, ExchangeKind::Card).unwrap());
        }
        assert_eq!(
            take(&permits, peer, ExchangeKind::Card).unwrap_err(),
            LimitReached::Rate
        );
        advance(Duration::from_secs(1)).await;
        for _ in 0..limits::RATE_PER_PEER {
            drop(take(&permits, peer, ExchangeKind::Card).unwrap());
        }
        assert_eq!(
            take(&permits, peer, ExchangeKind::Card).unwrap_err(),
            LimitReached::Rate
        );
    }

    #[tokio::test(start_paused = true)]
    async fn new_peer_ids_from_one_address_gain_nothing() {
        let permits = Permits::new();
        let address = Some("192.0.2.1".parse().unwrap());
        for _ in 0..limits::BURST_PER_ADDRESS {
            drop(
                permits
                    .take(PeerId::random(), address, ExchangeKind::Card)
                    .unwrap(),
            );
        }
        let next = permits.take(PeerId::random(), address, ExchangeKind::Card);
        assert_eq!(next.unwrap_err(), LimitReached::Rate);
        let elsewhere = Some("192.0.2.2".parse().unwrap());
        assert!(
            permits
                .take(PeerId::random(), elsewhere, ExchangeKind::Card)
                .is_ok()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn all_peers_together_have_a_limit() {
        let permits = Permits::new();
        let held: Vec<_> = (0..limits::EXCHANGES)
            .map(|_| take(&permits, PeerId::random(), ExchangeKind::Handoff).unwrap())
            .collect();
        let next = take(&permits, PeerId::random(), ExchangeKind::Handoff);
        assert_eq!(next.unwrap_err(), LimitReached::Total);
        assert_eq!(held.len(), permits.open());
    }

    #[tokio::test(start_paused = true)]
    async fn peers_that_went_away_are_forgotten() {
        let permits = Permits::new();
        for _ in 0..20 {
            for _ in 0..SWEEP_AT {
                drop(take(&permits, PeerId::random(), ExchangeKind::Card).unwrap());
            }
            advance(Duration::from_secs(60)).await;
        }
        assert!(permits.usage.lock().by_peer.levels.len() <= 2 * SWEEP_AT);
    }
}
