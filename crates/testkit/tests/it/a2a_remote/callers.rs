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

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ended {
    Done,
    /// With what is told of it.
    Failed(String),
    Cancelled,
}

/// What a caller is told of its call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Told {
    /// A piece of the answer.
    Text(String),
    /// What the agent is doing.
    Status(String),
    /// The agent waits for the caller.
    Asked,
    /// Anything else.
    Other,
    Ended(Ended),
}

/// How a door's callers meet a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Questions {
    /// They are asked, and answer.
    Answered,
    /// They are told, and wait.
    Told,
    /// The call fails with it.
    Fatal,
}

/// Somebody who calls the remote through one door, one call at a time.
pub(crate) trait Caller {
    const NAME: &'static str;
    const QUESTIONS: Questions;
    /// Whether the caller is told that its call is cancelled: it can leave only, otherwise.
    const HEARS_CANCEL: bool = true;

    async fn join(hub: &TestHub) -> Self;

    /// Calls, to be told piece by piece.
    async fn begin(&mut self, text: &str);

    /// What comes next.
    async fn next(&mut self) -> Told;

    /// Cancels, or leaves.
    async fn cancel(&mut self);

    /// Answers what the agent asked.
    async fn answer(&mut self, text: &str);

    /// Everything that came since the call began, as it came.
    fn heard(&self) -> &[Value];

    /// Calls, and takes the answer as a whole where the door has that.
    async fn once(&mut self, text: &str) -> (String, Ended) {
        self.begin(text).await;
        self.rest().await
    }

    /// All that is said from here to the end, and the end.
    async fn rest(&mut self) -> (String, Ended) {
        let mut said = String::new();
        loop {
            match self.next().await {
                Told::Text(text) => said.push_str(&text),
                Told::Ended(end) => return (said, end),
                Told::Status(_) | Told::Other => {}
                Told::Asked => panic!("{} is asked something", Self::NAME),
            }
        }
    }
}

/// The text of a member; nothing if there is none.
fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A piece of this kind.
fn piece(kind: &Value, words: String) -> Told {
    match kind.as_str() {
        None | Some("text") => Told::Text(words),
        Some(_) => Told::Status(words),
    }
}
