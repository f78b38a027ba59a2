//! A called agent, controlled step by step.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::TestHub;

use crate::matrix::setup::Owner;

/// How an agent learns about the end of its call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndNotice {
    Cancel,
    /// The other side disconnected.
    CallerLeft,
    /// The other side doesn't read.
    CallerDoesNotRead,
}

/// The failure of every agent.
pub(crate) const FAILURE_CODE: &str = "quota";
pub(crate) const FAILURE_WORDS: &str = "no more today";

/// The link that stands for the file, for agents that can only write text.
pub(crate) const LINK: &str = "https://files.example/a.txt";

/// An agent.
pub(crate) trait Callee: Sized {
    const PROTOCOL: Protocol;

    /// Whether every agent of this protocol belongs to the machine's owner.
    const IS_ALWAYS_LOCAL: bool = false;

    /// The id of its question.
    const ASK: &'static str = "q-1";

    async fn join(hub: &TestHub, owner: &Owner) -> Self;

    /// The agent's id.
    fn id(&self) -> String;

    /// Receives the question.
    async fn receive_call(&mut self);

    /// The hub's id of the call, as seen by the agent.
    fn call(&self) -> String;

    /// Answers with this text, without earlier chunks.
    async fn answers_at_once(&mut self, words: &str);

    async fn send_text(&mut self, words: &str);

    /// Thinks `hm`, reports the status `reading`, uses `Bash` and gets `ok`, as far as the protocol supports it.
    async fn works(&mut self);

    /// Ends with a file.
    async fn ends_with_file(&mut self);

    async fn asks(&mut self, question: &str);

    /// The answer to its question.
    async fn is_answered(&mut self) -> String;

    async fn ends(&mut self);

    async fn fails(&mut self);

    /// Loses its connection.
    async fn leaves(&mut self);

    /// Resumes the call after the lost connection.
    async fn resume_call(&mut self) {
        unreachable!("nobody comes back");
    }

    /// Waits for the end of the call, and returns how the agent learnt about it.
    async fn end_notice(&mut self) -> EndNotice;

    /// Sends this many bytes, or fewer if the reader disconnects.
    async fn floods(&mut self, bytes: usize);
}

/// A piece of a flood.
pub(crate) fn piece() -> String {
    "x".repeat(PIECE)
}

/// The size of a piece.
pub(crate) const PIECE: usize = 16 << 10;
