//! Content of tasks and streams: their text, and for streams also the order of events.

use std::collections::HashSet;

use a2a::{Message, Part, Role, StreamResponse, Task, TaskState};
use futures_util::StreamExt;

use super::Stream;

pub(super) fn words(parts: &[Part]) -> String {
    parts.iter().filter_map(Part::as_text).collect()
}

/// The text of all artifacts.
pub(super) fn made(task: &Task) -> String {
    let artifacts = task.artifacts.iter().flatten();
    artifacts.map(|artifact| words(&artifact.parts)).collect()
}

/// The messages of one side.
pub(super) fn messages_by(task: &Task, role: &Role) -> Vec<String> {
    let history = task.history.iter().flatten();
    let of_role = history.filter(|message| message.role == *role);
    of_role.map(|message| words(&message.parts)).collect()
}

/// The text of a status.
pub(super) fn status_text(message: Option<&Message>) -> String {
    message.map_or_else(String::new, |message| words(&message.parts))
}

pub(super) fn is_open(state: &TaskState) -> bool {
    matches!(state, TaskState::Submitted | TaskState::Working)
}

/// The events of a stream about a single task, with their order checked while reading.
pub(super) struct Followed {
    stream: Stream,
    /// The task at the start of the stream.
    pub(super) task: Task,
    pub(super) state: TaskState,
    pub(super) text: String,
    /// The text of the latest status.
    pub(super) message: String,
    artifacts: HashSet<String>,
}

impl Followed {
    pub(super) async fn begin(mut stream: Stream) -> Self {
        let first = stream.next().await.expect("a stream tells something");
        let task = match first.unwrap() {
            StreamResponse::Task(task) => task,
            other => panic!("a stream begins with the task, but came {other:?}"),
        };
        let artifacts = task.artifacts.iter().flatten();
        Self {
            stream,
            state: task.status.state.clone(),
            text: made(&task),
            message: status_text(task.status.message.as_ref()),
            artifacts: artifacts.map(|made| made.artifact_id.clone()).collect(),
            task,
        }
    }

    /// Reads an event. Returns false at the end.
    async fn read_event(&mut self) -> bool {
        let Some(event) = self.stream.next().await else {
            return false;
        };
        let event = event.unwrap();
        assert!(
            is_open(&self.state),
            "nothing comes after the end, but came {event:?}"
        );
        match event {
            StreamResponse::StatusUpdate(update) => {
                assert_eq!(update.task_id, self.task.id, "an update names its task");
                self.state = update.status.state;
                self.message = status_text(update.status.message.as_ref());
            }
            StreamResponse::ArtifactUpdate(update) => {
                assert_eq!(update.task_id, self.task.id, "an update names its task");
                let is_new = self.artifacts.insert(update.artifact.artifact_id);
                assert_eq!(
                    update.append.unwrap_or_default(),
                    !is_new,
                    "only the first piece of an artifact is no appended one"
                );
                self.text += &words(&update.artifact.parts);
            }
            other => panic!("a stream goes on with updates, but came {other:?}"),
        }
        true
    }

    /// Reads up to the first piece of the answer.
    pub(super) async fn first_piece(stream: Stream) -> Self {
        let mut followed = Self::begin(stream).await;
        while followed.text.is_empty() {
            assert!(
                followed.read_event().await,
                "a piece of the answer comes before the end"
            );
        }
        followed
    }

    /// Reads the rest.
    pub(super) async fn finish(mut self) -> Self {
        while self.read_event().await {}
        self
    }

    /// Reads the whole stream.
    pub(super) async fn read(stream: Stream) -> Self {
        Self::begin(stream).await.finish().await
    }
}
