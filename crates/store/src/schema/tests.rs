//! Migrations with lists made up for the purpose, and the real ones on a database that an older version made.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf};

use jackfield_core::{
    event::{End, Message},
    id::{AgentId, CallId, CallbackId, TokenId},
    outbox::{Callback, Follower, NewCallback, OutboxRow},
    store::{LogItem, PeerRecord, Store, TaskRecord, TaskState},
    task::Once,
    team::{Member, MemberOf, TeamRecord, TeamSpec},
};
use jiff::Timestamp;

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
    let turn = store.read_turn(reopened[0].clone()).wait().unwrap();
    assert_eq!(turn.message, Some(Message::text("do")));
    assert_eq!(turn.seq, Some(5));
    let ended = TaskRecord {
        state: TaskState::Failed,
        callback: Some(Callback {
            url: "https://example.com/".into(),
            kind: "bridge".into(),
            data: None,
            token: None,
        }),
        ..reopened[0].clone()
    };
    let callback = OutboxRow::of(&ended).map(|row| NewCallback {
        row,
        reply: vec![LogItem::End(End::Cancelled)],
    });
    let id = callback.as_ref().unwrap().row.id;
    let written = store.save_task(ended, Vec::new(), callback.into_iter().collect(), true);
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

#[test]
fn a_database_of_version_4_goes_on_with_its_tasks_and_callbacks() {
    let (dir, _path, conn) = database(&[V1, V2, V3, V4]);
    let (id, told) = (CallId::new(), CallbackId::new());
    conn.execute_batch(&format!(
        r#"
        INSERT INTO tasks VALUES
            ('{id}', '{id}', 'ann', 'ann', 'own', 'a', 's', 'r1', 'input_required', 0, 0, 2,
                '2026-01-01T00:00:00.000000000Z', '2026-01-01T00:00:01.000000000Z', NULL, NULL, NULL, 15, NULL, 30000);
        INSERT INTO log VALUES
            ('{id}', 0, NULL, 'message', '{{"parts":[{{"text":"hi"}}]}}'),
            ('{id}', 1, NULL, 'done', '{{"state":"input_required"}}');
        INSERT INTO outbox VALUES
            ('{told}', '{id}', 'https://example.com', '{{"url":"https://example.com/","kind":"bridge"}}', 'pending', 3,
                '2026-01-01T00:00:02.000000000Z', '2026-01-01T00:00:01.000000000Z', '503', NULL);
        "#
    ))
    .unwrap();
    drop(conn);
    let store = SqliteStore::open(dir.path()).unwrap();
    let mut task = store.find_task(id.into()).wait().unwrap().unwrap();
    assert_eq!((task.followers.len(), task.once.clone()), (0, None));
    let now = Timestamp::now();
    let due = store.due_callbacks(now, 9).wait().unwrap();
    assert_eq!((due.len(), due[0].id, due[0].attempts), (1, told, 3));
    assert_eq!((due[0].lane.as_deref(), due[0].pos), (None, None));
    let follower = Follower {
        id: "f".into(),
        callback: due[0].callback.clone(),
    };
    task.followers.push(follower.clone());
    task.once = Some(Once {
        key: "k".into(),
        digest: [3; 32],
    });
    let row = OutboxRow::to(&follower, task.id, 1, now);
    let new = NewCallback {
        row: row.clone(),
        reply: Vec::new(),
    };
    let saved = store.save_task(task.clone(), Vec::new(), vec![new], true);
    saved.wait().unwrap();
    assert_eq!(store.find_task(id.into()).wait().unwrap(), Some(task));
    let due = store.due_callbacks(now, 9).wait().unwrap();
    assert_eq!((due.len(), &due[1]), (2, &row));
    drop(store);
    assert_eq!(names(&dir), ["jackfield.db", "jackfield.db.bak-v4", "lock"]);
}

