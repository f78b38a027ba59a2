//! The link of an agent whose calls are worked on by tasks, each call by its own, and not written to one connection: a
//! bounded queue of calls, and why the hub ended it. Whoever attaches the agent holds the other end of the queue.

use std::sync::Arc;

use tokio::sync::{
    SetOnce,
    mpsc::{self, Receiver, Sender, error::TrySendError},
};

use crate::{
    agent::{Closing, Link},
    call::{Call, Serving},
    limits::Limits,
};

/// How many calls may wait to be taken, for each that the agent may have open: those that ended meanwhile wait here too.
const SPARE: usize = 4;
/// And at most, whatever the hub's limit is.
const MOST: usize = 1 << 16;

/// The hub's way to an agent whose calls are worked on by tasks.
#[derive(Debug)]
pub struct Inbox {
    calls: Sender<Serving>,
    closing: SetOnce<Closing>,
    door: &'static str,
    is_alive: bool,
}

impl Inbox {
    /// An empty inbox, and where its calls come out. `is_alive` says of an agent that no line leads to that it is there
    /// as long as it is attached; of any other, whoever works on a call notes its signs of life ([`Call::touch`]).
    pub fn new(
        door: &'static str,
        limits: &Limits,
        is_alive: bool,
    ) -> (Arc<Self>, Receiver<Serving>) {
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

    /// Resolves when the hub has ended it for good. Any number may wait.
    pub async fn closed(&self) -> Closing {
        *self.closing.wait().await
    }
}

impl Link for Inbox {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        self.calls.try_send(call).map_err(|error| match error {
            TrySendError::Full(call) => call.turn_away(),
            TrySendError::Closed(call) => call,
        })
    }

    fn cancel(&self, _: &Arc<Call>) {
        // Whoever works on it hears the end of its input, which every end of a call brings.
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
