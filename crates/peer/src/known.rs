//! The known peers: those that the operator wants a connection with, those that the operator blocks, and
//! those that were here with agents. Settings of an administrator are saved and outlive the process; settings
//! of the configuration apply again at each start. The node owns the connections, and the registry owns what
//! peers announce over HTTP.
//!
//! Being dialled and being allowed to hand off are independent: a kept peer can be called, and may not call
//! by that.
//!
//! - `known/keep.rs` how a connection is kept

mod keep;

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    sync::Arc,
};

use futures_util::future::BoxFuture;
use jackfield_kit::tasks::Tasks;
use jackfield_model::{Failure, Reason};
use jiff::{SignedDuration, Timestamp};
use libp2p::{Multiaddr, PeerId, multiaddr::Protocol};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashSet;
use tokio_util::sync::DropGuard;

use crate::{address, limits, node::Node};

/// Most peers that a connection is kept with: as many as there are connections for peers that do not come to us.
const MAX_KEPT: usize = (limits::CONNECTIONS - limits::INBOUND) as usize;
/// Most peers that are blocked: each costs some bytes of memory.
const MAX_BLOCKED: usize = 4096;
/// Precision of [`SavedPeer::seen_at`]: a peer that comes and goes is not saved each time.
const SEEN_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// The saved part of a known peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedPeer {
    /// Id of the peer.
    pub peer: PeerId,
    /// Address by which an administrator wants a connection, if one does.
    pub address: Option<Multiaddr>,
    /// Whether the peer is blocked.
    pub is_blocked: bool,
    /// When the peer was last known to be here with agents.
    pub seen_at: Option<Timestamp>,
}

/// Resolves when a change is on disk. Dropping the future does not undo the change.
pub type Saving = BoxFuture<'static, Result<(), Failure>>;

/// Where known peers are saved. Both methods are called under the lock of [`KnownPeers`], so that changes arrive in their
/// order; they must not block.
pub trait PeerStore: fmt::Debug + Send + Sync + 'static {
    /// Saves a peer, new or changed.
    fn save(&self, peer: SavedPeer) -> Saving;

    /// Removes a saved peer.
    fn remove(&self, peer: PeerId) -> Saving;
}

/// The blocked peers. Clones share one list, which [`KnownPeers`] and the registry of peers read.
#[derive(Debug, Clone, Default)]
pub struct BlockList(Arc<RwLock<FxHashSet<PeerId>>>);

impl BlockList {
    /// Returns whether a peer is blocked.
    pub fn contains(&self, peer: &PeerId) -> bool {
        self.0.read().contains(peer)
    }

    /// Blocks a peer, or unblocks it.
    pub fn set(&self, peer: PeerId, is_blocked: bool) {
        let mut peers = self.0.write();
        match is_blocked {
            true => peers.insert(peer),
            false => peers.remove(&peer),
        };
    }

    fn len(&self) -> usize {
        self.0.read().len()
    }

    fn ids(&self) -> Vec<PeerId> {
        self.0.read().iter().copied().collect()
    }
}

/// The known peers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct KnownPeers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    node: Node,
    store: Arc<dyn PeerStore>,
    tasks: Tasks,
    /// Locked before `blocked`.
    peers: Mutex<BTreeMap<PeerId, PeerEntry>>,
    blocked: BlockList,
}

/// A known peer.
#[derive(Debug, Default)]
struct PeerEntry {
    /// Address that an administrator gave.
    told: Option<Multiaddr>,
    /// Addresses from the configuration.
    configured: Vec<Multiaddr>,
    /// When the peer was here with agents, not more exactly than `SEEN_EVERY`.
    seen_at: Option<Timestamp>,
    /// Why the last attempt to connect failed.
    error: Option<PastError>,
    /// Keeps the connection until it is dropped.
    keeping: Option<DropGuard>,
}

/// A snapshot of a known peer.
#[derive(Debug, Clone, Default)]
pub struct KnownPeer {
    /// Addresses by which the peer is dialled: the administrator's first, then those of the configuration.
    pub addresses: Vec<Multiaddr>,
    /// Whether a connection with the peer is kept.
    pub is_kept: bool,
    /// Whether the configuration names the peer.
    pub is_configured: bool,
    /// Whether the peer is blocked.
    pub is_blocked: bool,
    /// Why the last attempt to connect failed.
    pub error: Option<PastError>,
}

/// An error and its time.
#[derive(Debug, Clone)]
pub struct PastError {
    /// What went wrong, for people.
    pub text: String,
    /// When it went wrong.
    pub at: Timestamp,
}

impl PastError {
    /// Returns an error of this moment.
    pub fn now(text: String) -> Self {
        let at = Timestamp::now();
        Self { text, at }
    }
}

impl PeerEntry {
    fn is_kept(&self) -> bool {
        self.told.is_some() || !self.configured.is_empty()
    }

    /// Returns the addresses by which the peer is dialled: the administrator's first.
    fn addresses(&self) -> Vec<Multiaddr> {
        let mut addresses: Vec<_> = self.told.iter().cloned().collect();
        for address in &self.configured {
            if !addresses.contains(address) {
                addresses.push(address.clone());
            }
        }
        addresses
    }

