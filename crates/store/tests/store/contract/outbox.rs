//! Promises about callbacks: written to the outbox with the end of their task, kept until delivered or dead.

use jackfield_core::{
    outbox::{NewCallback, OutboxRow, OutboxState, PER_ORIGIN, Settled},
    principal::Whose,
    store::{CallbackFilter, LogItem, Store, TaskRecord, TaskState},
};
use jackfield_model::{CallId, CallbackId, End, Event};
use jiff::Timestamp;

use crate::records::{
    callback, callbacks, end, find, finished, message, row, save, task, text, time,
};

/// Saves a task that has just ended, with a callback to `url`.
fn ended(store: &dyn Store, url: &str, at: Timestamp) -> TaskRecord {
    let record = TaskRecord {
        callback: Some(callback(url)),
        ..finished(at)
    };
    end(store, &record, vec![message(0, "hi")]);
    record
}

fn list(store: &dyn Store, whose: Whose, dead_only: bool, limit: usize) -> Vec<OutboxRow> {
    let filter = CallbackFilter {
        whose,
        dead_only,
        limit,
    };
    store.list_callbacks(filter).wait().unwrap()
}

fn due(store: &dyn Store, now: Timestamp) -> Vec<OutboxRow> {
    store.due_callbacks(now, 100).wait().unwrap()
}

fn settle(store: &dyn Store, id: CallbackId, how: Settled) {
    store.settle_callback(id, how).wait().unwrap();
}

fn retry(at: Timestamp) -> Settled {
    let error = "503".to_owned();
    Settled::Retry { at, error }
}

fn dead() -> Settled {
    let error = "410".to_owned();
    Settled::Dead { error }
}

pub(super) fn a_turn_that_ends_puts_its_callback_into_the_outbox(store: &dyn Store) {
    end(store, &finished(time(1)), Vec::new());
    let mut record = TaskRecord {
        callback: Some(callback("https://example.com/done")),
        ..task()
    };
    save(store, &record, Vec::new());
    assert_eq!(callbacks(store), []);
    record.state = TaskState::Failed;
    record.updated_at = time(5);
    end(store, &record, vec![row(0, LogItem::End(End::Cancelled))]);
    assert_eq!(find(store, record.id).state, TaskState::Failed);
    let rows = callbacks(store);
    let expected = OutboxRow {
        id: rows[0].id,
        task: record.id,
        callback: record.callback.clone().unwrap(),
        state: OutboxState::Pending,
        attempts: 0,
        next_at: time(5),
        created_at: time(5),
        last_error: None,
        lane: None,
        pos: None,
    };
    assert_eq!(rows, [expected]);
    settle(store, rows[0].id, Settled::Delivered);
    save(store, &record, Vec::new());
    assert_eq!(callbacks(store), []);
}

pub(super) fn what_a_callback_says_by_itself_is_kept_as_long_as_it_is(store: &dyn Store) {
    let record = TaskRecord {
        callback: Some(callback("https://example.com/done")),
        ..finished(time(1))
    };
    let row = OutboxRow::of(&record).unwrap();
    let reply = vec![
        LogItem::Event(Event::text("w\u{f6}rds \"\n")),
        LogItem::End(End::done()),
    ];
    let new = NewCallback {
        row: row.clone(),
        reply: reply.clone(),
    };
    let ended = store.save_task(record.clone(), Vec::new(), vec![new], true);
    ended.wait().unwrap();
    let read = |id| store.callback_reply(id).wait().unwrap();
    assert_eq!(callbacks(store), std::slice::from_ref(&row));
    assert_eq!(due(store, time(9)), std::slice::from_ref(&row));
    assert_eq!(read(row.id), reply);
    settle(store, row.id, dead());
    assert_eq!(read(row.id), reply);
    assert!(store.resend_callbacks(record.id).wait().unwrap());
    settle(store, row.id, Settled::Delivered);
    assert_eq!((read(row.id), read(CallbackId::new())), (vec![], vec![]));
}

pub(super) fn callbacks_are_listed_by_whose_tasks_they_are_of(store: &dyn Store) {
    let [ann, her_agent, platform] = ["ann", "ann/agent/x", "platform/platform"].map(|key| {
        let record = TaskRecord {
            principal: key.to_owned(),
            callback: Some(callback("https://example.com/done")),
            ..finished(time(1))
        };
        end(store, &record, Vec::new());
        record.id
    });
    let tasks = |whose| -> Vec<_> {
        let rows = list(store, whose, false, 9);
        rows.into_iter().map(|row| row.task).collect()
    };
    assert_eq!(tasks(Whose::Anybody), [platform, her_agent, ann]);
    assert_eq!(tasks(Whose::Of("ann".into())), [her_agent, ann]);
    assert_eq!(tasks(Whose::Only("ann".into())), [ann]);
    assert_eq!(tasks(Whose::Of("bob".into())), []);
    assert_eq!(list(store, Whose::Of("ann".into()), true, 9), []);
}

pub(super) fn an_end_that_is_refused_leaves_no_callback(store: &dyn Store) {
    let mut record = TaskRecord {
        callback: Some(callback("https://example.com/done")),
        ..task()
    };
    save(store, &record, vec![text(0, "0123456789")]);
    record.state = TaskState::Completed;
    let end = row(3, LogItem::End(End::done()));
    let callback = OutboxRow::of(&record).map(|row| NewCallback {
        row,
        reply: Vec::new(),
    });
    let refused = store.save_task(
        record.clone(),
        vec![end],
        callback.into_iter().collect(),
        true,
    );
    assert!(refused.wait().is_err());
    assert_eq!(callbacks(store), []);
    assert!(!find(store, record.id).state.is_final());
}

