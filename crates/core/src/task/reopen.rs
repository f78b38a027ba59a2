//! What becomes of unfinished tasks after a restart. The hub never runs a message twice.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use super::{Task, no_such_task};
use jackfield_model::{End, Failure, Message};

use crate::{
    agent::Keep,
    call::{Call, Life, TakenUp},
    door,
    hub::{Hub, Request, Start},
    store::{Receipt, Reopened, StoreError, TaskRecord},
};

impl Hub {
    /// What was not sent goes out when its agent registers. What was sent waits for the agent to resume it, or for its door
    /// to find it again, for the same time as after a cut; it fails if what was said was not kept, since then nobody knows what is missing.
    pub(crate) async fn take_up_tasks(&self, open: Vec<TaskRecord>) -> Result<(), StoreError> {
        let tasks = self.tasks();
        for record in open {
            let mut reopened = tasks.store.read_turn(record).await?;
            let sent = reopened.record.sent;
            let (keep, call) = match reopened.message.take() {
                Some(message) => (Keep::Full, self.reopen(&mut reopened, message)),
                None => (Keep::Meta, Err(Failure::hub_restarted())),
            };
            let turn = Some(reopened.turn);
            let task = Task::new(reopened.record, keep, call.is_ok(), turn, tasks);
            match call {
                Ok(call) => drop(tasks.run(task, call, sent, Receipt::ready(Ok(())))),
                Err(failure) => task.conclude(End::Failed(failure)).await?,
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
        let taken_up = record.sent.then(|| TakenUp {
            has_reply: reopened.has_reply,
            received: reopened.seq.unwrap_or(0),
            handle: record.handle.clone(),
            asks: std::mem::take(&mut reopened.asks),
            answers: std::mem::take(&mut reopened.answers),
        });
        self.start(
            request,
            &Start {
                id: Some(record.call),
                task: Some(record.id),
                is_allowed: true,
                taken_up,
                handle_before: record.handle.clone().filter(|_| !record.sent),
                context: record.context.clone(),
                ..Start::new(Life::Kept)
            },
        )
    }

    fn waits(&self, record: &TaskRecord) -> Duration {
        let until = |until: Timestamp| until.duration_since(Timestamp::now());
        record.wait_until.map_or(self.limits().queue_wait.0, |at| {
            Duration::try_from(until(at)).unwrap_or_default()
        })
    }
}
