//! Checkpoints: the writer copies the write-ahead log into the database between two batches, after the receipts, so that
//! nobody waits for a commit that also copies. By itself SQLite does so within the commit that makes the log long.
//!
//! A checkpoint copies what no running read needs any more, and waits for nobody. Once all of the log is copied and no
//! read uses it, the next commit starts the log anew, so that its file does not grow. A read of this crate is one
//! statement, and delays that by as long as it takes; only another program that keeps a read open, such as an
//! operator's `sqlite3`, lets the log grow for longer. `WAL_LIMIT` of `open.rs` bounds the file after that.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use rusqlite::{Connection, MAIN_DB, hooks::Wal, wal::CheckpointMode};

/// Number of pages by which the log grows until a checkpoint is due. The default of SQLite: 4 MiB, some milliseconds of
/// work.
pub(crate) const CHECKPOINT_PAGES: u32 = 1000;

/// The checkpoints of the writer's connection.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    /// Number of pages in the log after the last commit.
    pages: Arc<AtomicU32>,
    /// Number of pages at the last look.
    seen: u32,
    /// Number of pages at which the next checkpoint is due.
    due: u32,
}

impl Checkpoints {
    /// Takes over the checkpoints of a connection. SQLite makes none by itself from now on, except when the last
    /// connection is closed.
    pub(crate) fn take_over(conn: &mut Connection) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicU32::new(0));
        let counted = pages.clone();
        conn.wal_hook(Some(move |_: &mut Wal, pages| {
            counted.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self {
            pages,
            seen: 0,
            due: CHECKPOINT_PAGES,
        })
    }

    /// Returns whether the log has grown so long that a checkpoint is due.
    pub(crate) fn is_due(&mut self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.seen {
            // The log was started anew.
            self.due = CHECKPOINT_PAGES;
        }
        self.seen = pages;
        pages >= self.due
    }

    /// Copies as much of the log as possible. The rest follows when the log has grown as much again.
    pub(crate) fn run(&mut self, conn: &Connection) {
        self.due = self.seen.saturating_add(CHECKPOINT_PAGES);
        match conn.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE) {
            Ok((pages, copied)) if copied < pages => {
                tracing::debug!(pages, copied, "a read needs a part of the write-ahead log");
            }
            Ok(_) => {}
            // Nothing is lost: the log has everything.
            Err(error) => {
                tracing::warn!(%error, "cannot copy the write-ahead log into the database yet");
            }
        }
    }
}
