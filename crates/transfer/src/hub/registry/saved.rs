//! Transfers in the hub's store: one record for each name by which a transfer is found. The store forgets a record
//! with the agent of that name.

use std::time::Duration;

use jackfield_core::store::{DoorRecord, RecordKey, Store, StoreError};
use jackfield_model::{AgentId, Json, Offer};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{KNOWN_FOR, Toward, Transfer};

/// Owner of the records.
const RECORDS: &str = "transfers";

/// Stored form of a [`Transfer`].
#[derive(Debug, Serialize, Deserialize)]
struct SavedTransfer {
    agent: AgentId,
    peer: Option<AgentId>,
    caller: String,
    toward: Toward,
    offer: Offer,
    until: Timestamp,
}

/// Loads all transfers with their names, oldest first. Removes expired and unreadable ones from the store.
pub(super) async fn load(
    store: &dyn Store,
    now: Instant,
) -> Result<Vec<(AgentId, Transfer)>, StoreError> {
    let (mut loaded, mut dropped) = (Vec::new(), Vec::new());
    for record in store.load_records(RECORDS).await? {
        let Some(name) = record.agent else {
            continue;
        };
        match serde_json::from_str::<SavedTransfer>(record.value.get()) {
            Ok(saved) => match Duration::try_from(saved.until.duration_since(Timestamp::now())) {
                Ok(left) if !left.is_zero() => loaded.push((name, left, saved)),
                _ => dropped.push((name, record.key)),
            },
            Err(error) => {
                tracing::error!(%error, agent = %name, transfer = record.key, "a stored transfer cannot be read");
                dropped.push((name, record.key));
            }
        }
    }
    if !dropped.is_empty() {
        remove(store, dropped);
    }
    loaded.sort_by_key(|(_, left, _)| *left);
    let loaded = loaded.into_iter().map(|(name, left, saved)| {
        let transfer = Transfer {
            agent: saved.agent,
            peer: saved.peer,
            offer: saved.offer,
            toward: saved.toward,
            caller: saved.caller,
            // The clock may have been set back since.
            until: now + left.min(KNOWN_FOR),
        };
        (name, transfer)
    });
    Ok(loaded.collect())
}

/// Saves a new transfer under its names.
pub(super) fn save(store: &dyn Store, names: &[&AgentId], transfer: &Transfer) {
    let saved = SavedTransfer {
        agent: transfer.agent.clone(),
        peer: transfer.peer.clone(),
        caller: transfer.caller.clone(),
        toward: transfer.toward,
        offer: transfer.offer.clone(),
        until: Timestamp::now() + KNOWN_FOR,
    };
    let value = match Json::of(&saved) {
        Ok(value) => value,
        Err(error) => {
            tracing::error!(%error, "a transfer cannot be stored");
            return;
        }
    };
    let records = names.iter().map(|name| DoorRecord {
        door: RECORDS.to_owned(),
        agent: Some((*name).clone()),
        key: transfer.offer.transfer_id.clone(),
        value: value.clone(),
    });
    drop(store.save_records(records.collect(), false));
}

/// Removes transfers by name and id.
pub(super) fn remove(store: &dyn Store, dropped: Vec<(AgentId, String)>) {
    let keys = dropped.into_iter().map(|(name, id)| RecordKey {
        door: RECORDS.to_owned(),
        agent: Some(name),
        key: id,
    });
    drop(store.remove_records(keys.collect(), false));
}
