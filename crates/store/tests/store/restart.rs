//! State after the store was closed, and errors while it is closed or can't write.

use jackfield_core::{
    outbox::Settled,
    store::{
        CallbackFilter, LogItem, Reopened, Store, StoreError, TaskFilter, TaskRecord, TaskState,
    },
};
use jackfield_model::{CallbackId, Json, Message, Part};
use jackfield_store::SqliteStore;

use crate::records::{
    agent, callback, callbacks, door_record, end, find, joined_text, message, open_database,
    reopen, row, save, sqlite, task, text, token, whole_log,
};

#[test]
fn everything_handed_over_before_closing_is_there_after_it() {
    let (dir, store) = sqlite();
    let (record, token) = (task(), token("t"));
    drop(store.save_agent(agent("a")));
    drop(store.save_token(token.clone()));
    let kept = [door_record("a", "team", 1), door_record("a", "task/1", 2)];
    drop(store.save_records(kept.to_vec(), true));
    drop(store.save_task(record.clone(), vec![message(0, "hi")], Vec::new(), false));
    for pos in 1..=1000 {
        drop(store.append(record.id, vec![text(pos, "x")], Vec::new()));
    }
    drop(store);
    let store = SqliteStore::open(dir.path()).unwrap();
    assert_eq!(store.load_agents().wait().unwrap(), [agent("a")]);
    assert_eq!(store.load_tokens().wait().unwrap(), [token]);
    assert_eq!(store.load_records("team").wait().unwrap(), kept);
    assert_eq!(
        joined_text(&whole_log(&store, record.id, 0, 1 << 20)).len(),
        1000
    );
    let found = find(&store, record.id);
    assert_eq!(
        TaskRecord {
            updated_at: record.updated_at,
            ..found
        },
        TaskRecord {
            log_end: 1001,
            ..record
        }
    );
}

#[test]
fn each_restart_raises_the_epoch_of_an_unfinished_task() {
    let (dir, store) = sqlite();
    let record = TaskRecord { epoch: 0, ..task() };
    save(&store, &record, vec![message(0, "hi")]);
    drop(store);
    for epoch in 1..4 {
        let store = SqliteStore::open(dir.path()).unwrap();
        assert_eq!(
            reopen(&store),
            [Reopened {
                record: TaskRecord {
                    epoch,
                    log_end: 1,
                    ..record.clone()
                },
                message: Some(Message::text("hi")),
                turn: 0,
                has_reply: false,
                seq: None,
                asks: Vec::new(),
                answers: Vec::new(),
            }]
        );
    }
    let store = SqliteStore::open(dir.path()).unwrap();
    save(
        &store,
        &TaskRecord {
            state: TaskState::Cancelled,
            ..record
        },
        Vec::new(),
    );
    assert_eq!(store.reopen_tasks().wait().unwrap(), []);
}

#[test]
fn callbacks_outlive_the_store_and_are_settled_for_good() {
    let (dir, store) = sqlite();
    let record = TaskRecord {
        state: TaskState::Completed,
        callback: Some(callback("https://example.com/done")),
        ..task()
    };
    end(&store, &record, vec![message(0, "hi")]);
    drop(store);
    let store = SqliteStore::open(dir.path()).unwrap();
    let rows = store.due_callbacks(record.updated_at, 9).wait().unwrap();
    assert_eq!((rows.len(), rows[0].task), (1, record.id));
    let counts = jackfield_store::check(dir.path()).unwrap().counts.unwrap();
    assert_eq!((counts.callbacks_pending, counts.callbacks_dead), (1, 0));
    let settled = store.settle_callback(rows[0].id, Settled::Delivered);
    settled.wait().unwrap();
    drop(store);
    let store = SqliteStore::open(dir.path()).unwrap();
    assert_eq!(callbacks(&store), []);
}

