//! The data directory: file permissions, the lock, refused directories, backups, and reading without
//! the lock.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use jackfield_core::store::Store;
use jackfield_store::{
    BackupError, CheckError, DatabaseRefusal, SqliteStore, StoreOpenError, backup_file, check,
    secrets,
};

use crate::records::{
    agent, find, message, open_database, save, sqlite, task, text, token, whole_log,
};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn only_its_owner_can_read_what_the_store_makes() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("deep/er");
    let store = SqliteStore::open(&data).unwrap();
    save(&store, &task(), vec![message(0, "private")]);
    assert_eq!(mode(&data), 0o700);
    let files: Vec<_> = fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
    drop(store);
    fs::set_permissions(data.join("jackfield.db"), fs::Permissions::from_mode(0o644)).unwrap();
    drop(SqliteStore::open(&data).unwrap());
    assert_eq!(
        mode(&data.join("jackfield.db")),
        0o600,
        "what a careless copy opened is closed again"
    );
}

#[test]
fn two_hubs_never_share_a_directory() {
    let (dir, store) = sqlite();
    let error = SqliteStore::open(dir.path()).unwrap_err();
    assert!(matches!(error, StoreOpenError::InUse { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains(&std::process::id().to_string()) && text.contains("--data-dir"),
        "{text}"
    );
    store.close();
    SqliteStore::open(dir.path()).unwrap();
}

#[test]
fn a_file_with_more_columns_and_tables_is_used_and_keeps_them() {
    let (dir, store) = sqlite();
    let (agent, token, record) = (agent("lab-1"), token("laptop"), task());
    store.save_agent(agent.clone()).wait().unwrap();
    store.save_token(token.clone()).wait().unwrap();
    save(&store, &record, vec![message(0, "hi")]);
    drop(store);
    let newer = "
        ALTER TABLE agents ADD COLUMN colour TEXT; UPDATE agents SET colour = 'red';
        ALTER TABLE tokens ADD COLUMN colour TEXT; UPDATE tokens SET colour = 'red';
        ALTER TABLE tasks ADD COLUMN colour TEXT; UPDATE tasks SET colour = 'red';
        ALTER TABLE log ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';
        CREATE TABLE colours (name TEXT);";
    let inside = open_database(dir.path());
    inside.execute_batch(newer).unwrap();
    inside.pragma_update(None, "user_version", 99).unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    store.save_agent(agent.clone()).wait().unwrap();
    store.save_token(token.clone()).wait().unwrap();
    save(&store, &record, vec![text(1, "there")]);
    assert_eq!(store.load_agents().wait().unwrap(), [agent]);
    assert_eq!(store.load_tokens().wait().unwrap(), [token]);
    assert_eq!(whole_log(&store, record.id, 0, 1 << 20).len(), 2);
    drop(store);
    let report = check(dir.path()).unwrap();
    assert_eq!((report.schema, report.refused), (99, None));
    assert_eq!(report.counts.map(|counts| counts.tasks), Some(1));
    for table in ["agents", "tokens", "tasks", "log"] {
        let sql = format!("SELECT count(*) FROM {table} WHERE colour IS NOT 'red'");
        let lost: i64 = inside.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert_eq!(lost, 0, "{table}");
    }
}

#[test]
fn a_file_from_before_the_first_release_is_refused_and_left_alone() {
    let (dir, store) = sqlite();
    drop(store);
    let inside = open_database(dir.path());
    inside.execute_batch("DROP TABLE schema").unwrap();
    inside.pragma_update(None, "user_version", 13).unwrap();
    drop(inside);
    let error = SqliteStore::open(dir.path()).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, StoreOpenError::TooOld { found: 13, .. }),
        "{text}"
    );
    assert!(
        text.contains("before the first release") && text.contains("--data-dir"),
        "{text}"
    );
    let report = check(dir.path()).unwrap();
    assert!(matches!(report.refused, Some(DatabaseRefusal::TooOld(_))));
    assert_eq!((report.schema, report.counts), (13, None));
}

#[test]
fn a_newer_schema_is_refused_with_both_versions_and_the_remedy() {
    let (dir, store) = sqlite();
    drop(store);
    let inside = open_database(dir.path());
    inside.pragma_update(None, "user_version", 99).unwrap();
    inside
        .execute("UPDATE schema SET min_reader = 98", [])
        .unwrap();
    drop(inside);
    let error = SqliteStore::open(dir.path()).unwrap_err();
    let text = error.to_string();
    let StoreOpenError::TooNew {
        found: 99,
        needed: 98,
        known,
        ..
    } = error
    else {
        panic!("{text}")
    };
    assert!(
        text.contains("99")
            && text.contains("version 98")
            && text.contains(&format!("up to {known}"))
            && text.contains("bak-v"),
        "{text}"
    );
    let report = check(dir.path()).unwrap();
    assert_eq!(
        (report.schema, report.known_schema, report.counts),
        (99, known, None)
    );
    assert_eq!(report.refused, Some(DatabaseRefusal::TooNew(98)));
}

