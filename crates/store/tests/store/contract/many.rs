//! Promises about many tasks at once: reopening, listing and trimming.

use jackfield_core::{
    principal::Whose,
    store::{LogItem, LogRow, Reopened, Store, TaskFilter, TaskRecord, TaskState},
};
use jackfield_model::{AgentId, Answer, End, Event, RequestId, SessionId, TaskId};

use crate::records::{find, finished, message, reopen, row, save, task, text, time, whole_log};

pub(super) fn reopening_raises_the_epoch_of_what_is_unfinished(store: &dyn Store) {
    let submitted = TaskRecord {
        state: TaskState::Submitted,
        ..task()
    };
    let waiting = TaskRecord {
        state: TaskState::InputRequired,
        sent: true,
        epoch: 5,
        ..task()
    };
    let at_rest = TaskRecord {
        state: TaskState::InputRequired,
        sent: false,
        epoch: 5,
        ..task()
    };
    let done = finished(time(3));
    save(store, &submitted, vec![message(0, "one")]);
    save(
        store,
        &waiting,
        vec![
            message(0, "one"),
            text(1, "hm"),
            row(3, LogItem::End(End::done())),
            message(4, "two"),
        ],
    );
    save(store, &done, vec![message(0, "one")]);
    save(store, &at_rest, vec![message(0, "one")]);
    let reopened = reopen(store);
    let message_of = |id| {
        let found = reopened.iter().find(|one| one.record.id == id).unwrap();
        found.message.as_ref().unwrap().joined_text()
    };
    assert_eq!(
        reopened.len(),
        2,
        "nobody works on what waits for a message"
    );
    assert_eq!(message_of(submitted.id), "one");
    assert_eq!(message_of(waiting.id), "two", "only the last turn is read");
    for Reopened { record, .. } in &reopened {
        assert_eq!(find(store, record.id), *record);
    }
    assert_eq!(find(store, submitted.id).epoch, 2);
    assert_eq!(
        find(store, waiting.id),
        TaskRecord {
            epoch: 6,
            log_end: 5,
            ..waiting
        }
    );
    assert_eq!(find(store, at_rest.id).epoch, 6);
    assert_eq!(find(store, done.id).epoch, done.epoch);
}

pub(super) fn reopening_believes_the_rows_not_the_record(store: &dyn Store) {
    let ahead = TaskRecord {
        log_end: 500,
        ..task()
    };
    let empty = TaskRecord {
        log_end: 500,
        ..task()
    };
    save(store, &ahead, vec![message(0, "hi"), text(1, "héllo")]);
    save(store, &empty, Vec::new());
    store.reopen_tasks().wait().unwrap();
    assert_eq!(find(store, ahead.id).log_end, 7);
    assert_eq!(find(store, empty.id).log_end, 0);
}

