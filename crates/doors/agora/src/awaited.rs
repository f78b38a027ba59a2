//! Answers to messages that name neither a request nor a stream. Such a message is kept as a task, whatever becomes of the
//! connection; as long as that lasts, its sender gets one `reply` or `error` when the task's turn is over.

use std::sync::Arc;

use jackfield_core::{
    event::{ChunkKind, Done, End, Event},
    failure::{Failure, Reason},
    hub::Hub,
    pipe::Item as _,
    store::{LogItem, StoreError},
    task::{Task, TaskItem},
};
use tokio::{
    sync::{Semaphore, oneshot},
    task::JoinSet,
};

use crate::{
    artifacts::Artifacts,
    link::{AgoraLink, Mail},
    translate::Thread,
};

/// How many answers one connection may wait for. Each holds the tail of its task, up to 256 KiB, until the peer has read it.
const MAX_AWAITED: usize = 256;

/// The answers that one connection waits for; it waits no more when this is dropped.
#[derive(Debug)]
pub(crate) struct Awaited {
    waiting: JoinSet<()>,
    /// One answer at a time is put together, and the next when the socket has taken it: a peer that does not read fills no
    /// memory.
    turn: Arc<Semaphore>,
}

impl Default for Awaited {
    fn default() -> Self {
        Self {
            waiting: JoinSet::new(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Awaited {
    /// Refuses one more if there are too many.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        while self.waiting.try_join_next().is_some() {}
        if self.waiting.len() < MAX_AWAITED {
            return Ok(());
        }
        let text = format!("{MAX_AWAITED} messages wait for their answers; read some first");
        Err(Failure::new(Reason::Busy, text))
    }

    /// Waits for one more: the task, once it has begun, and then its answer.
    pub(crate) fn wait(
        &mut self,
        task: oneshot::Receiver<Arc<Task>>,
        thread: Thread,
        hub: Hub,
        link: Arc<AgoraLink>,
    ) {
        let turn = self.turn.clone();
        self.waiting.spawn(async move {
            // Whoever could not begin it has said why.
            let Ok(task) = task.await else { return };
            task.over().await;
            let Ok(turn) = turn.acquire_owned().await else {
                return;
            };
            if let Some(frame) = frame_of(&task, &thread, &hub).await {
                // A sender that is gone does not want to know.
                drop(link.mailbox.post(Mail::Answer(frame, turn)));
            }
        });
    }
}

/// What the sender gets; nothing if the turn is not over after all, since the hub stops and the next one goes on with it.
async fn frame_of(task: &Arc<Task>, thread: &Thread, hub: &Hub) -> Option<String> {
    let max = hub.limits().message.0;
    let (answer, end) = match Answer::of(task, max).await {
        Ok((answer, end)) => (answer, end?),
        Err(failure) => return Some(thread.failed(&failure)),
    };
    Some(match end {
        End::Done(mut done) => {
            answer.complete(&mut done);
            let files = hub.files_of(&task.record());
            thread.done(&done, answer.artifacts.all(), &files, false, false)
        }
        End::Failed(failure) => thread.failed(&failure),
        End::Cancelled => {
            let cancelled = Failure::new(Reason::Cancelled, "the call was cancelled");
            thread.failed(&cancelled)
        }
    })
}

/// What an agent has said in the last turn of a task.
#[derive(Debug, Default)]
struct Answer {
    text: String,
    artifacts: Artifacts,
}

impl Answer {
    /// Reads it, with how it ended; its text, and its artifacts, may have `max` bytes.
    async fn of(task: &Arc<Task>, max: usize) -> Result<(Self, Option<End>), Failure> {
        let (mut answer, mut end) = (Self::default(), None);
        let mut reader = task.subscribe(None);
        while let Some(item) = reader.next().await.map_err(|error| broken(task, &error))? {
            match item {
                TaskItem::Row { item, .. } => match item {
                    LogItem::Message(_) => (answer, end) = (Self::default(), None),
                    LogItem::Event(event) => answer.add(event, max)?,
                    LogItem::End(its) => end = Some(its),
                    LogItem::Answer(..) => {}
                },
                TaskItem::Gap { .. } => return Err(lost()),
            }
        }
        Ok((answer, end))
    }

    fn add(&mut self, event: Event, max: usize) -> Result<(), Failure> {
        let weight = event.weight();
        match event {
            Event::Chunk(chunk) if chunk.kind == ChunkKind::Text => {
                if self.text.len() + chunk.text.len() > max {
                    let text = format!("the answer has more than {max} bytes");
                    return Err(Failure::new(Reason::TooLarge, text));
                }
                self.text.push_str(&chunk.text);
                Ok(())
            }
            Event::Artifact(artifact) => self.artifacts.keep(artifact, weight, max),
            Event::Chunk(_) | Event::Ask(_) => Ok(()),
        }
    }

    /// Whatever text came in chunks is the answer; the end only repeats it.
    fn complete(&self, done: &mut Done) {
        if !self.text.is_empty() {
            done.result = Some(self.text.clone());
        }
    }
}

fn lost() -> Failure {
    let text = "the hub does not keep what this agent says, and some of the answer is gone; name a request_id to get it as it comes";
    Failure::new(Reason::TooLarge, text)
}

fn broken(task: &Task, error: &StoreError) -> Failure {
    tracing::error!(task = %task.id, %error, "an answer could not be read");
    Failure::new(Reason::Internal, "the hub's store failed")
}
