//! Promises of every store. Each promise is checked for the in-memory store and for SQLite.

#[path = "contract/doors.rs"]
mod doors;
#[path = "contract/lanes.rs"]
mod lanes;
#[path = "contract/many.rs"]
mod many;
#[path = "contract/outbox.rs"]
mod outbox;
#[path = "contract/pages.rs"]
mod pages;

use jackfield_core::{
    store::{
        LogItem, LogRow, Store, StoreError, TaskFilter, TaskRecord, TaskState, memory::MemoryStore,
    },
    units::Span,
};
use jackfield_model::{
    Answer, CallId, ChunkKind, End, Event, Failure, Json, Reason, TaskId, TokenId,
};

use doors::{
    a_record_of_an_agent_is_removed_by_its_key, records_about_no_agent_stay_until_they_are_removed,
    records_for_an_agent_that_is_not_there_are_not_kept, records_go_with_their_agent,
    records_keep_their_order_whenever_they_change, records_read_back_each_for_its_door,
    the_context_of_a_call_is_kept_with_its_task,
};
use lanes::{
    a_lane_that_is_dropped_takes_nothing_else_along, of_each_lane_only_the_first_is_due,
    what_a_token_asked_for_is_dropped_and_nothing_else,
    what_is_told_is_written_with_its_rows_or_not_at_all,
};
use outbox::{
    a_dead_callback_is_sent_again_and_a_pending_one_is_not,
    a_try_is_settled_as_delivered_or_for_later_or_for_good,
    a_turn_that_ends_puts_its_callback_into_the_outbox, an_end_that_is_refused_leaves_no_callback,
    callbacks_are_listed_by_whose_tasks_they_are_of,
    due_callbacks_come_oldest_first_and_few_to_each_destination,
    trimming_keeps_what_a_callback_still_needs,
    what_a_callback_says_by_itself_is_kept_as_long_as_it_is,
};
use pages::{
    a_task_is_found_by_the_key_of_its_request, lists_by_update_come_in_pages_whatever_their_times,
    only_what_changed_since_is_listed_and_counted,
    tasks_are_found_by_where_a_protocol_says_they_stand,
};

use crate::records::{
    agent, callback, chunk, find, joined_text, message, row, save, sqlite, task, text, time, token,
    whole_log,
};
use many::{
    an_owner_sees_its_agents_tasks_unless_exactly_its_own_are_asked_for, filters_choose_tasks,
    lists_are_newest_first_and_come_in_pages, reopening_believes_the_rows_not_the_record,
    reopening_raises_the_epoch_of_what_is_unfinished,
    reopening_tells_what_the_log_says_of_the_last_turn, trimming_does_not_count_what_is_unfinished,
    trimming_removes_the_oldest_until_the_rest_fits, trimming_removes_what_ended_early,
    trimming_removes_what_waits_too_long_for_its_next_message,
    trimming_takes_from_the_owner_whose_logs_hold_most,
};

macro_rules! on_every_store {
    ($($promise:ident)*) => {
        mod memory {
            $(#[test]
            fn $promise() {
                super::$promise(&super::MemoryStore::default());
            })*
        }
        mod sqlite {
            $(#[test]
            fn $promise() {
                let (_dir, store) = super::sqlite();
                super::$promise(&store);
            })*
        }
    };
}

