//! The way of frames from one Agora connection to another: one pipe of raw frames, and the streams that are open on
//! it, so that the other side is told when one of them leaves.

use std::{
    collections::HashSet,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use jackfield_core::{
    entry::Entry,
    gate::Gate,
    pipe::{Item, Levels, Pipe, Pushed},
    shared::Shared,
};
use jackfield_model::Reason;
use parking_lot::Mutex;

use crate::{
    link::{AgoraLink, Mail},
    wire::{ErrorFrame, Relay, RelayKind, downlink},
};

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

/// One end of a lane.
#[derive(Debug, Clone)]
pub(crate) struct LaneEnd {
    /// The agent.
    pub(crate) entry: Arc<Entry>,
    /// Its connection.
    pub(crate) link: Weak<AgoraLink>,
}

/// One way from a sender to a receiver.
#[derive(Debug)]
pub(crate) struct Lane {
    /// The frames; then, in the end, what the receiver is told about the streams that will not go on.
    pub(crate) pipe: Pipe<RawFrame, Vec<String>>,
    pub(crate) sender: LaneEnd,
    pub(crate) receiver: LaneEnd,
    /// The receiver's connection by number; under another number this way is stale.
    generation: u64,
    /// Whether it was opened only because the receiver wrote first: then it carries answers and nothing else.
    answers_only: bool,
    streams: Mutex<Streams>,
    /// Whether there are broken streams; saves a look at them for every chunk.
    has_broken: AtomicBool,
}

#[derive(Debug, Default)]
struct Streams {
    open: HashSet<StreamKey>,
    /// Those that lost frames to a slow reader: both sides know, and what the sender still sends is dropped.
    broken: HashSet<StreamKey>,
}

/// A stream by its direction and its id.
type StreamKey = (Direction, Box<str>);

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

/// Whether a frame is about something that its receiver sent, rather than something new.
pub(crate) fn is_answer(kind: RelayKind) -> bool {
    match kind {
        RelayKind::Send | RelayKind::SendChunk | RelayKind::SendEnd => false,
        RelayKind::Reply
        | RelayKind::ReplyChunk
        | RelayKind::ReplyEnd
        | RelayKind::Cancel
        | RelayKind::Error => true,
    }
}

/// Why a frame did not get on the lane.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoWay {
    /// The receiver is gone, or was given up: look for a new way.
    Ended,
    /// The receiver does not read; this lane is over.
    Overrun,
    /// Too many streams are open.
    Busy,
    /// Only answers may go this way.
    AnswersOnly,
    /// It belongs to a stream that lost frames, which its sender was told.
    Late,
}

impl Lane {
    /// Opens a lane, `after` one that is over, and tells the receiver. Nothing if its session is gone.
    pub(crate) fn open(
        sender: LaneEnd,
        receiver: LaneEnd,
        generation: u64,
        answers_only: bool,
        after: Option<&Self>,
        gate: &Arc<Gate>,
        shared: &Shared,
    ) -> Option<Arc<Self>> {
        let broken = after.map(|lane| std::mem::take(&mut lane.streams.lock().broken));
        let broken = broken.unwrap_or_default();
        let link = receiver.link.upgrade()?;
        let lane = Arc::new(Self {
            pipe: Pipe::new(
                Levels::from(&shared.limits),
                shared.budget.account(sender.entry.owner()),
            ),
            sender,
            receiver,
            generation,
            answers_only,
            has_broken: AtomicBool::new(!broken.is_empty()),
            streams: Mutex::new(Streams {
                open: HashSet::new(),
                broken,
            }),
        });
        lane.pipe.written_by(Some(gate.clone()), 0);
        link.mailbox.post(Mail::Lane(lane.clone())).ok()?;
        Some(lane)
    }

    /// Whether it still leads to the receiver's newest connection.
    pub(crate) fn is_current(&self) -> bool {
        self.receiver.entry.generation() == self.generation
    }

    /// Passes a frame on and keeps track of the streams.
    pub(crate) fn relay(&self, relay: &Relay<'_>) -> Result<(), NoWay> {
        if self.answers_only && !is_answer(relay.kind) {
            return Err(NoWay::AnswersOnly);
        }
        if let Some(stream_id) = &relay.stream_id {
            if self.has_broken.load(Ordering::Relaxed) && self.is_late(relay, stream_id) {
                return Err(NoWay::Late);
            }
            self.note_stream(relay, stream_id)?;
        }
        match self
            .pipe
            .push(RawFrame(relay.forward(self.sender.entry.id.as_str())))
        {
            Pushed::Room | Pushed::Full => Ok(()),
            Pushed::Overrun => {
                self.give_up(relay.stream_id.as_deref());
                Err(NoWay::Overrun)
            }
            Pushed::Ended => Err(NoWay::Ended),
        }
    }

