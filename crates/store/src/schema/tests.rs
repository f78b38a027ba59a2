//! Migrations with lists made up for the purpose, and the real ones on a database that an older version made.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use jackfield_core::{
    event::{End, Message},
    id::CallId,
    outbox::{Callback, NewCallback, OutboxRow},
    store::{LogItem, Store, TaskRecord, TaskState},
};

use super::*;
use crate::SqliteStore;

const FIRST: &str = "CREATE TABLE a (x); INSERT INTO a VALUES ('kept')";
const SECOND: &str = "ALTER TABLE a ADD COLUMN y";
const BROKEN: &str = "CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)";

fn database(migrations: &[&str]) -> (tempfile::TempDir, PathBuf, Connection) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jackfield.db");
    let mut conn = Connection::open(&path).unwrap();
    conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
        .unwrap();
    migrate(&mut conn, &path, migrations).unwrap();
    (dir, path, conn)
}

fn names(dir: &tempfile::TempDir) -> Vec<String> {
    let names = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_new_database_needs_no_copy() {
    let (dir, path, mut conn) = database(&[FIRST, SECOND]);
    assert_eq!(version(&conn).unwrap(), 2);
    migrate(&mut conn, &path, &[FIRST, SECOND]).unwrap();
    assert_eq!(names(&dir), ["jackfield.db"]);
}

#[test]
fn an_older_database_is_copied_and_then_migrated() {
    let (dir, path, mut conn) = database(&[FIRST]);
    migrate(&mut conn, &path, &[FIRST, SECOND, "CREATE TABLE c (x)"]).unwrap();
    assert_eq!(version(&conn).unwrap(), 3);
    assert_eq!(
        conn.query_row("SELECT x FROM a WHERE y IS NULL", [], |row| row
            .get::<_, String>(0))
            .unwrap(),
        "kept"
    );
    assert_eq!(names(&dir), ["jackfield.db", "jackfield.db.bak-v1"]);
    let copy = dir.path().join("jackfield.db.bak-v1");
    assert_eq!(
        fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let copy = Connection::open(copy).unwrap();
    assert_eq!(version(&copy).unwrap(), 1);
    assert_eq!(
        copy.query_row("SELECT * FROM a", [], |row| row.get::<_, String>(0))
            .unwrap(),
        "kept"
    );
}

#[test]
fn a_migration_that_fails_changes_nothing_and_may_be_tried_again() {
    let (dir, path, mut conn) = database(&[FIRST]);
    assert!(matches!(
        migrate(&mut conn, &path, &[FIRST, SECOND, BROKEN]),
        Err(OpenError::Sqlite { .. })
    ));
    assert_eq!(version(&conn).unwrap(), 2, "the steps before it stand");
    assert!(conn.prepare("SELECT * FROM b").is_err());
    conn.execute("INSERT INTO a (x) VALUES ('new')", [])
        .unwrap();
    assert!(migrate(&mut conn, &path, &[FIRST, SECOND, BROKEN]).is_err());
    migrate(&mut conn, &path, &[FIRST, SECOND, "CREATE TABLE b (x)"]).unwrap();
    assert_eq!(
        names(&dir),
        ["jackfield.db", "jackfield.db.bak-v1", "jackfield.db.bak-v2"]
    );
    let copy = Connection::open(dir.path().join("jackfield.db.bak-v2")).unwrap();
    assert_eq!(
        copy.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0))
            .unwrap(),
        2,
        "the newest copy"
    );
}

#[test]
fn nothing_is_migrated_without_its_copy() {
    let (dir, path, mut conn) = database(&[FIRST]);
    // Something is in the way that cannot be replaced by a file.
    fs::create_dir_all(dir.path().join("jackfield.db.bak-v1/full")).unwrap();
    assert!(migrate(&mut conn, &path, &[FIRST, SECOND]).is_err());
    assert_eq!(version(&conn).unwrap(), 1);
    assert_eq!(
        names(&dir),
        ["jackfield.db", "jackfield.db.bak-v1"],
        "nothing half-made is left"
    );
}

#[test]
fn the_real_migrations_lead_to_the_newest_version() {
    let (_dir, _path, conn) = database(MIGRATIONS);
    assert_eq!(version(&conn).unwrap(), newest(MIGRATIONS));
}

#[test]
fn a_database_of_version_1_is_copied_and_goes_on() {
    let (dir, _path, conn) = database(&[V1]);
    let (done, open) = (CallId::new(), CallId::new());
    conn.execute_batch(&format!(
        r#"
        INSERT INTO agents VALUES ('a', 'ann', 'agora', '{{"name":"A"}}', '"nobody"', '{{"store":"meta"}}',
            '2026-01-01T00:00:00.000000000Z');
        INSERT INTO tasks VALUES
            ('{done}', '{done}', 'ann', 'ann', 'own', 'a', 's', 'r1', 'completed', 0, 0, 2,
                '2026-01-01T00:00:00.000000000Z', '2026-01-01T00:00:01.000000000Z', NULL, NULL, NULL, 15),
            ('{open}', '{open}', 'ann', 'ann', 'own', 'a', 's', 'r2', 'working', 1, 0, 4,
                '2026-01-01T00:00:00.000000000Z', '2026-01-01T00:00:01.000000000Z', NULL, NULL, NULL, 40);
        INSERT INTO log VALUES
            ('{done}', 0, NULL, 'message', '{{"parts":[{{"text":"hi"}}]}}'),
            ('{open}', 0, NULL, 'message', '{{"parts":[{{"text":"do"}}]}}'),
            ('{open}', 1, 5, 'chunk', '{{"text":"abc"}}');
        "#
    ))
    .unwrap();
    drop(conn);
    let store = SqliteStore::open(dir.path()).unwrap();
    let agents = store.load_agents().wait().unwrap();
    assert!(agents[0].settings.allow_a2a, "{agents:?}");
    let task = store.find_task(done.into()).wait().unwrap().unwrap();
    assert_eq!((task.callback, task.unread), (None, None));
    let reopened = store.reopen_tasks().wait().unwrap();
    assert_eq!(reopened.len(), 1);
    assert_eq!(reopened[0].messages, [Message::text("do")]);
    assert_eq!(reopened[0].seq, Some(5));
    let ended = TaskRecord {
        state: TaskState::Failed,
        callback: Some(Callback {
            url: "https://example.com/".into(),
            kind: "bridge".into(),
            data: None,
        }),
        ..reopened[0].record.clone()
    };
    let callback = OutboxRow::of(&ended).map(|row| NewCallback {
        row,
        reply: vec![LogItem::End(End::Cancelled)],
    });
    let id = callback.as_ref().unwrap().row.id;
    let written = store.end_turn(ended, Vec::new(), callback);
    written.wait().unwrap();
    let reply = store.callback_reply(id).wait().unwrap();
    assert_eq!(reply, [LogItem::End(End::Cancelled)]);
    drop(store);
    assert_eq!(names(&dir), ["jackfield.db", "jackfield.db.bak-v1", "lock"]);
    let copy = Connection::open(dir.path().join("jackfield.db.bak-v1")).unwrap();
    assert_eq!(version(&copy).unwrap(), 1);
    let count = |table: &str| {
        let sql = format!("SELECT count(*) FROM {table}");
        copy.query_row(&sql, [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!((count("tasks"), count("log")), (2, 3));
}