on_every_store! {
    agents_read_back_and_removed_ones_are_gone
    records_read_back_each_for_its_door
    records_keep_their_order_whenever_they_change
    records_for_an_agent_that_is_not_there_are_not_kept
    records_go_with_their_agent
    records_about_no_agent_stay_until_they_are_removed
    a_record_of_an_agent_is_removed_by_its_key
    the_context_of_a_call_is_kept_with_its_task
    tokens_read_back_and_may_change
    a_task_reads_back_as_written_and_may_change
    an_append_moves_the_end_and_not_the_time
    reads_see_what_was_handed_over_before_them
    a_log_is_read_from_the_row_that_contains_the_cursor
    a_page_has_one_row_at_least_and_not_much_more_than_asked
    every_kind_of_row_reads_back
    an_append_to_no_task_is_refused_and_others_are_not
    a_position_is_written_once
    a_save_with_refused_rows_changes_nothing
    a_record_drawn_up_early_does_not_shorten_the_log
    reopening_raises_the_epoch_of_what_is_unfinished
    reopening_believes_the_rows_not_the_record
    lists_are_newest_first_and_come_in_pages
    filters_choose_tasks
    an_owner_sees_its_agents_tasks_unless_exactly_its_own_are_asked_for
    trimming_removes_what_ended_early
    trimming_removes_the_oldest_until_the_rest_fits
    trimming_takes_from_the_owner_whose_logs_hold_most
    trimming_removes_what_waits_too_long_for_its_next_message
    trimming_does_not_count_what_is_unfinished
    reopening_tells_what_the_log_says_of_the_last_turn
    a_turn_that_ends_puts_its_callback_into_the_outbox
    what_a_callback_says_by_itself_is_kept_as_long_as_it_is
    callbacks_are_listed_by_whose_tasks_they_are_of
    an_end_that_is_refused_leaves_no_callback
    due_callbacks_come_oldest_first_and_few_to_each_destination
    a_try_is_settled_as_delivered_or_for_later_or_for_good
    a_dead_callback_is_sent_again_and_a_pending_one_is_not
    trimming_keeps_what_a_callback_still_needs
    what_is_told_is_written_with_its_rows_or_not_at_all
    of_each_lane_only_the_first_is_due
    a_lane_that_is_dropped_takes_nothing_else_along
    what_a_token_asked_for_is_dropped_and_nothing_else
    lists_by_update_come_in_pages_whatever_their_times
    only_what_changed_since_is_listed_and_counted
    tasks_are_found_by_where_a_protocol_says_they_stand
    a_task_is_found_by_the_key_of_its_request
}

fn agents_read_back_and_removed_ones_are_gone(store: &dyn Store) {
    let (a, mut b) = (agent("a"), agent("b"));
    store.save_agent(b.clone()).wait().unwrap();
    store.save_agent(a.clone()).wait().unwrap();
    assert_eq!(store.load_agents().wait().unwrap(), [a.clone(), b.clone()]);
    b.door = "bridge".into();
    store.save_agent(b.clone()).wait().unwrap();
    store.remove_agent(a.id).wait().unwrap();
    assert_eq!(store.load_agents().wait().unwrap(), [b]);
}

fn tokens_read_back_and_may_change(store: &dyn Store) {
    let (first, mut second) = (token("one"), token("two"));
    store.save_token(first.clone()).wait().unwrap();
    store.save_token(second.clone()).wait().unwrap();
    second.revoked_at = Some(time(9));
    store.save_token(second.clone()).wait().unwrap();
    assert_eq!(
        store.load_tokens().wait().unwrap(),
        [first.clone(), second.clone()]
    );
    store.remove_token(first.id).wait().unwrap();
    store.remove_token(first.id).wait().unwrap();
    assert_eq!(store.load_tokens().wait().unwrap(), [second]);
}

fn a_task_reads_back_as_written_and_may_change(store: &dyn Store) {
    let mut record = TaskRecord {
        parent: Some(CallId::new().into()),
        wait_until: Some(time(60)),
        handle: Some(Json::of(&("t", "\u{e9}")).unwrap()),
        principal: "ann/agent/x".into(),
        token: Some(TokenId::new()),
        ..task()
    };
    save(store, &record, Vec::new());
    assert_eq!(find(store, record.id), record);
    record.state = TaskState::Failed;
    record.sent = true;
    record.updated_at = time(7);
    record.wait_until = None;
    record.handle = None;
    record.failure = Some(Failure::new(
        Reason::Agent("quota".into()),
        "no more \u{0} today",
    ));
    record.callback = Some(callback("https://example.com/done?x=1"));
    record.unread = Some(Span::millis(1500));
    save(store, &record, vec![message(0, "hi")]);
    record.log_end = 1;
    assert_eq!(find(store, record.id), record);
    assert_eq!(
        store.find_task(TaskId::from(task().call)).wait().unwrap(),
        None
    );
}

