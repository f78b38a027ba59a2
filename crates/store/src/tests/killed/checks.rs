//! The promises: about the files that a killed hub leaves, and about the end of the scenario.

use std::{collections::BTreeMap, path::Path};

use jackfield_core::{
    hub::Hub,
    principal::Principal,
    store::{Store, TaskFilter, TaskRecord},
};
use rusqlite::Connection;

use super::observed::{Observations, Observed, lines};
use crate::{SqliteStore, open::database_path};

/// The logs of all tasks when nothing is lost, by their first message.
const LOGS: [&[&str]; 4] = [
    &[
        "message one",
        "text alpha beta",
        "question q",
        "answer q this one",
        "text gamma",
        "end input required",
        "message two",
        "text delta",
        "end completed",
    ],
    &["message cancel me", "text epsilon", "end cancelled"],
    &["message stop me", "end cancelled"],
    &["message wait for me", "text zeta", "end completed"],
];

/// Checks the database as the killed hub left it.
pub(super) fn check_left(dir: &Path, observed: &Observations) {
    let conn = Connection::open(database_path(dir)).unwrap();
    let count = |sql: &str, of: &str| -> usize {
        let count: i64 = conn.query_row(sql, [of], |row| row.get(0)).unwrap();
        usize::try_from(count).unwrap()
    };
    observed.get(|it| {
        for (message, task) in &it.accepted {
            let is_there = "SELECT count(*) FROM tasks JOIN log ON log.task = tasks.id
                WHERE log.kind = 'message' AND tasks.id || log.body LIKE ?";
            let of = format!("{task}%\"{message}\"%");
            assert_eq!(count(is_there, &of), 1, "{message} was accepted");
        }
        for message in it.messages.keys() {
            let is_sent = "SELECT count(*) FROM tasks JOIN log ON log.task = tasks.id
                WHERE log.kind = 'message' AND log.body LIKE ? AND (tasks.sent OR EXISTS
                    (SELECT 1 FROM log AS later WHERE later.task = tasks.id AND later.kind IN ('done', 'failed', 'cancelled') AND later.pos > log.pos))";
            let of = format!("%\"{message}\"%");
            assert_eq!(count(is_sent, &of), 1, "an agent has {message}");
        }
    });
    let in_part = "SELECT count(*) FROM tasks WHERE callback IS NULL OR once_key IS NULL
        OR NOT EXISTS (SELECT 1 FROM log WHERE log.task = tasks.id AND log.pos = 0 AND log.kind = ?)";
    assert_eq!(count(in_part, "message"), 0, "a task is there in part");
}

/// Checks everything at the end of the scenario.
pub(super) async fn check_end(hub: &Hub, store: &SqliteStore, observed: &Observations) {
    let all = TaskFilter {
        limit: 99,
        ..TaskFilter::default()
    };
    let mut tasks = hub.tasks().list(&Principal::local(), all).await.unwrap();
    tasks.reverse();
    assert_eq!(
        tasks.len(),
        LOGS.len(),
        "one task of each request: {tasks:#?}"
    );
    let mut logs = Vec::new();
    for task in &tasks {
        logs.push(read_log(store, task).await);
    }
    let pending = hub.callbacks().list(&Principal::local(), false, 9).await;
    assert_eq!(pending.unwrap(), []);
    observed.get(|it| {
        for ((task, log), whole) in tasks.iter().zip(&logs).zip(LOGS) {
            assert_eq!(
                it.accepted[whole[0].strip_prefix("message ").unwrap()],
                task.id
            );
            assert_eq!(&it.logs[&task.id], log, "the caller has read it");
            assert!(task.state.is_final(), "{task:?}");
            check_log(log, whole, observed.resumes);
        }
        assert!(it.open.is_empty(), "{it:?}");
        check_messages(it, &logs);
        check_callbacks(it, &tasks, &logs);
    });
}

/// Returns a log as text, and checks its positions.
async fn read_log(store: &SqliteStore, task: &TaskRecord) -> Vec<String> {
    let rows = store.read_log(task.id, 0, usize::MAX).await.unwrap();
    let mut pos = 0;
    for row in &rows {
        assert_eq!(row.pos, pos, "{rows:?}");
        pos += row.item.advance();
    }
    assert_eq!(task.log_end, pos);
    lines(rows.iter().map(|row| &row.item))
}

/// Checks that nothing is lost or doubled. A turn that an agent could not resume ends early, as its failure.
fn check_log(log: &[String], whole: &[&str], resumes: bool) {
    // The agent gets an answer before it is written. If the write was lost, the caller repeats the answer, while the
    // agent goes on, and perhaps comes to the end.
    let is_answer = |line: &str| line.starts_with("answer ");
    let unanswered = log.iter().filter(|line| !is_answer(line));
    let is_whole = unanswered.eq(whole.iter().filter(|line| !is_answer(line)));
    let answers = log.iter().filter(|line| is_answer(line)).count();
    if log == whole || (resumes && is_whole && answers <= 1) {
        return;
    }
    let (end, before) = log.split_last().unwrap();
    assert_eq!(end, "end offline", "{log:?}");
    assert!(!resumes, "{log:?} was to be resumed, or cancelled");
    let is_begun = |(had, whole): (&String, &&str)| {
        had == whole || (whole.starts_with("text ") && whole.starts_with(had.as_str()))
    };
    assert!(before.iter().zip(whole).all(is_begun), "{log:?}");
}

/// Checks that each message came to its agent once, or never if its turn failed.
fn check_messages(observed: &Observed, logs: &[Vec<String>]) {
    let messages = logs.iter().flatten();
    for message in messages.filter_map(|line| line.strip_prefix("message ")) {
        let count = observed.messages.get(message).copied().unwrap_or(0);
        let is_failed = logs
            .iter()
            .any(|log| log.last().is_some_and(|end| end == "end offline"));
        assert!(
            count == 1 || (count == 0 && is_failed),
            "{message}: {count}"
        );
    }
}

/// Checks that each turn was reported by one callback, under one id.
fn check_callbacks(observed: &Observed, tasks: &[TaskRecord], logs: &[Vec<String>]) {
    let mut reported = BTreeMap::new();
    for callback in observed.callbacks.values() {
        *reported.entry(callback.task).or_insert(0) += 1;
    }
    for (task, log) in tasks.iter().zip(logs) {
        let ends = log.iter().filter(|line| line.starts_with("end ")).count();
        assert_eq!(
            reported.get(&task.id).copied().unwrap_or(0),
            ends,
            "{log:?}"
        );
    }
}
