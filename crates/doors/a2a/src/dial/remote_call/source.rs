//! Reader of a remote's answers, in a task of its own: a stream, a complete answer, or polls of a task.
//! Dropping the [`AnswerReader`] ends the exchange.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};

use crate::dial::client::{AnswerElement, AnswerStream, RemoteCallError, RemoteClient};
use crate::wire::official::{
    error::A2aErrorKind,
    method::Operation,
    model::{SendParams, StreamItem, Task},
};

/// Largest number of queued items.
const WAITING: usize = 16;

/// Shortest pause between polls of a task.
const LOOK: Duration = Duration::from_secs(1);

/// Time to collect pieces of artifacts before a subscribed task is fetched.
const GATHER: Duration = Duration::from_millis(100);

/// Longest pause between polls.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// Reason for polling a task after a stream.
pub(super) const NO_END: &str = "the stream ended without a final statusUpdate";

/// Reason for polling a task after a restart of the hub.
pub(super) const RESTARTED: &str = "the hub was restarted";

/// Reason for polling a task after a complete answer.
const NOT_OVER: &str = "it answered with a task that is not over";

type AnswerResult = Result<AnswerElement, RemoteCallError>;

/// Reader of a remote's answers.
#[derive(Debug)]
pub(super) struct AnswerReader {
    arrived: mpsc::Receiver<AnswerResult>,
    /// True if a silent exchange counts as a sign of life: true for a pending answer, false for a stream.
    is_alive: bool,
    _reading: JoinSet<()>,
}

impl AnswerReader {
    fn new<F>(is_alive: bool, read: impl FnOnce(mpsc::Sender<AnswerResult>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (sender, arrived) = mpsc::channel(WAITING);
        let mut reading = JoinSet::new();
        reading.spawn(read(sender));
        Self {
            arrived,
            is_alive,
            _reading: reading,
        }
    }

    /// Sends a message and reads the stream of the answer.
    pub(super) fn stream(line: Arc<RemoteClient>, params: SendParams, headers: HeaderMap) -> Self {
        Self::new(false, |out| async move {
            pump(line.stream(&params, &headers).await, &out).await;
        })
    }

    /// Sends a message and waits for the complete answer; an unfinished task is then polled.
    pub(super) fn whole(line: Arc<RemoteClient>, params: SendParams, headers: HeaderMap) -> Self {
        Self::new(true, |out| async move {
            match line.send(&params, &headers).await {
                Ok(StreamItem::Task(task)) => {
                    let id = task.id.clone();
                    if forward_task(*task, &out).await {
                        look(&line, &id, LOOK, NOT_OVER, &out).await;
                    }
                }
                Ok(item) => drop(out.send(Ok(AnswerElement::Item { id: None, item })).await),
                Err(trouble) => drop(out.send(Err(trouble)).await),
            }
        })
    }

    /// Subscribes to a task, after a pause.
    pub(super) fn follow(
        line: Arc<RemoteClient>,
        task: String,
        last_event: Option<String>,
        pause: Duration,
    ) -> Self {
        Self::new(false, move |out| async move {
            sleep(pause).await;
            let opened = line.subscribe(&task, last_event.as_deref()).await;
            follow(&line, &task, opened, &out).await;
        })
    }

    /// Polls a task until the task is over or waits for the caller, after a pause. `why` is the reason for
    /// polling, for error messages.
    pub(super) fn look(
        line: Arc<RemoteClient>,
        task: String,
        pause: Duration,
        why: &'static str,
    ) -> Self {
        Self::new(true, move |out| async move {
            look(&line, &task, pause, why, &out).await;
        })
    }

    /// Returns the next element; `None` after an orderly end of the exchange. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<AnswerResult> {
        self.arrived.recv().await
    }

    /// Returns true if the silent exchange counts as a sign of life.
    pub(super) fn is_alive(&self) -> bool {
        self.is_alive
    }
}

