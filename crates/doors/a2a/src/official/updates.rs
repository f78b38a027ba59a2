//! Stream of a task's updates: first the current task, then every log item. The stream ends with the task, at
//! a state that waits for the caller if the caller sent the message, or when the caller's token is revoked.

use std::{collections::VecDeque, sync::Arc};

use jackfield_core::{
    principal::Principal,
    store::{LogItem, StoreError},
    task::{Cursor, Subscription, Task, TaskItem},
};
use jackfield_kit::api::lifetime::RequestLifetime;
use jackfield_model::{Failure, Reason};
use jiff::Timestamp;

use super::{failure::task_fault_from, inbound::InboundRequest, renderer::UpdateRenderer};
use crate::A2aDoor;
use crate::wire::official::{
    error::A2aError,
    model::{A2aState, StreamItem},
};

/// Element of a stream.
#[derive(Debug)]
pub(crate) struct StreamUpdate {
    /// Cursor for resuming after the element. If an event of the agent becomes several elements, only the
    /// last element has an id, so that a resumed stream loses none of them.
    pub(crate) id: Option<String>,
    /// Task, message or update to send.
    pub(crate) item: StreamItem,
}

/// Condition that ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamUntil {
    /// The task is over or waits for the caller.
    Turn,
    /// The task is over, after any number of turns.
    End,
}

/// Stream of [`StreamUpdate`]s. Dropping the stream does not affect the task.
#[derive(Debug)]
pub(crate) struct UpdateStream {
    a2a: Arc<A2aDoor>,
    principal: Principal,
    subscription: Subscription,
    renderer: UpdateRenderer,
    until: StreamUntil,
    cursor: Cursor,
    ready: VecDeque<StreamUpdate>,
    is_over: bool,
    /// Error that ended the stream before the task was over.
    cut: Option<A2aError>,
}

impl UpdateStream {
    /// Opens a stream after position `after`; `first` is the task at that position.
    pub(super) fn new(
        inbound: &InboundRequest,
        task: &Arc<Task>,
        after: Cursor,
        first: StreamItem,
        renderer: UpdateRenderer,
        until: StreamUntil,
    ) -> Self {
        let first = StreamUpdate {
            id: Some(after.to_string()),
            item: first,
        };
        Self {
            subscription: task.subscribe(Some(after)),
            a2a: inbound.a2a.clone(),
            principal: inbound.principal.clone(),
            renderer,
            until,
            cursor: after,
            ready: VecDeque::from([first]),
            is_over: false,
            cut: None,
        }
    }

    /// Queues the update that the agent received the message at `since`, before all further updates.
    pub(super) fn queue_working(&mut self, since: Timestamp) {
        let mut items = Vec::new();
        self.renderer.render_working(since, &mut items);
        let updates = items
            .into_iter()
            .map(|item| StreamUpdate { id: None, item });
        self.ready.extend(updates);
    }

    /// Returns the next [`StreamUpdate`]. If the stream ends before the task does, the last element is the error.
    /// Returns `None` after the end. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Result<StreamUpdate, A2aError>> {
        if !self.is_over || !self.ready.is_empty() {
            tokio::select! {
                // Poll for the revocation first: a stream that always has an element ready must not outrun
                // the revocation.
                biased;
                failure = RequestLifetime::for_principal(&self.principal).ended() => {
                    self.ready.clear();
                    self.cut_off(failure);
                }
                update = self.read() => return update,
            }
        }
        self.cut.take().map(Err)
    }

    async fn read(&mut self) -> Option<Result<StreamUpdate, A2aError>> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Some(Ok(update));
            }
            if self.is_over {
                return self.cut.take().map(Err);
            }
            match self.subscription.next().await {
                Ok(Some(TaskItem::Row { next, at, item })) => self.queue_updates(next, at, item),
                // Dropped log items cannot be sent any more. A caller can read the task for the complete
                // state.
                Ok(Some(TaskItem::Gap { next })) => self.cursor = next,
                Ok(None) => self.turn_is_over().await,
                Err(error) => self.broken(&error),
            }
        }
    }

    fn queue_updates(&mut self, next: Cursor, at: Timestamp, item: LogItem) {
        let pos = self.cursor.pos;
        self.cursor = next;
        let mut items = Vec::new();
        if self.renderer.state() == A2aState::Submitted {
            let record = self.subscription.task().record();
            self.renderer.sent(record.sent_at);
        }
        self.renderer.render(pos, at, item, &mut items);
        let state = self.renderer.state();
        let last = items.len().saturating_sub(1);
        let updates = items
            .into_iter()
            .enumerate()
            .map(|(at, item)| StreamUpdate {
                id: (at == last).then(|| next.to_string()),
                item,
            });
        self.ready.extend(updates);
        self.is_over |=
            state.is_terminal() || (self.until == StreamUntil::Turn && state.is_interrupted());
    }

    /// Handles the end of a turn; the task may continue with a further turn.
    async fn turn_is_over(&mut self) {
        let id = self.subscription.task().id;
        let state = self.renderer.state();
        let waits_for_caller = self.until == StreamUntil::Turn && state.is_interrupted();
        if state.is_terminal() || waits_for_caller {
            self.is_over = true;
        } else if self.a2a.hub.is_stopping() {
            self.cut_off(stopping());
        } else if self.until == StreamUntil::Turn {
            self.is_over = true;
        } else {
            let tasks = self.a2a.hub.tasks();
            match tasks.next_turn(&self.principal, id, self.cursor).await {
                Ok(task) => self.subscription = task.subscribe(Some(self.cursor)),
                Err(_) if self.a2a.hub.is_stopping() => self.cut_off(stopping()),
                // The hub no longer stores the task, or the store failed.
                Err(failure) => self.cut_off(failure),
            }
        }
    }

    /// Ends the stream with an error while the task continues. Without the error, the stream would look like
    /// a complete answer.
    fn cut_off(&mut self, why: Failure) {
        self.cut = Some(task_fault_from(why));
        self.is_over = true;
    }

    /// Ends the stream because the log cannot be read. The task may continue, so the stream must not look
    /// like a complete answer.
    pub(super) fn broken(&mut self, error: &StoreError) {
        tracing::error!(task = %self.subscription.task().id, %error, "a stream broke off");
        let text = "the hub could not read the task's log, and the stream broke off; get the task, or subscribe to it again";
        self.cut_off(Failure::new(Reason::Internal, text));
    }
}

/// Returns the failure for a stopping hub. The hub continues the task after its restart.
fn stopping() -> Failure {
    let text = "the hub is stopping, and the task goes on when it is back: subscribe to it then";
    Failure::new(Reason::Stopping, text)
}
