//! Task of an open channel: turns packets into messages for the reader, and the writer's messages into
//! packets. Bounded queues make both sides wait for each other.
//!
//! str0m cannot leave messages unread. A slow reader is therefore handled one step earlier: data packets are
//! kept unread, up to the amount that the peer may have in flight, and the peer waits for their
//! acknowledgement. Connectivity checks are always answered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use str0m::channel::{ChannelData, ChannelId};
use str0m::{Event, IceConnectionState};
use tokio::time::{Instant, sleep_until};

use super::in_flight::InFlightLimit;
use super::peer::RtcPeer;
use super::queue::{FrameQueue, QueueEnd};
use super::sockets::PacketArrival;
use crate::endpoint::{ChannelError, ChannelFrame};

/// Packets read before other work gets its turn.
const BATCH: usize = 64;
/// Packets that a sender reads before processing events. str0m buffers twice as many.
const TOGETHER: usize = 15;
/// Bytes of packets kept for a slow reader. Our receive window is half of it; dropped packets are
/// retransmitted.
const MOST_KEPT: usize = 2 * 1024 * 1024;
/// How long the closing side waits for the peer's response.
const LINGER: Duration = Duration::from_secs(2);
/// Bytes that may lack an acknowledgement at the end: a receiver that closes right after the last data has
/// not yet acknowledged the last two packets.
const LAST_PACKETS: usize = 4096;

pub(super) struct ChannelDriver {
    peer: RtcPeer,
    id: ChannelId,
    inbox: Arc<FrameQueue>,
    outbox: Arc<FrameQueue>,
    /// Message for which str0m had no room.
    next: Option<ChannelFrame>,
    has_written: bool,
    /// Bytes given to str0m and not yet acknowledged.
    unacknowledged: usize,
    under_way: InFlightLimit,
    kept: VecDeque<(PacketArrival, Vec<u8>)>,
    kept_bytes: usize,
    /// Deadline for the peer's response, after our close.
    closing: Option<Instant>,
    over: Option<QueueEnd>,
    /// Whether the peer closed regularly. Unacknowledged data may have arrived then.
    is_farewell: bool,
}

impl ChannelDriver {
    pub(super) fn new(
        peer: RtcPeer,
        id: ChannelId,
        inbox: Arc<FrameQueue>,
        outbox: Arc<FrameQueue>,
    ) -> Self {
        Self {
            peer,
            id,
            inbox,
            outbox,
            next: None,
            has_written: false,
            unacknowledged: 0,
            under_way: InFlightLimit::default(),
            kept: VecDeque::new(),
            kept_bytes: 0,
            closing: None,
            over: None,
            is_farewell: false,
        }
    }

    /// Drives the channel until its end. Returns an error if sent data did not arrive.
    pub(super) async fn run(mut self) -> Result<(), ChannelError> {
        loop {
            self.advance().await;
            if self.over.is_none() && self.may_close() {
                self.peer.close_channel(self.id);
                self.closing = Some(Instant::now() + LINGER);
                self.advance().await;
            }
            if let Some(end) = self.over.take() {
                return self.conclude(end);
            }
            if !self.kept.is_empty() && !self.is_reader_slow() {
                self.read().await;
                continue;
            }
            let due = self.peer.deadline();
            let due = self.closing.map_or(due, |until| due.min(until));
            tokio::select! {
                () = self.peer.sockets.readable() => self.read().await,
                () = self.outbox.filled(), if self.next.is_none() => {}
                () = self.inbox.emptied(), if !self.kept.is_empty() => {}
                () = sleep_until(due) => {
                    self.peer.tick();
                    if self.closing.is_some_and(|until| until <= Instant::now()) {
                        self.over = Some(QueueEnd::Closed);
                    }
                }
            }
        }
    }

    /// Writes to str0m as much as it accepts, and processes its events.
    async fn advance(&mut self) {
        loop {
            let has_moved = self.write();
            self.take_events().await;
            if !has_moved || self.over.is_some() {
                return;
            }
        }
    }

    fn write(&mut self) -> bool {
        let mut has_moved = false;
        while let Some(frame) = self.next.take().or_else(|| self.outbox.try_pop()) {
            let Some(mut channel) = self.peer.channel(self.id) else {
                self.next = Some(frame);
                break;
            };
            let written = match &frame {
                _ if channel.buffered_amount() >= self.under_way.limit() => Ok(false),
                ChannelFrame::Text(text) => channel.write(false, text.as_bytes()),
                ChannelFrame::Binary(bytes) => channel.write(true, bytes),
            };
            match written {
                Ok(true) => has_moved = true,
                Ok(false) => {
                    self.next = Some(frame);
                    break;
                }
                Err(error) => {
                    self.next = Some(frame);
                    self.end(QueueEnd::Cut(error.to_string()));
                    break;
                }
            }
        }
        self.has_written |= has_moved;
        has_moved
    }

