//! A stream: first the task as it stands, then what its log says from there on, until the task is over or, where the
//! caller asked something of it, waits for the caller; or until the caller's token is revoked.

use std::{collections::VecDeque, sync::Arc};

use jackfield_core::{
    principal::Principal,
    store::{LogItem, StoreError},
    task::{Cursor, Subscription, Task, TaskItem},
};
use jackfield_kit::api::leash::Leash;
use jackfield_model::{Failure, Reason};
use jiff::Timestamp;

use super::{failure::task_fault_from, teller::Teller, visit::Visit};
use crate::A2a;
use crate::wire::official::{
    error::Fault,
    model::{Item, State},
};

/// One element of a stream.
#[derive(Debug)]
pub(crate) struct Update {
    /// Where a reader that comes back goes on; only the last of what one event of the agent became has it, so that
    /// nothing is lost between two.
    pub(crate) id: Option<String>,
    /// What is told.
    pub(crate) item: Item,
}

/// When a stream is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// When the task is over, or waits for the caller.
    Turn,
    /// When the task is over, however many turns it takes.
    End,
}

/// A stream. Dropping it changes nothing at the task.
#[derive(Debug)]
pub(crate) struct Updates {
    a2a: Arc<A2a>,
    principal: Principal,
    subscription: Subscription,
    teller: Teller,
    until: Until,
    cursor: Cursor,
    ready: VecDeque<Update>,
    is_over: bool,
    /// Why it is over though the task is not.
    cut: Option<Fault>,
}

impl Updates {
    /// From a place of the log on; `first` is the task as it stood there.
    pub(super) fn new(
        visit: &Visit,
        task: &Arc<Task>,
        after: Cursor,
        first: Item,
        teller: Teller,
        until: Until,
    ) -> Self {
        let first = Update {
            id: Some(after.to_string()),
            item: first,
        };
        Self {
            subscription: task.subscribe(Some(after)),
            a2a: visit.a2a.clone(),
            principal: visit.principal.clone(),
            teller,
            until,
            cursor: after,
            ready: VecDeque::from([first]),
            is_over: false,
            cut: None,
        }
    }

    /// The agent got the message at this time: says so before anything else comes.
    pub(super) fn work(&mut self, since: Timestamp) {
        let mut items = Vec::new();
        self.teller.begin_work(since, &mut items);
        let updates = items.into_iter().map(|item| Update { id: None, item });
        self.ready.extend(updates);
    }

    /// The next element; none once the stream is over, but first why, if the task goes on without it. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Result<Update, Fault>> {
        if !self.is_over || !self.ready.is_empty() {
            tokio::select! {
                // A stream that always has something to say must not outrun the revocation.
                biased;
                failure = Leash::of(&self.principal).broken() => {
                    self.ready.clear();
                    self.cut_off(failure);
                }
                update = self.read() => return update,
            }
        }
        self.cut.take().map(Err)
    }

    async fn read(&mut self) -> Option<Result<Update, Fault>> {
        loop {
            if let Some(update) = self.ready.pop_front() {
                return Some(Ok(update));
            }
            if self.is_over {
                return self.cut.take().map(Err);
            }
            match self.subscription.next().await {
                Ok(Some(TaskItem::Row { next, at, item })) => self.tell(next, at, item),
                // What is gone is gone: a caller that wants all of it looks at the task.
                Ok(Some(TaskItem::Gap { next })) => self.cursor = next,
                Ok(None) => self.turn_is_over().await,
                Err(error) => self.broken(&error),
            }
        }
    }

    fn tell(&mut self, next: Cursor, at: Timestamp, item: LogItem) {
        let pos = self.cursor.pos;
        self.cursor = next;
        let mut items = Vec::new();
        if self.teller.state() == State::Submitted {
            let record = self.subscription.task().record();
            self.teller.sent(record.sent_at);
        }
        self.teller.tell(pos, at, item, &mut items);
        let state = self.teller.state();
        let last = items.len().saturating_sub(1);
        let updates = items.into_iter().enumerate().map(|(at, item)| Update {
            id: (at == last).then(|| next.to_string()),
            item,
        });
        self.ready.extend(updates);
        self.is_over |=
            state.is_terminal() || (self.until == Until::Turn && state.is_interrupted());
    }

    /// A turn is over; the task may go on.
    async fn turn_is_over(&mut self) {
        let id = self.subscription.task().id;
        let state = self.teller.state();
        let waits_for_caller = self.until == Until::Turn && state.is_interrupted();
        if state.is_terminal() || waits_for_caller {
            self.is_over = true;
        } else if self.a2a.hub.is_stopping() {
            self.cut_off(stopping());
        } else if self.until == Until::Turn {
            self.is_over = true;
        } else {
            let tasks = self.a2a.hub.tasks();
            match tasks.next_turn(&self.principal, id, self.cursor).await {
                Ok(task) => self.subscription = task.subscribe(Some(self.cursor)),
                Err(_) if self.a2a.hub.is_stopping() => self.cut_off(stopping()),
                // It is not kept any more, or the store failed.
                Err(failure) => self.cut_off(failure),
            }
        }
    }

    /// The task goes on without this stream. One that just ended would look like a whole answer.
    fn cut_off(&mut self, why: Failure) {
        self.cut = Some(task_fault_from(why));
        self.is_over = true;
    }

    /// The log cannot be read any further. The task may go on, so that the stream must not look like a whole answer.
    pub(super) fn broken(&mut self, error: &StoreError) {
        tracing::error!(task = %self.subscription.task().id, %error, "a stream broke off");
        let text = "the hub could not read the task's log, and the stream broke off; get the task, or subscribe to it again";
        self.cut_off(Failure::new(Reason::Internal, text));
    }
}

/// The next hub goes on with the task.
fn stopping() -> Failure {
    let text = "the hub is stopping, and the task goes on when it is back: subscribe to it then";
    Failure::new(Reason::Stopping, text)
}