fn an_append_moves_the_end_and_not_the_time(store: &dyn Store) {
    let record = TaskRecord {
        updated_at: time(-1_000_000_000),
        ..task()
    };
    save(store, &record, vec![message(0, "hi")]);
    assert_eq!(
        find(store, record.id).updated_at,
        record.updated_at,
        "rows that come with the record keep its time"
    );
    store
        .append(
            record.id,
            vec![text(1, "hé"), row(4, LogItem::End(End::done()))],
            Vec::new(),
        )
        .wait()
        .unwrap();
    let found = find(store, record.id);
    assert_eq!(found.log_end, 5);
    assert_eq!(
        TaskRecord {
            log_end: 0,
            ..found
        },
        record
    );
}

fn reads_see_what_was_handed_over_before_them(store: &dyn Store) {
    let record = task();
    drop(store.save_task(record.clone(), vec![message(0, "hi")], Vec::new(), false));
    for pos in 1..200 {
        drop(store.append(record.id, vec![text(pos, "x")], Vec::new()));
        assert_eq!(find(store, record.id).log_end, pos + 1);
        assert!(joined_text(&whole_log(store, record.id, pos, 100)).ends_with('x'));
    }
    assert_eq!(joined_text(&whole_log(store, record.id, 0, 100)).len(), 199);
    assert_eq!(
        store
            .list_tasks(TaskFilter {
                limit: 9,
                ..TaskFilter::default()
            })
            .wait()
            .unwrap()
            .len(),
        1
    );
}

fn a_log_is_read_from_the_row_that_contains_the_cursor(store: &dyn Store) {
    let record = task();
    let log = vec![
        message(0, "hi"),
        text(1, "hello "),
        text(7, "world"),
        row(12, LogItem::End(End::done())),
        message(20, "more"),
    ];
    save(store, &record, log);
    for from in 0..=25 {
        let rows = whole_log(store, record.id, from, 1 << 20);
        let Some(first) = rows.first() else {
            assert_eq!(from.max(21), from, "something is left at {from}");
            continue;
        };
        assert!(first.pos + first.item.advance() > from, "{from}: {first:?}");
        assert!(
            first.pos <= from || (13..20).contains(&from),
            "{from}: {first:?}"
        );
        let last = rows.last().unwrap();
        assert_eq!(*last, message(20, "more"));
    }
    assert!(
        store
            .read_log(record.id, u64::MAX, 1)
            .wait()
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .read_log(TaskId::from(task().call), 0, 1)
            .wait()
            .unwrap()
            .is_empty()
    );
}

fn a_page_has_one_row_at_least_and_not_much_more_than_asked(store: &dyn Store) {
    let record = task();
    let log = (0..100)
        .map(|pos| message(pos, &"x".repeat(1000)))
        .collect();
    save(store, &record, log);
    assert_eq!(store.read_log(record.id, 0, 0).wait().unwrap().len(), 1);
    assert_eq!(store.read_log(record.id, 99, 1).wait().unwrap().len(), 1);
    let some = store.read_log(record.id, 10, 20_000).wait().unwrap().len();
    assert!((10..=20).contains(&some), "{some}");
    assert_eq!(whole_log(store, record.id, 0, 5000).len(), 100);
}

