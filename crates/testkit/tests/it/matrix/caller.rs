//! A caller of an agent through one protocol.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::TestHub;

use crate::matrix::{heard::Heard, stage::Owner};

/// The question of every caller.
pub(crate) const QUESTION: &str = "hi";

/// A caller, with a single call at a time, that reads step by step.
pub(crate) trait Caller: Sized {
    const PROTOCOL: Protocol;

    /// More bytes than fit between the hub and a caller that doesn't read.
    const UNREAD: usize = 8 << 20;

    /// A caller that may call this agent of this protocol.
    async fn join(hub: &TestHub, target: &str, callee: Protocol) -> Self;

    /// A caller that may not call this agent, or the agent doesn't exist.
    async fn join_in_vain(hub: &TestHub, owner: &Owner, target: &str) -> Self;

    async fn call(&mut self);

    /// Returns the next event.
    async fn hear(&mut self) -> Heard;

    /// Answers the agent's question.
    async fn answer(&mut self, words: &str);

    async fn cancel(&mut self);

    /// Disconnects abruptly.
    async fn leave(&mut self);

    /// Reconnects to the running call; receives all events again, or the rest.
    async fn come_back(&mut self);

    /// Calls and is refused.
    async fn refused(&mut self) -> Heard {
        self.call().await;
        self.hear().await
    }

    /// Returns all events to the end, with adjacent text joined.
    async fn rest(&mut self) -> Vec<Heard> {
        let mut all: Vec<Heard> = Vec::new();
        loop {
            let heard = self.hear().await;
            let is_end = heard.is_end();
            match (all.last_mut(), heard) {
                (Some(Heard::Text(last)), Heard::Text(more)) => last.push_str(&more),
                (_, heard) => all.push(heard),
            }
            if is_end {
                return all;
            }
        }
    }
}
