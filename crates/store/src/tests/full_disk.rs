//! A hub whose database can grow no further. The limit is SQLite's own, on the connection that the hub writes with; what
//! fails and what recovers is what a full disk does.

use std::time::Duration;

use jackfield_core::{
    agent::Profile,
    hub::{Hub, Request},
    inbox::Inbox,
    limits::Limits,
    outbox::Callback,
    principal::Principal,
    store::{StoreError, TaskState},
};
use jackfield_model::{AgentId, End, Message};
use rusqlite::Connection;

use super::*;

/// What fills the database, and is taken away to make room.
const BALLAST: usize = 1 << 20;

/// Pages that are left besides the ballast: enough to begin a call.
const ROOM: i64 = 64;

/// A store that has room for what is in it, the ballast, and little else.
fn nearly_full(dir: &Path) -> SqliteStore {
    let opened = open::open(dir).unwrap();
    let ballast = "x".repeat(BALLAST);
    opened
        .writer
        .execute(
            "INSERT INTO records VALUES ('ballast', '', '', 1, ?)",
            [ballast],
        )
        .unwrap();
    let pages: i64 = opened
        .writer
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    opened
        .writer
        .pragma_update_and_check(None, "max_page_count", pages + ROOM, |_| Ok(()))
        .unwrap();
    SqliteStore::start(dir, opened).unwrap()
}

fn make_room(dir: &Path) {
    let conn = Connection::open(dir.join("jackfield.db")).unwrap();
    conn.execute("DELETE FROM records", []).unwrap();
}

fn fill(dir: &Path) {
    let conn = Connection::open(dir.join("jackfield.db")).unwrap();
    // This connection has no limit of its own: it takes all that the writer has left, and more.
    let text = "x".repeat(BALLAST);
    conn.execute("INSERT INTO records VALUES ('more', '', '', 1, ?)", [text])
        .unwrap();
}

#[test]
fn a_probe_tells_whether_there_is_room_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let store = nearly_full(dir.path());
    store.probe().wait().unwrap();
    fill(dir.path());
    let full = store.probe().wait();
    assert!(
        matches!(&full, Err(StoreError::Failed(why)) if why.contains("full")),
        "{full:?}"
    );
    make_room(dir.path());
    let probes = [store.probe(), store.probe(), store.probe()];
    for probe in probes {
        probe.wait().unwrap();
    }
    assert_eq!(store.load_records("").wait().unwrap(), []);
}

#[tokio::test]
async fn a_call_that_ends_while_the_disk_is_full_is_ended_and_told_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(nearly_full(dir.path()));
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    let (inbox, mut calls) = Inbox::new("local", hub.limits(), true);
    let (principal, id) = (Principal::local(), AgentId::parse("a").unwrap());
    let attached = hub
        .agents()
        .attach(&principal, &id, Profile::default(), inbox, false);
    let mut attached = attached.unwrap();
    attached.saved.take().unwrap().await.unwrap();
    let mut request = Request::new(principal.clone(), "own", id, Message::text("hi"));
    request.callback = Some(Callback {
        url: "https://example.com/done".into(),
        kind: "bridge".into(),
        data: None,
        token: None,
    });
    let task = hub.tasks().start(request).await.unwrap();
    let serving = calls.recv().await.unwrap();

    fill(dir.path());
    assert!(hub.tasks().check_store().await.is_err());
    serving.finish(End::done());
    // The first try has failed once something that was handed over later is refused.
    assert!(store.probe().await.is_err());
    assert_eq!(task.record().state, TaskState::Working);

    make_room(dir.path());
    tokio::time::timeout(Duration::from_secs(30), task.over())
        .await
        .unwrap();
    hub.tasks().check_store().await.unwrap();
    let found = store.find_task(task.id).await.unwrap().unwrap();
    assert_eq!(found.state, TaskState::Completed);
    let due = hub.callbacks().due(9).await.unwrap();
    assert_eq!(
        due.iter().map(|row| row.task).collect::<Vec<_>>(),
        [task.id]
    );
}
