//! Steps made up for the purpose, and the real schema.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use super::*;
use crate::tasks;

const FIRST: MigrationStep = MigrationStep::breaking(
    "CREATE TABLE schema (min_reader INTEGER NOT NULL); INSERT INTO schema VALUES (0);
     CREATE TABLE a (x); INSERT INTO a VALUES ('kept')",
);
const SECOND: MigrationStep = MigrationStep::additive("ALTER TABLE a ADD COLUMN y");
const THIRD: MigrationStep = MigrationStep::additive("CREATE TABLE c (x)");
const BREAKING: MigrationStep = MigrationStep::breaking("ALTER TABLE a RENAME COLUMN x TO z");
const BROKEN: MigrationStep =
    MigrationStep::additive("CREATE TABLE b (x); INSERT INTO nowhere VALUES (1)");

const fn schema(steps: &'static [MigrationStep]) -> DatabaseSchema {
    DatabaseSchema { first: 7, steps }
}

fn database(schema: &DatabaseSchema) -> (tempfile::TempDir, PathBuf, Connection) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("jackfield.db");
    let mut conn = Connection::open(&path).unwrap();
    conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
        .unwrap();
    migrate(&mut conn, &path, schema).unwrap();
    (dir, path, conn)
}

/// The version of a database and the one that a program must know to use it.
fn version(conn: &Connection) -> (u32, u32) {
    let SchemaVersion { found, min_reader } = SchemaVersion::of(conn).unwrap();
    (found, min_reader)
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
    let both = schema(&[FIRST, SECOND]);
    let (dir, path, mut conn) = database(&both);
    assert_eq!(version(&conn), (8, 7));
    migrate(&mut conn, &path, &both).unwrap();
    assert_eq!(names(&dir), ["jackfield.db"]);
}

#[test]
fn an_older_database_is_copied_and_then_migrated() {
    let (dir, path, mut conn) = database(&schema(&[FIRST]));
    migrate(&mut conn, &path, &schema(&[FIRST, SECOND, THIRD])).unwrap();
    assert_eq!(version(&conn), (9, 7));
    assert_eq!(
        conn.query_row("SELECT x FROM a WHERE y IS NULL", [], |row| row
            .get::<_, String>(0))
            .unwrap(),
        "kept"
    );
    assert_eq!(names(&dir), ["jackfield.db", "jackfield.db.bak-v7"]);
    let copy = dir.path().join("jackfield.db.bak-v7");
    assert_eq!(
        fs::metadata(&copy).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let copy = Connection::open(copy).unwrap();
    assert_eq!(version(&copy), (7, 7));
    assert_eq!(
        copy.query_row("SELECT * FROM a", [], |row| row.get::<_, String>(0))
            .unwrap(),
        "kept"
    );
}

#[test]
fn a_step_that_fails_changes_nothing_and_may_be_tried_again() {
    let (dir, path, mut conn) = database(&schema(&[FIRST]));
    let broken = schema(&[FIRST, SECOND, BROKEN]);
    assert!(matches!(
        migrate(&mut conn, &path, &broken),
        Err(StoreOpenError::Sqlite { .. })
    ));
    assert_eq!(version(&conn).0, 8, "the steps before it stand");
    assert!(conn.prepare("SELECT * FROM b").is_err());
    conn.execute("INSERT INTO a (x) VALUES ('new')", [])
        .unwrap();
    assert!(migrate(&mut conn, &path, &broken).is_err());
    migrate(&mut conn, &path, &schema(&[FIRST, SECOND, THIRD])).unwrap();
    assert_eq!(
        names(&dir),
        ["jackfield.db", "jackfield.db.bak-v7", "jackfield.db.bak-v8"]
    );
    let copy = Connection::open(dir.path().join("jackfield.db.bak-v8")).unwrap();
    assert_eq!(
        copy.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0))
            .unwrap(),
        2,
        "the newest copy"
    );
}

