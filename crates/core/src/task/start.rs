//! How a durable call becomes a task, is continued by another message, or is cancelled. See [`TaskRegistry`].

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;

use super::{Task, TaskRegistry, followers::kept, store_failure};
use jackfield_model::{CallId, End, Failure, Reason, TaskId};

use crate::{
    agent::Keep,
    call::Life,
    clock::Progress,
    hub::{CallOptions, LONGEST, Request},
    outbox::{Callback, Follower, add},
    principal::Principal,
    store::{LogItem, TaskRecord, TaskState},
    units::Span,
};

impl TaskRegistry {
    /// Starts a durable call as a new task. When this returns, the store has the task, and the task's
    /// `Delivery` hands the call to its agent. A repeated request (see [`Request::once`]) returns the task of
    /// the first one, in whatever state.
    pub async fn start(&self, request: Request) -> Result<Arc<Task>, Failure> {
        let _once = self.claim_key(&request).await;
        if let Some(task) = self.find_repeated(&request).await? {
            return Ok(task);
        }
        self.open_turn(request, CallId::new(), None).await
    }

    /// Continues a task whose agent waits for another message. A repeated request returns the task as it is.
    pub async fn continue_task(
        &self,
        mut request: Request,
        task: &Arc<Task>,
    ) -> Result<Arc<Task>, Failure> {
        request.target = task.record().agent;
        let _once = self.claim_key(&request).await;
        let _turn = self.changing.claim(task.id).await;
        if let Some(task) = self.find_repeated(&request).await? {
            return Ok(task);
        }
        let record = self.current(task).await?;
        // A principal that may continue a task may also repeat its last message.
        if let Some(once) = &request.once
            && once.is_that_of(&record)?
        {
            return self.at_hand(record).await;
        }
        if record.state != TaskState::InputRequired || self.live.contains(task.id) {
            let state = record.state.name();
            let text = format!("task {} is {state} and takes no further message", task.id);
            return Err(Failure::new(Reason::Conflict, text));
        }
        request.session = Some(record.session.clone());
        self.open_turn(request, CallId::new(), Some(record)).await
    }

    async fn open_turn(
        &self,
        mut request: Request,
        id: CallId,
        before: Option<TaskRecord>,
    ) -> Result<Arc<Task>, Failure> {
        let _underway = self.underway();
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
        let replaced = add(&mut followers, new, self.shared.limits.followers)?;
        let once = request
            .once
            .take()
            .or_else(|| before.as_ref().and_then(|record| record.once.clone()));
        let unread = request.unread.map(Span);
        let wait_until = request
            .wait_online
            .and_then(|span| Timestamp::now().checked_add(span.min(LONGEST)).ok());
        let message = request.message.clone();
        let call = self.calls.open_as(
            request,
            &CallOptions {
                id: Some(id),
                task: Some(task_id),
                // A task continues in its own session, whichever principal sends the next message.
                speaker: before
                    .as_ref()
                    .and_then(|record| Principal::from_key(&record.principal)),
                context: before
                    .as_ref()
                    .map_or_else(BTreeMap::new, |record| record.context.clone()),
                handle_before: before.as_ref().and_then(|record| record.handle.clone()),
                ..CallOptions::new(Life::Durable)
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
            cancelling: false,
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
            context: self.calls.durable_context(&call),
        };
        let keep = kept(call.entry.settings().store, &record);
        let turn = Some(record.log_end);
        let task = Task::new(record, keep, true, turn, self);
        let rows = task.number(vec![(LogItem::Message(message), None)], now);
        let record = task.record();
        let told = if sent {
            task.announce(&record, now)
        } else {
            Vec::new()
        };
        // Not awaited: the save that follows is committed later.
        drop(self.callbacks.forget(task_id, &replaced));
        let saved = task.save(record, rows, told, true);
        // The agent gets the call now: as soon as the task is saved, and the call has its turn.
        self.deliver_and_record(task.clone(), call, sent, saved)
            .await
            .map_err(|error| store_failure(&error))?;
        Ok(task)
    }

    /// Cancels a task, whether it runs or waits for another message. When this returns, the agent and the
    /// caller are told; a waiting task is cancelled in the store, too.
    pub async fn cancel(&self, principal: &Principal, id: TaskId) -> Result<(), Failure> {
        let conflict = |state: &str| {
            let text = format!("task {id} is {state} and cannot be cancelled");
            Failure::new(Reason::Conflict, text)
        };
        self.find(principal, id).await?;
        // Keeps the next turn from starting meanwhile.
        let _turn = self.changing.claim(id).await;
        let task = self.find(principal, id).await?;
        if let Some(call) = task.call().filter(|call| !call.is_ended()) {
            if let Some(marked) = task.mark_cancelling()
                && let Err(error) = marked.await
            {
                // The agent is told nevertheless: only a restart in this moment would need the mark.
                tracing::warn!(task = %id, %error, "a cancel could not be written");
            }
            if call.finish(End::Cancelled, true) {
                return Ok(());
            }
        }
        if self.live.contains(id) {
            return Err(conflict("just ending"));
        }
        let record = self.current(&task).await?;
        if record.state.is_final() {
            return Err(conflict(record.state.name()));
        }
        let log = self.store.read_log(id, 0, 1).await;
        let log = log.map_err(|error| store_failure(&error))?;
        let keep = if log.is_empty() {
            Keep::Meta
        } else {
            Keep::Full
        };
        let task = Task::new(record, keep, false, None, self);
        let written = task.conclude(End::Cancelled).await;
        self.turns.tell(id);
        written.map_err(|error| store_failure(&error))
    }
}
