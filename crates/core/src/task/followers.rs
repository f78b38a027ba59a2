//! Who follows a task, and what they are told: that the agent has its message, that it asks, that it goes on, that an
//! artifact is whole, and how the turn ended. Not what the agent says meanwhile.

use std::sync::atomic::Ordering;

use jiff::Timestamp;

use super::{Task, TaskBook, no_such_task, said::Said, store_failure};
use jackfield_model::{Failure, TaskId};

use crate::{
    agent::Keep,
    outbox::{Follower, NewCallback, OutboxRow, add},
    principal::Principal,
    store::{LogItem, Receipt, TaskRecord},
};

/// Changes who follows a task, and returns those who are not told any more.
type Change<'a> = &'a (dyn Fn(&mut Vec<Follower>) -> Result<Vec<Follower>, Failure> + Sync);

impl TaskBook {
    /// Has somebody told of every change of a task of the principal's, from now on. One with the same id takes the place
    /// of the old one, who is told nothing more. The store has it when this returns.
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

    /// Has a follower told nothing more. False if there is none with this id. The store has it when this returns.
    pub async fn unfollow(
        &self,
        principal: &Principal,
        task: TaskId,
        id: &str,
    ) -> Result<bool, Failure> {
        let change = |followers: &mut Vec<Follower>| {
            let (gone, left) = followers.drain(..).partition(|had| had.id == id);
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
            // Nobody goes on with it meanwhile, who would not know of the change.
            let turn = self.changing.claim(id).await;
            let Some(live) = self.live(id) else {
                let record = self.store.find_task(id).await;
                let record = record.map_err(|error| store_failure(&error))?;
                let mut record = record.ok_or_else(no_such_task)?;
                let gone = change(&mut record.followers)?;
                let mut written = self.callbacks.forget(id, &gone);
                written.push(self.store.save_task(record, Vec::new(), Vec::new(), true));
                return Changed { gone, written }.done().await;
            };
            if let Some(changed) = live.change_followers(change)? {
                return changed.done().await;
            }
            drop(turn);
            live.over().await;
        }
    }
}

/// A change on its way to the store.
struct Changed {
    /// Those who are not told any more.
    gone: Vec<Follower>,
    written: Vec<Receipt>,
}

impl Changed {
    async fn done(self) -> Result<Vec<Follower>, Failure> {
        for receipt in self.written {
            receipt.await.map_err(|error| store_failure(&error))?;
        }
        Ok(self.gone)
    }
}

impl Task {
    /// Changes who follows it. Nothing if its end is on the way to the store: then it can be changed there, later.
    fn change_followers(&self, change: Change<'_>) -> Result<Option<Changed>, Failure> {
        let mut record = self.record.lock();
        if self.is_over.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut followers = record.followers.clone();
        let gone = change(&mut followers)?;
        record.followers = followers;
        self.keep_for_followers(&record);
        record.log_end = self.ring.lock().end();
        // Under the lock, too: what the new ones are told from now on is not forgotten.
        let mut written = self.callbacks.forget(self.id, &gone);
        written.push(self.save(record.clone(), Vec::new(), Vec::new(), true));
        Ok(Some(Changed { gone, written }))
    }

    /// Forgets whom tokens that were revoked or have expired wanted to be told.
    pub(super) fn drop_unwanted(&self) {
        let mut record = self.record.lock();
        if self.is_over.load(Ordering::Relaxed) || !self.callbacks.strike_unwanted(&mut record) {
            return;
        }
        record.log_end = self.ring.lock().end();
        // Nobody waits for it: they are told nothing, whatever the store has.
        drop(self.save(record.clone(), Vec::new(), Vec::new(), false));
    }

    /// Whom to tell, and of what, has to be kept somewhere, even if nobody wanted to know before.
    fn keep_for_followers(&self, record: &TaskRecord) {
        let mut keep = self.keep.lock();
        *keep = kept(*keep, record);
        let mut said = self.said.lock();
        if *keep != Keep::Full && !record.followers.is_empty() && said.is_none() {
            let mut so_far = Said::new(self.said_max);
            let rows = self.ring.lock().read(self.turn.unwrap_or(0), usize::MAX);
            rows.iter().for_each(|row| so_far.add(&row.item));
            *said = Some(so_far);
        }
    }

    /// What the followers are told of the item at this position of the log, which was written at `at`; `reply` is for those of whose task no log is
    /// kept.
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

    /// What the followers are told when the agent gets the message of this turn: once, even if the agent left in between
    /// and gets it later.
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

/// How much is kept of a task: at least the record, where somebody is to be told.
pub(super) fn kept(keep: Keep, record: &TaskRecord) -> Keep {
    let is_told = record.callback.is_some() || !record.followers.is_empty();
    match keep {
        Keep::None if is_told => Keep::Meta,
        keep => keep,
    }
}
