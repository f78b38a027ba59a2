//! The peers that the hub was told of: those that it keeps a connection with, those that it refuses, and those that were
//! here with agents. What an administrator said outlives the hub; what the configuration says is said again at each start.
//!
//! To be dialled by the hub and to hand off to it are two things: a peer that is kept can be called, and is no caller.
//!
//! - `contacts/keep.rs` how a connection is kept
//! - `contacts/serve.rs` the routes below `/v1/peers`, `contacts/view.rs` what they tell of a peer

mod keep;
mod serve;
mod view;

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use jackfield_core::store::{PeerRecord, Receipt, Store, StoreError};
use jackfield_kit::{
    api::{invalid, store_failure},
    tasks::Tasks,
};
use jackfield_model::{Failure, Reason};
use jackfield_peer::{Multiaddr, PeerId, address, limits, multiaddr::Protocol, node::Node};
use jackfield_registry::Registry;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio_util::sync::DropGuard;

pub(crate) use self::serve::{ContactsDoor, router};

/// How many peers a connection is kept with: as many as there are connections for peers that do not come to us.
const MAX_KEPT: usize = (limits::CONNECTIONS - limits::INBOUND) as usize;
/// How many peers are refused: each costs some bytes of memory.
const MAX_BLOCKED: usize = 4096;
/// How exactly it is known when a peer was here: a peer that comes and goes is not written down each time.
const SEEN_EVERY: SignedDuration = SignedDuration::from_hours(1);

/// The peers that the hub was told of. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Contacts(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    node: Node,
    registry: Registry,
    store: Arc<dyn Store>,
    tasks: Tasks,
    known: Mutex<BTreeMap<PeerId, Contact>>,
}

/// What is known of a peer.
#[derive(Debug, Default)]
struct Contact {
    /// The address that an administrator gave.
    told: Option<Multiaddr>,
    /// The addresses that the configuration has.
    configured: Vec<Multiaddr>,
    is_blocked: bool,
    /// When it was here with agents, not more exactly than `SEEN_EVERY`.
    seen_at: Option<Timestamp>,
    /// Why it could not be reached the last time.
    setback: Option<Setback>,
    /// What keeps the connection.
    keeping: Option<DropGuard>,
}

/// Something that went wrong.
#[derive(Debug, Clone)]
pub(crate) struct Setback {
    what: String,
    at: Timestamp,
}

impl Setback {
    pub(crate) fn now(what: String) -> Self {
        let at = Timestamp::now();
        Self { what, at }
    }
}

impl Contact {
    fn is_kept(&self) -> bool {
        self.told.is_some() || !self.configured.is_empty()
    }

    /// By which addresses it is dialled: what was said last comes first.
    fn addresses(&self) -> Vec<Multiaddr> {
        let mut addresses: Vec<_> = self.told.iter().cloned().collect();
        for address in &self.configured {
            if !addresses.contains(address) {
                addresses.push(address.clone());
            }
        }
        addresses
    }

    /// What of it the store has; nothing if there is no reason to remember it.
    fn record(&self, peer: PeerId) -> Option<PeerRecord> {
        let record = PeerRecord {
            id: peer.to_string(),
            address: self.told.as_ref().map(ToString::to_string),
            is_blocked: self.is_blocked,
            seen_at: self.seen_at,
        };
        let is_worth_it = self.told.is_some() || self.is_blocked || self.seen_at.is_some();
        is_worth_it.then_some(record)
    }
}

