//! Kills a writing process with `kill -9`. Acknowledged rows survive, no data is corrupt, and the store opens again.
//! The child process is this test program, started with an environment variable.

use std::{
    collections::{HashMap, VecDeque},
    env,
    hash::{BuildHasher, RandomState},
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use jackfield_core::{
    outbox::{Follower, NewCallback, OutboxRow},
    store::{CallbackFilter, Store, TaskFilter, TaskRecord},
};
use jackfield_model::TaskId;
use jackfield_store::{SqliteStore, backup_file, check};

use crate::records::{callback, find, joined_text, save, task, text, time, whole_log};

const DIR: &str = "JACKFIELD_STORE_KILL_DIR";
const TASKS: usize = 8;
const ROUNDS: usize = 12;

/// Content between two positions; the same for every log.
fn content(from: u64, to: u64) -> String {
    (from..to)
        .map(|pos| char::from(b'a' + u8::try_from(pos * 7 % 26).unwrap()))
        .collect()
}

fn follower() -> Follower {
    Follower {
        id: "f".into(),
        callback: callback("https://example.com/told"),
    }
}

/// Not a test by itself: writes until killed, and prints each acknowledged position.
#[test]
fn the_child_writes_until_it_is_killed() {
    let Some(dir) = env::var_os(DIR) else { return };
    let store = SqliteStore::open(Path::new(&dir)).unwrap();
    let mut tasks = store
        .list_tasks(TaskFilter {
            limit: TASKS,
            ..TaskFilter::default()
        })
        .wait()
        .unwrap();
    while tasks.len() < TASKS {
        tasks.push(task());
        save(&store, tasks.last().unwrap(), Vec::new());
    }
    let mut unacknowledged = VecDeque::new();
    for n in 0_usize.. {
        let task = &mut tasks[n % TASKS];
        let end = task.log_end + [100, 3000, 1, 9000][n / TASKS % 4];
        let rows = vec![text(task.log_end, &content(task.log_end, end))];
        task.log_end = end;
        // Each row has a callback at the row's last position.
        let callbacks = vec![NewCallback {
            row: OutboxRow::to(&follower(), task.id, end, time(0)),
            reply: Vec::new(),
        }];
        let receipt = if n % 50 == 49 {
            store.save_task(task.clone(), rows, callbacks, true)
        } else {
            store.append(task.id, rows, callbacks)
        };
        unacknowledged.push_back((task.id, end, receipt));
        if unacknowledged.len() > 4 * TASKS {
            let (id, end, receipt) = unacknowledged.pop_front().unwrap();
            receipt.wait().unwrap();
            println!("acknowledged {id} {end}");
        }
    }
}

/// Runs the child process, kills it after `after` acknowledgements, and returns the last
/// acknowledged position of each task.
fn run_and_kill(dir: &Path, after: usize, backup_at: usize) -> HashMap<TaskId, u64> {
    let mut child = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "kill::the_child_writes_until_it_is_killed",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut acknowledged = HashMap::new();
    let mut count = 0;
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        let Some((_, position_line)) = line.split_once("acknowledged ") else {
            continue;
        };
        // The kill may have cut the last line.
        let Some((id, end)) = position_line.split_once(' ') else {
            continue;
        };
        let (Some(id), Ok(end)) = (TaskId::parse(id), end.parse()) else {
            continue;
        };
        acknowledged.insert(id, end);
        count += 1;
        if count == backup_at {
            let copy = dir.join(format!("copy-{after}"));
            backup_file(dir, &copy).unwrap();
        }
        if count == after {
            child.kill().unwrap();
        }
    }
    assert!(!child.wait().unwrap().success());
    assert!(count >= after, "the child ended by itself after {count}");
    acknowledged
}

fn log_is_whole(store: &dyn Store, task: &TaskRecord, acknowledged: u64) {
    assert!(
        task.log_end >= acknowledged,
        "{} of {acknowledged} acknowledged bytes are there",
        task.log_end
    );
    let log = whole_log(store, task.id, 0, 1 << 20);
    assert_eq!(joined_text(&log), content(0, task.log_end));
    let mut pos = 0;
    for row in log {
        assert_eq!(row.pos, pos);
        pos += row.item.advance();
    }
}

/// Checks the callbacks of each task: in log order, up to the log's end, and only the first is due.
fn check_callbacks(store: &dyn Store, tasks: &[TaskRecord]) {
    let filter = CallbackFilter {
        limit: usize::MAX,
        ..CallbackFilter::default()
    };
    let callbacks = store.list_callbacks(filter).wait().unwrap();
    let due = store.due_callbacks(time(1), usize::MAX).wait().unwrap();
    for task in tasks {
        let lane = callbacks.iter().rev().filter(|row| row.task == task.id);
        let lane: Vec<_> = lane.map(|row| row.pos.unwrap()).collect();
        assert!(lane.is_sorted(), "{lane:?}");
        assert_eq!(lane.last().copied().unwrap_or(0), task.log_end);
        let due = due.iter().filter(|row| row.task == task.id);
        let due: Vec<_> = due.map(|row| row.pos.unwrap()).collect();
        assert!(
            due.len() <= 1 && due.iter().all(|pos| *pos == lane[0]),
            "{due:?}"
        );
    }
}

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let after = usize::try_from(RandomState::new().hash_one(round) % 400).unwrap() + 1;
        println!("round {round}: killed after {after} acknowledgements");
        let backup_at = if round % 4 == 0 { after.div_ceil(2) } else { 0 };
        let acknowledged = run_and_kill(dir.path(), after, backup_at);
        assert_eq!(check(dir.path()).unwrap().problems, Vec::<String>::new());
        let store = SqliteStore::open(dir.path()).unwrap();
        for (id, end) in acknowledged {
            log_is_whole(&store, &find(&store, id), end);
        }
        let tasks = store.reopen_tasks().wait().unwrap();
        for task in &tasks {
            assert_eq!(task.epoch, u32::try_from(round).unwrap() + 2);
            log_is_whole(&store, task, 0);
        }
        check_callbacks(&store, &tasks);
        if backup_at > 0 {
            let copy = tempfile::tempdir().unwrap();
            std::fs::rename(
                dir.path().join(format!("copy-{after}")),
                copy.path().join("jackfield.db"),
            )
            .unwrap();
            let store = SqliteStore::open(copy.path()).unwrap();
            for task in store
                .list_tasks(TaskFilter {
                    limit: TASKS,
                    ..TaskFilter::default()
                })
                .wait()
                .unwrap()
            {
                log_is_whole(&store, &task, 0);
            }
        }
    }
}