    /// Returns the [`SavedPeer`]; `None` if there is no reason to remember the peer.
    fn saved(&self, peer: PeerId, is_blocked: bool) -> Option<SavedPeer> {
        let saved = SavedPeer {
            peer,
            address: self.told.clone(),
            is_blocked,
            seen_at: self.seen_at,
        };
        let is_worth_it = self.told.is_some() || is_blocked || self.seen_at.is_some();
        is_worth_it.then_some(saved)
    }
}

impl KnownPeers {
    /// Opens the registry with saved and configured peers. Blocks the blocked ones, and keeps connections with the kept
    /// ones.
    pub fn open(
        node: Node,
        store: Arc<dyn PeerStore>,
        tasks: Tasks,
        saved: Vec<SavedPeer>,
        configured: Vec<Multiaddr>,
    ) -> Self {
        let mut peers: BTreeMap<PeerId, PeerEntry> = BTreeMap::new();
        let blocked = BlockList::default();
        for saved in saved {
            blocked.set(saved.peer, saved.is_blocked);
            let entry = PeerEntry {
                told: saved.address,
                seen_at: saved.seen_at,
                ..PeerEntry::default()
            };
            peers.insert(saved.peer, entry);
        }
        for address in configured {
            if let Some(peer) = address::peer_of(&address) {
                peers.entry(peer).or_default().configured.push(address);
            }
        }
        let known = Self(Arc::new(Inner {
            node,
            store,
            tasks,
            peers: Mutex::new(peers),
            blocked,
        }));
        for (peer, entry) in known.0.peers.lock().iter_mut() {
            if known.0.blocked.contains(peer) {
                known.0.node.block(*peer, true);
            } else if entry.is_kept() {
                known.start(*peer, entry);
            }
        }
        known
    }

    /// Returns a snapshot of a known peer.
    pub fn get(&self, peer: PeerId) -> Option<KnownPeer> {
        let peers = self.0.peers.lock();
        let is_blocked = self.0.blocked.contains(&peer);
        let entry = peers.get(&peer)?;
        Some(KnownPeer {
            addresses: entry.addresses(),
            is_kept: entry.is_kept(),
            is_configured: !entry.configured.is_empty(),
            is_blocked,
            error: entry.error.clone(),
        })
    }

    /// Returns the ids of the peers that are kept or blocked.
    pub fn ids(&self) -> Vec<PeerId> {
        let peers = self.0.peers.lock();
        let kept = peers.iter().filter(|(_, it)| it.is_kept());
        let kept = kept.map(|(peer, _)| *peer);
        kept.chain(self.0.blocked.ids()).collect()
    }

    /// Returns the list of blocked peers.
    pub fn blocked(&self) -> &BlockList {
        &self.0.blocked
    }

    /// Returns whether a connection with this peer is kept. A kept peer can be called, whether it may hand
    /// off or not.
    pub fn is_kept(&self, peer: PeerId) -> bool {
        self.0
            .peers
            .lock()
            .get(&peer)
            .is_some_and(PeerEntry::is_kept)
    }

    /// Keeps a connection with a peer from now on, by this address. Tries the address once before returning;
    /// an unreachable peer is kept only with `even_if_away`. Returns whether the peer was not kept before.
    pub async fn keep(
        &self,
        peer: PeerId,
        address: Multiaddr,
        even_if_away: bool,
    ) -> Result<bool, Failure> {
        let own = self.0.node.peer_id();
        if peer == own || address.iter().any(|part| part == Protocol::P2p(own)) {
            return Err(invalid(
                "field \"address\" leads to this hub itself; give one of another peer",
            ));
        }
        self.check_room(peer)?;
        // Tries this very address, even to a connected peer, because later reconnects depend on it.
        let error = match self.0.node.connect_by(address.clone()).await {
            Ok(_) => None,
            Err(error) if even_if_away => Some(PastError::now(error.to_string())),
            Err(error) => {
                let text = format!("{error}; nothing was added");
                return Err(Failure::new(Reason::Offline, text));
            }
        };
        self.check_room(peer)?;
        let (is_new, saved) = {
            let mut peers = self.0.peers.lock();
            let entry = peers.entry(peer).or_default();
            let is_new = !entry.is_kept();
            entry.told = Some(address);
            entry.error = error;
            self.start(peer, entry);
            (is_new, self.write(peer, entry))
        };
        if let Err(error) = saved.await {
            // The caller gets the error, so the change is undone.
            drop(self.take_back(peer));
            return Err(error);
        }
        tracing::info!(%peer, "a connection with the peer is kept");
        Ok(is_new)
    }

