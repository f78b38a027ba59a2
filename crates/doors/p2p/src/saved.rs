//! Known peers in the hub's store, as records of this door about no agent. The door loads them at start;
//! [`KnownPeers`](jackfield_peer::known::KnownPeers) saves its changes.

use std::sync::Arc;

use jackfield_core::store::{DoorRecord, Receipt, RecordKey, Store, StoreError};
use jackfield_kit::api::store_failure;
use jackfield_model::Json;
use jackfield_peer::{
    PeerId, address,
    known::{PeerStore, SavedPeer, Saving},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::DOOR;

/// Prefix of the record keys of peers; the peer id follows.
const PEER: &str = "peer/";

/// The known peers in the hub's store.
#[derive(Debug)]
pub(crate) struct StoredPeers(pub(crate) Arc<dyn Store>);

/// Stored form of a [`SavedPeer`], without its id.
#[derive(Debug, Serialize, Deserialize)]
struct StoredPeer {
    address: Option<String>,
    is_blocked: bool,
    seen_at: Option<Timestamp>,
}

impl StoredPeers {
    /// Loads every [`SavedPeer`].
    pub(crate) async fn load(&self) -> Result<Vec<SavedPeer>, StoreError> {
        let records = self.0.load_records(DOOR).await?;
        Ok(records.iter().filter_map(from_record).collect())
    }
}

impl PeerStore for StoredPeers {
    fn save(&self, peer: SavedPeer) -> Saving {
        let stored = StoredPeer {
            address: peer.address.as_ref().map(ToString::to_string),
            is_blocked: peer.is_blocked,
            seen_at: peer.seen_at,
        };
        saving(match Json::of(&stored) {
            Ok(value) => {
                let record = DoorRecord {
                    door: DOOR.to_owned(),
                    agent: None,
                    key: key(peer.peer),
                    value,
                };
                self.0.save_records(vec![record], true)
            }
            Err(error) => Receipt::ready(Err(StoreError::Refused(error.to_string()))),
        })
    }

    fn remove(&self, peer: PeerId) -> Saving {
        let key = RecordKey {
            door: DOOR.to_owned(),
            agent: None,
            key: key(peer),
        };
        saving(self.0.remove_records(vec![key], true))
    }
}

fn key(peer: PeerId) -> String {
    format!("{PEER}{peer}")
}

fn saving(receipt: Receipt) -> Saving {
    Box::pin(async move { receipt.await.map_err(|error| store_failure(&error)) })
}

/// Converts a record. An unreadable record is skipped and stays in the store, for the operator to repair.
fn from_record(record: &DoorRecord) -> Option<SavedPeer> {
    let id = record.key.strip_prefix(PEER)?;
    let read = read(id, record.value.get());
    if read.is_none() {
        tracing::error!(peer = id, "the stored record of a peer cannot be read");
    }
    read
}

fn read(id: &str, value: &str) -> Option<SavedPeer> {
    let stored: StoredPeer = serde_json::from_str(value).ok()?;
    let address = stored.address.as_deref().map(address::way_to_peer);
    Some(SavedPeer {
        peer: id.parse().ok()?,
        address: address.transpose().ok()?.map(|(_, address)| address),
        is_blocked: stored.is_blocked,
        seen_at: stored.seen_at,
    })
}

#[cfg(test)]
mod tests {
    use jackfield_core::store::memory::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn peers_read_back_may_change_and_are_forgotten() {
        let stored = StoredPeers(Arc::new(MemoryStore::default()));
        let (peer, gone) = (PeerId::random(), PeerId::random());
        let mut saved = SavedPeer {
            peer,
            address: None,
            is_blocked: false,
            seen_at: None,
        };
        stored.save(saved.clone()).await.unwrap();
        let other = SavedPeer {
            peer: gone,
            ..saved.clone()
        };
        stored.save(other.clone()).await.unwrap();
        assert_eq!(stored.load().await.unwrap(), [saved.clone(), other]);
        saved.address = format!("/ip4/192.0.2.1/tcp/1/p2p/{peer}").parse().ok();
        saved.is_blocked = true;
        saved.seen_at = Some(Timestamp::UNIX_EPOCH);
        assert!(saved.address.is_some());
        stored.save(saved.clone()).await.unwrap();
        stored.remove(gone).await.unwrap();
        assert_eq!(stored.load().await.unwrap(), [saved]);
    }

    #[tokio::test]
    async fn a_record_that_cannot_be_read_is_skipped_and_stays() {
        let store = Arc::new(MemoryStore::default());
        let records = [("peer/nobody", "{}"), ("other", "1")];
        let records = records.map(|(key, value)| DoorRecord {
            door: DOOR.to_owned(),
            agent: None,
            key: key.to_owned(),
            value: Json::parse(value).unwrap(),
        });
        store.save_records(records.to_vec(), true).await.unwrap();
        let stored = StoredPeers(store.clone());
        assert_eq!(stored.load().await.unwrap(), []);
        assert_eq!(store.load_records(DOOR).await.unwrap(), records);
    }
}
