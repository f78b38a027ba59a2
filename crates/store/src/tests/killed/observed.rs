//! What agents, the caller and the receiver of callbacks know. They outlive the hub.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use jackfield_core::store::LogItem;
use jackfield_model::{AgentId, Answer, CallbackId, DoneState, End, Event, RequestId, TaskId};
use tokio::sync::watch;

/// Everything that was observed, and a way to wait for more.
#[derive(Debug)]
pub(super) struct Observations {
    /// Whether the agents resume their requests after a lost connection; others forget them.
    pub(super) resumes: bool,
    /// Number of hubs that were killed. Connections to earlier hubs are cut.
    killed: AtomicUsize,
    observed: watch::Sender<Observed>,
}

#[derive(Debug, Default)]
pub(super) struct Observed {
    /// Requests that the agents work on.
    pub(super) open: BTreeMap<RequestId, OpenRequest>,
    /// How often an agent got each message.
    pub(super) messages: BTreeMap<String, usize>,
    /// Agents whose registration the hub has acknowledged.
    pub(super) registered: BTreeSet<&'static str>,
    /// Tasks by the message that the hub has accepted.
    pub(super) accepted: BTreeMap<&'static str, TaskId>,
    /// The log of each task as the caller had read it when the last turn was over.
    pub(super) logs: BTreeMap<TaskId, Vec<String>>,
    pub(super) callbacks: BTreeMap<CallbackId, ReceivedCallback>,
}

/// A request, as its agent knows it.
#[derive(Debug, Clone)]
pub(super) struct OpenRequest {
    pub(super) agent: AgentId,
    /// Number of the last frame that the hub has acknowledged, which the agent does not have any more.
    pub(super) acked: u64,
    /// Answer to the agent's question.
    pub(super) answer: Option<Answer>,
}

#[derive(Debug)]
pub(super) struct ReceivedCallback {
    pub(super) task: TaskId,
    pub(super) attempts: usize,
    /// Whether the hub has acknowledged that the callback is settled.
    pub(super) is_settled: bool,
}

impl Observations {
    pub(super) fn new(resumes: bool) -> Arc<Self> {
        Arc::new(Self {
            resumes,
            killed: AtomicUsize::new(0),
            observed: watch::Sender::default(),
        })
    }

    /// Cuts the connections to the killed hub. Agents that do not resume forget their requests.
    pub(super) fn cut_connections(&self) {
        self.killed.fetch_add(1, Ordering::AcqRel);
        if !self.resumes {
            self.change(|observed| observed.open.clear());
        }
    }

    /// The number of the running hub.
    pub(super) fn hub(&self) -> usize {
        self.killed.load(Ordering::Acquire)
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Observed)) {
        self.observed.send_modify(change);
    }

    pub(super) fn change_open(&self, request: &RequestId, change: impl FnOnce(&mut OpenRequest)) {
        self.change(|observed| {
            if let Some(open) = observed.open.get_mut(request) {
                change(open);
            }
        });
    }

    /// The hub has acknowledged the frames of a request up to `seq`.
    pub(super) fn acked(&self, request: &RequestId, seq: u64) {
        self.change_open(request, |open| open.acked = open.acked.max(seq));
    }

    pub(super) fn get<T>(&self, get: impl FnOnce(&Observed) -> T) -> T {
        get(&self.observed.borrow())
    }

    pub(super) async fn until(&self, is_so: impl FnMut(&Observed) -> bool) {
        let mut observed = self.observed.subscribe();
        // The wait fails only without a sender, and this is one.
        drop(observed.wait_for(is_so).await);
    }
}

/// A log as text, one line per message, text, question, answer and end.
pub(super) fn lines<'a>(items: impl IntoIterator<Item = &'a LogItem>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        let line = match item {
            LogItem::Message(message) => format!("message {}", message.joined_text()),
            LogItem::Event(Event::Chunk(chunk)) => match lines.last_mut() {
                Some(last) if last.starts_with("text ") => {
                    last.push_str(&chunk.text);
                    continue;
                }
                _ => format!("text {}", chunk.text),
            },
            LogItem::Event(Event::Ask(ask)) => format!("question {}", ask.id),
            LogItem::Event(Event::Artifact(artifact)) => format!("artifact {artifact:?}"),
            LogItem::Answer(id, answer) => {
                format!(
                    "answer {id} {}",
                    answer.content.as_deref().unwrap_or_default()
                )
            }
            LogItem::End(End::Done(done)) => match done.state {
                DoneState::Completed => "end completed".to_owned(),
                DoneState::InputRequired => "end input required".to_owned(),
                DoneState::Rejected => "end rejected".to_owned(),
            },
            LogItem::End(End::Failed(failure)) => format!("end {}", failure.reason.name()),
            LogItem::End(End::Cancelled) => "end cancelled".to_owned(),
        };
        lines.push(line);
    }
    lines
}
