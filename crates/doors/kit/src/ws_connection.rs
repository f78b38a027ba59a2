//! One open WebSocket, as the session of a door sees it. [`WsConnection`] reports the peer's frames, the sources that
//! became ready, and the end of the connection. It also owns the clocks of the socket: pings, the
//! registration timeout, stuck writes, and the reading rate while the receivers of the peer's frames do not
//! keep up (docs/promises.md, Flow control). [`WsConnection`] knows no protocol and flushes once per batch.

mod clocks;
mod counters;
mod liveness;
mod ready;
#[cfg(test)]
mod tests;

use std::{
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum::response::Response;
use jackfield_core::{
    agent::Closing,
    gate::{Gate, Reading},
    hub::Hub,
    limits::Limits,
    ready::{ReadyHandle, ReadySet},
};
use jackfield_model::{Failure, Owner};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use self::{
    clocks::ConnectionClocks,
    counters::TrafficCounters,
    ready::{END, ReadyKeys},
};
use crate::{
    auth::Ingress,
    io::Io,
    mailbox::MAILBOX,
    server::RequestPeer,
    socket::HangupDetector,
    tasks::Tasks,
    upgrade::Upgrade,
    ws::{TextFrames, Utf8Bytes, Ws, WsConfig, WsError, WsEvent, WsMessage},
};

pub use self::liveness::PeerLiveness;

/// Bytes queued for the socket above which frames are flushed before more are taken from the pipes.
const QUEUE_HIGH: usize = 64 << 10;
/// Frames of the peer that are handled before the answers are flushed.
const READ_BATCH: usize = 256;
/// Timeout for writing the last frames of a closing connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The parts for [`WsConnection::new`]: handles of the hub, and the results of the handshake.
#[derive(Debug)]
pub struct WsConnectionParts {
    /// Hub that the connection belongs to.
    pub hub: Hub,
    /// Door whose metrics count the connection, until [`WsConnection::count_for_door`] moves the connection to a
    /// different door.
    pub door: &'static str,
    /// Cancelled when the hub stops.
    pub stop: CancellationToken,
    /// Account and hang-up detector of the TCP connection. `None` below a foreign HTTP server, as in tests:
    /// then a hang-up is noticed only by reading, and no share is counted.
    pub peer: Option<RequestPeer>,
    /// Token in the headers of the handshake.
    pub token: Option<Box<str>>,
    /// How the client of the handshake reached the hub.
    pub came: Ingress,
}

/// The next event of a [`WsConnection`].
#[derive(Debug)]
pub enum WsConnectionEvent {
    /// The peer sent a text message.
    Text(Utf8Bytes),
    /// The peer sent a binary message.
    Binary,
    /// The source with this key is ready. The key [`MAILBOX`] is reported even while the socket is busy,
    /// because a mailbox may hold the order to close the connection. Mail left in the mailbox makes the key
    /// ready again.
    Rang(u32),
    /// Reported about once a second while the peer is read slowly or not at all: time to check which
    /// receivers do not keep up.
    Look,
    /// The peer broke a rule of WebSocket or exceeded a size limit. The session queues its last frames, then
    /// calls [`WsConnection::close`].
    Broken(WsError),
    /// The connection is over.
    Over(WsConnectionEnd),
}

/// Close code of a connection whose agent connected again elsewhere.
pub const REPLACED: u16 = 4001;
/// Close code of a connection whose token was revoked or whose agent was removed.
pub const REVOKED: u16 = 4002;

/// The reason for the end of a [`WsConnection`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WsConnectionEnd {
    /// The peer disconnected without a normal close.
    Gone,
    /// The peer closed normally (code 1000, or no code) and is gone.
    Left,
    /// The hub closes the connection with this code and reason.
    Close(u16, &'static str),
}

/// The close frame that a peer sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerClose {
    /// Close code; 1005 if the peer sent none.
    pub code: u16,
    /// Reason given by the peer, often empty.
    pub reason: Box<str>,
}

impl PeerClose {
    /// Returns whether the close frame carries more than a normal end: an unusual code or a reason.
    pub fn has_reason(&self) -> bool {
        !self.is_done() || !self.reason.is_empty()
    }

    /// Returns whether the peer closed normally.
    fn is_done(&self) -> bool {
        matches!(self.code, 1000 | 1005)
    }
}

impl From<Closing> for WsConnectionEnd {
    fn from(why: Closing) -> Self {
        match why {
            Closing::Replaced => Self::Close(REPLACED, "replaced by a newer connection"),
            Closing::Revoked => Self::Close(REVOKED, "agent removed"),
            Closing::Stopping => Self::Close(1001, "hub is stopping"),
        }
    }
}

