//! Answers to messages that name neither a request nor a stream. Such a message becomes a durable [`Task`],
//! independent of the connection. While the connection lasts, its sender gets one `reply` or `error` when the
//! task has answered.

use std::sync::Arc;

use jackfield_core::{
    hub::Hub,
    store::StoreError,
    task::{LastTurn, Task},
};
use jackfield_kit::files::Files;
use jackfield_model::{End, Failure, Reason};
use tokio::{
    sync::{Semaphore, oneshot},
    task::JoinSet,
};

use crate::{
    link::{AgoraLink, AgoraMail},
    translate::ReplyFrameWriter,
};

/// Maximum number of awaited answers per connection. Each holds the tail of its task, up to 256 KiB, until
/// the peer has read the answer.
const MAX_AWAITED: usize = 256;

/// The answers that one connection waits for. Dropping [`AwaitedAnswers`] stops the waiting.
#[derive(Debug)]
pub(crate) struct AwaitedAnswers {
    waiting: JoinSet<()>,
    /// Permit for building an answer: one at a time, and the next after the socket has taken the previous
    /// one. A peer that does not read fills no memory.
    turn: Arc<Semaphore>,
}

impl Default for AwaitedAnswers {
    fn default() -> Self {
        Self {
            waiting: JoinSet::new(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }
}

impl AwaitedAnswers {
    /// Refuses a further message if too many answers are awaited.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        while self.waiting.try_join_next().is_some() {}
        if self.waiting.len() < MAX_AWAITED {
            return Ok(());
        }
        let text = format!("{MAX_AWAITED} messages wait for their answers; read some first");
        Err(Failure::new(Reason::Busy, text))
    }

    /// Waits in the background for a task to start, and then for its answer.
    pub(crate) fn wait(
        &mut self,
        task: oneshot::Receiver<Arc<Task>>,
        thread: ReplyFrameWriter,
        (hub, files): (Hub, Arc<Files>),
        link: Arc<AgoraLink>,
    ) {
        let turn = self.turn.clone();
        self.waiting.spawn(async move {
            // A dropped sender means that the task did not start; the failure was reported there.
            let Ok(task) = task.await else { return };
            task.over().await;
            let Ok(turn) = turn.acquire_owned().await else {
                return;
            };
            if let Some(frame) = answer_frame(&task, &thread, &hub, &files).await {
                // The answer of a closed connection is dropped.
                drop(link.mailbox.post(AgoraMail::Answer(frame, turn)));
            }
        });
    }
}

/// Returns the frame for the sender, or `None` if the task has not answered because the hub stops; the task
/// continues after the restart.
async fn answer_frame(
    task: &Arc<Task>,
    thread: &ReplyFrameWriter,
    hub: &Hub,
    files: &Files,
) -> Option<String> {
    let max = hub.limits().message.0;
    let turn = match LastTurn::read(task, max).await {
        Ok(turn) => turn,
        Err(error) => return Some(thread.failed(&broken(task, &error))),
    };
    Some(match turn.end? {
        _ if turn.transcript.is_truncated() => thread.failed(&too_large(max)),
        End::Done(done) => {
            let files = files.of_task(&task.record());
            let transcript = &turn.transcript;
            let text = Some(transcript.text());
            thread.done(&done, text, transcript.artifacts(), &files, false)
        }
        End::Failed(failure) => thread.failed(&failure),
        End::Cancelled => {
            let cancelled = Failure::new(Reason::Cancelled, "the call was cancelled");
            thread.failed(&cancelled)
        }
    })
}

fn too_large(max: usize) -> Failure {
    let text = format!(
        "the answer has more than {max} bytes, or some of it is no longer stored; name a request_id to get it as it comes"
    );
    Failure::new(Reason::TooLarge, text)
}

fn broken(task: &Task, error: &StoreError) -> Failure {
    tracing::error!(task = %task.id, %error, "an answer could not be read");
    Failure::new(Reason::Internal, "the hub's store failed")
}