pub(super) fn reopening_tells_what_the_log_says_of_the_last_turn(store: &dyn Store) {
    let numbered = |pos, seq, item| LogRow {
        seq: Some(seq),
        ..row(pos, item)
    };
    let ask = |id: &str| {
        let body = format!(r#"{{"id": "{id}", "kind": "input", "text": "?"}}"#);
        LogItem::Event(Event::from_log("ask", &body).unwrap())
    };
    let answer = |id: &str| LogItem::Answer(id.into(), Answer::default());
    let text_item = |text: &str| LogItem::Event(Event::text(text));
    let first_turn = vec![
        message(0, "one"),
        numbered(1, 7, ask("old")),
        row(2, answer("gone")),
        numbered(3, 9, LogItem::End(End::done())),
    ];
    let mut second_turn = first_turn.clone();
    second_turn.extend([
        message(4, "two"),
        numbered(5, 1, text_item("hé")),
        numbered(8, u64::MAX, ask("p")),
        numbered(9, 3, ask("q")),
        row(10, answer("p")),
        numbered(11, 4, text_item("on")),
        row(13, LogItem::End(End::Cancelled)),
    ]);
    let (cut, begun, silent) = (task(), task(), task());
    save(store, &cut, second_turn.clone());
    second_turn.truncate(5);
    save(store, &begun, second_turn);
    save(store, &silent, Vec::new());
    let reopened = reopen(store);
    let of = |id| reopened.iter().find(|one| one.record.id == id).unwrap();
    let (cut, begun, silent) = (of(cut.id), of(begun.id), of(silent.id));
    let last_message = |one: &Reopened| {
        one.message
            .as_ref()
            .map(jackfield_model::Message::joined_text)
    };
    let ids: Vec<_> = cut.asks.iter().map(|ask| ask.id.as_str()).collect();
    assert_eq!((last_message(cut), cut.seq), (Some("two".into()), Some(4)));
    assert_eq!(ids, ["q"], "of this turn, and not answered");
    assert!(cut.has_reply && !begun.has_reply && !silent.has_reply);
    assert_eq!(cut.answers, [("p".to_owned(), Answer::default())]);
    for (one, message) in [(begun, Some("two".to_owned())), (silent, None)] {
        assert_eq!((last_message(one), one.seq), (message, None));
        assert!(one.asks.is_empty() && one.answers.is_empty());
    }
}

fn list(store: &dyn Store, filter: TaskFilter) -> Vec<TaskId> {
    let filter = TaskFilter {
        limit: if filter.limit == 0 { 100 } else { filter.limit },
        ..filter
    };
    store
        .list_tasks(filter)
        .wait()
        .unwrap()
        .into_iter()
        .map(|task| task.id)
        .collect()
}

pub(super) fn lists_are_newest_first_and_come_in_pages(store: &dyn Store) {
    let mut ids: Vec<TaskId> = (0..25)
        .map(|_| {
            let record = task();
            save(store, &record, Vec::new());
            record.id
        })
        .collect();
    ids.reverse();
    let (mut listed, mut before) = (Vec::new(), None);
    loop {
        let page = list(
            store,
            TaskFilter {
                before,
                limit: 10,
                ..TaskFilter::default()
            },
        );
        assert!(page.len() <= 10);
        before = page.last().copied();
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    assert_eq!(listed, ids);
    assert!(
        store
            .list_tasks(TaskFilter::default())
            .wait()
            .unwrap()
            .is_empty(),
        "a limit of 0 is a limit"
    );
}

pub(super) fn filters_choose_tasks(store: &dyn Store) {
    let other_agent = TaskRecord {
        agent: AgentId::parse("other").unwrap(),
        ..task()
    };
    let other_session = TaskRecord {
        session: SessionId::parse("other").unwrap(),
        ..task()
    };
    let other_state = TaskRecord {
        state: TaskState::Rejected,
        ..task()
    };
    let other_request = TaskRecord {
        request: RequestId::parse("r2").unwrap(),
        state: TaskState::Submitted,
        ..task()
    };
    let plain = task();
    for record in [
        &other_agent,
        &other_session,
        &other_state,
        &other_request,
        &plain,
    ] {
        save(store, record, Vec::new());
    }
    let all = TaskFilter::default;
    assert_eq!(
        list(
            store,
            TaskFilter {
                agent: Some(other_agent.agent.clone()),
                ..all()
            }
        ),
        [other_agent.id]
    );
    let by_request = TaskFilter {
        request: Some(other_request.request.clone()),
        ..all()
    };
    assert_eq!(list(store, by_request), [other_request.id]);
    assert_eq!(
        list(
            store,
            TaskFilter {
                session: Some(other_session.session.clone()),
                ..all()
            }
        ),
        [other_session.id]
    );
    assert_eq!(
        list(
            store,
            TaskFilter {
                state: Some(TaskState::Rejected),
                ..all()
            }
        ),
        [other_state.id]
    );
    let both = TaskFilter {
        agent: Some(plain.agent.clone()),
        state: Some(TaskState::Working),
        ..all()
    };
    assert_eq!(list(store, both.clone()), [plain.id, other_session.id]);
    assert_eq!(
        list(
            store,
            TaskFilter {
                before: Some(plain.id),
                ..both
            }
        ),
        [other_session.id]
    );
}

pub(super) fn an_owner_sees_its_agents_tasks_unless_exactly_its_own_are_asked_for(
    store: &dyn Store,
) {
    let keys = [
        "ann",
        "ann/agent/x",
        "ann/platform",
        "anna",
        "ann-b",
        "ann.b/agent/x",
        "ann0",
        "bob",
        "an",
    ];
    let ids: Vec<TaskId> = keys
        .iter()
        .map(|key| {
            let record = TaskRecord {
                principal: (*key).to_owned(),
                ..task()
            };
            save(store, &record, Vec::new());
            record.id
        })
        .collect();
    let theirs = |whose| {
        list(
            store,
            TaskFilter {
                whose,
                ..TaskFilter::default()
            },
        )
    };
    let of = |key: &str| theirs(Whose::Of(key.to_owned()));
    let only = |key: &str| theirs(Whose::Only(key.to_owned()));
    assert_eq!(of("ann"), [ids[2], ids[1], ids[0]]);
    assert_eq!(only("ann"), [ids[0]]);
    assert_eq!(only("ann/agent/x"), [ids[1]]);
    assert_eq!(of("ann/agent/x"), [ids[1]]);
    assert_eq!(of("ann/agent"), [ids[1]]);
    assert!(of("an%").is_empty());
    assert_eq!(theirs(Whose::Anybody).len(), keys.len());
}

pub(super) fn trimming_removes_what_ended_early(store: &dyn Store) {
    let (early, late) = (finished(time(1)), finished(time(10)));
    let open = TaskRecord {
        updated_at: time(1),
        ..task()
    };
    for record in [&early, &late, &open] {
        save(store, record, vec![message(0, "hi")]);
    }
    assert_eq!(store.trim(time(10), usize::MAX).wait().unwrap(), 1);
    assert_eq!(list(store, TaskFilter::default()), [open.id, late.id]);
    assert!(whole_log(store, early.id, 0, 1).is_empty());
    assert_eq!(store.trim(time(10), usize::MAX).wait().unwrap(), 0);
}

pub(super) fn trimming_takes_from_the_owner_whose_logs_hold_most(store: &dyn Store) {
    let of = |principal: &str, at| TaskRecord {
        principal: principal.to_owned(),
        ..finished(time(at))
    };
    let anns = [of("ann", 1), of("ann/agent/x", 2)];
    let bobs = [
        of("bob", 3),
        of("bob/agent/y", 4),
        of("bob", 5),
        of("bob", 6),
    ];
    for record in anns.iter().chain(&bobs) {
        save(store, record, vec![message(0, &"x".repeat(10_000))]);
    }
    let left = || {
        let mut left = list(store, TaskFilter::default());
        left.reverse();
        left
    };
    let ids = |records: &[TaskRecord]| records.iter().map(|it| it.id).collect::<Vec<_>>();
    assert_eq!(store.trim(time(0), 45_000).wait().unwrap(), 2);
    assert_eq!(left(), [ids(&anns), ids(&bobs[2..])].concat());
    // Both owners hold the same number of bytes, so trimming alternates between them.
    assert_eq!(store.trim(time(0), 25_000).wait().unwrap(), 2);
    assert_eq!(left(), [ids(&anns[1..]), ids(&bobs[3..])].concat());
}

pub(super) fn trimming_removes_the_oldest_until_the_rest_fits(store: &dyn Store) {
    let tasks: Vec<TaskRecord> = [5, 1, 4, 2, 3]
        .into_iter()
        .map(|at| finished(time(at)))
        .collect();
    let open = TaskRecord {
        updated_at: time(0),
        ..task()
    };
    for record in tasks.iter().chain([&open]) {
        save(store, record, vec![message(0, &"x".repeat(10_000))]);
    }
    assert_eq!(
        store.trim(time(0), 35_000).wait().unwrap(),
        2,
        "five finished ones of about 10,000 are there, three fit"
    );
    assert_eq!(
        list(store, TaskFilter::default()),
        [open.id, tasks[4].id, tasks[2].id, tasks[0].id]
    );
    assert_eq!(store.trim(time(0), 0).wait().unwrap(), 3);
    assert_eq!(
        list(store, TaskFilter::default()),
        [open.id],
        "what is unfinished stays"
    );
    store
        .append(open.id, vec![text(1, "still here")], Vec::new())
        .wait()
        .unwrap();
}

pub(super) fn trimming_removes_what_waits_too_long_for_its_next_message(store: &dyn Store) {
    let waiting = |at, sent| TaskRecord {
        state: TaskState::InputRequired,
        sent,
        updated_at: time(at),
        ..task()
    };
    let (early, late) = (waiting(1, false), waiting(10, false));
    let asking = waiting(1, true);
    let done = finished(time(20));
    for record in [&early, &late, &asking, &done] {
        save(store, record, vec![message(0, "hi")]);
    }
    assert_eq!(store.trim(time(10), usize::MAX).wait().unwrap(), 1);
    assert_eq!(
        list(store, TaskFilter::default()),
        [done.id, asking.id, late.id],
        "the agent still works on what it asks"
    );
    assert!(whole_log(store, early.id, 0, 1).is_empty());
    assert_eq!(store.trim(time(10), 0).wait().unwrap(), 1);
    assert_eq!(
        list(store, TaskFilter::default()),
        [asking.id, late.id],
        "what waits makes no room"
    );
    save(store, &done, vec![message(0, "hi")]);
    assert_eq!(store.trim(time(11), 0).wait().unwrap(), 2, "both at once");
    assert_eq!(list(store, TaskFilter::default()), [asking.id]);
}

pub(super) fn trimming_does_not_count_what_is_unfinished(store: &dyn Store) {
    let (open, done) = (task(), finished(time(1)));
    save(store, &open, vec![message(0, &"x".repeat(100_000))]);
    save(store, &done, vec![message(0, "hi")]);
    assert_eq!(store.trim(time(0), 50_000).wait().unwrap(), 0);
    let ended = TaskRecord {
        state: TaskState::Completed,
        updated_at: time(2),
        ..open.clone()
    };
    save(store, &ended, Vec::new());
    assert_eq!(store.trim(time(0), 50_000).wait().unwrap(), 2);
}