    /// Refuses a blocked peer, and a peer beyond the limit.
    fn check_room(&self, peer: PeerId) -> Result<(), Failure> {
        let peers = self.0.peers.lock();
        let entry = peers.get(&peer);
        if self.0.blocked.contains(&peer) {
            let text = format!("peer {peer} is blocked; unblock it first");
            return Err(Failure::new(Reason::Conflict, text));
        }
        let kept = peers.values().filter(|entry| entry.is_kept()).count();
        if entry.is_some_and(PeerEntry::is_kept) || kept < MAX_KEPT {
            return Ok(());
        }
        let text =
            format!("this hub keeps connections with {MAX_KEPT} peers already; remove one of them");
        Err(Failure::new(Reason::Busy, text))
    }

    /// Stops keeping the connection with a peer, and closes it.
    pub async fn forget(&self, peer: PeerId) -> Result<(), Failure> {
        {
            let peers = self.0.peers.lock();
            match peers.get(&peer) {
                Some(entry) if entry.told.is_some() => {}
                Some(entry) if !entry.configured.is_empty() => {
                    let text = "it stands in the hub's configuration file; remove it there, and restart the hub";
                    return Err(Failure::new(Reason::Conflict, text));
                }
                _ => {
                    let text = format!("no connection with peer {peer} is kept");
                    return Err(Failure::new(Reason::NotFound, text));
                }
            }
        }
        self.take_back(peer).await?;
        tracing::info!(%peer, "a connection with the peer is kept no longer");
        Ok(())
    }

    /// Undoes the administrator's wish for a peer. A peer that the configuration wants too is dialled again.
    fn take_back(&self, peer: PeerId) -> Saving {
        let saved = self.change(peer, |entry| {
            entry.told = None;
            entry.error = None;
            entry.keeping = None;
            if entry.is_kept() && !self.0.blocked.contains(&peer) {
                self.start(peer, entry);
            }
        });
        self.0.node.disconnect(peer);
        saved
    }

    /// Blocks a peer from now on and closes its connections, or unblocks the peer. The change applies at
    /// once; the result resolves when it is saved.
    pub fn block(&self, peer: PeerId, is_blocked: bool) -> Result<Saving, Failure> {
        if peer == self.0.node.peer_id() {
            return Err(invalid("this is the hub itself; name another peer"));
        }
        if is_blocked && self.0.blocked.len() >= MAX_BLOCKED {
            let text = format!("this hub refuses {MAX_BLOCKED} peers already; unblock one of them");
            return Err(Failure::new(Reason::Busy, text));
        }
        self.0.node.block(peer, is_blocked);
        let saved = self.change(peer, |entry| {
            self.0.blocked.set(peer, is_blocked);
            entry.keeping = None;
            if entry.is_kept() && !is_blocked {
                self.start(peer, entry);
            }
        });
        if is_blocked {
            self.0.node.disconnect(peer);
        }
        tracing::info!(%peer, is_blocked, "peer blocked, or no longer");
        Ok(saved)
    }

    /// Records that a peer is here with agents.
    pub fn seen(&self, peer: PeerId, now: Timestamp) {
        let peers = self.0.peers.lock();
        let seen_at = peers.get(&peer).and_then(|entry| entry.seen_at);
        drop(peers);
        if seen_at.is_none_or(|at| now.duration_since(at) >= SEEN_EVERY) {
            // Not waited for: the next sighting saves again.
            drop(self.change(peer, |entry| entry.seen_at = Some(now)));
        }
    }

    /// Returns when a peer was last here with agents. An unknown time becomes `now`.
    pub fn last_seen(&self, peer: PeerId, now: Timestamp) -> Timestamp {
        let peers = self.0.peers.lock();
        let seen_at = peers.get(&peer).and_then(|entry| entry.seen_at);
        drop(peers);
        seen_at.unwrap_or_else(|| {
            self.seen(peer, now);
            now
        })
    }

    /// Drops the last-seen times of peers without agents.
    pub fn forget_seen(&self, have_agents: &HashSet<PeerId>) {
        let peers = self.0.peers.lock();
        let seen = peers.iter().filter(|(_, entry)| entry.seen_at.is_some());
        let gone = seen.filter(|(peer, _)| !have_agents.contains(peer));
        let gone: Vec<_> = gone.map(|(peer, _)| *peer).collect();
        drop(peers);
        for peer in gone {
            drop(self.change(peer, |entry| entry.seen_at = None));
        }
    }

    /// Changes an entry and saves it.
    fn change(&self, peer: PeerId, change: impl FnOnce(&mut PeerEntry)) -> Saving {
        let mut peers = self.0.peers.lock();
        let entry = peers.entry(peer).or_default();
        change(entry);
        let saved = self.write(peer, entry);
        let is_blocked = self.0.blocked.contains(&peer);
        if entry.saved(peer, is_blocked).is_none() && !entry.is_kept() {
            peers.remove(&peer);
        }
        saved
    }

    /// Saves an entry. Called under the lock, so that the store gets changes in their order.
    fn write(&self, peer: PeerId, entry: &PeerEntry) -> Saving {
        match entry.saved(peer, self.0.blocked.contains(&peer)) {
            Some(saved) => self.0.store.save(saved),
            None => self.0.store.remove(peer),
        }
    }
}

fn invalid(text: &'static str) -> Failure {
    Failure::new(Reason::Invalid, text)
}