#[test]
fn nothing_is_migrated_without_its_copy() {
    let (dir, path, mut conn) = database(&schema(&[FIRST]));
    // Something is in the way that cannot be replaced by a file.
    fs::create_dir_all(dir.path().join("jackfield.db.bak-v7/full")).unwrap();
    assert!(migrate(&mut conn, &path, &schema(&[FIRST, SECOND])).is_err());
    assert_eq!(version(&conn).0, 7);
    assert_eq!(
        names(&dir),
        ["jackfield.db", "jackfield.db.bak-v7"],
        "nothing half-made is left"
    );
}

#[test]
fn a_database_that_merely_has_more_is_used_as_it_is() {
    let (dir, path, mut conn) = database(&schema(&[FIRST, SECOND, THIRD]));
    migrate(&mut conn, &path, &schema(&[FIRST])).unwrap();
    assert_eq!(version(&conn), (9, 7));
    assert!(conn.prepare("SELECT y FROM a").is_ok());
    assert_eq!(names(&dir), ["jackfield.db"], "nothing is changed");
}

#[test]
fn a_database_is_refused_by_programs_that_do_not_know_its_last_breaking_step() {
    let (_dir, path, mut conn) = database(&schema(&[FIRST, SECOND, BREAKING, THIRD]));
    assert_eq!(version(&conn), (10, 9));
    for (steps, known) in [(schema(&[FIRST]), 7), (schema(&[FIRST, SECOND]), 8)] {
        let error = migrate(&mut conn, &path, &steps).unwrap_err();
        let text = error.to_string();
        assert!(
            matches!(error, StoreOpenError::TooNew { found: 10, needed: 9, known: had, .. } if had == known),
            "{text}"
        );
        assert!(text.contains("run the newer Jackfield"), "{text}");
    }
    migrate(&mut conn, &path, &schema(&[FIRST, SECOND, BREAKING])).unwrap();
}

#[test]
fn a_database_from_before_the_first_release_is_refused_with_the_remedy_and_left_alone() {
    let (dir, path, mut conn) = database(&DatabaseSchema {
        first: 6,
        steps: &[FIRST],
    });
    let error = migrate(&mut conn, &path, &schema(&[FIRST, SECOND])).unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(
            error,
            StoreOpenError::TooOld {
                found: 6,
                first: 7,
                ..
            }
        ),
        "{text}"
    );
    assert!(
        text.contains("move") && text.contains("jackfield.db-wal"),
        "{text}"
    );
    assert_eq!(version(&conn), (6, 6));
    assert_eq!(names(&dir), ["jackfield.db"]);
}

#[test]
fn the_real_schema_leads_to_its_newest_version() {
    let (_dir, _path, conn) = database(&SCHEMA);
    let newest = SCHEMA.newest();
    assert_eq!(version(&conn), (newest, 20));
}

#[test]
fn a_migration_keeps_the_rows_of_logs() {
    let before = DatabaseSchema {
        steps: &SCHEMA.steps[..2],
        ..SCHEMA
    };
    let (_dir, path, mut conn) = database(&before);
    conn.execute_batch(
        "INSERT INTO tasks (id, call, principal, caller, door, agent, session, request, state, sent, epoch, log_end,
                            created_at, updated_at)
         VALUES ('t', 'c', 'p', 'c', 'd', 'a', 's', 'r', 'working', 0, 0, 0, '', '');
         INSERT INTO log VALUES ('t', 1, 7, 'then', 'chunk', '{}'), ('t', 0, NULL, 'then', 'message', '{}')",
    )
    .unwrap();
    migrate(&mut conn, &path, &SCHEMA).unwrap();
    let mut rows = conn.prepare("SELECT pos, seq, kind FROM log").unwrap();
    let rows = rows.query_map([], |row| <(i64, Option<i64>, String)>::try_from(row));
    let rows: Vec<_> = rows.unwrap().map(Result::unwrap).collect();
    let expected = [
        (0, None, "message".to_owned()),
        (1, Some(7), "chunk".to_owned()),
    ];
    assert_eq!(rows, expected);
}

