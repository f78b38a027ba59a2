//! What an agent worked on when the hub was killed or stopped goes on at the next one, on the same database.

use std::{path::Path, sync::Arc, time::Duration};

use jackfield_core::{
    limits::Limits,
    principal::Principal,
    store::{LogItem, Store as _, TaskState},
    task::TaskItem,
};
use jackfield_model::{Event, Reason, TaskId};
use jackfield_store::{SqliteStore, StoreOpenError};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::ws::harness::*;

/// Opens the database, as soon as the process before has let go of it.
async fn database(dir: &Path) -> SqliteStore {
    soon(async {
        loop {
            match SqliteStore::open(dir) {
                Err(StoreOpenError::InUse { .. }) => {
                    tokio::time::sleep(Duration::from_millis(2)).await
                }
                opened => return opened.unwrap(),
            }
        }
    })
    .await
}

/// A hub as a process of its own: it can be killed.
struct Process {
    /// Nothing once it is dead.
    runtime: Option<Runtime>,
    door: BridgeHub,
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Process {
    async fn start(dir: &Path) -> Self {
        let store = Arc::new(database(dir).await);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let opening = runtime.spawn(BridgeHub::open_on(store, Limits::default(), true));
        Self {
            door: opening.await.unwrap(),
            runtime: Some(runtime),
        }
    }

    /// Nothing of it runs any more when this returns, and nothing was told to end.
    async fn kill(mut self) {
        let runtime = self.runtime.take();
        let killed = tokio::task::spawn_blocking(move || drop(runtime));
        killed.await.unwrap();
    }

    async fn begin(&self, agent: &str) -> TaskId {
        let (hub, request) = (
            self.door.hub.clone(),
            BridgeHub::request(agent, "r-1", "hi"),
        );
        // There, so that what records it dies with the process.
        let runtime = self.runtime.as_ref().unwrap();
        let begun = runtime.spawn(async move { hub.tasks().start(request).await });
        begun.await.unwrap().unwrap().id
    }

    /// All that the task's log says at its end.
    async fn log(&self, task: TaskId) -> (TaskState, String, usize) {
        let task = self.door.hub.tasks().find(&Principal::local(), task).await;
        let mut reader = task.unwrap().subscribe(None);
        let (mut text, mut others) = (String::new(), 0);
        while let Some(item) = soon(reader.next()).await.unwrap() {
            match item {
                TaskItem::Row {
                    item: LogItem::Event(Event::Chunk(chunk)),
                    ..
                } => text.push_str(&chunk.text),
                TaskItem::Row { .. } => others += 1,
                TaskItem::Gap { .. } => panic!("a gap"),
            }
        }
        let state = reader.task().record().state;
        (state, text, others)
    }
}

#[tokio::test]
async fn killed_after_any_frame_the_task_goes_on_and_its_log_says_everything_once() {
    let words = ["one ", "two ", "three ", "four ", "five"];
    let frames: Vec<Value> = (1..)
        .zip(words)
        .map(|(seq, word)| chunk("r-1", seq, word))
        .chain([done("r-1", 6)])
        .collect();
    for sent in 0..=frames.len() {
        let dir = tempfile::tempdir().unwrap();
        let first = Process::start(dir.path()).await;
        let (mut agent, token) = first.door.resumable("a").await;
        let task = first.begin("a").await;
        assert_eq!(agent.word().await["request_id"], "r-1");
        agent.send_all(frames[..sent].iter().cloned()).await;
        let mut acked = 0;
        if sent.is_multiple_of(2) && sent > 0 {
            acked = *agent.acked("r-1", sent as u64).await.last().unwrap();
        }
        if sent.is_multiple_of(3) {
            let leaves = async move {
                assert_eq!(agent.closed().await.0, 1001);
                drop(agent);
            };
            tokio::join!(first.door.stop(), leaves);
        }
        first.kill().await;
        let second = Process::start(dir.path()).await;
        let listed = if acked == 6 {
            json!([])
        } else {
            open("r-1", sent as u64)
        };
        let (mut agent, resumed) = second.door.resume("a", &token, listed).await;
        assert_eq!(resumed["token"], token);
        if let Some(have) = resumed["open"][0]["have"].as_u64() {
            assert!(
                (acked..=sent as u64).contains(&have),
                "{resumed} after {acked} of {sent}"
            );
            let have = usize::try_from(have).unwrap();
            agent.send_all(frames[have..].iter().cloned()).await;
            agent.acked("r-1", 6).await;
        } else {
            assert_eq!(sent, 6, "only what has ended is gone: {resumed}");
        }
        assert_eq!(
            second.log(task).await,
            (TaskState::Completed, words.concat(), 2),
            "{sent}"
        );
        assert_eq!(agent.sync().await, [] as [Value; 0]);
        second.kill().await;
    }
}

#[tokio::test]
async fn a_message_that_was_marked_as_sent_and_never_arrived_is_written_by_the_next_hub() {
    let dir = tempfile::tempdir().unwrap();
    let first = Process::start(dir.path()).await;
    let (agent, token) = first.door.resumable("a").await;
    let task = first.begin("a").await;
    agent.is_written_to().await;
    first.kill().await;
    drop(agent);
    let second = Process::start(dir.path()).await;
    let (mut agent, _) = second.door.resume("a", &token, json!([])).await;
    let message = agent.word().await;
    assert_eq!(
        (&message["request_id"], &message["content"]),
        (&json!("r-1"), &json!("hi"))
    );
    agent
        .send_all([chunk("r-1", 1, "there"), done("r-1", 2)])
        .await;
    agent.acked("r-1", 2).await;
    assert_eq!(
        second.log(task).await,
        (TaskState::Completed, "there".into(), 2)
    );
}

#[tokio::test]
async fn a_program_that_is_not_the_one_does_not_get_its_tasks_from_the_next_hub() {
    for shown in [json!("guess"), Value::Null] {
        let dir = tempfile::tempdir().unwrap();
        let first = Process::start(dir.path()).await;
        let (mut agent, _) = first.door.resumable("a").await;
        let task = first.begin("a").await;
        agent.word().await;
        first.kill().await;
        let second = Process::start(dir.path()).await;
        let mut other = second.door.connect("a").await;
        let resume = if shown.is_null() {
            Value::Null
        } else {
            json!({"token": shown, "open": []})
        };
        other.send(register_with("a", &resume)).await;
        assert_eq!(other.frame().await["status"], "ok");
        let (state, _, _) = second.log(task).await;
        assert_eq!(state, TaskState::Failed);
        let record = second
            .door
            .hub
            .tasks()
            .find(&Principal::local(), task)
            .await;
        let failure = record.unwrap().record().failure.unwrap();
        assert_eq!(failure.reason, Reason::Offline);
        assert_eq!(other.sync().await, [] as [Value; 0], "it is not run twice");
        second.kill().await;
    }
}

#[tokio::test]
async fn the_database_has_no_token_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let process = Process::start(dir.path()).await;
    let (_agent, token) = process.door.resumable("a").await;
    process.kill().await;
    for entry in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let needle = token.as_bytes();
        assert!(!bytes.windows(needle.len()).any(|part| part == needle));
    }
    let agents = database(dir.path()).await.load_agents();
    assert!(agents.await.unwrap()[0].resume.is_some());
}
