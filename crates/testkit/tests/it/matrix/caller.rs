//! Somebody who calls an agent through one protocol.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::TestHub;

use crate::matrix::{heard::Heard, stage::Owner};

/// What every caller asks.
pub(crate) const QUESTION: &str = "hi";

/// A caller, which makes one call at a time and hears it step by step.
pub(crate) trait Caller: Sized {
    const PROTOCOL: Protocol;

    /// More bytes than there is room for on the way from the hub to a caller that does not read.
    const UNREAD: usize = 8 << 20;

    /// Somebody who can call this agent of that protocol.
    async fn join(hub: &TestHub, target: &str, callee: Protocol) -> Self;

    /// Somebody who cannot call this agent, or nobody can.
    async fn join_in_vain(hub: &TestHub, owner: &Owner, target: &str) -> Self;

    async fn call(&mut self);

    /// What comes next.
    async fn hear(&mut self) -> Heard;

    /// Answers what the agent asked.
    async fn answer(&mut self, words: &str);

    async fn cancel(&mut self);

    /// Is gone without a word.
    async fn leave(&mut self);

    /// Comes back to what goes on without it; hears all of it again, or the rest.
    async fn come_back(&mut self);

    /// Calls and is refused.
    async fn refused(&mut self) -> Heard {
        self.call().await;
        self.hear().await
    }

    /// Everything to the end; text that comes in several pieces is one.
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
