//! What only the inside of the store can be made to do: its lock file, a disk without room, a kill at a chosen commit,
//! a list that takes long, and a checkpoint.

mod checkpoints;
mod full_disk;
mod killed;
mod many_finished;
mod slow_list;

use std::fs;

use super::*;

#[test]
fn a_closed_store_can_be_opened_again_though_a_child_still_holds_its_lock_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    // What a fork does with every open file.
    let forked: Vec<_> = {
        let running = store.running.lock();
        let lock = &running.as_ref().unwrap().lock;
        lock.files().map(|file| file.try_clone().unwrap()).collect()
    };
    drop(store);
    SqliteStore::open(dir.path()).unwrap();
    drop(forked);
}

#[test]
fn a_second_hub_does_not_start_though_the_lock_file_was_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    fs::remove_file(dir.path().join("lock")).unwrap();
    let refused = SqliteStore::open(dir.path());
    assert!(
        matches!(refused, Err(StoreOpenError::InUse { .. })),
        "{refused:?}"
    );

    // Nor by another way to the same database.
    let other = tempfile::tempdir().unwrap();
    let link = other.path().join("jackfield.db");
    std::os::unix::fs::symlink(dir.path().join("jackfield.db"), link).unwrap();
    let refused = SqliteStore::open(other.path());
    assert!(
        matches!(refused, Err(StoreOpenError::InUse { .. })),
        "{refused:?}"
    );

    // Whoever only reads is let in.
    assert!(check(dir.path()).unwrap().problems.is_empty());
    backup_file(dir.path(), &other.path().join("copy")).unwrap();
    store.probe().wait().unwrap();

    drop(store);
    SqliteStore::open(dir.path()).unwrap();
}
