//! Promises about callbacks of a task's followers: written with the rows they report, delivered in
//! order.

use jackfield_core::{
    outbox::{Callback, Follower, NewCallback, OutboxRow, Settled},
    store::{LogItem, Store, TaskRecord},
};
use jackfield_model::{CallbackId, End, Event, TokenId};
use jiff::Timestamp;

use crate::records::{callback, callbacks, find, finished, message, row, save, task, text, time};

fn follower(id: &str, host: &str) -> Follower {
    Follower {
        id: id.into(),
        callback: callback(&format!("https://{host}.example/")),
    }
}

/// Creates the callback for the follower at a position of the log.
fn callback_at(task: &TaskRecord, follower: &Follower, pos: u64, at: Timestamp) -> NewCallback {
    NewCallback {
        row: OutboxRow::to(follower, task.id, pos, at),
        reply: Vec::new(),
    }
}

/// Returns the follower and position of each callback that is due.
fn due(store: &dyn Store, now: Timestamp) -> Vec<(String, u64)> {
    let due = store.due_callbacks(now, 100).wait().unwrap();
    let due = due.into_iter();
    due.map(|row| (row.follower().unwrap().to_owned(), row.pos.unwrap()))
        .collect()
}

fn first(store: &dyn Store, follower: &str) -> CallbackId {
    let due = store.due_callbacks(time(1000), 100).wait().unwrap();
    let mut due = due.into_iter();
    due.find(|row| row.follower() == Some(follower)).unwrap().id
}

fn settle(store: &dyn Store, follower: &str, how: Settled) {
    let id = first(store, follower);
    store.settle_callback(id, how).wait().unwrap();
}

fn pairs(wanted: &[(&str, u64)]) -> Vec<(String, u64)> {
    let wanted = wanted.iter();
    wanted.map(|(id, pos)| ((*id).to_owned(), *pos)).collect()
}

pub(crate) fn what_is_told_is_written_with_its_rows_or_not_at_all(store: &dyn Store) {
    let f = follower("f/1", "f");
    let record = TaskRecord {
        followers: vec![f.clone(), follower("g", "g")],
        ..task()
    };
    let started = callback_at(&record, &f, 0, time(1));
    let rows = vec![message(0, "hi")];
    let saved = store.save_task(record.clone(), rows, vec![started.clone()], false);
    saved.wait().unwrap();
    assert_eq!(find(store, record.id).followers, record.followers);
    let with_reply = NewCallback {
        reply: vec![LogItem::Event(Event::text("by itself"))],
        ..callback_at(&record, &f, 1, time(2))
    };
    let appended = store.append(record.id, vec![text(1, "words")], vec![with_reply.clone()]);
    appended.wait().unwrap();
    let refused = callback_at(&record, &f, 3, time(3));
    let refused = store.append(record.id, vec![text(3, "again")], vec![refused]);
    assert!(refused.wait().is_err());
    // A callback without new rows in the log.
    let alone = callback_at(&record, &f, 9, time(4));
    let alone_is_saved = store.append(record.id, Vec::new(), vec![alone.clone()]);
    alone_is_saved.wait().unwrap();
    let wanted = [alone.row, with_reply.row.clone(), started.row];
    assert_eq!(callbacks(store), wanted);
    let reply = store.callback_reply(with_reply.row.id).wait().unwrap();
    assert_eq!(reply, with_reply.reply);
    assert_eq!(find(store, record.id).log_end, 6);
}

