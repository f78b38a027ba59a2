//! What only the inside of the store can be made to do: its lock file, and a disk without room.

mod full_disk;

use super::*;

#[test]
fn a_closed_store_can_be_opened_again_though_a_child_still_holds_its_lock_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    // What a fork does with every open file.
    let forked = store.running.lock().as_ref().unwrap().lock.try_clone();
    drop(store);
    SqliteStore::open(dir.path()).unwrap();
    drop(forked.unwrap());
}