    async fn take_events(&mut self) {
        loop {
            match self.peer.next_event().await {
                Ok(Some(event)) => self.on_event(event),
                Ok(None) => break,
                Err(error) => return self.end(QueueEnd::Cut(error.to_string())),
            }
        }
        // A closed channel no longer knows its data in flight.
        if let Some(mut channel) = self.peer.channel(self.id) {
            self.unacknowledged = channel.buffered_amount();
        } else if self.closing.is_none() && !self.peer.is_alive() {
            self.end(QueueEnd::Cut("the connection has ended".to_owned()));
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::ChannelData(data) if data.id == self.id => self.on_data(data),
            Event::PeerStats(stats) => {
                let pair = stats.selected_candidate_pair;
                if let Some(time) = pair.and_then(|pair| pair.current_round_trip_time) {
                    self.under_way.record_round_trip(time);
                }
            }
            Event::ChannelClose(id) if id == self.id && self.closing.is_none() => {
                self.is_farewell = true;
                self.end(QueueEnd::Closed);
            }
            Event::Closed if self.closing.is_some() => self.end(QueueEnd::Closed),
            Event::Closed => {
                self.is_farewell = true;
                self.end(QueueEnd::Cut(
                    "the other side ended the connection".to_owned(),
                ));
            }
            Event::IceConnectionStateChange(IceConnectionState::Disconnected) => {
                self.end(QueueEnd::Cut(
                    "the other side is not heard any more".to_owned(),
                ));
            }
            _ => {}
        }
    }

    fn on_data(&mut self, data: ChannelData) {
        // After `finish` no reader exists.
        if self.outbox.is_ended() && self.inbox.is_full() {
            return;
        }
        self.inbox.put(match data.binary {
            true => ChannelFrame::Binary(data.data.into()),
            false => ChannelFrame::Text(String::from_utf8_lossy(&data.data).into_owned()),
        });
    }

    /// Reads packets, kept ones first. Processes events after each packet, because data that arrives together
    /// with the end of a connection would be lost otherwise.
    async fn read(&mut self) {
        let mut untaken = 0;
        for _ in 0..BATCH {
            if self.over.is_some() {
                return;
            }
            let is_slow = self.is_reader_slow();
            if !is_slow && let Some((arrival, packet)) = self.kept.pop_front() {
                self.kept_bytes -= packet.len();
                self.peer.process_kept(arrival, &packet);
                self.take_events().await;
                continue;
            }
            let Some((arrival, packet)) = self.peer.receive() else {
                return;
            };
            if carries_data(packet) {
                if is_slow {
                    if self.kept_bytes + packet.len() <= MOST_KEPT {
                        self.kept_bytes += packet.len();
                        self.kept.push_back((arrival, packet.to_vec()));
                    }
                    continue;
                }
                // After our close, the peer sends nothing but its own close.
                if self.closing.is_some() {
                    self.end(QueueEnd::Closed);
                }
            }
            self.peer.process(arrival);
            // Process acknowledgements in batches, because str0m scans all data in flight each time. The last
            // ones arrive together with the peer's close and must not wait.
            untaken += 1;
            if self.next.is_none() || untaken == TOGETHER {
                self.take_events().await;
                untaken = 0;
            }
        }
    }

    fn is_reader_slow(&self) -> bool {
        self.inbox.is_full() && !self.outbox.is_ended()
    }

    fn may_close(&self) -> bool {
        self.closing.is_none()
            && self.next.is_none()
            && self.unacknowledged == 0
            && self.outbox.is_over()
    }

    /// Sets the end; the first reason counts.
    fn end(&mut self, end: QueueEnd) {
        self.over.get_or_insert(end);
    }

    fn conclude(self, end: QueueEnd) -> Result<(), ChannelError> {
        let unsent = self.next.is_some() || self.outbox.bytes() > 0;
        let last = if self.is_farewell { LAST_PACKETS } else { 0 };
        // Without written data nothing can be lost; opening the channel is acknowledged too.
        let has_arrived = !unsent && (!self.has_written || self.unacknowledged <= last);
        let why = match &end {
            QueueEnd::Closed => "the other side has closed".to_owned(),
            QueueEnd::Cut(why) => why.clone(),
        };
        self.inbox.end(end);
        self.outbox.end(QueueEnd::Cut(why.clone()));
        match has_arrived {
            true => Ok(()),
            false => Err(ChannelError::Cut(why)),
        }
    }
}

/// Returns whether a packet is DTLS, by its first byte (RFC 7983).
fn carries_data(packet: &[u8]) -> bool {
    packet.first().is_some_and(|byte| (20..64).contains(byte))
}
