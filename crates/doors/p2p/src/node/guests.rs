//! Who may hold a place at our relay: whoever the operator lets in, known or not, and whoever is registered.

use libp2p::PeerId;
use parking_lot::RwLock;
use rustc_hash::FxHashSet;

use crate::serve::Allowed;

#[derive(Debug)]
pub(super) struct Guests {
    allowed: Allowed,
    registered: RwLock<FxHashSet<PeerId>>,
}

impl Guests {
    pub(super) fn new(allowed: Allowed) -> Self {
        Self {
            allowed,
            registered: RwLock::default(),
        }
    }

    pub(super) fn includes(&self, peer: PeerId) -> bool {
        self.allowed.includes(&peer.to_string()) || self.registered.read().contains(&peer)
    }

    pub(super) fn register(&self, peer: PeerId, is_registered: bool) {
        let mut registered = self.registered.write();
        if is_registered {
            registered.insert(peer);
        } else {
            registered.remove(&peer);
        }
    }
}