impl From<&WsError> for WsConnectionEnd {
    fn from(error: &WsError) -> Self {
        match error.close_code() {
            None => Self::Gone,
            Some(1009) => Self::Close(1009, "frame too large"),
            Some(1013) => Self::Close(1013, "too much is not complete"),
            Some(1007) => Self::Close(1007, "text is not UTF-8"),
            Some(code) => Self::Close(code, "protocol error"),
        }
    }
}

/// The actor of one open WebSocket. A session calls [`next`](Self::next) in a loop and answers with
/// [`queue`](Self::queue).
pub struct WsConnection {
    ws: Ws<Io>,
    hub: Hub,
    counts: TrafficCounters,
    hangup: Option<HangupDetector>,
    /// Token and origin of the handshake. Dropped once the peer is authenticated, because a connection may
    /// live for long.
    shown: Option<Box<HandshakeIdentity>>,
    /// Close frame of the peer.
    goodbye: Option<Box<PeerClose>>,
    ready_set: Arc<ReadySet>,
    gate: Arc<Gate>,
    signs: Arc<PeerLiveness>,
    /// Cancelled when the hub stops.
    stop: CancelledFuture,
    /// Cancelled when the peer's token stops working.
    revoked: Option<CancelledFuture>,
    rung: ReadyKeys,
    last_key: u32,
    clocks: ConnectionClocks,
    timer: Pin<Box<Sleep>>,
    /// Frames and bytes still allowed in the current read batch.
    batch: (usize, usize),
    /// Event returned by [`peek`](Self::peek) and not yet by [`next`](Self::next).
    peeked: Option<Box<WsConnectionEvent>>,
    /// Bytes in the write queue at the moment when the session received a frame of the peer.
    answering: Option<usize>,
}

/// Proof of identity in the handshake.
struct HandshakeIdentity {
    token: Option<Box<str>>,
    came: Ingress,
}

type CancelledFuture = Pin<Box<WaitForCancellationFutureOwned>>;

impl std::fmt::Debug for WsConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line")
            .field("queued", &self.ws.queued_bytes())
            .finish_non_exhaustive()
    }
}

impl WsConnection {
    /// Creates the connection of a peer that has not authenticated yet.
    pub fn new(mut ws: Ws<Io>, parts: WsConnectionParts) -> Self {
        let clocks = ConnectionClocks::new(Instant::now(), parts.hub.limits());
        let hangup = parts.peer.map(|peer| {
            ws.set_account(peer.account);
            peer.hangup
        });
        Self {
            ws,
            counts: TrafficCounters::new(parts.hub.metrics(), parts.door),
            hangup,
            shown: Some(Box::new(HandshakeIdentity {
                token: parts.token,
                came: parts.came,
            })),
            goodbye: None,
            ready_set: ReadySet::new(),
            gate: Arc::default(),
            signs: Arc::default(),
            stop: Box::pin(parts.stop.cancelled_owned()),
            revoked: None,
            rung: ReadyKeys::new(),
            last_key: MAILBOX,
            timer: Box::pin(tokio::time::sleep_until(clocks.register_by)),
            clocks,
            batch: (0, 0),
            peeked: None,
            answering: None,
            hub: parts.hub,
        }
    }

    /// Answers a WebSocket handshake. `session` runs as one of `tasks` as soon as the [`WsConnection`] exists.
    pub fn open<F>(
        upgrade: Upgrade,
        tasks: &Tasks,
        parts: WsConnectionParts,
        session: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let config = WsConfig {
            max_message: parts.hub.limits().frame_before_register.0,
            ..WsConfig::default()
        };
        upgrade.run(tasks, config, move |ws| session(Self::new(ws, parts)))
    }

    /// Counts the connection, and its traffic since the last wait, under `door`.
    pub fn count_for_door(&mut self, door: &'static str) {
        self.counts.move_to(self.hub.metrics(), door);
    }

    /// Returns a key that no other source of this connection uses.
    pub fn new_key(&mut self) -> u32 {
        self.last_key = match self.last_key.wrapping_add(1) {
            MAILBOX | END => MAILBOX + 1,
            key => key,
        };
        self.last_key
    }

    /// Returns a handle that makes [`next`](Self::next) report [`WsConnectionEvent::Rang`] with `key`.
    pub fn ready_handle(&self, key: u32) -> ReadyHandle {
        self.ready_set.handle(key)
    }

    /// Returns the gate of the pipes that the peer writes into.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// Returns the liveness state of the peer.
    pub fn liveness(&self) -> &Arc<PeerLiveness> {
        &self.signs
    }

    /// Returns the close frame of the peer, if one was received.
    pub fn peer_close(&self) -> Option<&PeerClose> {
        self.goodbye.as_deref()
    }

    /// Returns the limits of the hub.
    pub fn limits(&self) -> &Limits {
        self.hub.limits()
    }

