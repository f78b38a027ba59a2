//! [`IdempotencyKey`]: requests that are carried out once, however often they are sent. A key is known as long as its task is kept; the key of a task's last message counts.

use std::sync::Arc;

use super::{Task, TaskRegistry, claims::KeyClaim, store_failure};
use jackfield_model::{AgentId, Failure, Reason};

use crate::{
    agent::Keep,
    hub::Request,
    principal::Whose,
    store::{TaskFilter, TaskRecord},
};

/// Idempotency key of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Key that the caller chose, scoped to (principal, agent).
    pub key: String,
    /// SHA-256 of the request: the same key with another request is refused.
    pub digest: [u8; 32],
}

/// A key with its scope: principal, agent, key.
pub(super) type ScopedKey = (String, AgentId, String);

impl IdempotencyKey {
    /// Whether the task of `record` was made with this key. Fails if the key was used for another request.
    pub(super) fn is_that_of(&self, record: &TaskRecord) -> Result<bool, Failure> {
        match &record.once {
            Some(had) if had.key == self.key && had.digest != self.digest => {
                let text = format!(
                    "{:?} was used for another message before; choose another id for this one",
                    self.key
                );
                Err(Failure::new(Reason::Conflict, text))
            }
            had => Ok(had.as_ref() == Some(self)),
        }
    }
}

impl TaskRegistry {
    /// Claims the key of a request, so that repetitions wait until the request is accepted or refused.
    pub(super) async fn claim_key(&self, request: &Request) -> Option<KeyClaim<'_, ScopedKey>> {
        let once = request.once.as_ref()?;
        let key = (
            request.principal.key(),
            request.target.clone(),
            once.key.clone(),
        );
        Some(self.keys.claim(key).await)
    }

    /// Finds the task that an earlier request with the same key made.
    pub async fn find_repeated(&self, request: &Request) -> Result<Option<Arc<Task>>, Failure> {
        let Some(once) = &request.once else {
            return Ok(None);
        };
        let principal = request.principal.key();
        let filter = TaskFilter {
            whose: Whose::Only(principal.clone()),
            agent: Some(request.target.clone()),
            once: Some(once.key.clone()),
            limit: 1,
            ..TaskFilter::default()
        };
        let stored = self.store.list_tasks(filter).await;
        let stored = stored.map_err(|error| store_failure(&error))?.pop();
        let entry = self
            .agents
            .find(&request.principal, request.target.as_str());
        // A look at all live tasks, only for agents whose tasks are not stored.
        let is_unkept = entry.is_ok_and(|entry| entry.settings().store == Keep::None);
        let record = stored.or_else(|| {
            let live = is_unkept.then(|| self.live.records()).into_iter().flatten();
            let mut live = live
                .filter(|record| record.principal == principal && record.agent == request.target);
            live.find(|record| record.once.as_ref().is_some_and(|had| had.key == once.key))
        });
        match record {
            Some(record) if once.is_that_of(&record)? => self.at_hand(record).await.map(Some),
            _ => Ok(None),
        }
    }
}
