//! The AI Registry: the peers, their skills and their addresses, as announced by themselves or by their
//! owners, until each entry expires. It is kept in memory: live peers register again after a restart.
//!
//! The registry dials nobody. An address counts only if it ends in the peer's own id, so that the connection
//! of a later caller proves whether that peer is there.
//!
//! - `address.rs` which addresses are kept, `challenges.rs` how a peer proves its identity
//! - `find.rs` what a search asks for, `directory.rs` the results, including the hub's own agents
//! - `serve.rs` the HTTP API, with `query.rs` and `error.rs`; `describe.rs` its description

mod address;
mod challenges;
mod describe;
mod directory;
mod error;
mod find;
mod query;
mod serve;
#[cfg(test)]
mod tests;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use jackfield_core::{
    principal::Principal,
    shares::{Share, Shares},
};
use jackfield_kit::api::invalid;
use jackfield_model::{Failure, Owner, Reason};
use jackfield_peer::{
    Multiaddr, PeerId,
    known::BlockList,
    limits,
    wire::{
        PeerCard,
        registry::{Entry, MAX_TTL, Registration},
    },
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::{
    sync::{broadcast, watch},
    time::Instant,
};

use self::challenges::Challenges;
pub use self::{
    address::placed,
    find::PeerQuery,
    serve::{HubPeer, RegistryService, router},
};

/// Most entries: some 100 MB of the largest ones, and more peers than were ever seen. Owners share them, so
/// that one owner has at most half.
const MAX_PEERS: usize = 4096;

/// How long the hub does not list a connected peer by itself after the peer removed its entry: the peer is
/// leaving, and may still be connected.
const LEAVING: Duration = Duration::from_secs(30);

/// Error for the registration of a blocked peer.
const REFUSED: &str = "this hub refuses this peer: its operator has blocked it";

/// Rules of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RegistryRules {
    /// Whether addresses of this machine and of private networks are kept.
    pub allow_private: bool,
}

/// The registry. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    rules: RegistryRules,
    peers: Mutex<Entries>,
    /// Shares of the entries, by the owner that answers for an entry.
    places: Arc<Shares<Payer>>,
    challenges: Challenges,
    /// Blocked peers, which have no entry.
    blocked: BlockList,
    /// Counts up with every change of the entries.
    changes: watch::Sender<u64>,
    /// Publishes every peer that registered by a request.
    registered: broadcast::Sender<PeerId>,
}

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<PeerId, RegisteredPeer>,
    /// Number of registrations so far: the first holder of a name keeps it.
    count: u64,
    /// Peers that removed their entry a moment ago; at most as many as entries.
    left: HashMap<PeerId, Instant>,
}

/// A registered peer.
#[derive(Debug, Clone)]
pub struct RegisteredPeer {
    /// Peer id.
    pub peer: PeerId,
    /// Name of the agent.
    pub name: String,
    /// Addresses of the peer.
    pub addresses: Vec<Multiaddr>,
    /// Skills, by id or name.
    pub capabilities: Vec<String>,
    /// Card, if the peer showed one.
    pub card: Option<Arc<PeerCard>>,
    /// Start of the registration under this name.
    pub registered_at: Timestamp,
    /// End of the registration.
    pub expires_at: Timestamp,
    ends: Instant,
    /// End of the requested registration; `None` if only the hub lists the peer, while connected.
    asked_until: Option<Instant>,
    /// Whether the peer's connection ended since the last registration or renewal.
    is_away: bool,
    ttl: Duration,
    holder: EntryHolder,
    /// Rank among peers of the same name.
    place: u64,
    /// Part of the owner's share.
    share: Arc<Share<Payer>>,
}

/// Owner whose share an entry counts in: of the token that registered it. Without a token, all peers that the
/// operator allows share one.
type Payer = Option<Owner>;

impl RegisteredPeer {
    /// Returns the [`Entry`] of the HTTP API.
    fn entry(&self) -> Entry {
        Entry {
            peer_id: self.peer.to_string(),
            agent_name: Some(self.name.clone()),
            addresses: self.addresses.iter().map(ToString::to_string).collect(),
            capabilities: self.capabilities.clone(),
            registered_at: Some(self.registered_at.to_string()),
            expires_at: Some(self.expires_at.to_string()),
        }
    }