    /// Returns the token of the handshake, until the peer is authenticated.
    pub fn token(&self) -> Option<&str> {
        self.shown.as_ref()?.token.as_deref()
    }

    /// Returns the token that authenticates the peer: that of its first frame, else that of the handshake. A
    /// connection that came with a ticket has none, whatever its first frame says.
    pub fn token_or<'a>(&'a self, in_frame: Option<&'a str>) -> Option<&'a str> {
        if self.ingress().has_ticket() {
            return None;
        }
        in_frame.filter(|token| !token.is_empty()).or(self.token())
    }

    /// Returns how the client of the handshake reached the hub, until the peer is authenticated.
    pub fn ingress(&self) -> &Ingress {
        let shown = self.shown.as_ref();
        shown.map_or(&Ingress::Forwarded, |shown| &shown.came)
    }

    /// Counts the connection for `owner` instead of for its network address. Called before
    /// [`set_authenticated`](Self::set_authenticated). Fails with `busy` if the owner has more connections than its share.
    pub fn count_for_owner(&mut self, owner: &Owner) -> Result<(), Failure> {
        match self.ws.account_mut() {
            Some(account) => account.move_to(owner),
            None => Ok(()),
        }
    }

    /// Marks the peer as authenticated: larger frames are accepted, pings start, and cancelling `revoked`
    /// ends the connection.
    pub fn set_authenticated(&mut self, revoked: CancellationToken) {
        self.ws.set_max_message(self.limits().frame.0);
        self.clocks.is_known = true;
        self.revoked = Some(Box::pin(revoked.cancelled_owned()));
        self.rung.end = true;
        self.shown = None;
        self.signs.note(Instant::now());
    }

    /// Sets the maximum size of incoming frames.
    pub fn set_max_frame(&mut self, bytes: usize) {
        self.ws.set_max_message(bytes);
    }

    /// Restarts the registration timeout, up to `limits.register_latest` in all.
    pub fn extend_registration(&mut self) {
        let more = Instant::now() + self.limits().register.0;
        self.clocks.register_by = more.min(self.clocks.register_latest);
    }

    /// Queues a text frame for the peer. The next call of [`next`](Self::next) writes the frame.
    pub fn queue(&mut self, frame: &str) {
        self.counts.went_out(1, frame.len());
        // A closing socket accepts no more frames; `next` is about to report the end.
        self.ws.queue_text(frame).ok();
    }

    /// Queues a batch of text frames for the peer, like [`queue`](Self::queue).
    pub fn queue_frames(&mut self, frames: &TextFrames) {
        self.counts.went_out(frames.count(), frames.text_bytes());
        self.ws.queue_frames(frames).ok();
    }

    /// Returns whether the write queue is full. Ready sources then wait, so that their data stays in the
    /// pipes that count it.
    pub fn is_busy(&self) -> bool {
        self.ws.queued_bytes() >= QUEUE_HIGH || self.ws.is_closing()
    }

    /// Waits for the next event without consuming it: the following [`next`](Self::next) returns the same
    /// [`WsConnectionEvent`]. Cancel-safe.
    pub async fn peek(&mut self) -> &WsConnectionEvent {
        let step = self.next().await;
        self.peeked.insert(Box::new(step))
    }

    /// Waits for the next event. Cancel-safe.
    pub async fn next(&mut self) -> WsConnectionEvent {
        loop {
            if let Some(step) = self.try_next() {
                return step;
            }
            if let Some(step) = self.wait().await {
                return step;
            }
        }
    }

    /// Returns an event that is available without waiting: a ready source, or the rest of a batch of frames.
    /// `None` may also mean that queued frames must be written, so callers continue with
    /// [`next`](Self::next).
    pub fn try_next(&mut self) -> Option<WsConnectionEvent> {
        if let Some(step) = self.peeked.take() {
            return Some(*step);
        }
        self.note_answers();
        if self.rung.end
            && let Some(leave) = self.check_end()
        {
            return Some(WsConnectionEvent::Over(leave));
        }
        let is_busy = self.is_busy();
        match self.rung.next(is_busy) {
            Some(key) => Some(WsConnectionEvent::Rang(key)),
            None if is_busy => None,
            None => self.next_of_batch(),
        }
    }

    /// Returns why the connection must end. Otherwise registers the key `END`, which becomes ready with the
    /// end, so that later turns skip the check.
    fn check_end(&mut self) -> Option<WsConnectionEnd> {
        self.rung.end = false;
        let waker = Waker::from(Arc::new(self.ready_set.handle(END)));
        let mut cx = Context::from_waker(&waker);
        if self.stop.as_mut().poll(&mut cx).is_ready() {
            return Some(Closing::Stopping.into());
        }
        let is_revoked = self.revoked.as_mut()?.as_mut().poll(&mut cx).is_ready();
        is_revoked.then_some(WsConnectionEnd::Close(REVOKED, "token revoked"))
    }