pub(super) fn due_callbacks_come_oldest_first_and_few_to_each_destination(store: &dyn Store) {
    for second in 0..10 {
        ended(
            store,
            &format!("https://DEAD.example/{second}"),
            time(second),
        );
    }
    let late = ended(store, "https://dead.example:444/", time(20));
    let other = ended(store, "https://other.example/", time(10));
    ended(store, "https://future.example/", time(30));
    let urls = |rows: Vec<OutboxRow>| -> Vec<String> {
        let urls = rows.into_iter().map(|row| row.callback.url);
        urls.collect()
    };
    let mut wanted: Vec<_> = (0..PER_ORIGIN)
        .map(|second| format!("https://DEAD.example/{second}"))
        .collect();
    wanted.extend([other, late].map(|task| task.callback.unwrap().url));
    assert_eq!(urls(due(store, time(20))), wanted);
    let page = store.due_callbacks(time(20), 2).wait().unwrap();
    assert_eq!(urls(page), wanted[..2]);
    assert_eq!(due(store, time(-1)), []);
    let next = |after| store.next_callback(after).wait().unwrap();
    assert_eq!((next(time(20)), next(time(30))), (Some(time(30)), None));
    assert_eq!(next(time(4)), Some(time(5)));
}

pub(super) fn a_try_is_settled_as_delivered_or_for_later_or_for_good(store: &dyn Store) {
    for second in 0..3 {
        ended(store, &format!("https://{second}.example/"), time(second));
    }
    let [first, second, third] = due(store, time(9)).try_into().unwrap();
    settle(store, first.id, Settled::Delivered);
    settle(store, second.id, retry(time(50)));
    settle(store, second.id, retry(time(100)));
    let before = Timestamp::now();
    settle(store, third.id, dead());
    assert_eq!(due(store, time(99)), []);
    let second = OutboxRow {
        attempts: 2,
        next_at: time(100),
        last_error: Some("503".into()),
        ..second
    };
    assert_eq!(due(store, time(100)), std::slice::from_ref(&second));
    let rows = list(store, Whose::Anybody, true, 100);
    let given_up = rows[0].next_at;
    assert!(before <= given_up && given_up <= Timestamp::now());
    let third = OutboxRow {
        state: OutboxState::Dead,
        attempts: 1,
        next_at: given_up,
        last_error: Some("410".into()),
        ..third
    };
    assert_eq!(rows.as_slice(), std::slice::from_ref(&third));
    assert_eq!(callbacks(store), [third.clone(), second]);
    assert_eq!(list(store, Whose::Anybody, false, 1), [third]);
    // Settling a callback twice, or after its deletion, is harmless.
    settle(store, first.id, dead());
    settle(store, CallbackId::new(), Settled::Delivered);
    assert_eq!(callbacks(store).len(), 2);
}

pub(super) fn a_dead_callback_is_sent_again_and_a_pending_one_is_not(store: &dyn Store) {
    let resend = |task| store.resend_callbacks(task).wait().unwrap();
    let tasks = [1, 2].map(|second| ended(store, "https://example.com/", time(second)));
    let [first, second] = due(store, time(9)).try_into().unwrap();
    // A second turn of the same task.
    end(store, &tasks[0], Vec::new());
    let third = due(store, time(9)).remove(1);
    assert!(!resend(tasks[0].id) && !resend(CallId::new().into()));
    settle(store, first.id, dead());
    settle(store, second.id, dead());
    settle(store, third.id, dead());
    assert_eq!(due(store, Timestamp::MAX), []);
    let before = Timestamp::now();
    assert!(resend(tasks[0].id));
    let again = due(store, Timestamp::MAX);
    assert!(again.iter().all(|row| row.task == tasks[0].id));
    assert_eq!(again.len(), 2);
    for row in again {
        assert_eq!((row.state, row.attempts), (OutboxState::Pending, 0));
        assert!(row.next_at >= before && row.created_at == row.next_at);
        assert_eq!(row.last_error.as_deref(), Some("410"));
        settle(store, row.id, Settled::Delivered);
    }
    assert_eq!(callbacks(store).len(), 1, "the other one is dead");
}

pub(super) fn trimming_keeps_what_a_callback_still_needs(store: &dyn Store) {
    let [pending, given_up, delivered, plain] = [1, 2, 3, 4].map(|second| {
        let url = format!("https://{second}.example/");
        ended(store, &url, time(second - 1_000_000_000))
    });
    let rows = due(store, time(9));
    let now = Timestamp::now();
    settle(store, rows[1].id, dead());
    settle(store, rows[2].id, Settled::Delivered);
    settle(store, rows[3].id, Settled::Delivered);
    let is_there = |task: &TaskRecord| store.find_task(task.id).wait().unwrap().is_some();
    let trim = |before, total| store.trim(before, total).wait().unwrap();
    assert_eq!(trim(now, usize::MAX), 2, "those that were told");
    assert!(is_there(&pending) && is_there(&given_up));
    assert!(!is_there(&delivered) && !is_there(&plain));
    assert_eq!(
        trim(Timestamp::MAX, usize::MAX),
        1,
        "it was given up long ago"
    );
    assert!(is_there(&pending) && !is_there(&given_up));
    assert_eq!(callbacks(store).len(), 1, "a callback goes with its task");
    assert_eq!(trim(Timestamp::MAX, 0), 0);
    settle(store, rows[0].id, dead());
    assert_eq!(trim(now, 0), 1, "where there is no room, a dead one goes");
    assert_eq!(callbacks(store), []);
}
