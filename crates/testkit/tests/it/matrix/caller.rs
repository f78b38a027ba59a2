//! A caller of an agent through one protocol.

use crate::matrix::protocol::Protocol;
use jackfield_testkit::TestHub;

use crate::matrix::{event::CallerEvent, setup::Owner};

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
    async fn join_without_access(hub: &TestHub, owner: &Owner, target: &str) -> Self;

    async fn call(&mut self);

    /// How much of an agent's thinking, tools and status passes if the table says that it is converted. `from_peer`: the
    /// agent tells its status only.
    fn converted_kinds(_from_peer: bool) -> Vec<CallerEvent> {
        vec![CallerEvent::status("reading")]
    }

    /// Returns the next event.
    async fn next_event(&mut self) -> CallerEvent;

    /// Answers the agent's question.
    async fn answer(&mut self, words: &str);

    async fn cancel(&mut self);

    /// Disconnects abruptly.
    async fn leave(&mut self);

    /// Reconnects to the running call; receives all events again, or the rest.
    async fn reconnect(&mut self);

    /// Calls and is refused.
    async fn refused(&mut self) -> CallerEvent {
        self.call().await;
        self.next_event().await
    }

    /// Returns all events to the end, with adjacent text joined.
    async fn rest(&mut self) -> Vec<CallerEvent> {
        let mut all: Vec<CallerEvent> = Vec::new();
        loop {
            let event = self.next_event().await;
            let is_end = event.is_end();
            match (all.last_mut(), event) {
                (Some(CallerEvent::Text(last)), CallerEvent::Text(more)) => last.push_str(&more),
                (_, event) => all.push(event),
            }
            if is_end {
                return all;
            }
        }
    }
}
