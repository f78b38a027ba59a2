//! An agent that is called, played step by step.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::TestHub;

use crate::matrix::stage::Owner;

/// What an agent is told of a call that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Cancel,
    /// Nothing but that the other side left.
    CallerLeft,
    /// Nothing but that the other side does not read.
    CallerDoesNotRead,
}

/// How every agent fails.
pub(crate) const FAILURE_CODE: &str = "quota";
pub(crate) const FAILURE_WORDS: &str = "no more today";

/// What is behind the link of an agent that can only write words.
pub(crate) const LINK: &str = "https://files.example/a.txt";

/// An agent.
pub(crate) trait Callee: Sized {
    const PROTOCOL: Protocol;

    /// Whether every agent of this protocol is the owner's of the machine.
    const IS_ALWAYS_LOCAL: bool = false;

    /// The id of its question.
    const ASK: &'static str = "q-1";

    async fn join(hub: &TestHub, owner: &Owner) -> Self;

    /// What it is called by.
    fn id(&self) -> String;

    /// Gets the question.
    async fn called(&mut self);

    /// The hub's id of the call, as the agent learns it.
    fn call(&self) -> String;

    /// Answers with these words, and nothing before them.
    async fn answers_at_once(&mut self, words: &str);

    async fn says(&mut self, words: &str);

    /// Thinks `hm`, says that it is `reading`, uses `Bash` and gets `ok`, as far as the protocol has words for it.
    async fn works(&mut self);

    /// Ends, with a file.
    async fn ends_with_file(&mut self);

    async fn asks(&mut self, question: &str);

    /// The answer to what it asked.
    async fn is_answered(&mut self) -> String;

    async fn ends(&mut self);

    async fn fails(&mut self);

    /// Its connection is lost.
    async fn leaves(&mut self);

    /// Somebody takes the call up again after the connection was lost.
    async fn is_taken_up(&mut self) {
        unreachable!("nobody comes back");
    }

    /// How it is told that the call is over.
    async fn is_told(&mut self) -> Told;

    /// Says so many bytes, or less if nobody wants them any more.
    async fn floods(&mut self, bytes: usize);
}

/// A piece of a flood.
pub(crate) fn piece() -> String {
    "x".repeat(PIECE)
}

/// How large it is.
pub(crate) const PIECE: usize = 16 << 10;