pub(crate) fn of_each_lane_only_the_first_is_due(store: &dyn Store) {
    let record = task();
    let (a, b) = (follower("a", "one"), follower("b", "one"));
    let both = |pos, at| {
        vec![
            callback_at(&record, &a, pos, at),
            callback_at(&record, &b, pos, at),
        ]
    };
    save(store, &record, vec![message(0, "hi")]);
    for pos in 1..4_i32 {
        let at = time(pos.into());
        let pos = u64::try_from(pos).unwrap();
        let appended = store.append(record.id, vec![text(pos, "x")], both(pos, at));
        appended.wait().unwrap();
    }
    assert_eq!(due(store, time(9)), pairs(&[("a", 1), ("b", 1)]));
    settle(store, "b", Settled::Delivered);
    assert_eq!(due(store, time(9)), pairs(&[("a", 1), ("b", 2)]));
    // A delayed callback blocks the later ones of its lane, and no other lane.
    let (at, error) = (time(100), "503".to_owned());
    settle(store, "a", Settled::Retry { at, error });
    settle(store, "b", Settled::Delivered);
    assert_eq!(due(store, time(99)), pairs(&[("b", 3)]));
    let next = |after| store.next_callback(after).wait().unwrap();
    assert_eq!(
        next(time(0)),
        Some(time(3)),
        "that of b, not those behind a's"
    );
    assert_eq!((next(time(3)), next(at)), (Some(at), None));
    assert_eq!(due(store, at), pairs(&[("b", 3), ("a", 1)]));
    // A dead callback blocks no other, and is the first in its lane when retried.
    let error = "410".to_owned();
    settle(store, "a", Settled::Dead { error });
    assert_eq!(due(store, time(9)), pairs(&[("a", 2), ("b", 3)]));
    assert!(store.resend_callbacks(record.id).wait().unwrap());
    let order = std::iter::from_fn(|| {
        let now = time(1000);
        let due = due(store, now).into_iter();
        let pos = due.filter(|(id, _)| id == "a").map(|(_, pos)| pos).next()?;
        let rows = store.due_callbacks(now, 9).wait().unwrap();
        let row = rows
            .iter()
            .find(|row| row.pos == Some(pos) && row.follower() == Some("a"));
        let settled = store.settle_callback(row.unwrap().id, Settled::Delivered);
        settled.wait().unwrap();
        Some(pos)
    });
    assert_eq!(order.take(9).collect::<Vec<_>>(), [1, 2, 3]);
}

pub(crate) fn a_lane_that_is_dropped_takes_nothing_else_along(store: &dyn Store) {
    let (a, b) = (follower("a", "a"), follower("b", "b"));
    let (one, two) = (finished(time(1)), finished(time(2)));
    for record in [&one, &two] {
        let end = row(0, LogItem::End(End::done()));
        let all = vec![
            callback_at(record, &a, 0, time(1)),
            callback_at(record, &a, 0, time(2)),
            callback_at(record, &b, 0, time(3)),
        ];
        let saved = store.save_task(record.clone(), vec![end], all, true);
        saved.wait().unwrap();
    }
    let dead = first(store, "a");
    let error = "410".to_owned();
    store
        .settle_callback(dead, Settled::Dead { error })
        .wait()
        .unwrap();
    store.drop_lane(one.id, a.lane(one.id)).wait().unwrap();
    store.drop_lane(one.id, a.lane(two.id)).wait().unwrap();
    let rows = callbacks(store);
    let left: Vec<_> = rows
        .iter()
        .map(|row| (row.task, row.follower().unwrap()))
        .collect();
    let wanted = [(two.id, "b"), (two.id, "a"), (two.id, "a"), (one.id, "b")];
    assert_eq!(
        left, wanted,
        "neither what was pending nor what was given up"
    );
}

pub(crate) fn what_a_token_asked_for_is_dropped_and_nothing_else(store: &dyn Store) {
    let (gone, kept) = (TokenId::new(), TokenId::new());
    let asked_by = |token: TokenId, url: &str| Callback {
        token: Some(token),
        ..callback(url)
    };
    let follows = |token: TokenId, id: &str| Follower {
        id: id.into(),
        callback: asked_by(token, id),
    };
    let (theirs, ours) = (follows(gone, "theirs"), follows(kept, "ours"));
    let nobodys = follower("nobodys", "n");
    let record = TaskRecord {
        callback: Some(asked_by(gone, "at the end")),
        followers: vec![theirs.clone(), ours.clone(), nobodys.clone()],
        ..finished(time(1))
    };
    let other = TaskRecord {
        callback: Some(asked_by(kept, "at the end")),
        ..finished(time(1))
    };
    let all = [&theirs, &ours, &nobodys].map(|it| callback_at(&record, it, 0, time(2)));
    let end = row(0, LogItem::End(End::done()));
    let saved = store.save_task(record.clone(), vec![end], all.to_vec(), true);
    saved.wait().unwrap();
    save(store, &other, Vec::new());
    store.drop_callbacks(vec![gone]).wait().unwrap();
    assert_eq!(callbacks(store), [all[2].row.clone(), all[1].row.clone()]);
    let found = find(store, record.id);
    assert_eq!(
        (found.callback, found.followers),
        (None, vec![ours, nobodys])
    );
    assert_eq!(find(store, other.id).callback, other.callback);
}
