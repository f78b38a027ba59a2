//! A database with many finished tasks, of which a hub that starts needs none.

use std::sync::atomic::{AtomicUsize, Ordering};

use jackfield_core::{hub::Hub, limits::Limits};
use rusqlite::Connection;

use super::*;
use crate::open::database_path;

/// Counts the steps of SQLite's virtual machine.
fn count_steps(conn: &mut Connection, steps: &Arc<AtomicUsize>) {
    let steps = steps.clone();
    let count = move || {
        steps.fetch_add(1, Ordering::Relaxed);
        false
    };
    conn.progress_handler(1, Some(count)).unwrap();
}

/// Starts a hub, with its first look for old tasks. Returns how many steps SQLite took.
async fn steps_of_a_start(dir: &Path) -> usize {
    let steps = Arc::new(AtomicUsize::new(0));
    let mut opened = open::open(dir).unwrap();
    for conn in [
        &mut opened.writer,
        &mut opened.readers.by_key,
        &mut opened.readers.lists,
    ] {
        count_steps(conn, &steps);
    }
    let store = Arc::new(SqliteStore::start(dir, opened).unwrap());
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    let old = Timestamp::now() - Limits::default().task_kept.0;
    let trimmed = store.trim(old, Limits::default().tasks_total.0).await;
    assert_eq!(trimmed, Ok(0));
    drop(hub);
    steps.load(Ordering::Relaxed)
}

#[tokio::test]
async fn a_start_reads_no_finished_task() {
    let dir = tempfile::tempdir().unwrap();
    SqliteStore::open(dir.path()).unwrap().close();
    let conn = Connection::open(database_path(dir.path())).unwrap();
    let insert = "WITH RECURSIVE number(n) AS (SELECT ?1 + 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1 + ?2)
        INSERT INTO tasks (id, call, principal, caller, door, agent, session, request, state, sent, epoch, log_end,
            created_at, updated_at, bytes)
        SELECT n, n, 'local', 'local', 'own', 'a', n, n, 'completed', 0, 0, 1, ?3, ?3, 1 FROM number";
    let insert = |from: u32, count: u32| {
        let now = column::time_text(Timestamp::now());
        conn.execute(insert, (from, count, now)).unwrap();
    };
    insert(0, 10);
    let few = steps_of_a_start(dir.path()).await;
    insert(10, 5000);
    let many = steps_of_a_start(dir.path()).await;
    assert!(few > 0);
    assert_eq!(few, many);
}