fn every_kind_of_row_reads_back(store: &dyn Store) {
    let record = task();
    let ask = serde_json::json!({"id": "q", "kind": "approval", "text": "may I?", "arguments": [1, {"x": null}]});
    let items = [
        message(0, "hi \u{0} \u{1F600}").item,
        chunk(ChunkKind::ToolStart, "1", "sum"),
        chunk(ChunkKind::ToolInput, "1", "1+1"),
        chunk(ChunkKind::ToolResult, "1", "2"),
        LogItem::Event(Event::from_log("ask", &ask.to_string()).unwrap()),
        LogItem::Answer(
            "q".into(),
            Answer {
                approved: Some(true),
                ..Answer::default()
            },
        ),
        LogItem::End(End::Failed(Failure::new(Reason::Timeout, "late"))),
        LogItem::End(End::Cancelled),
        LogItem::End(End::done()),
    ];
    let mut pos = 0;
    let rows: Vec<LogRow> = items
        .into_iter()
        .enumerate()
        .map(|(n, item)| {
            let start = pos;
            pos += item.advance();
            LogRow {
                seq: (n > 0).then_some(u64::MAX - n as u64),
                at: time(i64::try_from(60 - n).unwrap()),
                ..row(start, item)
            }
        })
        .collect();
    save(store, &record, rows.clone());
    assert_eq!(whole_log(store, record.id, 0, 1 << 20), rows);
}

fn an_append_to_no_task_is_refused_and_others_are_not(store: &dyn Store) {
    let (known, unknown) = (task(), task());
    let receipts = [
        store.save_task(known.clone(), vec![message(0, "hi")], Vec::new(), false),
        store.append(unknown.id, vec![text(0, "lost")], Vec::new()),
        store.append(known.id, vec![text(1, "kept")], Vec::new()),
        store.append(unknown.id, vec![text(4, "lost")], Vec::new()),
        store.append(known.id, vec![text(5, ", too")], Vec::new()),
    ];
    let results: Vec<bool> = receipts
        .into_iter()
        .map(|receipt| receipt.wait().is_ok())
        .collect();
    assert_eq!(results, [true, false, true, false, true]);
    assert_eq!(
        joined_text(&whole_log(store, known.id, 0, 1 << 20)),
        "kept, too"
    );
    let Err(StoreError::Refused(why)) = store
        .append(unknown.id, vec![text(0, "lost")], Vec::new())
        .wait()
    else {
        panic!("not refused")
    };
    assert!(why.contains(&unknown.id.to_string()), "{why}");
}

fn a_position_is_written_once(store: &dyn Store) {
    let record = task();
    save(store, &record, vec![text(0, "0123456789")]);
    for pos in [0, 5, 9] {
        assert!(
            store
                .append(record.id, vec![text(pos, "again")], Vec::new())
                .wait()
                .is_err(),
            "{pos}"
        );
    }
    store
        .append(record.id, vec![text(10, "on")], Vec::new())
        .wait()
        .unwrap();
    assert_eq!(
        joined_text(&whole_log(store, record.id, 0, 1 << 20)),
        "0123456789on"
    );
}

fn a_save_with_refused_rows_changes_nothing(store: &dyn Store) {
    let record = task();
    save(store, &record, vec![text(0, "0123456789")]);
    let changed = TaskRecord {
        state: TaskState::Completed,
        ..record.clone()
    };
    assert!(
        store
            .save_task(
                changed,
                vec![text(10, "new"), text(3, "old")],
                Vec::new(),
                true
            )
            .wait()
            .is_err()
    );
    assert_eq!(
        find(store, record.id),
        TaskRecord {
            log_end: 10,
            ..record.clone()
        }
    );
    assert_eq!(
        joined_text(&whole_log(store, record.id, 0, 1 << 20)),
        "0123456789"
    );
}

fn a_record_drawn_up_early_does_not_shorten_the_log(store: &dyn Store) {
    let record = task();
    save(store, &record, Vec::new());
    drop(store.append(record.id, vec![text(0, "0123456789")], Vec::new()));
    save(
        store,
        &TaskRecord {
            sent: true,
            ..record.clone()
        },
        Vec::new(),
    );
    assert_eq!(
        find(store, record.id),
        TaskRecord {
            sent: true,
            log_end: 10,
            ..record
        }
    );
}
