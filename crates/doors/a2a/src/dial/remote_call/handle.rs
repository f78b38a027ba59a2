//! Handle for finding a remote's task after a restart of the hub: the server's task id.
//!
//! The task's record stores the handle as JSON, from the first answer with the task id to the end of the
//! turn. If the turn ended with a login request, the record keeps the handle until the next message, which
//! goes to the same task. The log alone records the forwarded content.

use jackfield_core::{
    call::{AgentHandle, Call},
    task::TaskItem,
};
use jackfield_model::{Failure, Json};
use serde::{Deserialize, Serialize};

use crate::dial::{client::RemoteClient, remote::Remote, translator::AnswerTranslator};

/// Handle for finding a remote's task.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RemoteTaskHandle {
    /// URL that the operator typed. The agent id may meanwhile belong to a different server, which may have
    /// an equal task id.
    url: String,
    task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<String>,
    /// True if earlier turns belong to the same task.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    goes_on: bool,
}

impl RemoteTaskHandle {
    /// Returns the handle as JSON, once the remote has sent the task id.
    pub(super) fn written(remote: &Remote, hearing: &AnswerTranslator) -> Option<Json> {
        let handle = Self {
            url: remote.spec.url.clone(),
            task: hearing.task()?.to_owned(),
            context: hearing.context().map(str::to_owned),
            goes_on: false,
        };
        handle.to_json()
    }

    /// Returns the handle of the previous turn, if the server waits for the message of the current turn.
    pub(super) fn before(serving: &AgentHandle, remote: &Remote) -> Option<Self> {
        let handle = Self::read(serving.call().handle_before()?, remote)?;
        Some(Self {
            goes_on: true,
            ..handle
        })
    }

    /// Returns the handle as stored JSON.
    pub(super) fn to_json(&self) -> Option<Json> {
        Json::of(self).ok()
    }

    /// Returns the handle of a call from before a restart, if the task id was known and the remote's URL is
    /// unchanged.
    pub(super) fn of(serving: &AgentHandle, remote: &Remote) -> Option<Self> {
        Self::read(serving.call().handle()?, remote)
    }

    fn read(kept: &Json, remote: &Remote) -> Option<Self> {
        let handle: Self = serde_json::from_str(kept.get()).ok()?;
        (handle.url == remote.spec.url).then_some(handle)
    }

    /// Passes the task's context id to a line, because some servers require the context.
    pub(super) fn pass_context(&self, line: &RemoteClient) {
        if let Some(context) = &self.context {
            line.set_context(&self.task, context);
        }
    }

    /// Creates a translator for the task, without knowledge of the forwarded content.
    pub(super) fn fresh_translator(&self) -> AnswerTranslator {
        AnswerTranslator::resumed(self.task.clone(), self.context.clone())
    }

    /// Creates a translator that continues where the hub stopped, or where the previous turn ended. Fails if
    /// the log is incomplete.
    pub(super) async fn recall(
        &self,
        remote: &Remote,
        call: &Call,
    ) -> Result<AnswerTranslator, Failure> {
        let tasks = remote.hub().tasks();
        let task = tasks.find(&call.principal, call.task_id()).await?;
        let turn = task.turn().ok_or_else(Failure::hub_restarted)?;
        let (_, end) = task.snapshot();
        let mut hearing = self.fresh_translator();
        let from = (!self.goes_on).then_some(turn);
        let mut log = task.subscribe(from);
        let mut at = from.map_or(0, |from| from.pos);
        while at < end.pos {
            let Ok(Some(TaskItem::Row { next, item, .. })) = log.next().await else {
                return Err(Failure::hub_restarted());
            };
            hearing.replay(item);
            at = next.pos;
        }
        Ok(hearing)
    }
}
