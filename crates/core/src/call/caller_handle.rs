//! [`CallerHandle`], the caller's handle of a call, and [`Replies`], a reader of the reply. Doors hold them for
//! live calls; the recorder of a task holds an [`CallerHandle`] for a durable one.

use std::sync::Arc;

use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Call;
use jackfield_model::{End, Event, Input, Transcript};

use crate::{
    gate::Gate,
    pipe::Pushed,
    ready::{ReadyHandle, ReadySet},
};

/// The caller's handle of a [`Call`]. Dropping the handle cancels the call.
#[derive(Debug)]
pub struct CallerHandle {
    call: Arc<Call>,
    is_left: bool,
    /// A stopping hub waits for readers that hold such a token.
    _reading: TaskTrackerToken,
}

impl CallerHandle {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self {
            _reading: call.shared.readers.token(),
            call,
            is_left: false,
        }
    }

    /// Returns the call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Sets who is woken when there is something to read.
    pub fn listen(&self, ready_handle: ReadyHandle) {
        self.call.reply.listen(ready_handle);
    }

    /// Lets the connection's [`Gate`] show that the input of this call is full.
    pub fn gated(&self, gate: Arc<Gate>) {
        self.call.input.written_by(Some(gate), 0);
    }

    /// Moves about `max` bytes of the reply into `events`, and returns the end once all events are out.
    pub fn take(&self, events: &mut Vec<Event>, max: usize) -> Option<End> {
        self.call.reply.take(events, max)
    }

    /// Takes like [`CallerHandle::take`], with the agent's frame numbers.
    pub(crate) fn take_marked(
        &self,
        events: &mut Vec<(Event, Option<u64>)>,
        max: usize,
    ) -> Option<(End, Option<u64>)> {
        self.call.reply.take_marked(events, max)
    }

    /// Sends more input to the agent.
    pub fn say(&self, input: Input) -> Pushed {
        self.call.hand_in(input)
    }

    /// Stops reading without cancelling: the next process of the hub resumes the call.
    pub(crate) fn leave(mut self) {
        self.is_left = true;
    }

    /// Cancels the call.
    pub fn cancel(self) {
        drop(self);
    }

    /// Returns a reader of the reply.
    pub fn replies(self) -> Replies {
        let ready_set = ReadySet::new();
        self.listen(ready_set.handle(0));
        Replies {
            asking: self,
            ready_set,
            ready: Vec::new().into_iter(),
            end: None,
            pulses: 0,
            owes_pulse: false,
            over: false,
        }
    }
}

impl Drop for CallerHandle {
    fn drop(&mut self) {
        if !self.is_left && !self.call.is_ended() {
            self.call.finish(End::Cancelled, true);
        }
    }
}

/// One item of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// An event of the agent.
    Event(Event),
    /// The end of the call.
    End(End),
}

/// Bytes that a [`Replies`] moves out of the pipe at once.
const BATCH: usize = 64 << 10;

/// Reader of one call's reply. Dropping it cancels the call.
#[derive(Debug)]
pub struct Replies {
    asking: CallerHandle,
    ready_set: Arc<ReadySet>,
    ready: std::vec::IntoIter<Event>,
    end: Option<End>,
    /// Number of keepalives of the agent that were seen.
    pulses: u64,
    /// Whether a keepalive follows the events that are ready.
    owes_pulse: bool,
    over: bool,
}

/// One item of a live reply.
#[derive(Debug)]
pub(crate) enum LiveItem {
    /// An event or the end.
    Reply(Reply),
    /// A keepalive of the agent, which may also be a wake-up with nothing to read.
    Pulse,
}

impl Replies {
    /// Returns the caller's handle.
    pub fn asking(&self) -> &CallerHandle {
        &self.asking
    }

    /// Waits for the next event, then the end, then returns `None`. Cancel-safe.
    pub async fn next(&mut self) -> Option<Reply> {
        loop {
            match self.next_item().await? {
                LiveItem::Reply(reply) => return Some(reply),
                LiveItem::Pulse => {}
            }
        }
    }

    /// Waits like [`Replies::next`], and also returns keepalives. Cancel-safe.
    pub(crate) async fn next_item(&mut self) -> Option<LiveItem> {
        loop {
            if let Some(event) = self.ready.next() {
                return Some(LiveItem::Reply(Reply::Event(event)));
            }
            if std::mem::take(&mut self.owes_pulse) {
                return Some(LiveItem::Pulse);
            }
            if let Some(reply) = self.ready() {
                return Some(LiveItem::Reply(reply));
            }
            if self.over {
                return None;
            }
            self.ready_set.wait(&mut Vec::new()).await;
            let mut events = Vec::new();
            self.end = self.asking.take(&mut events, BATCH);
            let pulses = self.asking.call().pulses();
            let is_pulse = std::mem::replace(&mut self.pulses, pulses) != pulses;
            self.owes_pulse = self.end.is_none() && (is_pulse || events.is_empty());
            self.ready = events.into_iter();
        }
    }

    /// Returns the next item if there is one already, without waiting.
    pub fn ready(&mut self) -> Option<Reply> {
        if let Some(event) = self.ready.next() {
            return Some(Reply::Event(event));
        }
        self.end.take().map(|end| {
            self.over = true;
            Reply::End(end)
        })
    }

    /// Waits for the end, and returns it with the text that was streamed before, by the rule of a
    /// [`Transcript`].
    pub async fn finish(mut self) -> (String, End) {
        let mut transcript = Transcript::new(usize::MAX);
        let end = loop {
            match self.next().await {
                // Without a limit, every event is added.
                Some(Reply::Event(event)) => drop(transcript.add(event)),
                Some(Reply::End(end)) => break end,
                None => break End::Cancelled,
            }
        };
        let (text, ..) = transcript.into_inner();
        (text, end)
    }
}
