//! How a kept call becomes a task, goes on with another message, or is cancelled.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::{Task, followers::kept, store_failure};
use jackfield_model::{CallId, End, Failure, Reason, TaskId};

use crate::{
    agent::Keep,
    call::Life,
    clock::Progress,
    hub::{Hub, LONGEST, Request, Start},
    outbox::{Callback, Follower, add},
    principal::Principal,
    store::{LogItem, TaskRecord, TaskState},
    units::Span,
};

impl Hub {
    /// Starts a kept call as a new task. It is accepted when this returns: the store has it. A request that is repeated
    /// (see [`Request::once`]) gives the task that was made of it, wherever that stands.
    pub async fn start_task(&self, request: Request) -> Result<Arc<Task>, Failure> {
        let _once = self.claim_once(&request).await;
        if let Some(task) = self.repeated(&request).await? {
            return Ok(task);
        }
        self.keep_call(request, CallId::new(), None).await
    }

    /// Goes on with a task whose agent waits for another message. One that is repeated gives the task as it stands.
    pub async fn continue_task(
        &self,
        mut request: Request,
        task: &Arc<Task>,
    ) -> Result<Arc<Task>, Failure> {
        let tasks = self.tasks();
        request.target = task.record().agent;
        let _once = self.claim_once(&request).await;
        let _turn = tasks.changing.claim(task.id).await;
        if let Some(task) = self.repeated(&request).await? {
            return Ok(task);
        }
        let record = tasks.current(task).await?;
        // Whoever may go on with a task may repeat its last message, too.
        if let Some(once) = &request.once
            && once.is_that_of(&record)?
        {
            return Ok(tasks.at_hand(record));
        }
        if record.state != TaskState::InputRequired || tasks.is_live(task.id) {
            let state = record.state.name();
            let text = format!("task {} is {state} and takes no further message", task.id);
            return Err(Failure::new(Reason::Conflict, text));
        }
        request.session = Some(record.session.clone());
        self.keep_call(request, CallId::new(), Some(record)).await
    }

    async fn keep_call(
        &self,
        mut request: Request,
        id: CallId,
        before: Option<TaskRecord>,
    ) -> Result<Arc<Task>, Failure> {
        let tasks = self.tasks();
        let _underway = tasks.underway();
        let task_id = before
            .as_ref()
            .map_or_else(|| TaskId::from(id), |record| record.id);
        let token = request.principal.grant.token;
        let callback = request
            .callback
            .take()
            .map(|callback| Callback { token, ..callback })
            .or_else(|| before.as_ref().and_then(|record| record.callback.clone()));
        let mut followers = before
            .as_ref()
            .map_or_else(Vec::new, |record| record.followers.clone());
        let mut new = std::mem::take(&mut request.followers);
        Follower::sign(&mut new, token);
        let replaced = add(&mut followers, new, self.limits().followers)?;
        let once = request
            .once
            .take()
            .or_else(|| before.as_ref().and_then(|record| record.once.clone()));
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
                context: before
                    .as_ref()
                    .map_or_else(BTreeMap::new, |record| record.context.clone()),
                handle_before: before.as_ref().and_then(|record| record.handle.clone()),
                ..Start::new(Life::Kept)
            },
        )?;
        let now = Timestamp::now();
        let sent = call.clock.lock().progress == Progress::Placed;
        let record = TaskRecord {
            id: task_id,
            call: id,
            principal: before
                .as_ref()
                .map_or_else(|| call.principal.key(), |record| record.principal.clone()),
            token,
            caller: call.principal.label().to_owned(),
            door: call.door.to_owned(),
            agent: call.addressed.clone(),
            session: call.session.clone(),
            request: call.request.clone(),
            parent: call.parent().map(|parent| parent.task_id()),
            state: if sent {
                TaskState::Working
            } else {
                TaskState::Submitted
            },
            needs_auth: false,
            sent,
            sent_at: sent.then_some(now),
            handle: before.as_ref().and_then(|record| record.handle.clone()),
            epoch: before.as_ref().map_or(0, |record| record.epoch),
            log_end: before.as_ref().map_or(0, |record| record.log_end),
            created_at: before.as_ref().map_or(now, |record| record.created_at),
            updated_at: now,
            wait_until,
            failure: None,
            callback,
            followers,
            once,
            unread,
            context: self.kept_context(&call),
        };
        let keep = kept(call.entry.settings().store, &record);
        let turn = Some(record.log_end);
        let task = Task::new(record, keep, true, turn, tasks);
        let rows = task.number(vec![(LogItem::Message(message), None)], now);
        let record = task.record();
        let told = if sent {
            task.announce(&record, now)
        } else {
            Vec::new()
        };
        // Nobody waits for it: the save that follows is committed later.
        drop(tasks.callbacks.forget(task_id, &replaced));
        let saved = task.save(record, rows, told, true);
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
        tasks.find(principal, id).await?;
        // Nobody goes on with it meanwhile.
        let _turn = tasks.changing.claim(id).await;
        let task = tasks.find(principal, id).await?;
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
        let task = Task::new(record, keep, false, None, tasks);
        let written = task.conclude(End::Cancelled).await;
        tasks.turns.tell(id);
        written.map_err(|error| store_failure(&error))
    }
}
