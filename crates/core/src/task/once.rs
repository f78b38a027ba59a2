//! Requests that are carried out once, however often they are sent: known by a key of the caller's, for as long as their
//! task is kept. The key of a task's last message is the one that counts.

use std::sync::Arc;

use super::{Task, claims::Claim, store_failure};
use jackfield_model::{AgentId, Failure, Reason};

use crate::{
    agent::Keep,
    hub::{Hub, Request},
    principal::Whose,
    store::{TaskFilter, TaskRecord},
};

/// By what a repetition of a request is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Once {
    /// What the caller calls it, scoped to (principal, agent).
    pub key: String,
    /// SHA-256 of what it asks for: the same key for something else is a mistake.
    pub digest: [u8; 32],
}

/// A key with its scope: whose it is, and for which agent.
pub(super) type ScopedKey = (String, AgentId, String);

impl Once {
    /// Whether this is the one that a task was made with.
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

impl Hub {
    /// Keeps repetitions of a request waiting until it is known what became of it.
    pub(super) async fn claim_once(&self, request: &Request) -> Option<Claim<'_, ScopedKey>> {
        let once = request.once.as_ref()?;
        let key = (
            request.principal.key(),
            request.target.clone(),
            once.key.clone(),
        );
        Some(self.tasks().keys.claim(key).await)
    }

    /// The task that was made of the same request before.
    pub async fn repeated(&self, request: &Request) -> Result<Option<Arc<Task>>, Failure> {
        let Some(once) = &request.once else {
            return Ok(None);
        };
        let principal = request.principal.key();
        let tasks = self.tasks();
        let filter = TaskFilter {
            whose: Whose::Only(principal.clone()),
            agent: Some(request.target.clone()),
            once: Some(once.key.clone()),
            limit: 1,
            ..TaskFilter::default()
        };
        let stored = tasks.store.list_tasks(filter).await;
        let stored = stored.map_err(|error| store_failure(&error))?.pop();
        let entry = self.find(&request.principal, request.target.as_str());
        // A look at all that are worked on, for those agents only of which nothing is written down.
        let is_unkept = entry.is_ok_and(|entry| entry.settings().store == Keep::None);
        let record = stored.or_else(|| {
            let live = is_unkept
                .then(|| tasks.live_records())
                .into_iter()
                .flatten();
            let mut live = live
                .filter(|record| record.principal == principal && record.agent == request.target);
            live.find(|record| record.once.as_ref().is_some_and(|had| had.key == once.key))
        });
        match record {
            Some(record) if once.is_that_of(&record)? => Ok(Some(tasks.at_hand(record))),
            _ => Ok(None),
        }
    }
}
