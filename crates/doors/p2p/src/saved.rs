//! Known peers in the hub's store. The door loads them at start;
//! [`KnownPeers`](jackfield_peer::known::KnownPeers) saves its changes.

use std::sync::Arc;

use jackfield_core::store::{PeerRecord, Receipt, Store, StoreError};
use jackfield_kit::api::store_failure;
use jackfield_peer::{
    PeerId, address,
    known::{PeerStore, SavedPeer, Saving},
};

/// The known peers in the hub's store.
#[derive(Debug)]
pub(crate) struct StoredPeers(pub(crate) Arc<dyn Store>);

impl StoredPeers {
    /// Loads every [`SavedPeer`].
    pub(crate) async fn load(&self) -> Result<Vec<SavedPeer>, StoreError> {
        let records = self.0.load_peers().await?;
        Ok(records.iter().filter_map(from_record).collect())
    }
}

impl PeerStore for StoredPeers {
    fn save(&self, peer: SavedPeer) -> Saving {
        saving(self.0.save_peer(PeerRecord {
            id: peer.peer.to_string(),
            address: peer.address.as_ref().map(ToString::to_string),
            is_blocked: peer.is_blocked,
            seen_at: peer.seen_at,
        }))
    }

    fn remove(&self, peer: PeerId) -> Saving {
        saving(self.0.remove_peer(peer.to_string()))
    }
}

fn saving(receipt: Receipt) -> Saving {
    Box::pin(async move { receipt.await.map_err(|error| store_failure(&error)) })
}

/// Converts a record. An unreadable record is skipped and stays in the store, for the operator to repair.
fn from_record(record: &PeerRecord) -> Option<SavedPeer> {
    let address = record.address.as_deref().map(address::way_to_peer);
    let (Ok(peer), Ok(address)) = (record.id.parse(), address.transpose()) else {
        tracing::error!(peer = record.id, "what was kept of a peer cannot be read");
        return None;
    };
    Some(SavedPeer {
        peer,
        address: address.map(|(_, address)| address),
        is_blocked: record.is_blocked,
        seen_at: record.seen_at,
    })
}
