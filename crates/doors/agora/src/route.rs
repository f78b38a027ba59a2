//! The direct route of frames from one Agora connection to another: one pipe of raw frames, and the open
//! streams, so that the other side is notified when one side leaves.

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
use jackfield_kit::ws::TextFrames;
use jackfield_model::Reason;
use jackfield_wire::json::quoted;
use parking_lot::Mutex;

use crate::{
    link::{AgoraLink, AgoraMail},
    wire::{ErrorFrame, Relay, RelayKind, downlink},
};

/// Maximum number of open streams from one agent to another: far beyond practical use, and a bound for
/// memory.
pub(crate) const MAX_STREAMS: usize = 1024;

/// Largest batch of frames in one allocation: some 80 frames of a chat.
const BATCH_MAX: usize = 16 << 10;
/// Bytes that a frame counts beyond its text.
const FRAME_OVERHEAD: usize = 48;

/// Frames in their outgoing form. The frames of a burst share few allocations.
#[derive(Debug)]
pub(crate) struct RelayedFrames(pub(crate) TextFrames);

impl RelayedFrames {
    /// Adds a frame to `last`, the last unread batch; returns a new batch if the frame does not fit. Batches
    /// double in size, so that a single frame takes no more memory than it needs.
    fn add(last: Option<&mut Self>, relay: &Relay<'_>, from: &str, length: usize) -> Option<Self> {
        let size = TextFrames::frame_size(length);
        let write = |frames: &mut TextFrames| {
            frames.push(length, |out| {
                relay.forward_parts(from, |part| out.push_str(part));
            });
        };
        let capacity = match last.map(|batch| &mut batch.0) {
            Some(frames) if frames.spare_capacity() >= size => {
                write(frames);
                return None;
            }
            Some(frames) => (2 * frames.capacity()).min(BATCH_MAX),
            None => 0,
        };
        let mut frames = TextFrames::with_capacity(capacity.max(size));
        write(&mut frames);
        Some(Self(frames))
    }
}

impl Item for RelayedFrames {
    fn weight(&self) -> usize {
        self.0.text_bytes() + self.0.count() * FRAME_OVERHEAD
    }

    /// Keeps batches apart: [`RelayedFrames::add`] adds frames to a batch.
    fn merge(&mut self, next: Self) -> Option<Self> {
        Some(next)
    }
}

/// One end of a [`RelayRoute`].
#[derive(Debug, Clone)]
pub(crate) struct RouteEnd {
    /// Agent at this end.
    pub(crate) entry: Arc<Entry>,
    /// Connection of the agent.
    pub(crate) link: Weak<AgoraLink>,
}

/// A route from a sender to a receiver.
#[derive(Debug)]
pub(crate) struct RelayRoute {
    /// Frames in order. At the end: error frames for the receiver about streams that do not continue.
    pub(crate) pipe: Pipe<RelayedFrames, Vec<String>>,
    pub(crate) sender: RouteEnd,
    /// Id of the sender as a JSON string.
    from: Box<str>,
    pub(crate) receiver: RouteEnd,
    /// Generation of the receiver's connection; after a reconnect the route is stale.
    generation: u64,
    /// Whether the route exists only because the receiver wrote first. Then it carries answers only.
    answers_only: bool,
    streams: Mutex<RouteStreams>,
    /// Whether any stream is broken; saves locking `streams` for every chunk.
    has_broken: AtomicBool,
}

#[derive(Debug, Default)]
struct RouteStreams {
    open: HashSet<StreamKey>,
    /// Streams that lost frames to a slow reader. Both sides know, and further frames of the sender are
    /// dropped.
    broken: HashSet<StreamKey>,
}

/// A stream by direction and id.
type StreamKey = (StreamDirection, Box<str>);

/// Whether a stream carries a message or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum StreamDirection {
    Message,
    Reply,
}

fn direction(kind: RelayKind) -> StreamDirection {
    if kind.is_reply() {
        StreamDirection::Reply
    } else {
        StreamDirection::Message
    }
}

/// Returns whether a frame answers a frame of its receiver, in contrast to a new message.
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

/// The reason why a frame was not relayed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RouteError {
    /// The receiver is gone or was given up: look for a new route.
    Ended,
    /// The receiver does not read; this route is over.
    Overrun,
    /// Too many streams are open.
    Busy,
    /// The route carries answers only.
    AnswersOnly,
    /// The frame belongs to a broken stream, of which its sender was notified.
    Late,
}

