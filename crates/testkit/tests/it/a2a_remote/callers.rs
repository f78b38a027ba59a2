//! Callers of every door, by raw frames and requests.

mod agora;
mod bridge;
mod official;
mod own;
mod relay;
mod seed;

use jackfield_testkit::TestHub;
use serde_json::Value;

pub(crate) use self::{
    agora::Agora,
    bridge::BridgeAgent,
    official::{V1, V03},
    own::Own,
    relay::Platform,
    seed::Seed,
};

/// The end of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ended {
    Done,
    /// With the error message.
    Failed(String),
    Cancelled,
}

/// An event of a caller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum CallerEvent {
    /// A piece of the answer.
    Text(String),
    /// A status of the agent.
    Status(String),
    /// The agent waits for the caller.
    Asked,
    /// Any other event.
    Other,
    Ended(Ended),
}

/// How a door's callers handle a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Questions {
    /// Callers see the question and answer.
    Answered,
    /// Callers see the question and wait.
    Shown,
    /// The question fails the call.
    Fatal,
}

/// A caller of the remote agent through one door, with a single call at a time.
pub(crate) trait Caller {
    const NAME: &'static str;
    const QUESTIONS: Questions;
    /// Whether the caller receives a cancellation. Otherwise cancelling means disconnecting.
    const RECEIVES_CANCEL: bool = true;

    async fn join(hub: &TestHub) -> Self;

    /// Starts a streamed call.
    async fn begin(&mut self, text: &str);

    /// Returns the next event.
    async fn next(&mut self) -> CallerEvent;

    /// Cancels, or disconnects.
    async fn cancel(&mut self);

    /// Answers the agent's question.
    async fn answer(&mut self, text: &str);

    /// All raw events since the call began.
    fn raw_events(&self) -> &[Value];

    /// Calls without streaming, where the door supports it.
    async fn once(&mut self, text: &str) -> (String, Ended) {
        self.begin(text).await;
        self.rest().await
    }

    /// Returns the remaining text and the end.
    async fn rest(&mut self) -> (String, Ended) {
        let mut text_so_far = String::new();
        loop {
            match self.next().await {
                CallerEvent::Text(text) => text_so_far.push_str(&text),
                CallerEvent::Ended(end) => return (text_so_far, end),
                CallerEvent::Status(_) | CallerEvent::Other => {}
                CallerEvent::Asked => panic!("{} is asked something", Self::NAME),
            }
        }
    }
}

/// The text of a member; empty if missing.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A chunk of this kind.
fn piece(kind: &Value, words: String) -> CallerEvent {
    match kind.as_str() {
        None | Some("text") => CallerEvent::Text(words),
        Some(_) => CallerEvent::Status(words),
    }
}
