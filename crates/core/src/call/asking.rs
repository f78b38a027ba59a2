//! The caller's end of a call, and a reader of its reply.

use std::sync::Arc;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Call;
use jackfield_model::{ChunkKind, End, Event, Input};

use crate::{
    bell::{Bell, Rope},
    gate::Gate,
    pipe::Pushed,
};

/// The caller's end of a call. Dropping it cancels the call.
#[derive(Debug)]
pub struct Asking {
    call: Arc<Call>,
    is_left: bool,
    /// The hub, when it stops, waits for those who read.
    _reading: TaskTrackerToken,
}

impl Asking {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self {
            _reading: call.shared.readers.token(),
            call,
            is_left: false,
        }
    }

    /// The call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Who is rung when there is something to read.
    pub fn listen(&self, rope: Rope) {
        self.call.reply.listen(rope);
    }

    /// Lets the connection's gate show that this input is full.
    pub fn gated(&self, gate: Arc<Gate>) {
        self.call.input.written_by(Some(gate), 0);
    }

    /// Moves about `max` bytes of the reply into `events`; then the end, once.
    pub fn take(&self, events: &mut Vec<Event>, max: usize) -> Option<End> {
        self.call.reply.take(events, max)
    }

    /// Takes like [`Asking::take`], with the agent's own numbers of its frames.
    pub(crate) fn take_marked(
        &self,
        events: &mut Vec<(Event, Option<u64>)>,
        max: usize,
    ) -> Option<(End, Option<u64>)> {
        self.call.reply.take_marked(events, max)
    }

    /// Says more to the agent.
    pub fn say(&self, input: Input) -> Pushed {
        self.call.hand_in(input)
    }

    /// Stops reading without cancelling: somebody else goes on with the call, after a restart of the hub.
    pub(crate) fn leave(mut self) {
        self.is_left = true;
    }

    /// Cancels the call.
    pub fn cancel(self) {
        drop(self);
    }

    /// Reads the reply as it comes.
    pub fn replies(self) -> Replies {
        let bell = Bell::new();
        self.listen(bell.rope(0));
        Replies {
            asking: self,
            bell,
            ready: Vec::new().into_iter(),
            end: None,
            over: false,
        }
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        if !self.is_left && !self.call.is_ended() {
            self.call.finish(End::Cancelled, true);
        }
    }
}

/// What comes out of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The agent said something.
    Event(Event),
    /// The call is over.
    End(End),
}

/// How much is moved out of a pipe at once by readers that handle one event at a time.
const BATCH: usize = 64 << 10;

/// Reads one call's reply. Dropping it cancels the call.
#[derive(Debug)]
pub struct Replies {
    asking: Asking,
    bell: Arc<Bell>,
    ready: std::vec::IntoIter<Event>,
    end: Option<End>,
    over: bool,
}

impl Replies {
    /// The caller's end.
    pub fn asking(&self) -> &Asking {
        &self.asking
    }

    /// The next event, at last the end, then nothing. Cancel-safe.
    pub async fn next(&mut self) -> Option<Reply> {
        loop {
            if let Some(reply) = self.ready() {
                return Some(reply);
            }
            if self.over {
                return None;
            }
            self.bell.wait(&mut Vec::new()).await;
            let mut events = Vec::new();
            self.end = self.asking.take(&mut events, BATCH);
            self.ready = events.into_iter();
        }
    }

    /// What is there already, without waiting.
    pub fn ready(&mut self) -> Option<Reply> {
        if let Some(event) = self.ready.next() {
            return Some(Reply::Event(event));
        }
        self.end.take().map(|end| {
            self.over = true;
            Reply::End(end)
        })
    }

    /// Waits for the end and joins the text on the way.
    pub async fn finish(mut self) -> (String, End) {
        let mut text = String::new();
        while let Some(reply) = self.next().await {
            match reply {
                Reply::Event(Event::Chunk(chunk)) if chunk.kind == ChunkKind::Text => {
                    text.push_str(&chunk.text)
                }
                Reply::Event(_) => {}
                Reply::End(end) => return (text, end),
            }
        }
        (text, End::Cancelled)
    }
}
