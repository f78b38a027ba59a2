//! Remotes that were added while the hub ran, as records of their door in the store. The store forgets a record
//! with its agent. A record never holds a secret, only where the secret is.

use jackfield_core::store::{DoorRecord, Receipt, Store, StoreError};
use jackfield_model::{AgentId, Json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Key of the record among the door's records for the agent.
const KEY: &str = "remote";

/// A remote that was added while the hub ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRemote<S> {
    /// The door's description of the remote.
    pub spec: S,
    /// Time when the remote was added.
    pub added_at: Timestamp,
}

/// Loads the remotes of a door, by agent. An unreadable record is logged and skipped, so that the other remotes
/// still start; it stays in the store.
pub async fn load<S: DeserializeOwned>(
    store: &dyn Store,
    door: &str,
) -> Result<Vec<(AgentId, StoredRemote<S>)>, StoreError> {
    let mut remotes = Vec::new();
    for record in store.load_records(door).await? {
        let Some(agent) = record.agent.filter(|_| record.key == KEY) else {
            continue;
        };
        match serde_json::from_str(record.value.get()) {
            Ok(remote) => remotes.push((agent, remote)),
            Err(error) => {
                tracing::error!(%agent, door, %error, "the record of a remote cannot be read");
            }
        }
    }
    Ok(remotes)
}

/// Saves a remote, new or changed. Its agent must be known to the store.
pub fn save<S: Serialize>(
    store: &dyn Store,
    door: &str,
    agent: &AgentId,
    remote: &StoredRemote<S>,
) -> Receipt {
    match Json::of(remote) {
        Ok(value) => {
            let record = DoorRecord {
                door: door.to_owned(),
                agent: Some(agent.clone()),
                key: KEY.to_owned(),
                value,
            };
            store.save_records(vec![record], true)
        }
        Err(error) => Receipt::ready(Err(StoreError::Refused(error.to_string()))),
    }
}
