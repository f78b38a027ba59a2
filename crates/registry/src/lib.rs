//! The AI Registry: which peers there are, what they can do and where, as they or their owners said, until it expires. It
//! is kept in memory: whoever is still there after a restart says so again.
//!
//! Nothing is dialled because it was registered. An address counts only if it names the peer itself, so that whoever
//! follows it is told by the connection whether that peer is there.
//!
//! - `address.rs` which addresses are kept, `challenges.rs` how a peer proves that it is itself
//! - `find.rs` what is looked for, `directory.rs` who is found, the hub's own agents too
//! - `serve.rs` the HTTP API, with `query.rs` and `refused.rs`; `describe.rs` its description

mod address;
mod challenges;
mod describe;
mod directory;
mod find;
mod query;
mod refused;
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
    Multiaddr, PeerId, limits,
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
    find::Sought,
    serve::{RegistryDoor, Station, router},
};

/// How many peers are kept: some 100 MB of the largest entries, and more peers than anybody has seen. Owners share these
/// places, so that one alone has at most half of them.
const MAX_PEERS: usize = 4096;

/// How long the hub does not list a peer by itself that took its leave: it is on its way out, and may still be connected.
const LEAVING: Duration = Duration::from_secs(30);

/// What whoever registers a peer is told that the hub refuses.
const REFUSED: &str = "this hub refuses this peer: its operator has blocked it";

/// What the operator decides.
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
    peers: Mutex<Peers>,
    /// The places for peers, by whoever answers for an entry.
    places: Arc<Shares<Payer>>,
    challenges: Challenges,
    /// Rises with every peer that comes or goes.
    changes: watch::Sender<u64>,
    /// Tells of every peer that registered by a request.
    registered: broadcast::Sender<PeerId>,
}

#[derive(Debug, Default)]
struct Peers {
    by_id: HashMap<PeerId, Registered>,
    /// How many were ever registered: who came first keeps a name.
    count: u64,
    /// Who took leave a moment ago; at most as many as are kept.
    left: HashMap<PeerId, Instant>,
    /// Whom the hub refuses: nobody finds them here.
    refused: HashSet<PeerId>,
}

/// A peer that can be found.
#[derive(Debug, Clone)]
pub struct Registered {
    /// The peer.
    pub peer: PeerId,
    /// What it is called.
    pub name: String,
    /// Where it is.
    pub addresses: Vec<Multiaddr>,
    /// What it can do, by id or name.
    pub capabilities: Vec<String>,
    /// Its card, if it showed one.
    pub card: Option<Arc<PeerCard>>,
    /// Since when it has this name.
    pub registered_at: Timestamp,
    /// Until when it can be found.
    pub expires_at: Timestamp,
    ends: Instant,
    /// Until when somebody asked for it; nothing where the hub lists it by itself, as long as it is connected.
    asked_until: Option<Instant>,
    /// Whether its connection ended since something was last said of it.
    is_away: bool,
    ttl: Duration,
    holder: Holder,
    /// Its place under its name.
    place: u64,
    /// What it takes of its owner's share.
    share: Arc<Share<Payer>>,
}

/// Whose share an entry counts in: that of the owner whose token let it in, or, without one, of the peers that the operator lets in.
type Payer = Option<Owner>;

impl Registered {
    /// As it is told.
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

/// Whose an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Holder {
    /// The peer's own, by its key.
    Peer,
    /// Of whoever put it there with a token.
    Owner(Owner),
}

/// Who says something of a peer.
#[derive(Debug, Clone, Copy)]
pub enum Claim<'a> {
    /// The peer itself, whom the operator lets in: it signed, or it is connected.
    Peer,
    /// The peer itself, by its signature and somebody's token.
    PeerOf(&'a Principal),
    /// Somebody else.
    Caller(&'a Principal),
}

impl Claim<'_> {
    /// Whether it may change an entry. A peer may always change its own, others only what they put there.
    fn may_change(self, holder: &Holder) -> bool {
        match (self, holder) {
            (Self::Peer | Self::PeerOf(_), _) => true,
            (Self::Caller(principal), _) if principal.is_admin() => true,
            (Self::Caller(principal), Holder::Owner(owner)) => principal.owner == *owner,
            (Self::Caller(_), Holder::Peer) => false,
        }
    }

    fn payer(self) -> Payer {
        match self {
            Self::Peer => None,
            Self::PeerOf(principal) | Self::Caller(principal) => Some(principal.owner.clone()),
        }
    }

    fn check(self, holder: &Holder) -> Result<(), Failure> {
        if self.may_change(holder) {
            return Ok(());
        }
        let text = "this peer is registered already, by itself or by another owner; sign with its key to change that";
        Err(Failure::new(Reason::Unauthorized, text))
    }
}

impl Registry {
    /// An empty registry.
    pub fn new(rules: RegistryRules) -> Self {
        Self(Arc::new(Inner {
            rules,
            peers: Mutex::default(),
            places: Shares::new(MAX_PEERS),
            challenges: Challenges::new(),
            changes: watch::Sender::new(0),
            registered: broadcast::Sender::new(limits::NEWS),
        }))
    }

    /// Tells when a peer has come or gone.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Tells who registers by a request: what it can do may have changed.
    pub fn watch_registered(&self) -> broadcast::Receiver<PeerId> {
        self.0.registered.subscribe()
    }