#[test]
fn a_closed_store_says_so() {
    let (_dir, store) = sqlite();
    store.close();
    store.close();
    assert_eq!(store.save_agent(agent("a")).wait(), Err(StoreError::Closed));
    assert_eq!(
        store.append(task().id, Vec::new(), Vec::new()).wait(),
        Err(StoreError::Closed)
    );
    assert_eq!(store.load_agents().wait(), Err(StoreError::Closed));
    assert_eq!(
        store.list_tasks(TaskFilter::default()).wait(),
        Err(StoreError::Closed)
    );
    assert_eq!(
        store.count_tasks(TaskFilter::default()).wait(),
        Err(StoreError::Closed)
    );
    assert_eq!(
        store.drop_lane(task().id, "lane".into()).wait(),
        Err(StoreError::Closed)
    );
    assert_eq!(store.reopen_tasks().wait(), Err(StoreError::Closed));
    assert_eq!(store.read_turn(task()).wait(), Err(StoreError::Closed));
    assert_eq!(
        store.list_callbacks(CallbackFilter::default()).wait(),
        Err(StoreError::Closed)
    );
    assert_eq!(
        store.callback_reply(CallbackId::new()).wait(),
        Err(StoreError::Closed)
    );
    assert_eq!(
        store.resend_callbacks(task().id).wait(),
        Err(StoreError::Closed)
    );
    assert_eq!(
        store.trim(task().created_at, 0).wait(),
        Err(StoreError::Closed)
    );
}

#[test]
fn whoever_waits_is_told_when_the_database_fails_and_the_rest_goes_on() {
    let (dir, store) = sqlite();
    let record = task();
    save(&store, &record, vec![message(0, "hi")]);
    open_database(dir.path())
        .execute_batch("ALTER TABLE log RENAME TO lost")
        .unwrap();
    let results = [
        store.append(record.id, vec![text(1, "x")], Vec::new()),
        store.append(record.id, vec![text(2, "x")], Vec::new()),
    ]
    .map(|receipt| receipt.wait().is_err());
    assert_eq!(results, [true, true]);
    assert!(
        matches!(store.read_log(record.id, 0, 1).wait(), Err(StoreError::Failed(why)) if why.contains("log"))
    );
    store.save_agent(agent("a")).wait().unwrap();
    open_database(dir.path())
        .execute_batch("ALTER TABLE lost RENAME TO log")
        .unwrap();
    store
        .append(record.id, vec![text(1, "again")], Vec::new())
        .wait()
        .unwrap();
    assert_eq!(joined_text(&whole_log(&store, record.id, 0, 1)), "again");
}

#[test]
fn a_flood_is_refused_and_what_was_taken_is_written() {
    let (dir, store) = sqlite();
    let record = task();
    save(&store, &record, Vec::new());
    // Blocks the writer. The rows share their JSON, so the queue counts more bytes than it uses.
    let held = open_database(dir.path());
    held.execute_batch("BEGIN IMMEDIATE").unwrap();
    let data = Json::of(&"x".repeat(8 << 20)).unwrap();
    let big = Message {
        parts: vec![Part::Data(data)],
        ..Message::default()
    };
    let receipts: Vec<_> = (0..40)
        .map(|pos| {
            store.append(
                record.id,
                vec![row(pos, LogItem::Message(big.clone()))],
                Vec::new(),
            )
        })
        .collect();
    held.execute_batch("ROLLBACK").unwrap();
    let results: Vec<_> = receipts
        .into_iter()
        .map(jackfield_core::store::Receipt::wait)
        .collect();
    let (taken, refused): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    assert!(
        (31..=33).contains(&taken.len()),
        "{} of 8 MiB were taken into 256 MiB",
        taken.len()
    );
    assert!(refused.iter().all(
        |result| matches!(result, Err(StoreError::Failed(why)) if why.contains("overloaded"))
    ));
    assert_eq!(whole_log(&store, record.id, 0, 1).len(), taken.len());
}
