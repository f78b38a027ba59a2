//! The way of frames from one Agora connection to another: one pipe of raw frames, and the streams that are open on
//! it, so that the other side is told when one of them leaves.

use std::{
    collections::HashSet,
    sync::{Arc, Weak},
};

use jackfield_core::{
    entry::Entry,
    failure::Reason,
    gate::Gate,
    pipe::{Item, Levels, Pipe, Pushed},
    shared::Shared,
};
use jackfield_wire::agora::{ErrorFrame, Relay, RelayKind, downlink};
use parking_lot::Mutex;

use crate::link::{AgoraLink, Mail};

/// How many streams one agent may have open towards another; far beyond what one does, and it bounds what we keep.
pub(crate) const MAX_STREAMS: usize = 1024;

/// A frame as it goes out.
#[derive(Debug)]
pub(crate) struct RawFrame(pub(crate) String);

impl Item for RawFrame {
    fn weight(&self) -> usize {
        self.0.len() + 48
    }

    /// Relayed frames are never merged: each is the peer's own.
    fn merge(&mut self, next: Self) -> Option<Self> {
        Some(next)
    }
}

/// One way from a sender to a receiver.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) pipe: Pipe<RawFrame, ()>,
    sender: Weak<AgoraLink>,
    receiver: Weak<AgoraLink>,
    entry: Arc<Entry>,
    /// The receiver's connection by number; under another number this way is stale.
    generation: u64,
    streams: Mutex<HashSet<(Direction, Box<str>)>>,
}

/// Whether a stream carries a message or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Message,
    Reply,
}

fn direction(kind: RelayKind) -> Direction {
    if kind.is_reply() {
        Direction::Reply
    } else {
        Direction::Message
    }
}

impl Lane {
    /// Opens a lane and tells the receiver. Nothing if its session is gone.
    pub(crate) fn open(
        sender: &Arc<AgoraLink>,
        receiver: &Arc<AgoraLink>,
        entry: &Arc<Entry>,
        generation: u64,
        gate: &Arc<Gate>,
        shared: &Shared,
    ) -> Option<Arc<Self>> {
        let lane = Arc::new(Self {
            pipe: Pipe::new(Levels::from(&shared.limits), shared.budget.clone()),
            sender: Arc::downgrade(sender),
            receiver: Arc::downgrade(receiver),
            entry: entry.clone(),
            generation,
            streams: Mutex::default(),
        });
        lane.pipe.written_by(Some(gate.clone()), 0);
        receiver.post(Mail::Lane(lane.clone())).ok()?;
        Some(lane)
    }

    /// Whether it still leads to the receiver's newest connection.
    pub(crate) fn is_current(&self) -> bool {
        self.entry.generation() == self.generation
    }

    /// Passes a frame on and keeps track of the streams.
    pub(crate) fn relay(&self, from: &str, relay: &Relay<'_>) -> Result<(), Reason> {
        let opens = relay.stream && matches!(relay.kind, RelayKind::Send | RelayKind::Reply);
        if let Some(stream_id) = &relay.stream_id {
            let key = || (direction(relay.kind), Box::from(&**stream_id));
            if opens {
                let mut streams = self.streams.lock();
                if streams.len() >= MAX_STREAMS && !streams.contains(&key()) {
                    return Err(Reason::Busy);
                }
                streams.insert(key());
            } else if relay.kind.is_end() || relay.kind == RelayKind::Error {
                self.streams.lock().remove(&key());
            }
        }
        match self.pipe.push(RawFrame(relay.forward(from))) {
            Pushed::Room | Pushed::Full => Ok(()),
            Pushed::Overrun => Err(Reason::SlowReader),
            Pushed::Ended => Err(Reason::Offline),
        }
    }

    fn take_streams(&self) -> Vec<Box<str>> {
        std::mem::take(&mut *self.streams.lock())
            .into_iter()
            .map(|(_, id)| id)
            .collect()
    }

    /// The sender leaves: the receiver gets what is under way, then hears which streams will not go on.
    pub(crate) fn sender_left(&self, from: &str) {
        for stream_id in self.take_streams() {
            let text = "the other side of this stream disconnected";
            let frame = broken(Reason::Offline, text, Some(from), None, Some(&stream_id));
            self.pipe.push(RawFrame(frame));
        }
        self.pipe.end((), false);
    }

    /// The receiver leaves: the sender hears which streams, and how many other frames, did not arrive.
    pub(crate) fn receiver_left(&self, id: &str) {
        self.pipe.end((), false);
        let mut unread = Vec::new();
        self.pipe.take(&mut unread, usize::MAX);
        let Some(sender) = self.sender.upgrade() else {
            return;
        };
        let streams = self.take_streams();
        for stream_id in &streams {
            let text = "the other side of this stream disconnected";
            // A sender that is gone as well needs no word.
            drop(sender.post(Mail::Frame(broken(
                Reason::Offline,
                text,
                Some(id),
                Some(id),
                Some(stream_id),
            ))));
        }
        if streams.is_empty() && !unread.is_empty() {
            let text = format!(
                "{} frames were not delivered: the agent disconnected",
                unread.len()
            );
            drop(sender.post(Mail::Frame(broken(
                Reason::Offline,
                &text,
                Some(id),
                Some(id),
                None,
            ))));
        }
    }

    /// The receiver does not keep up: both sides are told, and what is unread is dropped.
    pub(crate) fn overrun(&self, from: &str) {
        self.pipe.end((), true);
        let (sender, receiver) = (self.sender.upgrade(), self.receiver.upgrade());
        let to = self.entry.id.as_str();
        let mut streams: Vec<Option<Box<str>>> =
            self.take_streams().into_iter().map(Some).collect();
        if streams.is_empty() {
            streams.push(None);
        }
        for stream_id in streams {
            let stream_id = stream_id.as_deref();
            let text = "the receiver did not read fast enough; frames were dropped";
            if let Some(sender) = &sender {
                drop(sender.post(Mail::Frame(broken(
                    Reason::SlowReader,
                    text,
                    Some(to),
                    Some(to),
                    stream_id,
                ))));
            }
            if let Some(receiver) = &receiver {
                let text = "you did not read fast enough; frames were dropped";
                drop(receiver.post(Mail::Frame(broken(
                    Reason::SlowReader,
                    text,
                    Some(from),
                    None,
                    stream_id,
                ))));
            }
        }
    }
}

fn broken(
    reason: Reason,
    text: &str,
    from: Option<&str>,
    to: Option<&str>,
    stream_id: Option<&str>,
) -> String {
    downlink::error(&ErrorFrame {
        from: from.map(Into::into),
        to: to.map(Into::into),
        stream_id: stream_id.map(Into::into),
        ..ErrorFrame::new(reason.name(), text)
    })
}
