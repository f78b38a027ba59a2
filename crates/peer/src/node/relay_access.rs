//! Which peers may reserve a place at our relay: those that the operator allows, known or not, and those in
//! the registry.

use std::sync::Arc;

use libp2p::PeerId;
use parking_lot::RwLock;
use rustc_hash::FxHashSet;

use super::connections::Connections;
use crate::{allowed::Allowed, origin::Origin};

#[derive(Debug)]
pub(super) struct RelayAccess {
    allowed: Allowed,
    connections: Arc<Connections>,
    registered: RwLock<FxHashSet<PeerId>>,
}

impl RelayAccess {
    pub(super) fn new(allowed: Allowed, connections: Arc<Connections>) -> Self {
        Self {
            allowed,
            connections,
            registered: RwLock::default(),
        }
    }

    pub(super) fn includes(&self, peer: PeerId) -> bool {
        // The relay does not say which connection asks.
        let connected = self.connections.peer(peer);
        let origin = connected.map_or(Origin::Elsewhere, |it| it.origin);
        self.allowed.includes(&peer.to_string(), origin) || self.registered.read().contains(&peer)
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