impl RelayRoute {
    /// Opens a route and notifies the receiver. `after` is the previous route to the same agent. Returns
    /// `None` if the receiver's session is gone.
    pub(crate) fn open(
        sender: RouteEnd,
        receiver: RouteEnd,
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
            from: quoted(sender.entry.id.as_str()).into(),
            sender,
            receiver,
            generation,
            answers_only,
            has_broken: AtomicBool::new(!broken.is_empty()),
            streams: Mutex::new(RouteStreams {
                open: HashSet::new(),
                broken,
            }),
        });
        lane.pipe.written_by(Some(gate.clone()), 0);
        link.mailbox.post(AgoraMail::Lane(lane.clone())).ok()?;
        Some(lane)
    }

    /// Returns whether the route still leads to the receiver's newest connection.
    pub(crate) fn is_current(&self) -> bool {
        self.receiver.entry.generation() == self.generation
    }

    /// Passes on a [`Relay`] and tracks its stream. The receiver is not woken: the caller of `relay` calls
    /// [`wake_receiver`](Self::wake_receiver) after the last frame of a batch, before it waits.
    pub(crate) fn relay(&self, relay: &Relay<'_>) -> Result<(), RouteError> {
        if self.answers_only && !is_answer(relay.kind) {
            return Err(RouteError::AnswersOnly);
        }
        if let Some(stream_id) = &relay.stream_id {
            if self.has_broken.load(Ordering::Relaxed) && self.continues_broken(relay, stream_id) {
                return Err(RouteError::Late);
            }
            self.note_stream(relay, stream_id)?;
        }
        let length = relay.forwarded_len(&self.from);
        let add = |last: Option<&mut _>| RelayedFrames::add(last, relay, &self.from, length);
        match self.pipe.push_quietly(length + FRAME_OVERHEAD, add) {
            Pushed::Room | Pushed::Full => Ok(()),
            Pushed::Overrun => {
                self.give_up(relay.stream_id.as_deref());
                Err(RouteError::Overrun)
            }
            Pushed::Ended => Err(RouteError::Ended),
        }
    }

    /// Wakes the receiver, which writes the frames to its peer.
    pub(crate) fn wake_receiver(&self) {
        self.pipe.pulse();
    }

    fn note_stream(&self, relay: &Relay<'_>, stream_id: &str) -> Result<(), RouteError> {
        let key = |direction| (direction, Box::from(stream_id));
        match relay.kind {
            RelayKind::Send | RelayKind::Reply if relay.stream => {
                let mut streams = self.streams.lock();
                let RouteStreams { open, broken } = &mut *streams;
                let key = key(direction(relay.kind));
                if broken.remove(&key) {
                    self.note_broken(broken);
                }
                if open.len() + broken.len() >= MAX_STREAMS && !open.contains(&key) {
                    return Err(RouteError::Busy);
                }
                open.insert(key);
            }
            // A cancel concerns a reply that its sender no longer wants: its own message then has no end.
            RelayKind::SendEnd | RelayKind::Cancel => {
                self.streams
                    .lock()
                    .open
                    .remove(&key(StreamDirection::Message));
            }
            RelayKind::ReplyEnd => {
                self.streams
                    .lock()
                    .open
                    .remove(&key(StreamDirection::Reply));
            }
            // An error does not tell which of the two streams failed.
            RelayKind::Error => {
                let mut streams = self.streams.lock();
                streams.open.remove(&key(StreamDirection::Message));
                streams.open.remove(&key(StreamDirection::Reply));
            }
            RelayKind::Send | RelayKind::Reply | RelayKind::SendChunk | RelayKind::ReplyChunk => {}
        }
        Ok(())
    }

    /// Returns whether a frame continues a broken stream.
    fn continues_broken(&self, relay: &Relay<'_>, stream_id: &str) -> bool {
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

    /// Updates `has_broken`. Called under the lock of `streams` after every change of the broken ones.
    fn note_broken(&self, broken: &HashSet<StreamKey>) {
        self.has_broken.store(!broken.is_empty(), Ordering::Relaxed);
    }

    fn take_streams(&self) -> Vec<Box<str>> {
        std::mem::take(&mut self.streams.lock().open)
            .into_iter()
            .map(|(_, id)| id)
            .collect()
    }

    /// Ends the route after its sender left. The receiver gets the frames in transit, then an error for each
    /// stream that does not continue.
    pub(crate) fn sender_left(&self) {
        let from = Some(self.sender.entry.id.as_str());
        let told = self
            .take_streams()
            .iter()
            .map(|id| broken(&Reason::Offline, OTHER_SIDE_LEFT, from, None, Some(id)))
            .collect();
        self.pipe.end(told, false);
    }

    /// Ends the route after its receiver left. The sender gets an error for each broken stream, and the
    /// number of undelivered frames.
    pub(crate) fn receiver_left(&self) {
        self.pipe.end(Vec::new(), false);
        let mut unread = Vec::new();
        self.pipe.take(&mut unread, usize::MAX);
        let unread: usize = unread.iter().map(|batch| batch.0.count()).sum();
        for stream_id in self.take_streams() {
            self.notify_sender(&Reason::Offline, OTHER_SIDE_LEFT, Some(&stream_id));
        }
        if unread > 0 {
            let text = format!("{unread} frames were not delivered: the agent disconnected");
            self.notify_sender(&Reason::Offline, &text, None);
        }
    }

    /// Checks the route once: returns whether it was full without progress for `looks` checks in a row. A
    /// stalled route is given up.
    pub(crate) fn is_stalled(&self, looks: u32) -> bool {
        let stalled = self.pipe.stalled() >= looks;
        if stalled && self.give_up(None) == 0 {
            self.notify_sender(&Reason::SlowReader, NOT_READ, None);
        }
        stalled
    }

    /// Gives up a receiver that does not keep up: drops the unread frames and notifies both sides. The caller
    /// of `give_up` notifies the sender about the stream `answered`. Returns the number of streams reported
    /// to the sender here.
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
            self.notify_sender(&Reason::SlowReader, NOT_READ, Some(stream_id));
            told += 1;
        }
        if let Some(receiver) = self.receiver.link.upgrade() {
            let from = Some(self.sender.entry.id.as_str());
            let tell = |stream_id: Option<&str>| {
                let frame = broken(&Reason::SlowReader, YOU_DID_NOT_READ, from, None, stream_id);
                // A receiver that is gone needs no notice.
                drop(receiver.mailbox.post(AgoraMail::Frame(frame)));
            };
            if streams.is_empty() {
                tell(None);
            }
            streams.iter().for_each(|stream_id| tell(Some(stream_id)));
        }
        told
    }

    fn notify_sender(&self, reason: &Reason, text: &str, stream_id: Option<&str>) {
        let to = Some(self.receiver.entry.id.as_str());
        if let Some(sender) = self.sender.link.upgrade() {
            // A sender that is gone needs no notice.
            drop(
                sender
                    .mailbox
                    .post(AgoraMail::Frame(broken(reason, text, to, to, stream_id))),
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
