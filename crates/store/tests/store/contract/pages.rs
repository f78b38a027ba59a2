//! Promises about lists of tasks: order by last change, pages, counts, and lookup by idempotency key.

use jackfield_core::{
    principal::Whose,
    store::{Store, TaskFilter, TaskOrder, TaskRecord, TaskState},
    task::IdempotencyKey,
};
use jackfield_model::{Failure, Reason};

use crate::records::{find, finished, save, task, time};

fn by_update() -> TaskFilter {
    TaskFilter {
        order: TaskOrder::Updated,
        limit: 100,
        ..TaskFilter::default()
    }
}

fn list(store: &dyn Store, filter: TaskFilter) -> Vec<TaskRecord> {
    store.list_tasks(filter).wait().unwrap()
}

pub(crate) fn lists_by_update_come_in_pages_whatever_their_times(store: &dyn Store) {
    // Times out of creation order, with some duplicates.
    let mut records: Vec<_> = [5, 1, 3, 3, 9, 3, 1, 7].map(|at| finished(time(at))).into();
    for record in &records {
        save(store, record, Vec::new());
    }
    records.sort_by_key(|record| std::cmp::Reverse((record.updated_at, record.id)));
    let mut listed: Vec<TaskRecord> = Vec::new();
    for _ in 0..5 {
        let last = listed.last();
        let page = list(
            store,
            TaskFilter {
                before_update: last.map(|record| (record.updated_at, record.id)),
                limit: 2,
                ..by_update()
            },
        );
        assert!(page.len() <= 2);
        listed.extend(page);
    }
    assert_eq!(listed, records);
}

pub(crate) fn only_what_changed_since_is_listed_and_counted(store: &dyn Store) {
    let [old, new, other] = [1, 5, 5].map(|at| finished(time(at)));
    let other = TaskRecord {
        principal: "bob".into(),
        ..other
    };
    for record in [&old, &new, &other] {
        save(store, record, Vec::new());
    }
    let since = |at| TaskFilter {
        updated_since: Some(time(at)),
        ..by_update()
    };
    let ids = |filter| -> Vec<_> {
        let tasks = list(store, filter);
        tasks.into_iter().map(|task| task.id).collect()
    };
    assert_eq!(ids(since(5)), [other.id, new.id], "at that time, too");
    assert_eq!(ids(since(6)), []);
    assert_eq!(ids(since(0)), [other.id, new.id, old.id]);
    let count = |filter| store.count_tasks(filter).wait().unwrap();
    let anns = TaskFilter {
        whose: Whose::Of("ann".into()),
        ..since(0)
    };
    assert_eq!(
        (count(since(0)), count(since(5)), count(anns.clone())),
        (3, 2, 2)
    );
    let page = TaskFilter {
        limit: 0,
        before: Some(old.id),
        before_update: Some((time(0), old.id)),
        ..anns
    };
    assert_eq!(count(page), 2, "of all pages");
    let failed = TaskFilter {
        state: Some(TaskState::Failed),
        ..by_update()
    };
    assert_eq!(count(failed), 0);
}

pub(crate) fn tasks_are_found_by_where_a_protocol_says_they_stand(store: &dyn Store) {
    let mut ids = Vec::new();
    for (state, needs_auth, reason) in [
        (TaskState::InputRequired, false, None),
        (TaskState::InputRequired, true, None),
        (TaskState::Rejected, false, None),
        (TaskState::Failed, false, Some(Reason::Busy)),
        (
            TaskState::Failed,
            false,
            Some(Reason::from_agent_code("quota")),
        ),
        (TaskState::Failed, false, None),
    ] {
        let record = TaskRecord {
            state,
            needs_auth,
            failure: reason.map(|reason| Failure::new(reason, "so it is")),
            ..task()
        };
        save(store, &record, Vec::new());
        let found = store.find_task(record.id).wait().unwrap();
        assert_eq!(found, Some(record.clone()));
        ids.push(record.id);
    }
    let of = |state| TaskFilter {
        state: Some(state),
        ..by_update()
    };
    let waiting = |needs_auth| TaskFilter {
        needs_auth,
        ..of(TaskState::InputRequired)
    };
    let rejected = TaskFilter {
        or_failed: vec![Reason::Busy, Reason::Loop],
        ..of(TaskState::Rejected)
    };
    let failed = TaskFilter {
        not_failed: vec![Reason::Busy, Reason::Loop],
        ..of(TaskState::Failed)
    };
    for (filter, wanted) in [
        (waiting(None), &ids[0..2]),
        (waiting(Some(false)), &ids[0..1]),
        (waiting(Some(true)), &ids[1..2]),
        (rejected, &ids[2..4]),
        (of(TaskState::Failed), &ids[3..6]),
        (failed, &ids[4..6]),
    ] {
        let mut found: Vec<_> = list(store, filter.clone())
            .into_iter()
            .map(|task| task.id)
            .collect();
        found.sort_unstable();
        assert_eq!(found, wanted, "{filter:?}");
        assert_eq!(store.count_tasks(filter).wait().unwrap(), wanted.len());
    }
}

pub(crate) fn a_task_is_found_by_the_key_of_its_request(store: &dyn Store) {
    let once = |key: &str| {
        Some(IdempotencyKey {
            key: key.into(),
            digest: [7; 32],
        })
    };
    let one = TaskRecord {
        once: once("k \u{0} \u{e9}"),
        ..task()
    };
    let two = TaskRecord {
        once: once("l"),
        ..task()
    };
    for record in [&one, &two, &task()] {
        save(store, record, Vec::new());
    }
    assert_eq!(find(store, one.id), one);
    let by = |key: &str| {
        let filter = TaskFilter {
            whose: Whose::Only("ann".into()),
            agent: Some(one.agent.clone()),
            once: Some(key.into()),
            ..by_update()
        };
        list(store, filter)
    };
    assert_eq!(by("k \u{0} \u{e9}"), std::slice::from_ref(&one));
    assert_eq!(by("k"), []);
    // A task carries the idempotency key of its last message.
    let next = TaskRecord {
        once: once("m"),
        ..one.clone()
    };
    save(store, &next, Vec::new());
    assert_eq!((by("k \u{0} \u{e9}"), by("m")), (vec![], vec![next]));
}
