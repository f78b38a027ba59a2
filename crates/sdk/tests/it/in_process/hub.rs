//! An in-process hub, and readers for the events of its calls.

use std::sync::Arc;

use jackfield_core::{
    call::{Replies, Reply},
    hub::Hub,
    limits::Limits,
    store::memory::MemoryStore,
};
use jackfield_model::{Chunk, Done, End, Event};
use jackfield_sdk::{Agent, InProcess};
use jackfield_testkit::{SOON, fake_request};
use tokio::{sync::mpsc, time::timeout};

pub(crate) async fn hub() -> Hub {
    let store = Arc::new(MemoryStore::default());
    Hub::open(store, Limits::default()).await.unwrap()
}

/// A hub with an attached agent.
pub(crate) async fn with(agent: impl Into<Agent>) -> (Hub, InProcess) {
    let hub = hub().await;
    let attached = agent.into().attach_to(&hub).unwrap();
    (hub, attached)
}

/// Starts a call as the owner `local`.
pub(crate) fn call(hub: &Hub, agent: &str, text: &str) -> Replies {
    hub.calls()
        .open(fake_request(agent, text))
        .unwrap()
        .replies()
}

pub(crate) async fn next(replies: &mut Replies) -> Reply {
    let next = timeout(SOON, replies.next()).await;
    next.expect("something comes in time").expect("an end")
}

pub(crate) async fn next_chunk(replies: &mut Replies) -> Chunk {
    match next(replies).await {
        Reply::Event(Event::Chunk(chunk)) => chunk,
        other => panic!("{other:?}"),
    }
}

/// Result of a call.
pub(crate) struct Outcome {
    pub(crate) words: String,
    /// Kind and text of all chunks other than text.
    pub(crate) other_chunks: Vec<(&'static str, String)>,
    pub(crate) end: End,
}

impl Outcome {
    pub(crate) fn done(self) -> Done {
        match self.end {
            End::Done(done) => *done,
            other => panic!("{other:?}"),
        }
    }

    /// The name of the failure and its message.
    pub(crate) fn failure(&self) -> (&str, &str) {
        match &self.end {
            End::Failed(failure) => (failure.reason.name(), &failure.text),
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn outcome(mut replies: Replies) -> Outcome {
    let (mut words, mut other_chunks) = (String::new(), Vec::new());
    loop {
        match next(&mut replies).await {
            Reply::Event(Event::Chunk(chunk)) => match chunk.kind.name() {
                "text" => words += &chunk.text,
                kind => other_chunks.push((kind, chunk.text)),
            },
            Reply::Event(other) => panic!("{other:?}"),
            Reply::End(end) => {
                return Outcome {
                    words,
                    other_chunks,
                    end,
                };
            }
        }
    }
}

/// The text of a complete call.
pub(crate) async fn words(hub: &Hub, agent: &str, text: &str) -> String {
    let outcome = outcome(call(hub, agent, text)).await;
    assert!(matches!(outcome.end, End::Done(_)), "{:?}", outcome.end);
    outcome.words
}

/// An agent that echoes its message.
pub(crate) fn echo(id: &str) -> Agent {
    Agent::new(id).on_message(|message, reply| async move { Ok(reply.text(message.text).await?) })
}

/// An agent that begins and never ends. Each of its handlers reports its own drop.
pub(crate) fn endless(id: &str) -> (Agent, mpsc::Receiver<()>) {
    let (sender, dropped) = mpsc::channel(4);
    let agent = Agent::new(id).on_message(move |_, reply| {
        let sender = DropReport(sender.clone());
        async move {
            let _report = sender;
            reply.text("working").await?;
            std::future::pending().await
        }
    });
    (agent, dropped)
}

/// Reports its own drop.
struct DropReport(mpsc::Sender<()>);

impl Drop for DropReport {
    fn drop(&mut self) {
        self.0.try_send(()).ok();
    }
}

/// Waits until a handler of [`endless`] is dropped.
pub(crate) async fn is_dropped(dropped: &mut mpsc::Receiver<()>) {
    let sender = timeout(SOON, dropped.recv()).await;
    sender.expect("the handler is dropped in time").unwrap();
}
