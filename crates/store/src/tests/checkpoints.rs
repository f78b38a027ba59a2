//! Checkpoints of the write-ahead log: after the receipts, and often enough.

use std::{
    fs,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use jackfield_model::Json;
use rusqlite::Connection;
use tokio::{sync::Notify, time::timeout};

use super::*;
use crate::{checkpoint::CHECKPOINT_PAGES, commit_hook::CommitPoint, open::database_path};

/// Long enough for any machine.
const AT_MOST: Duration = Duration::from_secs(60);
/// Size of a page of the database.
const PAGE: u64 = 4096;
/// Size of a record, in pages.
const RECORD_PAGES: u32 = 50;

/// Writes a record in place of the last one. Each has another number in all of its pages: SQLite writes only pages that
/// change.
fn write(store: &SqliteStore, number: u32) -> Receipt {
    let size = usize::try_from(u64::from(RECORD_PAGES) * PAGE).unwrap();
    let text = format!("{number:08}").repeat(size / 8);
    let record = DoorRecord {
        door: "test".into(),
        agent: None,
        key: String::new(),
        value: Json::of(&text).unwrap(),
    };
    store.save_records(vec![record], false)
}

/// Writes as many pages as make `checkpoints` checkpoints due.
fn write_pages(store: &SqliteStore, checkpoints: u32) {
    for number in 0..checkpoints * CHECKPOINT_PAGES / RECORD_PAGES {
        write(store, number).wait().unwrap();
        // A reader that comes after each write.
        store.load_agents().wait().unwrap();
    }
}

/// The size of the write-ahead log on disk, in checkpoints.
fn log_size(dir: &Path) -> u64 {
    let size = fs::metadata(dir.join("jackfield.db-wal")).unwrap().len();
    size / (PAGE * u64::from(CHECKPOINT_PAGES))
}

#[tokio::test]
async fn whoever_waits_for_a_write_does_not_wait_for_the_checkpoint() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    let (commits, is_due) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (counted, notified) = (commits.clone(), is_due.clone());
    let (go_on, stopped) = mpsc::channel::<()>();
    let stopped = Mutex::new(stopped);
    store.queue.commit_hook.set(move |point| match point {
        CommitPoint::Before => {}
        CommitPoint::After => drop(counted.fetch_add(1, Ordering::Relaxed)),
        CommitPoint::Checkpoint => {
            notified.notify_one();
            // Until the test is over, and drops the other end.
            stopped.lock().recv().unwrap_err();
        }
    });
    let mut acknowledged = 0;
    let write_until_due = async {
        for number in 0.. {
            let mut receipt = write(&store, number);
            tokio::select! {
                biased;
                result = &mut receipt => result.unwrap(),
                () = is_due.notified() => {
                    // The receipt may have come since the look at it.
                    let is_sent = timeout(Duration::ZERO, receipt).await.is_ok();
                    acknowledged += usize::from(is_sent);
                    return;
                }
            }
            acknowledged += 1;
        }
    };
    timeout(AT_MOST, write_until_due).await.unwrap();
    assert!(acknowledged > 1);
    assert_eq!(acknowledged, commits.load(Ordering::Relaxed));
    drop(go_on);
}

#[test]
fn the_write_ahead_log_does_not_grow_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    write_pages(&store, 4);
    assert!(log_size(dir.path()) < 3, "{}", log_size(dir.path()));

    // Another program reads for long: nothing that it sees may be overwritten.
    let reader = Connection::open(database_path(dir.path())).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = || {
        reader.query_row("SELECT count(*) FROM records", [], |row| {
            row.get::<_, i64>(0)
        })
    };
    assert_eq!(count().unwrap(), 1);
    write_pages(&store, 3);
    let held = log_size(dir.path());
    assert!(held >= 3, "{held}");
    reader.execute_batch("COMMIT").unwrap();
    write_pages(&store, 4);
    let after = log_size(dir.path());
    assert!(after <= held + 2, "{held}, then {after}");
    assert_eq!(check(dir.path()).unwrap().problems, Vec::<String>::new());
}