/// Forwards a stream to its end.
async fn pump(opened: Result<AnswerStream, RemoteCallError>, out: &mpsc::Sender<AnswerResult>) {
    let mut incoming = match opened {
        Ok(incoming) => incoming,
        Err(trouble) => return drop(out.send(Err(trouble)).await),
    };
    loop {
        let outcome = match incoming.next().await {
            Ok(Some(arrived)) => Ok(arrived),
            Ok(None) => return,
            Err(trouble) => Err(trouble),
        };
        let is_last = outcome.is_err();
        if out.send(outcome).await.is_err() || is_last {
            return;
        }
    }
}

/// Follows a subscription. A server may repeat content of the initial task in the stream, and repeated
/// content looks like new content. Artifact updates are therefore not forwarded: they only trigger a fetch of
/// the task.
async fn follow(
    line: &RemoteClient,
    task: &str,
    opened: Result<AnswerStream, RemoteCallError>,
    out: &mpsc::Sender<AnswerResult>,
) {
    let mut incoming = match opened {
        Ok(incoming) => incoming,
        Err(trouble) => return drop(out.send(Err(trouble)).await),
    };
    // Time of the next fetch of the task.
    let mut due: Option<Instant> = None;
    loop {
        let next = match due {
            None => incoming.next().await,
            Some(at) => match timeout_at(at, incoming.next()).await {
                Ok(next) => next,
                Err(_) => {
                    due = None;
                    let goes_on = match line.get(task).await {
                        Ok(task) => forward_task(task, out).await,
                        Err(trouble) => {
                            drop(out.send(Err(trouble)).await);
                            false
                        }
                    };
                    if !goes_on {
                        return;
                    }
                    continue;
                }
            },
        };
        let outcome = match next {
            Ok(Some(AnswerElement::Item {
                item: StreamItem::Artifact(_),
                ..
            })) => {
                due.get_or_insert_with(|| Instant::now() + GATHER);
                continue;
            }
            Ok(Some(AnswerElement::Item {
                item: StreamItem::Status(update),
                ..
            })) if update.status.state.is_terminal() || update.status.state.is_interrupted() => {
                return look(line, task, Duration::ZERO, NO_END, out).await;
            }
            Ok(None) if due.is_some() => {
                return look(line, task, Duration::ZERO, NO_END, out).await;
            }
            Ok(None) => return,
            Ok(Some(arrived)) => Ok(arrived),
            Err(trouble) => Err(trouble),
        };
        let is_last = outcome.is_err();
        if out.send(outcome).await.is_err() || is_last {
            return;
        }
    }
}

/// Translates an error of a poll. A server without the method will not gain it later, so the end of the task
/// cannot be observed.
fn seen(line: &RemoteClient, trouble: RemoteCallError, why: &str) -> RemoteCallError {
    match trouble {
        RemoteCallError::Refused(fault)
            if matches!(
                fault.kind,
                A2aErrorKind::MethodNotFound | A2aErrorKind::Unsupported
            ) =>
        {
            let method = Operation::Get.name(line.place().version);
            RemoteCallError::Garbled(format!("{why}, and the server has no {method}"))
        }
        trouble => trouble,
    }
}

/// Forwards a task. Returns true if the task is still working.
async fn forward_task(task: Task, out: &mpsc::Sender<AnswerResult>) -> bool {
    let state = task.status.state;
    let item = StreamItem::Task(Box::new(task));
    let given = out.send(Ok(AnswerElement::Item { id: None, item })).await;
    given.is_ok() && !state.is_terminal() && !state.is_interrupted()
}

/// Polls a task until the task is over or waits for the caller. `why` is the reason for polling, for error
/// messages.
async fn look(
    line: &RemoteClient,
    task: &str,
    mut pause: Duration,
    why: &str,
    out: &mpsc::Sender<AnswerResult>,
) {
    let begun = Instant::now();
    loop {
        sleep(pause).await;
        let goes_on = match line.get(task).await {
            Ok(task) => forward_task(task, out).await,
            Err(trouble) => {
                drop(out.send(Err(seen(line, trouble, why))).await);
                false
            }
        };
        if !goes_on {
            return;
        }
        // For a long task, a longer pause does not matter.
        pause = (begun.elapsed() / 10).clamp(LOOK, LOOK_MAX);
    }
}
