//! By what the work on a call is found again after a restart of the hub: what the server calls the task. The task's record
//! keeps it, as JSON, from when the server has named the task until the end of the turn. What was passed on of the answer
//! stands in the log, and nowhere else.

use jackfield_core::{
    call::{Call, Serving},
    event::Json,
    failure::Failure,
    task::TaskItem,
};
use serde::{Deserialize, Serialize};

use crate::dial::{hear::Hearing, remote::Remote};

/// By what the work on a call is found again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handle {
    /// What the operator typed: the agent's id may lead to another server by now, which may have a task of this name.
    url: String,
    task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
}

impl Handle {
    /// Of a task that a remote works on, once it has named it; as it is kept.
    pub(super) fn written(remote: &Remote, hearing: &Hearing) -> Option<Json> {
        let handle = Self {
            url: remote.spec.url.clone(),
            task: hearing.task()?.to_owned(),
            context: hearing.context().map(str::to_owned),
        };
        Json::of(&handle).ok()
    }

    /// Of a call of before a restart, if the server had named the task, and is still the same.
    pub(super) fn of(serving: &Serving, remote: &Remote) -> Option<Self> {
        let handle: Self = serde_json::from_str(serving.call().handle()?.get()).ok()?;
        (handle.url == remote.spec.url).then_some(handle)
    }

    /// Listens where the hub before this one stopped. Fails if the log does not tell all of it.
    pub(super) async fn recall(self, remote: &Remote, call: &Call) -> Result<Hearing, Failure> {
        let tasks = remote.hub().tasks();
        let task = tasks.find(&call.principal, call.task_id()).await?;
        let turn = task.turn().ok_or_else(Failure::hub_restarted)?;
        let (_, end) = task.snapshot();
        let mut hearing = Hearing::recalled(self.task, self.context);
        let mut log = task.subscribe(Some(turn));
        let mut at = turn;
        while at.pos < end.pos {
            let Ok(Some(TaskItem::Row { next, item })) = log.next().await else {
                return Err(Failure::hub_restarted());
            };
            hearing.recall(item);
            at = next;
        }
        Ok(hearing)
    }
}