#[test]
fn somebody_elses_database_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    open_database(dir.path())
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    let before = fs::read(dir.path().join("jackfield.db")).unwrap();
    assert!(matches!(
        SqliteStore::open(dir.path()),
        Err(StoreOpenError::Foreign { .. })
    ));
    assert_eq!(fs::read(dir.path().join("jackfield.db")).unwrap(), before);
    open_database(dir.path())
        .pragma_update(None, "user_version", 1)
        .unwrap();
    assert!(matches!(
        SqliteStore::open(dir.path()),
        Err(StoreOpenError::Foreign { .. })
    ));
    fs::write(
        dir.path().join("jackfield.db"),
        "not a database at all, but long enough to be looked at".repeat(100),
    )
    .unwrap();
    assert!(matches!(
        SqliteStore::open(dir.path()),
        Err(StoreOpenError::Sqlite { .. })
    ));
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let error = SqliteStore::open(&dir.path().join("file/data")).unwrap_err();
    assert!(error.to_string().contains("file/data"), "{error}");
}

#[test]
fn a_backup_of_a_running_store_is_one_whole_private_file() {
    let (dir, store) = sqlite();
    let elsewhere = tempfile::tempdir().unwrap();
    let copy = elsewhere.path().join("jackfield.db");
    let record = task();
    drop(store.save_task(record.clone(), vec![message(0, "hi")], Vec::new(), false));
    store.backup(&copy).unwrap();
    assert_eq!(mode(&copy), 0o600);
    let files: Vec<_> = fs::read_dir(elsewhere.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(files, ["jackfield.db"]);
    let restored = SqliteStore::open(elsewhere.path()).unwrap();
    assert_eq!(find(&restored, record.id).log_end, 1);
    assert!(matches!(store.backup(&copy), Err(BackupError::Exists(_))));
    store.close();
    backup_file(dir.path(), &elsewhere.path().join("second")).unwrap();
    let nowhere = elsewhere.path().join("nowhere");
    assert!(matches!(
        backup_file(&nowhere, &dir.path().join("x")),
        Err(BackupError::NoDatabase(_))
    ));
    assert!(matches!(
        backup_file(dir.path(), &nowhere.join("x")),
        Err(BackupError::Unwritable { .. })
    ));
}

#[test]
fn a_report_counts_and_finds_damage() {
    let (dir, store) = sqlite();
    store.save_agent(agent("a")).wait().unwrap();
    store.save_token(token("t")).wait().unwrap();
    save(&store, &task(), vec![message(0, &"x".repeat(100_000))]);
    let report = check(dir.path()).unwrap();
    let counts = report.counts.unwrap();
    assert_eq!(
        (
            counts.agents,
            counts.tokens,
            counts.tasks,
            counts.unfinished,
            counts.log_rows
        ),
        (1, 1, 1, 1, 1)
    );
    assert!(
        counts.log_bytes > 100_000 && report.size > 100_000 && report.problems.is_empty(),
        "{report:?}"
    );
    assert_eq!(report.schema, report.known_schema);
    drop(store);
    assert_eq!(check(dir.path()).unwrap().counts, Some(counts));
    let path = dir.path().join("jackfield.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..8192].fill(0xa5);
    fs::write(&path, bytes).unwrap();
    let damaged = check(dir.path());
    assert!(
        damaged.is_err() || !damaged.as_ref().unwrap().problems.is_empty(),
        "{damaged:?}"
    );
    let nowhere = dir.path().join("nowhere");
    assert!(matches!(check(&nowhere), Err(CheckError::NoDatabase(_))));
}

#[test]
fn a_secret_is_made_once_and_shown_to_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let secret = secrets::load_or_create(&data, "platform-secret").unwrap();
    assert_eq!(secret.expose().len(), 64);
    assert_eq!(
        secrets::load_or_create(&data, "platform-secret")
            .unwrap()
            .expose(),
        secret.expose()
    );
    assert_ne!(
        secrets::load_or_create(&data, "callback-key")
            .unwrap()
            .expose(),
        secret.expose()
    );
    assert!(!format!("{secret:?}").contains(&secret.expose()[..8]));
    assert_eq!(mode(&data.join("platform-secret")), 0o600);
    assert_eq!(
        fs::read_dir(&data).unwrap().count(),
        2,
        "nothing temporary is left"
    );
}

#[test]
fn all_who_come_at_once_get_the_same_secret() {
    let dir = tempfile::tempdir().unwrap();
    let make = || {
        secrets::load_or_create(dir.path(), "admin-token")
            .unwrap()
            .expose()
            .to_owned()
    };
    let mut secrets: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(make)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    secrets.dedup();
    assert_eq!(secrets.len(), 1);
}

#[test]
fn a_secret_that_others_can_read_is_refused_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    secrets::load_or_create(dir.path(), "callback-key").unwrap();
    let path = dir.path().join("callback-key");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let error = secrets::load_or_create(dir.path(), "callback-key")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("chmod 600") && error.contains("callback-key"),
        "{error}"
    );
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "short").unwrap();
    let error = secrets::load_or_create(dir.path(), "callback-key")
        .unwrap_err()
        .to_string();
    assert!(error.contains("remove it"), "{error}");
}