    /// Whether a peer can be found.
    pub fn has(&self, peer: &PeerId) -> bool {
        let now = Instant::now();
        let peers = self.0.peers.lock();
        peers.by_id.get(peer).is_some_and(|had| !had.is_over(now))
    }

    /// A peer, if it can be found.
    pub fn get(&self, peer: &PeerId) -> Option<Registered> {
        let now = Instant::now();
        let found = self.0.peers.lock().by_id.get(peer).cloned();
        found.filter(|registered| !registered.is_over(now))
    }

    /// Lists a peer that is connected and showed its card, unless it has just taken leave.
    pub fn note(&self, new: &Registration) -> Result<(), Failure> {
        let peer = peer_id(&new.peer_id)?;
        let now = Instant::now();
        let left = self.0.peers.lock().left.get(&peer).copied();
        if left.is_some_and(|left| now < left + LEAVING) {
            return Ok(());
        }
        self.put(new, Claim::Peer, false).map(drop)
    }

    /// Whether the hub refuses a peer.
    pub fn is_refused(&self, peer: &PeerId) -> bool {
        self.0.peers.lock().refused.contains(peer)
    }

    /// Refuses a peer, and forgets it at once; or takes it again.
    pub fn refuse(&self, peer: PeerId, is_refused: bool) {
        let mut peers = self.0.peers.lock();
        if is_refused {
            peers.refused.insert(peer);
            peers.by_id.remove(&peer);
        } else {
            peers.refused.remove(&peer);
        }
        drop(peers);
        self.changed();
    }

    /// Forgets a peer of which nobody else has to be asked; whether it was there.
    pub fn forget(&self, peer: &PeerId) -> bool {
        let had = self.0.peers.lock().by_id.remove(peer);
        if had.is_some() {
            self.changed();
        }
        had.is_some()
    }

    /// The connection with a peer ended. What only the connection told of it is forgotten. What was asked for holds
    /// until whoever lives would have renewed it, and comes after those that are there.
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

    /// Registers a peer, or renews what was said of it. Who holds a name keeps its place under it.
    pub fn register(&self, new: &Registration, claim: Claim<'_>) -> Result<Registered, Failure> {
        self.put(new, claim, true)
    }

    fn put(
        &self,
        new: &Registration,
        claim: Claim<'_>,
        is_asked: bool,
    ) -> Result<Registered, Failure> {
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
        if peers.refused.contains(&peer) {
            return Err(Failure::new(Reason::Unauthorized, REFUSED));
        }
        let had = peers.by_id.get(&peer).filter(|had| !had.is_over(now));
        if let Some(had) = had {
            claim.check(&had.holder)?;
        }
        let holder = match (claim, had) {
            // Somebody who may change what a peer said of itself does not take it over.
            (Claim::Peer | Claim::PeerOf(_), _) => Holder::Peer,
            (Claim::Caller(_), Some(had)) => had.holder.clone(),
            (Claim::Caller(principal), None) => Holder::Owner(principal.owner.clone()),
        };
        let ttl = Duration::from_secs(new.ttl.min(MAX_TTL));
        // What somebody asked for is not cut short because the hub knows the peer too.
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
        let registered = Registered {
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

    /// A place for one entry more. Entries whose time is up make room.
    fn take_place(
        &self,
        peers: &mut Peers,
        claim: Claim<'_>,
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

    /// The ids of the peers that can be found.
    pub fn ids(&self) -> HashSet<PeerId> {
        let now = Instant::now();
        let peers = self.0.peers.lock();
        let there = peers.by_id.iter().filter(|(_, had)| !had.is_over(now));
        there.map(|(peer, _)| *peer).collect()
    }

    /// Lets a peer be found for longer: for the given time, or again for as long as it was registered for.
    pub fn renew(
        &self,
        peer: &PeerId,
        ttl: Option<Duration>,
        claim: Claim<'_>,
    ) -> Result<Registered, Failure> {
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

    /// Forgets a peer.
    pub fn remove(&self, peer: &PeerId, claim: Claim<'_>) -> Result<(), Failure> {
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

    /// Drops the peers whose time is up, which nobody could find any more anyway, and tells who watches.
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

    /// The peers that are sought: those whose connection ended last, else the best first, and those that came first before
    /// those that came later. A name is that of those who are there, as long as anybody who has it is.
    pub fn find(&self, sought: &Sought) -> Vec<Registered> {
        let now = Instant::now();
        let peers = self.0.peers.lock();
        let there = peers.by_id.values().filter(|had| !had.is_over(now));
        let mut found: Vec<_> = there
            .filter_map(|had| Some((sought.score(&find::Subject::from(had))?, had.clone())))
            .collect();
        drop(peers);
        found.sort_by_key(|(score, had)| (had.is_away, std::cmp::Reverse(*score), had.place));
        if sought.name.is_some() && found.first().is_some_and(|(_, had)| !had.is_away) {
            found.retain(|(_, had)| !had.is_away);
        }
        found.into_iter().map(|(_, had)| had).collect()
    }

    /// What a peer has to sign to prove that it is itself.
    pub fn challenge(&self, peer: &PeerId) -> String {
        self.0.challenges.issue(peer, Timestamp::now())
    }

    fn changed(&self) {
        self.0.changes.send_modify(|count| *count += 1);
    }
}

/// Reads a peer id.
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