#[test]
fn a_database_of_version_6_keeps_its_agents_and_takes_teams() {
    let (dir, _path, conn) = database(&[V1, V2, V3, V4, V5, V6]);
    conn.execute_batch(
        r#"
        INSERT INTO agents VALUES ('a', 'ann', 'a2a', '{"name":"A"}', '"nobody"', '{}', '2026-01-01T00:00:00.000000000Z', NULL);
        INSERT INTO remotes VALUES ('a', 'ann', 'a2a', '{}', '2026-01-01T00:00:00.000000000Z');
        "#,
    )
    .unwrap();
    drop(conn);
    let store = SqliteStore::open(dir.path()).unwrap();
    assert_eq!(store.load_agents().wait().unwrap().len(), 1);
    assert_eq!(store.load_remotes().wait().unwrap().len(), 1);
    assert_eq!(store.load_teams().wait().unwrap(), []);
    let a = store.load_agents().wait().unwrap().remove(0);
    let team = TeamRecord {
        id: AgentId::parse("t").unwrap(),
        owner: a.owner,
        by_admin: false,
        spec: TeamSpec {
            name: "T".into(),
            description: None,
            coordinator: "lead".into(),
            members: vec![Member {
                name: "lead".into(),
                of: MemberOf::Agent(a.id),
            }],
        },
        created_at: Timestamp::UNIX_EPOCH,
        updated_at: Timestamp::UNIX_EPOCH,
        tasks: Vec::new(),
    };
    store.save_team(team.clone()).wait().unwrap();
    assert_eq!(store.load_teams().wait().unwrap(), [team]);
    drop(store);
    assert_eq!(names(&dir), ["jackfield.db", "jackfield.db.bak-v6", "lock"]);
    // How a team stands in its row must be read by every later version.
    let conn = Connection::open(dir.path().join("jackfield.db")).unwrap();
    let spec = conn.query_row("SELECT spec FROM teams", [], |row| row.get::<_, String>(0));
    assert_eq!(
        spec.unwrap(),
        r#"{"name":"T","coordinator":"lead","members":[{"name":"lead","agent":"a"}]}"#
    );
}

#[test]
fn a_database_of_version_7_keeps_its_agents_and_takes_peers() {
    let (dir, _path, conn) = database(&[V1, V2, V3, V4, V5, V6, V7]);
    conn.execute_batch(
        r#"
        INSERT INTO agents VALUES ('a@x', 'local', 'p2p', '{"name":"A"}', '"nobody"', '{}', '2026-01-01T00:00:00.000000000Z', NULL);
        "#,
    )
    .unwrap();
    drop(conn);
    let store = SqliteStore::open(dir.path()).unwrap();
    assert_eq!(store.load_agents().wait().unwrap().len(), 1);
    assert_eq!(store.load_peers().wait().unwrap(), []);
    let peer = PeerRecord {
        id: "x".into(),
        address: Some("/dns/a.example/tcp/1/p2p/x".into()),
        is_blocked: true,
        seen_at: Some(Timestamp::UNIX_EPOCH),
    };
    store.save_peer(peer.clone()).wait().unwrap();
    assert_eq!(store.load_peers().wait().unwrap(), [peer]);
    drop(store);
    assert_eq!(names(&dir), ["jackfield.db", "jackfield.db.bak-v7", "lock"]);
}

#[test]
fn tokens_of_invites_of_version_11_stand_for_their_agents_from_then_on() {
    let (dir, _path, conn) = database(&MIGRATIONS[..11]);
    for (name, scopes) in [
        ("invite of amy", r#"["agent:amy"]"#),
        ("invite of bob", r#"["agent:*"]"#),
        ("laptop", r#"["agent:amy"]"#),
        ("root", r#"["admin"]"#),
    ] {
        let id = TokenId::new().to_string();
        conn.execute(
            "INSERT INTO tokens VALUES (?, ?, 'ann', zeroblob(32), ?, '2026-01-01T00:00:00.000000000Z', NULL, NULL)",
            (id, name, scopes),
        )
        .unwrap();
    }
    drop(conn);
    let store = SqliteStore::open(dir.path()).unwrap();
    let tokens = store.load_tokens().wait().unwrap().into_iter();
    let of_agents: Vec<_> = tokens
        .filter_map(|token| Some((token.name, token.agent?.to_string())))
        .collect();
    assert_eq!(of_agents, [("invite of amy".to_owned(), "amy".to_owned())]);
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
    let (_dir, _path, conn) = database(MIGRATIONS);
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
    let (_dir, _path, conn) = database(MIGRATIONS);
    let oldest = "SELECT id FROM tasks INDEXED BY tasks_finished_by_owner
        WHERE owner = 'ann' AND state IN ('completed', 'failed', 'cancelled', 'rejected')
            AND (updated_at, id) >= ('2026', 'x') ORDER BY updated_at, id LIMIT 1";
    let oldest = plan(&conn, oldest);
    assert!(oldest.contains("(owner=? AND (updated_at,id)>"), "{oldest}");
    assert!(
        !oldest.contains("SORT") && !oldest.contains("B-TREE"),
        "{oldest}"
    );
}