impl Contacts {
    /// Takes up what is known: refuses those that are refused, and keeps connections with those that are kept.
    pub(crate) async fn open(
        node: Node,
        registry: Registry,
        store: Arc<dyn Store>,
        tasks: Tasks,
        configured: Vec<Multiaddr>,
    ) -> Result<Self, StoreError> {
        let mut known: BTreeMap<PeerId, Contact> = BTreeMap::new();
        for record in store.load_peers().await? {
            let told = record.address.as_deref().map(address::way_to_peer);
            // One that cannot be read is left alone: the hub has others, and whoever reads the log can mend it.
            let (Ok(peer), Ok(told)) = (record.id.parse(), told.transpose()) else {
                tracing::error!(peer = record.id, "what was kept of a peer cannot be read");
                continue;
            };
            let contact = Contact {
                told: told.map(|(_, address)| address),
                is_blocked: record.is_blocked,
                seen_at: record.seen_at,
                ..Contact::default()
            };
            known.insert(peer, contact);
        }
        for address in configured {
            if let Some(peer) = address::peer_of(&address) {
                known.entry(peer).or_default().configured.push(address);
            }
        }
        let contacts = Self(Arc::new(Inner {
            node,
            registry,
            store,
            tasks,
            known: Mutex::new(known),
        }));
        for (peer, contact) in contacts.0.known.lock().iter_mut() {
            if contact.is_blocked {
                contacts.0.node.block(*peer, true);
                contacts.0.registry.refuse(*peer, true);
            } else if contact.is_kept() {
                contacts.start(*peer, contact);
            }
        }
        Ok(contacts)
    }

    /// Whether a connection with this peer is kept: then it can be called, whether it may hand off or not.
    pub(crate) fn is_kept(&self, peer: PeerId) -> bool {
        self.0.known.lock().get(&peer).is_some_and(Contact::is_kept)
    }

    /// Keeps a connection with a peer from now on, by this address. It is tried once before this returns; a peer that
    /// cannot be reached is kept only if that is meant. Whether it was not kept before.
    async fn keep(
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
        // This address, since it is the one by which the peer is found again, whoever made the connection that may be there.
        let setback = match self.0.node.connect_by(address.clone()).await {
            Ok(_) => None,
            Err(error) if even_if_away => Some(Setback::now(error.to_string())),
            Err(error) => {
                let text = format!("{error}; nothing was added");
                return Err(Failure::new(Reason::Offline, text));
            }
        };
        self.check_room(peer)?;
        let (is_new, saved) = {
            let mut known = self.0.known.lock();
            let contact = known.entry(peer).or_default();
            let is_new = !contact.is_kept();
            contact.told = Some(address);
            contact.setback = setback;
            self.start(peer, contact);
            (is_new, self.write(peer, contact))
        };
        if let Err(error) = saved.await {
            // Whoever asked is told that it failed: it goes as it came.
            drop(self.take_back(peer));
            return Err(store_failure(&error));
        }
        tracing::info!(%peer, "a connection with the peer is kept");
        Ok(is_new)
    }

    /// Refuses what cannot be kept: a peer that is blocked, or one more than there is room for.
    fn check_room(&self, peer: PeerId) -> Result<(), Failure> {
        let known = self.0.known.lock();
        let contact = known.get(&peer);
        if contact.is_some_and(|contact| contact.is_blocked) {
            let text = format!("peer {peer} is blocked; unblock it first");
            return Err(Failure::new(Reason::Conflict, text));
        }
        let kept = known.values().filter(|contact| contact.is_kept()).count();
        if contact.is_some_and(Contact::is_kept) || kept < MAX_KEPT {
            return Ok(());
        }
        let text =
            format!("this hub keeps connections with {MAX_KEPT} peers already; remove one of them");
        Err(Failure::new(Reason::Busy, text))
    }

    /// Keeps the connection with a peer no longer, and ends it. Of one that is gone, what the registry has is forgotten too.
    async fn forget(&self, peer: PeerId) -> Result<(), Failure> {
        let was_listed = self.0.node.peer(peer).is_none() && self.0.registry.forget(&peer);
        {
            let known = self.0.known.lock();
            match known.get(&peer) {
                Some(contact) if contact.told.is_some() => {}
                Some(contact) if !contact.configured.is_empty() => {
                    let text = "it stands in the hub's configuration file; remove it there, and restart the hub";
                    return Err(Failure::new(Reason::Conflict, text));
                }
                _ if was_listed => return Ok(()),
                _ => {
                    let text = format!("no connection with peer {peer} is kept");
                    return Err(Failure::new(Reason::NotFound, text));
                }
            }
        }
        let saved = self.take_back(peer).await;
        saved.map_err(|error| store_failure(&error))?;
        tracing::info!(%peer, "a connection with the peer is kept no longer");
        Ok(())
    }

