//! The followers of a task, and their callbacks: when the agent gets the message, asks, gets an answer,
//! completes an artifact, and ends the turn. Other events of the agent are not reported.

use std::sync::atomic::Ordering;

use jiff::Timestamp;

use super::{Task, TaskRegistry, no_such_task, store_failure, turn_reply::TurnReply};
use jackfield_model::{Failure, TaskId};

use crate::{
    agent::Keep,
    outbox::{Follower, NewCallback, OutboxRow, add},
    principal::Principal,
    store::{LogItem, Receipt, TaskRecord},
};

/// Changes the followers of a task, and returns those that get no more callbacks.
type Change<'a> = &'a (dyn Fn(&mut Vec<Follower>) -> Result<Vec<Follower>, Failure> + Sync);

impl TaskRegistry {
    /// Adds a follower to a task of `principal`. A follower with the same id replaces the old one of its kind,
    /// which gets no more callbacks. The store has the change when this returns.
    pub async fn follow(
        &self,
        principal: &Principal,
        task: TaskId,
        mut follower: Follower,
    ) -> Result<(), Failure> {
        follower.callback.token = principal.grant.token;
        let limit = self.shared.limits.followers;
        let change = |followers: &mut Vec<Follower>| add(followers, vec![follower.clone()], limit);
        self.change_followers(principal, task, &change).await?;
        Ok(())
    }

    /// Removes the follower with this id whose callbacks are of `kind`. Returns false if there is none. The
    /// store has the change when this returns.
    pub async fn unfollow(
        &self,
        principal: &Principal,
        task: TaskId,
        kind: &str,
        id: &str,
    ) -> Result<bool, Failure> {
        let change = |followers: &mut Vec<Follower>| {
            let (gone, left) = followers.drain(..).partition(|had| had.is_named(kind, id));
            *followers = left;
            Ok(gone)
        };
        let gone = self.change_followers(principal, task, &change).await?;
        Ok(!gone.is_empty())
    }

    async fn change_followers(
        &self,
        principal: &Principal,
        id: TaskId,
        change: Change<'_>,
    ) -> Result<Vec<Follower>, Failure> {
        loop {
            self.find(principal, id).await?;
            // Keeps the next turn from starting without the change.
            let turn = self.changing.claim(id).await;
            let Some(live) = self.live.get(id) else {
                let record = self.store.find_task(id).await;
                let record = record.map_err(|error| store_failure(&error))?;
                let mut record = record.ok_or_else(no_such_task)?;
                let gone = change(&mut record.followers)?;
                let mut written = self.callbacks.forget(id, &gone);
                written.push(self.store.save_task(record, Vec::new(), Vec::new(), true));
                return FollowerChange { gone, written }.done().await;
            };
            if let Some(changed) = live.change_followers(change)? {
                return changed.done().await;
            }
            drop(turn);
            live.over().await;
        }
    }
}

/// A change of the followers on its way to the store.
struct FollowerChange {
    /// Followers that get no more callbacks.
    gone: Vec<Follower>,
    written: Vec<Receipt>,
}

impl FollowerChange {
    async fn done(self) -> Result<Vec<Follower>, Failure> {
        for receipt in self.written {
            receipt.await.map_err(|error| store_failure(&error))?;
        }
        Ok(self.gone)
    }
}

impl Task {
    /// Changes the followers of a live task. Returns `None` if the end is on its way to the store: the change
    /// is then made there, later.
    fn change_followers(&self, change: Change<'_>) -> Result<Option<FollowerChange>, Failure> {
        let mut record = self.record.lock();
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut followers = record.followers.clone();
        let gone = change(&mut followers)?;
        record.followers = followers;
        self.keep_for_followers(&record);
        record.log_end = self.ring.lock().end();
        // Under the lock, too: callbacks that new followers get from now on are not dropped.
        let mut written = self.callbacks.forget(self.id, &gone);
        written.push(self.save(record.clone(), Vec::new(), Vec::new(), true));
        Ok(Some(FollowerChange { gone, written }))
    }

    /// Removes followers and callbacks of revoked or expired tokens.
    pub(super) fn drop_unwanted(&self) {
        let mut record = self.record.lock();
        if self.is_over.load(Ordering::Relaxed) || !self.callbacks.strike_unwanted(&mut record) {
            return;
        }
        record.log_end = self.ring.lock().end();
        // Not awaited: they get no callbacks, whatever the store has.
        drop(self.save(record.clone(), Vec::new(), Vec::new(), false));
    }

    /// Keeps the record and the reply for the followers, even if the agent's settings keep nothing.
    fn keep_for_followers(&self, record: &TaskRecord) {
        let keep = kept(*self.keep.lock(), record);
        *self.keep.lock() = keep;
        let mut turn_reply = self.turn_reply.lock();
        if keep != Keep::Full && !record.followers.is_empty() && turn_reply.is_none() {
            let mut so_far = TurnReply::new(self.turn_reply_max);
            let rows = self.ring.lock().read(self.turn.unwrap_or(0), usize::MAX);
            rows.iter().for_each(|row| so_far.add(&row.item));
            *turn_reply = Some(so_far);
        }
    }

    /// Returns the followers' callbacks for the log item at `pos`, written at `at`; `reply` is their content
    /// if the log is not kept.
    pub(super) fn tell(
        &self,
        record: &TaskRecord,
        pos: u64,
        at: Timestamp,
        reply: &[LogItem],
    ) -> Vec<NewCallback> {
        let reply = if *self.keep.lock() == Keep::Full {
            &[]
        } else {
            reply
        };
        let followers = record.followers.iter();
        let wanted = followers.filter(|follower| self.callbacks.is_wanted(&follower.callback));
        let told = wanted.map(|follower| NewCallback {
            row: OutboxRow::to(follower, self.id, pos, at),
            reply: reply.to_vec(),
        });
        told.collect()
    }

    /// Returns the followers' callbacks for the delivery of this turn's message: once, even if the agent left
    /// in between and gets the message later.
    pub(super) fn announce(&self, record: &TaskRecord, at: Timestamp) -> Vec<NewCallback> {
        let Some(pos) = self.turn else {
            return Vec::new();
        };
        if self.is_announced.swap(true, Ordering::Relaxed) {
            return Vec::new();
        }
        let message = self.ring.lock().read(pos, 1);
        let message: Vec<_> = message.into_iter().map(|row| row.item).collect();
        self.tell(record, pos, at, &message)
    }
}

/// Returns how much of a task is kept: at least the record, if there are callbacks.
pub(super) fn kept(keep: Keep, record: &TaskRecord) -> Keep {
    let is_told = record.callback.is_some() || !record.followers.is_empty();
    match keep {
        Keep::None if is_told => Keep::Meta,
        keep => keep,
    }
}
