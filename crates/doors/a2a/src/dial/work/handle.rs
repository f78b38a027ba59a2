//! By what the work on a call is found again after a restart of the hub: what the server calls the task. The task's record
//! keeps it, as JSON, from when the server has named the task until the end of the turn; and of a turn that ends since the
//! server wants a login, until the next message, which goes to the same task. What was passed on of the answer stands in
//! the log, and nowhere else.

use jackfield_core::{
    call::{AgentHandle, Call},
    task::TaskItem,
};
use jackfield_model::{Failure, Json};
use serde::{Deserialize, Serialize};

use crate::dial::{hear::Hearing, line::Line, remote::Remote};

/// By what the work on a call is found again.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Handle {
    /// What the operator typed: the agent's id may lead to another server by now, which may have a task of this name.
    url: String,
    task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// Whether turns before this one were of the same task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    goes_on: bool,
}

impl Handle {
    /// Of a task that a remote works on, once it has named it; as it is kept.
    pub(super) fn written(remote: &Remote, hearing: &Hearing) -> Option<Json> {
        let handle = Self {
            url: remote.spec.url.clone(),
            task: hearing.task()?.to_owned(),
            context: hearing.context().map(str::to_owned),
            goes_on: false,
        };
        handle.to_json()
    }

    /// Of the turn before, if the server waits for the message of this one.
    pub(super) fn before(serving: &AgentHandle, remote: &Remote) -> Option<Self> {
        let handle = Self::read(serving.call().handle_before()?, remote)?;
        Some(Self {
            goes_on: true,
            ..handle
        })
    }

    /// As it is kept.
    pub(super) fn to_json(&self) -> Option<Json> {
        Json::of(self).ok()
    }

    /// Of a call of before a restart, if the server had named the task, and is still the same.
    pub(super) fn of(serving: &AgentHandle, remote: &Remote) -> Option<Self> {
        Self::read(serving.call().handle()?, remote)
    }

    fn read(kept: &Json, remote: &Remote) -> Option<Self> {
        let handle: Self = serde_json::from_str(kept.get()).ok()?;
        (handle.url == remote.spec.url).then_some(handle)
    }

    /// Tells a line which conversation the task is of, since some servers want to hear that.
    pub(super) fn tell(&self, line: &Line) {
        if let Some(context) = &self.context {
            line.knows(&self.task, context);
        }
    }

    /// Listens to the task, without knowing what was passed on of it.
    pub(super) fn anew(&self) -> Hearing {
        Hearing::recalled(self.task.clone(), self.context.clone())
    }

    /// Listens where the hub before this one stopped, or the turn before. Fails if the log does not tell all of it.
    pub(super) async fn recall(&self, remote: &Remote, call: &Call) -> Result<Hearing, Failure> {
        let tasks = remote.hub().tasks();
        let task = tasks.find(&call.principal, call.task_id()).await?;
        let turn = task.turn().ok_or_else(Failure::hub_restarted)?;
        let (_, end) = task.snapshot();
        let mut hearing = self.anew();
        let from = (!self.goes_on).then_some(turn);
        let mut log = task.subscribe(from);
        let mut at = from.map_or(0, |from| from.pos);
        while at < end.pos {
            let Ok(Some(TaskItem::Row { next, item, .. })) = log.next().await else {
                return Err(Failure::hub_restarted());
            };
            hearing.recall(item);
            at = next.pos;
        }
        Ok(hearing)
    }
}