    fn is_over(&self, now: Instant) -> bool {
        self.ends <= now
    }
}

/// Owner of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
enum EntryHolder {
    /// The peer itself, proved by its key.
    Peer,
    /// The owner of the token that created the entry.
    Owner(Owner),
}

/// Sender of a registration.
#[derive(Debug, Clone, Copy)]
pub enum Claimant<'a> {
    /// The peer itself, allowed by the operator: by its signature or its connection.
    Peer,
    /// The peer itself, by its signature and a token.
    PeerOf(&'a Principal),
    /// Another caller, by a token.
    Caller(&'a Principal),
}

impl Claimant<'_> {
    /// Returns whether the sender may change an entry. A peer may always change its own, other callers only
    /// their own entries.
    fn may_change(self, holder: &EntryHolder) -> bool {
        match (self, holder) {
            (Self::Peer | Self::PeerOf(_), _) => true,
            (Self::Caller(principal), _) if principal.is_admin() => true,
            (Self::Caller(principal), EntryHolder::Owner(owner)) => principal.owner == *owner,
            (Self::Caller(_), EntryHolder::Peer) => false,
        }
    }

    fn payer(self) -> Payer {
        match self {
            Self::Peer => None,
            Self::PeerOf(principal) | Self::Caller(principal) => Some(principal.owner.clone()),
        }
    }

    fn check(self, holder: &EntryHolder) -> Result<(), Failure> {
        if self.may_change(holder) {
            return Ok(());
        }
        let text = "this peer is registered already, by itself or by another owner; sign with its key to change that";
        Err(Failure::new(Reason::Unauthorized, text))
    }
}

impl Registry {
    /// Creates an empty registry with a list of blocked peers of its own.
    pub fn new(rules: RegistryRules) -> Self {
        Self::with_blocked(rules, BlockList::default())
    }

    /// Creates an empty registry that shares a [`BlockList`], such as that of the known peers.
    pub fn with_blocked(rules: RegistryRules, blocked: BlockList) -> Self {
        Self(Arc::new(Inner {
            rules,
            peers: Mutex::default(),
            places: Shares::new(MAX_PEERS),
            challenges: Challenges::new(),
            blocked,
            changes: watch::Sender::new(0),
            registered: broadcast::Sender::new(limits::NEWS),
        }))
    }

    /// Watches for changes of the entries.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Watches for registrations by request: the peer's skills may have changed.
    pub fn watch_registered(&self) -> broadcast::Receiver<PeerId> {
        self.0.registered.subscribe()
    }

    /// Returns whether a peer is registered.
    pub fn has(&self, peer: &PeerId) -> bool {
        let now = Instant::now();
        let peers = self.0.peers.lock();
        peers.by_id.get(peer).is_some_and(|had| !had.is_over(now))
    }

    /// Returns the [`RegisteredPeer`] of a peer id.
    pub fn get(&self, peer: &PeerId) -> Option<RegisteredPeer> {
        let now = Instant::now();
        let found = self.0.peers.lock().by_id.get(peer).cloned();
        found.filter(|registered| !registered.is_over(now))
    }

    /// Lists a connected peer with a card, unless the peer has just removed its entry.
    pub fn note(&self, new: &Registration) -> Result<(), Failure> {
        let peer = peer_id(&new.peer_id)?;
        let now = Instant::now();
        let left = self.0.peers.lock().left.get(&peer).copied();
        if left.is_some_and(|left| now < left + LEAVING) {
            return Ok(());
        }
        self.put(new, Claimant::Peer, false).map(drop)
    }

    /// Returns whether a peer is blocked.
    pub fn is_refused(&self, peer: &PeerId) -> bool {
        self.0.blocked.contains(peer)
    }

    /// Blocks a peer and removes its entry, or unblocks it.
    pub fn refuse(&self, peer: PeerId, is_refused: bool) {
        self.0.blocked.set(peer, is_refused);
        if is_refused {
            self.0.peers.lock().by_id.remove(&peer);
        }
        self.changed();
    }

    /// Removes an entry, whoever its owner is. Returns whether the peer was registered.
    pub fn forget(&self, peer: &PeerId) -> bool {
        let had = self.0.peers.lock().by_id.remove(peer);
        if had.is_some() {
            self.changed();
        }
        had.is_some()
    }

