//! [`Inbox`]: the link of an agent whose calls are worked on by one job each, and not written to one connection. A bounded queue of calls, and why the hub closed it. The door that attaches the agent holds the receiver.

use std::sync::Arc;

use tokio::sync::{
    SetOnce,
    mpsc::{self, Receiver, Sender, error::TrySendError},
};

use crate::{
    agent::{Closing, Link},
    call::{AgentHandle, Call},
    limits::Limits,
};

/// Room in the queue per call that the agent may have open: calls that ended meanwhile wait here too.
const SPARE: usize = 4;
/// Largest queue, whatever the hub's limit is.
const MOST: usize = 1 << 16;

/// Link to an agent whose calls are worked on by one job each.
#[derive(Debug)]
pub struct Inbox {
    calls: Sender<AgentHandle>,
    closing: SetOnce<Closing>,
    door: &'static str,
    is_alive: bool,
}

impl Inbox {
    /// Creates an inbox and the receiver of its calls. `is_alive` for agents without a connection, which are
    /// there as long as they are attached; for all others, the job of a call notes signs of life
    /// ([`Call::touch`]).
    pub fn new(
        door: &'static str,
        limits: &Limits,
        is_alive: bool,
    ) -> (Arc<Self>, Receiver<AgentHandle>) {
        let room = limits.pending_per_agent.saturating_mul(SPARE);
        let (calls, delivered) = mpsc::channel(room.clamp(SPARE, MOST));
        let inbox = Self {
            calls,
            closing: SetOnce::new(),
            door,
            is_alive,
        };
        (Arc::new(inbox), delivered)
    }

    /// Waits until the hub has closed the inbox for good. Any number may wait.
    pub async fn closed(&self) -> Closing {
        *self.closing.wait().await
    }
}

impl Link for Inbox {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        self.calls.try_send(call).map_err(|error| match error {
            TrySendError::Full(call) => call.turn_away(),
            TrySendError::Closed(call) => call,
        })
    }

    fn cancel(&self, _: &Arc<Call>) {
        // The job of the call sees the end of its input, which every end of a call brings.
    }

    fn close(&self, why: Closing) {
        // The first reason counts.
        self.closing.set(why).ok();
    }

    fn alive(&self, _: &Call) -> bool {
        self.is_alive
    }

    fn door(&self) -> &'static str {
        self.door
    }
}
