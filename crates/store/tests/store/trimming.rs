//! Trimming on disk: long logs are trimmed in slices with other writes in between, and the file
//! shrinks.

use std::fs;

use jackfield_core::store::{Store, StoreError};

use crate::records::{
    find, finished, message, open_database, save, sqlite, task, text, time, whole_log,
};

#[test]
fn a_long_log_is_removed_while_others_write_and_the_file_shrinks() {
    let (dir, store) = sqlite();
    let long = finished(time(1));
    let log = (0..400)
        .map(|pos| message(pos, &"x".repeat(100_000)))
        .collect();
    save(&store, &long, log);
    let open = task();
    save(&store, &open, Vec::new());
    let trim = store.trim(time(2), usize::MAX);
    let appends: Vec<_> = (0..100)
        .map(|pos| store.append(open.id, vec![text(pos, "x")], Vec::new()))
        .collect();
    for append in appends {
        append.wait().unwrap();
    }
    assert_eq!(trim.wait().unwrap(), 1);
    assert_eq!(find(&store, open.id).log_end, 100);
    assert!(whole_log(&store, long.id, 0, 1).is_empty());
    let inside = open_database(dir.path());
    let pragma = |name: &str| {
        inside
            .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(pragma("auto_vacuum"), 2);
    assert!(
        pragma("freelist_count") <= 1024,
        "{} pages are free",
        pragma("freelist_count")
    );
    drop(inside);
    drop(store);
    let size = fs::metadata(dir.path().join("jackfield.db")).unwrap().len();
    assert!(size < 8 << 20, "{size} bytes are left of 40 MB");
}

#[test]
fn many_small_tasks_are_removed_in_slices() {
    let (dir, store) = sqlite();
    let receipts: Vec<_> = (0..2000)
        .map(|n| store.save_task(finished(time(n)), vec![message(0, "hi")], Vec::new(), false))
        .collect();
    for receipt in receipts {
        receipt.wait().unwrap();
    }
    assert_eq!(store.trim(time(1500), usize::MAX).wait().unwrap(), 1500);
    let two = [store.trim(time(0), 0), store.trim(time(0), 0)].map(|trim| trim.wait().unwrap());
    assert_eq!(two, [500, 0]);
    let left: i64 = open_database(dir.path())
        .query_row("SELECT count(*) FROM log", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

#[test]
fn closing_breaks_a_trim_off_and_nothing_is_half_gone() {
    let (dir, store) = sqlite();
    for n in 0..20 {
        let log = (0..20)
            .map(|pos| message(pos, &"x".repeat(100_000)))
            .collect();
        save(&store, &finished(time(n)), log);
    }
    let trim = store.trim(time(100), 0);
    store.close();
    match trim.wait() {
        Ok(removed) => assert_eq!(removed, 20),
        Err(error) => assert_eq!(error, StoreError::Closed),
    }
    drop(store);
    let report = jackfield_store::check(dir.path()).unwrap();
    assert_eq!(report.problems, Vec::<String>::new());
    let store = jackfield_store::SqliteStore::open(dir.path()).unwrap();
    store.trim(time(100), 0).wait().unwrap();
    let counts = jackfield_store::check(dir.path()).unwrap().counts.unwrap();
    assert_eq!((counts.tasks, counts.log_rows, counts.log_bytes), (0, 0, 0));
}
