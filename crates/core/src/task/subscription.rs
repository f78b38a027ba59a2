//! [`Subscription`]: one reader of a task, by cursor, from the ring where possible, else from the log. A reader that lags behind both gets a gap and continues.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::watch;

use super::{Cursor, Task, ring::cut};
use crate::{
    agent::Keep,
    store::{LogItem, LogRow, StoreError},
};

/// Bytes that are read at once.
const BATCH: usize = 64 << 10;

/// One item for a reader of a task.
#[derive(Debug, Clone, PartialEq)]
pub enum TaskItem {
    /// A row of the log.
    Row {
        /// Cursor after the row.
        next: Cursor,
        /// Time of the row: see [`LogRow::at`].
        at: Timestamp,
        /// Content of the row.
        item: LogItem,
    },
    /// Rows that are no longer there. After a gap that goes back, all rows so far follow again.
    Gap {
        /// Cursor of the next row.
        next: Cursor,
    },
}

/// One reader of a [`Task`].
#[derive(Debug)]
pub struct Subscription {
    task: Arc<Task>,
    epoch: u32,
    pos: u64,
    /// Whether the cursor was of an older epoch, which is reported first, as a gap.
    stale: bool,
    moved: watch::Receiver<(u64, bool)>,
    ready: std::vec::IntoIter<LogRow>,
}

impl Subscription {
    pub(super) fn new(task: Arc<Task>, after: Option<Cursor>) -> Self {
        task.readers.come();
        let epoch = task.record.lock().epoch;
        let moved = task.moved.subscribe();
        let end = moved.borrow().0;
        let stale = after.is_some_and(|cursor| cursor.epoch != epoch || cursor.pos > end);
        let pos = after.filter(|_| !stale).map_or(0, |cursor| cursor.pos);
        Self {
            task,
            epoch,
            pos,
            stale,
            moved,
            ready: Vec::new().into_iter(),
        }
    }

    /// Returns the task.
    pub fn task(&self) -> &Arc<Task> {
        &self.task
    }

    /// Waits for the next item; returns `None` once the turn is over and all of it was read. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<TaskItem>, StoreError> {
        loop {
            if std::mem::take(&mut self.stale) {
                return Ok(Some(TaskItem::Gap {
                    next: self.cursor(),
                }));
            }
            if let Some(row) = self.ready.next() {
                self.pos = row.pos + row.item.advance();
                return Ok(Some(TaskItem::Row {
                    next: self.cursor(),
                    at: row.at,
                    item: row.item,
                }));
            }
            let (end, running) = *self.moved.borrow_and_update();
            if self.pos < end {
                if let Some(gap) = self.fill(end).await? {
                    return Ok(Some(gap));
                }
            } else if !running || self.moved.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    /// Reads rows from the ring, else from the log; returns a gap if neither has them any more.
    async fn fill(&mut self, end: u64) -> Result<Option<TaskItem>, StoreError> {
        let (rows, start) = {
            let ring = self.task.ring.lock();
            (ring.read(self.pos, BATCH), ring.start())
        };
        let mut rows = rows;
        if rows.is_empty() {
            let keep = *self.task.keep.lock();
            rows = match keep {
                Keep::Full => {
                    self.task
                        .store
                        .read_log(self.task.id, self.pos, BATCH)
                        .await?
                }
                Keep::Meta | Keep::None => Vec::new(),
            };
        }
        // Rows that are numbered but not shown yet (an uncommitted end) are not for readers.
        rows.retain(|row| row.pos < end && row.pos + row.item.advance() > self.pos);
        let Some(first) = rows.first() else {
            self.pos = start.clamp(self.pos + 1, end);
            return Ok(Some(TaskItem::Gap {
                next: self.cursor(),
            }));
        };
        let missed = first.pos > self.pos;
        let pos = self.pos;
        self.ready = rows
            .into_iter()
            .map(|row| cut(row, pos))
            .collect::<Vec<_>>()
            .into_iter();
        if missed {
            self.pos = self.ready.as_slice().first().map_or(end, |row| row.pos);
            return Ok(Some(TaskItem::Gap {
                next: self.cursor(),
            }));
        }
        Ok(None)
    }

    fn cursor(&self) -> Cursor {
        Cursor {
            epoch: self.epoch,
            pos: self.pos,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.task.readers.leave();
    }
}