/// What SQLite does for a query.
fn plan(conn: &Connection, sql: &str) -> String {
    let mut statement = conn.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let lines = statement.query_map([], |row| row.get::<_, String>("detail"));
    let lines: Result<Vec<_>, _> = lines.unwrap().collect();
    lines.unwrap().join("; ")
}

#[test]
fn a_page_of_ones_own_tasks_is_read_by_its_index() {
    let (_dir, _path, conn) = database(&SCHEMA);
    let page = "SELECT * FROM tasks WHERE principal = 'ann' AND (updated_at, id) < ('2026', 'x')
        ORDER BY updated_at DESC, id DESC LIMIT 9";
    let page = plan(&conn, page);
    assert!(
        page.contains("tasks_by_update") && !page.contains("SORT") && !page.contains("SCAN"),
        "{page}"
    );
    let owner = "SELECT * FROM tasks WHERE
        (principal = 'ann' OR (principal > 'ann' || '/' AND principal < 'ann' || '0'))
        ORDER BY updated_at DESC, id DESC LIMIT 9";
    let owner = plan(&conn, owner);
    assert!(!owner.contains("SCAN tasks"), "{owner}");
    let once = "SELECT * FROM tasks WHERE principal = 'ann' AND agent = 'a' AND once_key = 'k' ORDER BY id DESC LIMIT 1";
    let once = plan(&conn, once);
    assert!(once.contains("tasks_by_once"), "{once}");
    let lane = "SELECT 1 FROM outbox AS earlier WHERE earlier.lane = 'x' AND earlier.state = 'pending' AND earlier.id < 'y'";
    let lane = plan(&conn, lane);
    assert!(lane.contains("outbox_lanes"), "{lane}");
}

#[test]
fn the_oldest_finished_task_of_an_owner_is_found_by_its_index() {
    let (_dir, _path, conn) = database(&SCHEMA);
    let oldest = "SELECT id FROM tasks INDEXED BY tasks_finished_by_owner
        WHERE owner = 'ann' AND is_final = 1
            AND (updated_at, id) >= ('2026', 'x') ORDER BY updated_at, id LIMIT 1";
    let oldest = plan(&conn, oldest);
    assert!(oldest.contains("(owner=? AND (updated_at,id)>"), "{oldest}");
    assert!(
        !oldest.contains("SORT") && !oldest.contains("B-TREE"),
        "{oldest}"
    );
}

#[test]
fn saving_a_task_builds_no_temporary_table() {
    let (_dir, _path, conn) = database(&SCHEMA);
    for sql in [tasks::INSERT, tasks::UPDATE, tasks::UPDATE_IDENTITY] {
        let mut statement = conn.prepare(&format!("EXPLAIN {sql}")).unwrap();
        let mut rows = statement.raw_query();
        let mut opcodes = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            opcodes.push(row.get::<_, String>("opcode").unwrap());
        }
        assert!(
            opcodes.iter().any(|it| it == "IdxInsert")
                && !opcodes.iter().any(|it| it == "OpenEphemeral"),
            "{sql}: {opcodes:?}"
        );
    }
}

#[test]
fn the_database_and_the_core_agree_on_which_states_are_final() {
    use jackfield_core::store::TaskState::*;
    let (_dir, _path, conn) = database(&SCHEMA);
    for state in [
        Submitted,
        Working,
        InputRequired,
        Completed,
        Failed,
        Cancelled,
        Rejected,
    ] {
        conn.execute(
            "INSERT INTO tasks (id, call, principal, caller, door, agent, session, request, state, sent, epoch, log_end,
                                created_at, updated_at)
             VALUES (?1, 'c', 'p', 'c', 'd', 'a', 's', 'r', ?1, 0, 0, 0, '', '')",
            [state.name()],
        )
        .unwrap();
        let sql = "SELECT is_final FROM tasks WHERE id = ?";
        let is_final: bool = conn
            .query_row(sql, [state.name()], |row| row.get(0))
            .unwrap();
        assert_eq!(is_final, state.is_final(), "{}", state.name());
    }
}