    /// Handles the end of a peer's connection. An entry that only the connection justified is removed. A
    /// requested entry stays until a live peer would have renewed it, and ranks below connected peers.
    pub fn connection_ended(&self, peer: &PeerId) {
        let now = Instant::now();
        let mut peers = self.0.peers.lock();
        let Some(had) = peers.by_id.get_mut(peer) else {
            return;
        };
        match had.asked_until.filter(|until| *until > now) {
            Some(until) => {
                had.is_away = true;
                had.ends = until.min(now + had.ttl / 2);
                had.expires_at = Timestamp::now() + (had.ends - now);
            }
            None => {
                peers.by_id.remove(peer);
            }
        }
        drop(peers);
        self.changed();
    }

    /// Registers a peer ([`Registration`]), or replaces its entry. The holder of a name keeps its rank.
    pub fn register(
        &self,
        new: &Registration,
        claim: Claimant<'_>,
    ) -> Result<RegisteredPeer, Failure> {
        self.put(new, claim, true)
    }

    fn put(
        &self,
        new: &Registration,
        claim: Claimant<'_>,
        is_asked: bool,
    ) -> Result<RegisteredPeer, Failure> {
        let peer = peer_id(&new.peer_id)?;
        let addresses = address::kept(&new.addresses, &peer, self.0.rules.allow_private)?;
        let name = new.agent_name.clone();
        let name = name.or_else(|| new.card.as_ref().map(|card| card.name.clone()));
        let name = name.ok_or_else(|| invalid("field \"agent_name\" is required"))?;
        if name.chars().any(char::is_control) {
            return Err(invalid(
                "field \"agent_name\" must not have control characters",
            ));
        }
        let mut capabilities = new.capabilities.clone();
        for skill in new.card.iter().flat_map(|card| &card.skills) {
            if !capabilities.contains(&skill.id) {
                capabilities.push(skill.id.clone());
            }
        }
        let now = Instant::now();
        let mut peers = self.0.peers.lock();
        // Under the lock: an entry that slips in here is removed after the peer was blocked.
        if self.0.blocked.contains(&peer) {
            return Err(Failure::new(Reason::Unauthorized, REFUSED));
        }
        let had = peers.by_id.get(&peer).filter(|had| !had.is_over(now));
        if let Some(had) = had {
            claim.check(&had.holder)?;
        }
        let holder = match (claim, had) {
            // A caller that may change a peer's own entry does not become its owner.
            (Claimant::Peer | Claimant::PeerOf(_), _) => EntryHolder::Peer,
            (Claimant::Caller(_), Some(had)) => had.holder.clone(),
            (Claimant::Caller(principal), None) => EntryHolder::Owner(principal.owner.clone()),
        };
        let ttl = Duration::from_secs(new.ttl.min(MAX_TTL));
        // A requested lifetime is not shortened because the hub lists the peer too.
        let asked = had.filter(|_| !is_asked);
        let asked = asked.and_then(|had| Some((had.asked_until?, had.ttl)));
        let asked = asked.filter(|(until, _)| *until > now);
        let (asked_until, ends, ttl) = match asked {
            Some((until, had)) => (Some(until), until.max(now + ttl), had),
            None => (is_asked.then_some(now + ttl), now + ttl, ttl),
        };
        let kept = had.filter(|had| had.holder == holder);
        let kept = kept.map(|had| had.share.clone());
        let had = had.filter(|had| had.name == name);
        let (place, since) = match had {
            Some(had) => (had.place, had.registered_at),
            None => (peers.count, Timestamp::now()),
        };
        let share = match kept {
            Some(share) => share,
            None => Arc::new(self.take_place(&mut peers, claim, now)?),
        };
        peers.count += 1;
        let registered = RegisteredPeer {
            peer,
            name,
            addresses,
            capabilities,
            card: new.card.clone().map(Arc::new),
            registered_at: since,
            expires_at: Timestamp::now() + (ends - now),
            ends,
            asked_until,
            is_away: false,
            ttl,
            holder,
            place,
            share,
        };
        peers.by_id.insert(peer, registered.clone());
        peers.left.remove(&peer);
        drop(peers);
        self.changed();
        Ok(registered)
    }

