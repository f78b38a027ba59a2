//! A list that never ends by itself. Its connection sees, in place of the tasks, a view whose condition counts for ever.

use std::time::Duration;

use jackfield_core::{
    hub::{Hub, Request},
    inbox::Inbox,
    limits::Limits,
    principal::Principal,
    store::{StoreError, TaskState},
    task::IdempotencyKey,
};
use jackfield_model::{AgentId, End, Message};
use rusqlite::InterruptHandle;
use tokio::time::timeout;

use super::*;

/// Long enough for any machine.
const AT_MOST: Duration = Duration::from_secs(60);

const ENDLESS: &str = "CREATE TEMP VIEW tasks AS SELECT * FROM main.tasks WHERE 0 <
    (WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number) SELECT count(*) FROM number)";

/// Ends the list if the test fails, so that the store can be closed.
struct InterruptOnFailure(Arc<InterruptHandle>);

impl Drop for InterruptOnFailure {
    fn drop(&mut self) {
        if thread::panicking() {
            let interrupt = self.0.clone();
            // The list may begin later.
            thread::spawn(move || {
                loop {
                    interrupt.interrupt();
                    thread::yield_now();
                }
            });
        }
    }
}

#[tokio::test]
async fn a_list_that_takes_long_holds_up_neither_calls_nor_streams() {
    let dir = tempfile::tempdir().unwrap();
    let opened = open::open(dir.path()).unwrap();
    opened.readers.lists.execute_batch(ENDLESS).unwrap();
    let interrupt = Arc::new(opened.readers.lists.get_interrupt_handle());
    let store = Arc::new(SqliteStore::start(dir.path(), opened).unwrap());
    let _guard = InterruptOnFailure(interrupt.clone());
    let hub = Hub::open(store.clone(), Limits::default()).await.unwrap();
    let (inbox, mut calls) = Inbox::new("local", hub.limits(), true);
    let (principal, id) = (Principal::local(), AgentId::parse("a").unwrap());
    let profile = jackfield_core::agent::Profile::default();
    let attached = hub
        .agents()
        .attach(&principal, &id, profile, inbox, false)
        .unwrap();

    let mut call = async |key: &str| {
        let request = Request {
            once: Some(IdempotencyKey {
                key: key.into(),
                digest: [1; 32],
            }),
            ..Request::new(principal.clone(), "own", id.clone(), Message::text("hi"))
        };
        let task = hub.tasks().start(request).await.unwrap();
        calls.recv().await.unwrap().finish(End::done());
        task.over().await;
        // As another hub would find the task: from the store.
        let found = hub.tasks().find_stored(&principal, task.id).await.unwrap();
        assert_eq!(found.record().state, TaskState::Completed);
        let mut reader = found.subscribe(None);
        let mut rows = 0;
        while reader.next().await.unwrap().is_some() {
            rows += 1;
        }
        assert_eq!(rows, 2, "the message and the end");
    };
    timeout(AT_MOST, call("before")).await.unwrap();
    let mut list = store.list_tasks(TaskFilter {
        limit: 9,
        ..TaskFilter::default()
    });
    timeout(AT_MOST, call("meanwhile")).await.unwrap();

    let interrupted = async {
        loop {
            tokio::select! {
                listed = &mut list => return listed,
                () = tokio::task::yield_now() => interrupt.interrupt(),
            }
        }
    };
    let interrupted = timeout(AT_MOST, interrupted).await.unwrap();
    assert!(
        matches!(&interrupted, Err(StoreError::Failed(why)) if why.contains("interrupted")),
        "{interrupted:?}"
    );
    drop(attached);
}