    /// Takes back that an administrator wants a peer. One that the configuration wants too is dialled again.
    fn take_back(&self, peer: PeerId) -> Receipt {
        let saved = self.change(peer, |contact| {
            contact.told = None;
            contact.setback = None;
            contact.keeping = None;
            if contact.is_kept() && !contact.is_blocked {
                self.start(peer, contact);
            }
        });
        self.0.node.disconnect(peer);
        saved
    }

    /// Refuses a peer from now on, and ends its connections; or lets it in again.
    async fn block(&self, peer: PeerId, is_blocked: bool) -> Result<(), Failure> {
        if peer == self.0.node.peer_id() {
            return Err(invalid("this is the hub itself; name another peer"));
        }
        if is_blocked {
            let known = self.0.known.lock();
            let blocked = known.values().filter(|contact| contact.is_blocked).count();
            if blocked >= MAX_BLOCKED {
                let text =
                    format!("this hub refuses {MAX_BLOCKED} peers already; unblock one of them");
                return Err(Failure::new(Reason::Busy, text));
            }
        }
        self.0.node.block(peer, is_blocked);
        self.0.registry.refuse(peer, is_blocked);
        let saved = self.change(peer, |contact| {
            contact.is_blocked = is_blocked;
            contact.keeping = None;
            if contact.is_kept() && !is_blocked {
                self.start(peer, contact);
            }
        });
        if is_blocked {
            self.0.node.disconnect(peer);
        }
        saved.await.map_err(|error| store_failure(&error))?;
        tracing::info!(%peer, is_blocked, "peer blocked, or no longer");
        Ok(())
    }

    /// Notes that a peer is here with agents.
    pub(crate) fn seen(&self, peer: PeerId, now: Timestamp) {
        let known = self.0.known.lock();
        let seen_at = known.get(&peer).and_then(|contact| contact.seen_at);
        drop(known);
        if seen_at.is_none_or(|at| now.duration_since(at) >= SEEN_EVERY) {
            // Nobody waits for it: it is said again.
            drop(self.change(peer, |contact| contact.seen_at = Some(now)));
        }
    }

    /// When a peer was last here with agents; now, if nobody wrote that down.
    pub(crate) fn last_seen(&self, peer: PeerId, now: Timestamp) -> Timestamp {
        let known = self.0.known.lock();
        let seen_at = known.get(&peer).and_then(|contact| contact.seen_at);
        drop(known);
        seen_at.unwrap_or_else(|| {
            self.seen(peer, now);
            now
        })
    }

    /// Forgets when peers were here that have no agents any more.
    pub(crate) fn forget_seen(&self, have_agents: &HashSet<PeerId>) {
        let known = self.0.known.lock();
        let seen = known
            .iter()
            .filter(|(_, contact)| contact.seen_at.is_some());
        let gone = seen.filter(|(peer, _)| !have_agents.contains(peer));
        let gone: Vec<_> = gone.map(|(peer, _)| *peer).collect();
        drop(known);
        for peer in gone {
            drop(self.change(peer, |contact| contact.seen_at = None));
        }
    }

    /// Changes what is known of a peer, and writes it down.
    fn change(&self, peer: PeerId, change: impl FnOnce(&mut Contact)) -> Receipt {
        let mut known = self.0.known.lock();
        let contact = known.entry(peer).or_default();
        change(contact);
        let saved = self.write(peer, contact);
        if contact.record(peer).is_none() && !contact.is_kept() {
            known.remove(&peer);
        }
        saved
    }

    /// Under the lock, so that the store hears of changes in their order.
    fn write(&self, peer: PeerId, contact: &Contact) -> Receipt {
        match contact.record(peer) {
            Some(record) => self.0.store.save_peer(record),
            None => self.0.store.remove_peer(peer.to_string()),
        }
    }
}
