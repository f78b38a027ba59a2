//! Unfinished tasks after a restart of the hub. The hub never delivers a message twice.

use std::{collections::HashSet, sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{Task, TaskRegistry, no_such_task};
use jackfield_model::{End, Failure, Message};

use crate::{
    agent::Keep,
    call::{Call, Life, Resumed},
    door,
    hub::{CallOptions, Request},
    principal::Principal,
    store::{Receipt, Reopened, StoreError, TaskRecord},
};

impl TaskRegistry {
    /// Resumes unfinished tasks. Undelivered messages are delivered when their agents register. A delivered
    /// message waits for its agent to resume the work, or for the door to find the work again, for the same
    /// grace period as after a lost connection; it fails if the log was not kept, since nobody knows then
    /// what is missing. A turn that was being cancelled is cancelled, with all tasks that were started for it.
    pub(crate) async fn reopen_unfinished(&self) -> Result<(), StoreError> {
        let mut cancelled = HashSet::new();
        // Oldest first: a task comes before the tasks that were started for it.
        for record in self.store.reopen_tasks().await? {
            let is_cancelled = record.cancelling
                || record
                    .parent
                    .is_some_and(|parent| cancelled.contains(&parent));
            let mut reopened = self.store.read_turn(record).await?;
            let sent = reopened.record.sent;
            let (keep, call) = match reopened.message.take() {
                message if is_cancelled => {
                    cancelled.insert(reopened.record.id);
                    let keep = message.map_or(Keep::Meta, |_| Keep::Full);
                    (keep, Err(End::Cancelled))
                }
                Some(message) => {
                    let call = self.reopen(&mut reopened, message);
                    (Keep::Full, call.map_err(End::Failed))
                }
                None => (Keep::Meta, Err(End::Failed(Failure::hub_restarted()))),
            };
            let turn = Some(reopened.turn);
            let task = Task::new(reopened.record, keep, call.is_ok(), turn, self);
            match call {
                Ok(call) => drop(self.deliver_and_record(task, call, sent, Receipt::ready(Ok(())))),
                Err(end) => task.conclude(end).await?,
            }
        }
        Ok(())
    }

    fn reopen(&self, reopened: &mut Reopened, message: Message) -> Result<Arc<Call>, Failure> {
        let record = &reopened.record;
        let principal = self.sender_of(record).ok_or_else(no_such_task)?;
        let door = door::interned(&record.door);
        let mut request = Request::new(principal, door, record.agent.clone(), message);
        request.session = Some(record.session.clone());
        request.request = Some(record.request.clone());
        request.wait_online = (!record.sent).then(|| self.waits(record));
        let resumed = record.sent.then(|| Resumed {
            has_reply: reopened.has_reply,
            received: reopened.seq.unwrap_or(0),
            handle: record.handle.clone(),
            asks: std::mem::take(&mut reopened.asks),
            answers: std::mem::take(&mut reopened.answers),
        });
        self.calls.open_as(
            request,
            &CallOptions {
                id: Some(record.call),
                task: Some(record.id),
                is_allowed: true,
                resumed,
                handle_before: record.handle.clone().filter(|_| !record.sent),
                context: record.context.clone(),
                ..CallOptions::new(Life::Durable)
            },
        )
    }

    /// Returns the sender of a task's last message, with the rights of now.
    fn sender_of(&self, record: &TaskRecord) -> Option<Principal> {
        let grant = record.token.map(|token| self.tokens.grant(token));
        Principal::restored(&record.principal, grant)
    }

    fn waits(&self, record: &TaskRecord) -> Duration {
        let until = |until: Timestamp| until.duration_since(Timestamp::now());
        record
            .wait_until
            .map_or(self.shared.limits.queue_wait.0, |at| {
                Duration::try_from(until(at)).unwrap_or_default()
            })
    }
}
