//! What comes from a remote, read by a task of its own: a stream, one whole answer, or looks at a task until it moves on.
//! Dropping the source ends the exchange.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{Instant, sleep, timeout_at},
};

use crate::dial::line::{Arrived, Incoming, Line, Trouble};
use crate::wire::official::{
    error::Kind,
    method::Operation,
    model::{Item, SendParams, Task},
};

/// How many items may wait to be taken.
const WAITING: usize = 16;

/// How often a task is looked at that cannot be followed.
const LOOK: Duration = Duration::from_secs(1);

/// How long pieces are gathered before a task that is followed is looked at.
const GATHER: Duration = Duration::from_millis(100);

/// The longest pause between two looks.
const LOOK_MAX: Duration = Duration::from_secs(10);

/// Why a task is looked at that was followed.
pub(super) const NO_END: &str = "the stream ended without a final statusUpdate";

/// Why one is that went on while the hub was away.
pub(super) const RESTARTED: &str = "the hub was restarted";

/// Why one is that was the whole answer.
const NOT_OVER: &str = "it answered with a task that is not over";

type Outcome = Result<Arrived, Trouble>;

/// What comes from a remote.
#[derive(Debug)]
pub(super) struct Source {
    arrived: mpsc::Receiver<Outcome>,
    /// Whether an exchange that says nothing is a sign of life: one that is waited for is, a stream is not.
    is_alive: bool,
    _reading: JoinSet<()>,
}

impl Source {
    fn new<F>(is_alive: bool, read: impl FnOnce(mpsc::Sender<Outcome>) -> F) -> Self
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

    /// Sends a message and reads the stream that answers it.
    pub(super) fn stream(line: Arc<Line>, params: SendParams, headers: HeaderMap) -> Self {
        Self::new(false, |out| async move {
            pump(line.stream(&params, &headers).await, &out).await;
        })
    }

    /// Sends a message and waits for the whole answer; a task that is not over then is looked at.
    pub(super) fn whole(line: Arc<Line>, params: SendParams, headers: HeaderMap) -> Self {
        Self::new(true, |out| async move {
            match line.send(&params, &headers).await {
                Ok(Item::Task(task)) => {
                    let id = task.id.clone();
                    if give_task(*task, &out).await {
                        look(&line, &id, LOOK, NOT_OVER, &out).await;
                    }
                }
                Ok(item) => drop(out.send(Ok(Arrived::Item { id: None, item })).await),
                Err(trouble) => drop(out.send(Err(trouble)).await),
            }
        })
    }

    /// Follows a task, after a pause.
    pub(super) fn follow(
        line: Arc<Line>,
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

    /// Looks at a task until it is over or waits for its caller, after a pause. `why` says what makes it necessary.
    pub(super) fn look(line: Arc<Line>, task: String, pause: Duration, why: &'static str) -> Self {
        Self::new(true, move |out| async move {
            look(&line, &task, pause, why, &out).await;
        })
    }

    /// What comes next; nothing once the remote has closed the exchange in order. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Outcome> {
        self.arrived.recv().await
    }

    /// Whether the exchange counts as a sign of life while it says nothing.
    pub(super) fn is_alive(&self) -> bool {
        self.is_alive
    }
}

/// Passes on a stream to its end.
async fn pump(opened: Result<Incoming, Trouble>, out: &mpsc::Sender<Outcome>) {
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

/// Follows a task. Servers may repeat in the stream what the task at its beginning has already, and nobody can tell that
/// from words that are said twice. So what was made is not taken from the stream: it tells only that there is more, and
/// then the task is looked at.
async fn follow(
    line: &Line,
    task: &str,
    opened: Result<Incoming, Trouble>,
    out: &mpsc::Sender<Outcome>,
) {
    let mut incoming = match opened {
        Ok(incoming) => incoming,
        Err(trouble) => return drop(out.send(Err(trouble)).await),
    };
    // When the task will be looked at.
    let mut due: Option<Instant> = None;
    loop {
        let next = match due {
            None => incoming.next().await,
            Some(at) => match timeout_at(at, incoming.next()).await {
                Ok(next) => next,
                Err(_) => {
                    due = None;
                    let goes_on = match line.get(task).await {
                        Ok(task) => give_task(task, out).await,
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
            Ok(Some(Arrived::Item {
                item: Item::Artifact(_),
                ..
            })) => {
                due.get_or_insert_with(|| Instant::now() + GATHER);
                continue;
            }
            Ok(Some(Arrived::Item {
                item: Item::Status(update),
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

/// What went wrong with a look. A server that has no such method will not have one later: nobody can tell how the task ends.
fn seen(line: &Line, trouble: Trouble, why: &str) -> Trouble {
    match trouble {
        Trouble::Refused(fault)
            if matches!(fault.kind, Kind::MethodNotFound | Kind::Unsupported) =>
        {
            let method = Operation::Get.name(line.place().version);
            Trouble::Garbled(format!("{why}, and the server has no {method}"))
        }
        trouble => trouble,
    }
}

/// Passes on a task; whether it goes on by itself.
async fn give_task(task: Task, out: &mpsc::Sender<Outcome>) -> bool {
    let state = task.status.state;
    let item = Item::Task(Box::new(task));
    let given = out.send(Ok(Arrived::Item { id: None, item })).await;
    given.is_ok() && !state.is_terminal() && !state.is_interrupted()
}

/// Looks at a task until it is over or waits for its caller. `why` says what makes it necessary.
async fn look(
    line: &Line,
    task: &str,
    mut pause: Duration,
    why: &str,
    out: &mpsc::Sender<Outcome>,
) {
    let begun = Instant::now();
    loop {
        sleep(pause).await;
        let goes_on = match line.get(task).await {
            Ok(task) => give_task(task, out).await,
            Err(trouble) => {
                drop(out.send(Err(seen(line, trouble, why))).await);
                false
            }
        };
        if !goes_on {
            return;
        }
        // The longer it takes, the less a second matters.
        pause = (begun.elapsed() / 10).clamp(LOOK, LOOK_MAX);
    }
}