    fn note_stream(&self, relay: &Relay<'_>, stream_id: &str) -> Result<(), NoWay> {
        let key = |direction| (direction, Box::from(stream_id));
        match relay.kind {
            RelayKind::Send | RelayKind::Reply if relay.stream => {
                let mut streams = self.streams.lock();
                let Streams { open, broken } = &mut *streams;
                let key = key(direction(relay.kind));
                if broken.remove(&key) {
                    self.note_broken(broken);
                }
                if open.len() + broken.len() >= MAX_STREAMS && !open.contains(&key) {
                    return Err(NoWay::Busy);
                }
                open.insert(key);
            }
            // A cancel speaks of what its sender wants no more of: its own message has no end then.
            RelayKind::SendEnd | RelayKind::Cancel => {
                self.streams.lock().open.remove(&key(Direction::Message));
            }
            RelayKind::ReplyEnd => {
                self.streams.lock().open.remove(&key(Direction::Reply));
            }
            // It does not say which of the two failed.
            RelayKind::Error => {
                let mut streams = self.streams.lock();
                streams.open.remove(&key(Direction::Message));
                streams.open.remove(&key(Direction::Reply));
            }
            RelayKind::Send | RelayKind::Reply | RelayKind::SendChunk | RelayKind::ReplyChunk => {}
        }
        Ok(())
    }

    /// Whether a frame goes on with a stream that is broken.
    fn is_late(&self, relay: &Relay<'_>, stream_id: &str) -> bool {
        let key = (direction(relay.kind), Box::from(stream_id));
        let broken = &mut self.streams.lock().broken;
        if relay.kind.is_end() {
            let was_broken = broken.remove(&key);
            self.note_broken(broken);
            was_broken
        } else {
            relay.kind.is_chunk() && broken.contains(&key)
        }
    }

    /// To be called under the lock of the streams, whenever these have changed.
    fn note_broken(&self, broken: &HashSet<StreamKey>) {
        self.has_broken.store(!broken.is_empty(), Ordering::Relaxed);
    }

    fn take_streams(&self) -> Vec<Box<str>> {
        std::mem::take(&mut self.streams.lock().open)
            .into_iter()
            .map(|(_, id)| id)
            .collect()
    }

    /// The sender leaves: the receiver gets what is under way, then hears which streams will not go on.
    pub(crate) fn sender_left(&self) {
        let from = Some(self.sender.entry.id.as_str());
        let told = self
            .take_streams()
            .iter()
            .map(|id| broken(&Reason::Offline, OTHER_SIDE_LEFT, from, None, Some(id)))
            .collect();
        self.pipe.end(told, false);
    }

    /// The receiver leaves: the sender hears which streams break, and how many frames did not arrive.
    pub(crate) fn receiver_left(&self) {
        self.pipe.end(Vec::new(), false);
        let mut unread = Vec::new();
        self.pipe.take(&mut unread, usize::MAX);
        let unread = unread.len();
        for stream_id in self.take_streams() {
            self.tell_sender(&Reason::Offline, OTHER_SIDE_LEFT, Some(&stream_id));
        }
        if unread > 0 {
            let text = format!("{unread} frames were not delivered: the agent disconnected");
            self.tell_sender(&Reason::Offline, &text, None);
        }
    }

    /// One look at the clock: whether it has been full for `looks` in a row with nothing taken. Then it is given up.
    pub(crate) fn is_stalled(&self, looks: u32) -> bool {
        let stalled = self.pipe.stalled() >= looks;
        if stalled && self.give_up(None) == 0 {
            self.tell_sender(&Reason::SlowReader, NOT_READ, None);
        }
        stalled
    }

    /// The receiver does not keep up: what is unread is dropped, and both sides are told. The sender hears of the
    /// stream `answered` in another way. Returns of how many streams it was told here.
    fn give_up(&self, answered: Option<&str>) -> usize {
        self.pipe.end(Vec::new(), true);
        let streams = {
            let mut streams = self.streams.lock();
            let open = std::mem::take(&mut streams.open);
            let ids: Vec<_> = open.iter().map(|(_, id)| id.clone()).collect();
            streams.broken.extend(open);
            self.note_broken(&streams.broken);
            ids
        };
        let mut told = 0;
        for stream_id in streams
            .iter()
            .filter(|stream_id| answered != Some(&***stream_id))
        {
            self.tell_sender(&Reason::SlowReader, NOT_READ, Some(stream_id));
            told += 1;
        }
        if let Some(receiver) = self.receiver.link.upgrade() {
            let from = Some(self.sender.entry.id.as_str());
            let tell = |stream_id: Option<&str>| {
                let frame = broken(&Reason::SlowReader, YOU_DID_NOT_READ, from, None, stream_id);
                // One that is gone as well needs no word.
                drop(receiver.mailbox.post(Mail::Frame(frame)));
            };
            if streams.is_empty() {
                tell(None);
            }
            streams.iter().for_each(|stream_id| tell(Some(stream_id)));
        }
        told
    }

    fn tell_sender(&self, reason: &Reason, text: &str, stream_id: Option<&str>) {
        let to = Some(self.receiver.entry.id.as_str());
        if let Some(sender) = self.sender.link.upgrade() {
            // One that is gone as well needs no word.
            drop(
                sender
                    .mailbox
                    .post(Mail::Frame(broken(reason, text, to, to, stream_id))),
            );
        }
    }
}

const OTHER_SIDE_LEFT: &str = "the other side of this stream disconnected";
pub(crate) const NOT_READ: &str =
    "the receiver did not read fast enough; frames that were under way are lost";
const YOU_DID_NOT_READ: &str =
    "you did not read fast enough; frames that were under way to you are lost";

fn broken(
    reason: &Reason,
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