    /// Returns a frame that has arrived already, while the batch lasts and all receivers keep up.
    fn next_of_batch(&mut self) -> Option<WsConnectionEvent> {
        if self.batch.0 == 0 || self.batch.1 == 0 || self.gate.reading() != Reading::Free {
            return None;
        }
        match self.ws.try_next()? {
            Ok(frame) => self.on_frame(frame),
            Err(error) => Some(Self::broken(error)),
        }
    }

    async fn wait(&mut self) -> Option<WsConnectionEvent> {
        self.batch = (0, 0);
        self.counts.write_down();
        let (reading, now) = (self.gate.reading(), Instant::now());
        if self.timer.deadline() <= now
            && let Some(step) = self.on_timer(now, reading)
        {
            return Some(step);
        }
        let may_read = self.may_read(now, reading);
        if reading == Reading::Free {
            return poll_fn(|cx| self.poll_event(cx, now, reading, may_read)).await;
        }
        let gate = self.gate.clone();
        let turn = async {
            tokio::select! {
                step = poll_fn(|cx| self.poll_event(cx, now, reading, may_read)) => step,
                () = gate.changed() => None,
            }
        };
        // Rare. Boxed, so that an idle connection reserves no memory for the future.
        Box::pin(turn).await
    }

    /// Waits for ready sources, the socket and the clock. A peer that sends without pause cannot starve the
    /// other two: ready sources are polled first, and the clock is read before each wait.
    fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
        reading: Reading,
        may_read: bool,
    ) -> Poll<Option<WsConnectionEvent>> {
        let keys = self.rung.poll_ready(&self.ready_set, cx).is_ready();
        // Mail of the hub about earlier frames of the peer is handled before more frames are read.
        if self.rung.is_urgent() {
            return Poll::Ready(None);
        }
        while let Poll::Ready(turn) = self.ws.poll_event(cx, may_read) {
            return Poll::Ready(match turn {
                // No source waited for the flush: continue with the peer's frames.
                WsEvent::Flushed if may_read && !keys && !self.rung.has_waiting() => continue,
                WsEvent::Flushed => None,
                WsEvent::Closed => Some(WsConnectionEvent::Over(match &self.goodbye {
                    Some(goodbye) if goodbye.is_done() => WsConnectionEnd::Left,
                    _ => WsConnectionEnd::Gone,
                })),
                WsEvent::Failed(error) => Some(Self::broken(error)),
                WsEvent::Frame(frame) => self.on_first_frame(frame),
            });
        }
        if keys {
            return Poll::Ready(None);
        }
        self.set_timer(now, reading, may_read);
        self.timer.as_mut().poll(cx).map(|()| None)
    }

    /// Handles the first frame of a batch.
    fn on_first_frame(&mut self, frame: WsMessage) -> Option<WsConnectionEvent> {
        let now = Instant::now();
        self.clocks.heard(now);
        self.signs.note(now);
        self.batch = (READ_BATCH, QUEUE_HIGH);
        self.on_frame(frame)
    }

    fn on_frame(&mut self, frame: WsMessage) -> Option<WsConnectionEvent> {
        let (step, bytes) = match frame {
            WsMessage::Binary(bytes) => (WsConnectionEvent::Binary, bytes.len()),
            WsMessage::Text(text) => {
                let bytes = text.len();
                (WsConnectionEvent::Text(text), bytes)
            }
            WsMessage::Ping(_) | WsMessage::Pong(_) => return None,
            // The peer closes: `poll_event` completes the closing handshake and then reports the end.
            WsMessage::Close { code, reason } => {
                let reason = reason.as_str().into();
                self.goodbye = Some(Box::new(PeerClose { code, reason }));
                return None;
            }
        };
        self.batch = (self.batch.0 - 1, self.batch.1.saturating_sub(bytes));
        self.clocks.read += bytes;
        self.counts.came_in(bytes);
        self.answering = Some(self.ws.queued_bytes());
        Some(step)
    }

    fn broken(error: WsError) -> WsConnectionEvent {
        match error.close_code() {
            Some(_) => WsConnectionEvent::Broken(error),
            None => WsConnectionEvent::Over(WsConnectionEnd::Gone),
        }
    }

    /// Ends the connection; for [`WsConnectionEnd::Close`] with a close frame and the closing handshake.
    pub async fn close(&mut self, leave: WsConnectionEnd) {
        if let WsConnectionEnd::Close(code, reason) = leave {
            self.ws.queue_close(code, reason);
            // Boxed, so that a live connection reserves no memory for the future.
            Box::pin(self.ws.finish(CLOSE_TIMEOUT)).await;
        }
    }
}
