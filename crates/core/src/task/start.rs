//! How a kept call becomes a task, goes on with another message, or is cancelled.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Task, store_failure};
use crate::{
    agent::Keep,
    call::Life,
    clock::Stage,
    event::End,
    failure::{Failure, Reason},
    hub::{Hub, LONGEST, Request, Start},
    id::{CallId, TaskId},
    principal::Principal,
    store::{LogItem, TaskRecord, TaskState},
    units::Span,
};

impl Hub {
    /// Starts a kept call as a new task. It is accepted when this returns: the store has it.
    pub async fn start_task(&self, request: Request) -> Result<Arc<Task>, Failure> {
        let id = CallId::new();
        self.keep_call(request, id, None).await
    }

    /// Goes on with a task whose agent waits for another message.
    pub async fn continue_task(
        &self,
        mut request: Request,
        task: &Arc<Task>,
    ) -> Result<Arc<Task>, Failure> {
        let conflict = |state: &str| {
            let text = format!("task {} is {state} and takes no further message", task.id);
            Failure::new(Reason::Conflict, text)
        };
        let turn = self.tasks().claim(task.id);
        let _turn = turn.ok_or_else(|| conflict("just going on"))?;
        let record = self.tasks().current(task).await?;
        if record.state != TaskState::InputRequired || self.tasks().is_live(task.id) {
            return Err(conflict(record.state.name()));
        }
        request.session = Some(record.session.clone());
        request.target = record.agent.clone();
        self.keep_call(request, CallId::new(), Some(record)).await
    }

    async fn keep_call(
        &self,
        request: Request,
        id: CallId,
        before: Option<TaskRecord>,
    ) -> Result<Arc<Task>, Failure> {
        let tasks = self.tasks();
        let _underway = tasks.underway();
        let task_id = before
            .as_ref()
            .map_or_else(|| TaskId::from(id), |record| record.id);
        let callback = request
            .callback
            .clone()
            .or_else(|| before.as_ref().and_then(|record| record.callback.clone()));
        let unread = request.unread.map(Span);
        let wait_until = request
            .wait_online
            .and_then(|span| Timestamp::now().checked_add(span.min(LONGEST)).ok());
        let message = request.message.clone();
        let call = self.start(
            request,
            &Start {
                id: Some(id),
                task: Some(task_id),
                // A task goes on in its conversation, whoever of those who may has the next word.
                speaker: before
                    .as_ref()
                    .and_then(|record| Principal::from_key(&record.principal)),
                ..Start::new(Life::Kept)
            },
        )?;
        let now = Timestamp::now();
        let sent = call.clock.lock().stage == Stage::Placed;
        let record = TaskRecord {
            id: task_id,
            call: id,
            principal: before
                .as_ref()
                .map_or_else(|| call.principal.key(), |record| record.principal.clone()),
            caller: call.principal.label().to_owned(),
            door: call.door.to_owned(),
            agent: call.target.clone(),
            session: call.session.clone(),
            request: call.request.clone(),
            state: if sent {
                TaskState::Working
            } else {
                TaskState::Submitted
            },
            sent,
            epoch: before.as_ref().map_or(0, |record| record.epoch),
            log_end: before.as_ref().map_or(0, |record| record.log_end),
            created_at: before.as_ref().map_or(now, |record| record.created_at),
            updated_at: now,
            wait_until,
            failure: None,
            callback,
            unread,
        };
        // Whom to tell, and of what, has to be kept somewhere.
        let keep = match call.entry.settings().store {
            Keep::None if record.callback.is_some() => Keep::Meta,
            keep => keep,
        };
        let task = Task::new(record, keep, true, tasks);
        let rows = task.number(vec![(LogItem::Message(message), None)]);
        let saved = task.save(task.record(), rows, true);
        // The recorder owns the call from here on: a caller that leaves now changes nothing.
        tasks
            .run(task.clone(), call, sent, saved)
            .await
            .map_err(|error| store_failure(&error))?;
        Ok(task)
    }

    /// Cancels a task, whether it runs or waits for another message. It is cancelled when this returns, as far as the
    /// agent and the caller go; one that waits, in the store too.
    pub async fn cancel_task(&self, principal: &Principal, id: TaskId) -> Result<(), Failure> {
        let tasks = self.tasks();
        let conflict = |state: &str| {
            let text = format!("task {id} is {state} and cannot be cancelled");
            Failure::new(Reason::Conflict, text)
        };
        let task = tasks.find(principal, id).await?;
        // Nobody goes on with it meanwhile.
        let _turn = tasks.claim(id).ok_or_else(|| conflict("just going on"))?;
        if task
            .call()
            .is_some_and(|call| call.finish(End::Cancelled, true))
        {
            return Ok(());
        }
        if tasks.is_live(id) {
            return Err(conflict("just ending"));
        }
        let record = tasks.current(&task).await?;
        if record.state.is_final() {
            return Err(conflict(record.state.name()));
        }
        let log = tasks.store.read_log(id, 0, 1).await;
        let log = log.map_err(|error| store_failure(&error))?;
        let keep = if log.is_empty() {
            Keep::Meta
        } else {
            Keep::Full
        };
        let task = Task::new(record, keep, false, tasks);
        let concluded = task.conclude(End::Cancelled, None).await;
        concluded.map_err(|error| store_failure(&error))
    }
}