    /// Takes a share for one more entry. Expired entries make room.
    fn take_place(
        &self,
        peers: &mut Entries,
        claim: Claimant<'_>,
        now: Instant,
    ) -> Result<Share<Payer>, Failure> {
        let places = &self.0.places;
        if let Some(share) = places.take(claim.payer(), 1) {
            return Ok(share);
        }
        peers.by_id.retain(|_, had| !had.is_over(now));
        places.take(claim.payer(), 1).ok_or_else(|| {
            let (held, used) = (places.used_by(&claim.payer()), places.used());
            let text = format!(
                "the registry has no place left for this owner, which holds {held} of the {used} that are taken (of {MAX_PEERS}); remove entries with DELETE /register/PEER, or try again when some have expired"
            );
            Failure::new(Reason::Busy, text)
        })
    }

    /// Returns the ids of all registered peers.
    pub fn ids(&self) -> HashSet<PeerId> {
        let now = Instant::now();
        let peers = self.0.peers.lock();
        let there = peers.by_id.iter().filter(|(_, had)| !had.is_over(now));
        there.map(|(peer, _)| *peer).collect()
    }

    /// Extends a registration: by the given lifetime, or by its registered one.
    pub fn renew(
        &self,
        peer: &PeerId,
        ttl: Option<Duration>,
        claim: Claimant<'_>,
    ) -> Result<RegisteredPeer, Failure> {
        let now = Instant::now();
        let mut peers = self.0.peers.lock();
        let had = peers.by_id.get_mut(peer).filter(|had| !had.is_over(now));
        let had = had.ok_or_else(not_registered)?;
        claim.check(&had.holder)?;
        had.ttl = ttl.unwrap_or(had.ttl).min(Duration::from_secs(MAX_TTL));
        had.ends = now + had.ttl;
        had.asked_until = Some(had.ends);
        had.is_away = false;
        had.expires_at = Timestamp::now() + had.ttl;
        Ok(had.clone())
    }

    /// Removes a registration.
    pub fn remove(&self, peer: &PeerId, claim: Claimant<'_>) -> Result<(), Failure> {
        let now = Instant::now();
        let mut peers = self.0.peers.lock();
        let had = peers.by_id.get(peer).filter(|had| !had.is_over(now));
        let had = had.ok_or_else(not_registered)?;
        claim.check(&had.holder)?;
        peers.by_id.remove(peer);
        peers.left.retain(|_, left| now < *left + LEAVING);
        if peers.left.len() < MAX_PEERS {
            peers.left.insert(*peer, now);
        }
        drop(peers);
        self.changed();
        Ok(())
    }

    /// Removes expired entries and notifies subscribers.
    pub fn expire(&self) {
        let now = Instant::now();
        let mut peers = self.0.peers.lock();
        let before = peers.by_id.len();
        peers.by_id.retain(|_, had| !had.is_over(now));
        let is_changed = peers.by_id.len() != before;
        drop(peers);
        if is_changed {
            self.changed();
        }
    }

    /// Returns the matching peers: connected ones first, then the best matches, then the earliest
    /// registrations. A search by name returns disconnected peers only if no connected one has the name.
    pub fn find(&self, sought: &PeerQuery) -> Vec<RegisteredPeer> {
        let now = Instant::now();
        let peers = self.0.peers.lock();
        let there = peers.by_id.values().filter(|had| !had.is_over(now));
        let mut found: Vec<_> = there
            .filter_map(|had| Some((sought.score(&find::SearchSubject::from(had))?, had.clone())))
            .collect();
        drop(peers);
        found.sort_by_key(|(score, had)| (had.is_away, std::cmp::Reverse(*score), had.place));
        if sought.name.is_some() && found.first().is_some_and(|(_, had)| !had.is_away) {
            found.retain(|(_, had)| !had.is_away);
        }
        found.into_iter().map(|(_, had)| had).collect()
    }

    /// Issues a challenge that a peer signs to prove its identity.
    pub fn challenge(&self, peer: &PeerId) -> String {
        self.0.challenges.issue(peer, Timestamp::now())
    }

    fn changed(&self) {
        self.0.changes.send_modify(|count| *count += 1);
    }
}

/// Parses a [`PeerId`].
fn peer_id(text: &str) -> Result<PeerId, Failure> {
    text.parse()
        .map_err(|_| invalid("field \"peer_id\" must be a peer id"))
}

fn not_registered() -> Failure {
    Failure::new(
        Reason::NotFound,
        "no such peer is registered; register it first",
    )
}
