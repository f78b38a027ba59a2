//! One held WebSocket as a door's session sees it: what the peer sends, what rang, and when it is over. The line owns
//! the socket's clocks: pings, the time to say who one is, stuck writes, and how much may be read while those the
//! peer writes to do not keep up (docs/promises.md, Flow control). It knows no protocol; one flush per batch.

mod clocks;
mod counts;
mod rung;
mod signs;
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
    clocks::Clocks,
    counts::Counts,
    rung::{END, Rung},
};
use crate::{
    auth::Came,
    io::Io,
    mailbox::MAILBOX,
    server::Peer,
    socket::Hangup,
    tasks::Tasks,
    upgrade::Upgrade,
    ws::{Incoming, Turn, Utf8Bytes, Ws, WsConfig, WsError},
};

pub use self::signs::Signs;

/// Frames are queued for the socket up to this much, then flushed before more is taken from the pipes.
const QUEUE_HIGH: usize = 64 << 10;
/// How many frames are handled before the answers to them are flushed.
const READ_BATCH: usize = 64;
/// How long the last frames of a closing connection may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// What a line needs of its hub, and what its handshake showed.
#[derive(Debug)]
pub struct LineParts {
    /// The hub.
    pub hub: Hub,
    /// The door that it is counted under, until another one [takes it](Line::belongs_to).
    pub door: &'static str,
    /// Fires when the hub stops.
    pub stop: CancellationToken,
    /// Whose connection it is; absent without our own server below, as in tests of somebody else's. Then a hang-up shows
    /// only when the peer is read, and nothing is counted.
    pub peer: Option<Peer>,
    /// The token in the headers of the handshake.
    pub token: Option<Box<str>>,
    /// How the handshake came.
    pub came: Came,
}

/// What happens next on a line.
#[derive(Debug)]
pub enum Step {
    /// The peer sent text.
    Text(Utf8Bytes),
    /// The peer sent binary data.
    Binary,
    /// Something with this key wants to be served. The [mailbox](MAILBOX) rings through to a busy socket, since it may
    /// say that the connection must end; what is left in it rings again.
    Rang(u32),
    /// About once a second while not all of what the peer sends is taken: time to look at who does not take it.
    Look,
    /// The peer broke a rule of WebSocket or of size; say what there is to say, then [`Line::part`].
    Broken(WsError),
    /// It is over.
    Over(Leave),
}

/// The close code of a connection whose agent connected again elsewhere.
pub const REPLACED: u16 = 4001;
/// The close code of a connection whose token was revoked, or whose agent was removed.
pub const REVOKED: u16 = 4002;

/// Why a line is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The peer is gone.
    Gone,
    /// The peer said that it is done (1000, or a close without a code) and is gone.
    Left,
    /// We close, with this code and reason.
    Close(u16, &'static str),
}

/// With what a peer closed its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goodbye {
    /// The code; 1005 if it gave none.
    pub code: u16,
    /// Why, in its own words; empty if it did not say.
    pub reason: Box<str>,
}

impl Goodbye {
    /// Whether it says more than that the peer is done.
    pub fn says_why(&self) -> bool {
        !self.is_done() || !self.reason.is_empty()
    }

    /// Whether the peer closed because it is done.
    fn is_done(&self) -> bool {
        matches!(self.code, 1000 | 1005)
    }
}

impl From<Closing> for Leave {
    fn from(why: Closing) -> Self {
        match why {
            Closing::Replaced => Self::Close(REPLACED, "replaced by a newer connection"),
            Closing::Revoked => Self::Close(REVOKED, "agent removed"),
            Closing::Stopping => Self::Close(1001, "hub is stopping"),
        }
    }
}

impl From<&WsError> for Leave {
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

/// One held WebSocket.
pub struct Line {
    ws: Ws<Io>,
    hub: Hub,
    counts: Counts,
    hangup: Option<Hangup>,
    /// What the handshake showed; gone once the peer is known, since a line may live for long.
    shown: Option<Box<Shown>>,
    /// With what the peer closed.
    goodbye: Option<Box<Goodbye>>,
    bell: Arc<ReadySet>,
    gate: Arc<Gate>,
    signs: Arc<Signs>,
    /// Fires when the hub stops.
    stop: Cancelled,
    /// Fires when the token by which the peer proved who it is stops working.
    revoked: Option<Cancelled>,
    rung: Rung,
    last_key: u32,
    clocks: Clocks,
    timer: Pin<Box<Sleep>>,
    /// How many more frames, and bytes of them, belong to this batch.
    batch: (usize, usize),
    /// What happened and was only looked at.
    peeked: Option<Box<Step>>,
    /// What was queued when the session was given something of the peer's to answer.
    answering: Option<usize>,
}

/// What the handshake showed of who the peer is.
struct Shown {
    token: Option<Box<str>>,
    came: Came,
}

type Cancelled = Pin<Box<WaitForCancellationFutureOwned>>;

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line")
            .field("queued", &self.ws.queued_bytes())
            .finish_non_exhaustive()
    }
}

impl Line {
    /// A line whose peer has said nothing yet.
    pub fn new(mut ws: Ws<Io>, parts: LineParts) -> Self {
        let clocks = Clocks::new(Instant::now(), parts.hub.limits());
        let hangup = parts.peer.map(|peer| {
            ws.set_account(peer.account);
            peer.hangup
        });
        Self {
            ws,
            counts: Counts::new(parts.hub.metrics(), parts.door),
            hangup,
            shown: Some(Box::new(Shown {
                token: parts.token,
                came: parts.came,
            })),
            goodbye: None,
            bell: ReadySet::new(),
            gate: Arc::default(),
            signs: Arc::default(),
            stop: Box::pin(parts.stop.cancelled_owned()),
            revoked: None,
            rung: Rung::new(),
            last_key: MAILBOX,
            timer: Box::pin(tokio::time::sleep_until(clocks.register_by)),
            clocks,
            batch: (0, 0),
            peeked: None,
            answering: None,
            hub: parts.hub,
        }
    }

    /// Answers a WebSocket handshake; once there is a line, `session` runs with it as one of `tasks`.
    pub fn open<F>(
        upgrade: Upgrade,
        tasks: &Tasks,
        parts: LineParts,
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

    /// Counts the line, and what was said on it since its last wait, under this door.
    pub fn belongs_to(&mut self, door: &'static str) {
        self.counts.move_to(self.hub.metrics(), door);
    }

    /// A key that no other source of this line has.
    pub fn new_key(&mut self) -> u32 {
        self.last_key = match self.last_key.wrapping_add(1) {
            MAILBOX | END => MAILBOX + 1,
            key => key,
        };
        self.last_key
    }

    /// A rope that lets the line step with this key.
    pub fn rope(&self, key: u32) -> ReadyHandle {
        self.bell.handle(key)
    }

    /// The gate of the pipes that the peer writes into.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The peer's signs of life.
    pub fn signs(&self) -> &Arc<Signs> {
        &self.signs
    }

    /// With what the peer closed, if it did.
    pub fn goodbye(&self) -> Option<&Goodbye> {
        self.goodbye.as_deref()
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        self.hub.limits()
    }

    /// The token that the handshake showed, as long as the peer is not known.
    pub fn token(&self) -> Option<&str> {
        self.shown.as_ref()?.token.as_deref()
    }

    /// How the handshake came, as long as the peer is not known.
    pub fn came(&self) -> &Came {
        let shown = self.shown.as_ref();
        shown.map_or(&Came::Forwarded, |shown| &shown.came)
    }

    /// Counts the connection for `owner` from now on instead of for its address, before the peer is [`known`](Self::known).
    /// Fails with `busy` if the owner has more connections than its share.
    pub fn belongs_to_owner(&mut self, owner: &Owner) -> Result<(), Failure> {
        match self.ws.account_mut() {
            Some(account) => account.move_to(owner),
            None => Ok(()),
        }
    }

    /// The peer has said who it is: larger frames are taken, and it is pinged from now on.
    pub fn known(&mut self, revoked: CancellationToken) {
        self.ws.set_max_message(self.limits().frame.0);
        self.clocks.is_known = true;
        self.revoked = Some(Box::pin(revoked.cancelled_owned()));
        self.rung.end = true;
        self.shown = None;
        self.signs.note(Instant::now());
    }

    /// Changes the largest frame that is taken from now on.
    pub fn take_frames_up_to(&mut self, bytes: usize) {
        self.ws.set_max_message(bytes);
    }

    /// Gives a peer that has not said who it is as much time as at first, up to `limits.register_latest` in all.
    pub fn more_time(&mut self) {
        let more = Instant::now() + self.limits().register.0;
        self.clocks.register_by = more.min(self.clocks.register_latest);
    }

    /// Queues a frame for the peer. It leaves with the next step.
    pub fn queue(&mut self, frame: &str) {
        self.counts.went_out(frame.len());
        // A socket that is closing takes no more; the line is over with its next step.
        self.ws.queue_text(frame).ok();
    }

    /// Whether the socket has enough to write for now, so that what rang stays where it is counted.
    pub fn is_busy(&self) -> bool {
        self.ws.queued_bytes() >= QUEUE_HIGH || self.ws.is_closing()
    }

    /// What happens next, which `next` then tells once more. Cancel-safe.
    pub async fn peek(&mut self) -> &Step {
        let step = self.next().await;
        self.peeked.insert(Box::new(step))
    }

    /// What happens next. Cancel-safe.
    pub async fn next(&mut self) -> Step {
        loop {
            if let Some(step) = self.try_next() {
                return step;
            }
            if let Some(step) = self.wait().await {
                return step;
            }
        }
    }

    /// What needs no waiting: what rang, and the rest of a batch of frames. Nothing may also mean that it is time to
    /// write, so the loop that asks here first goes on with [`next`](Self::next).
    pub fn try_next(&mut self) -> Option<Step> {
        if let Some(step) = self.peeked.take() {
            return Some(*step);
        }
        self.note_answers();
        if self.rung.end
            && let Some(leave) = self.end()
        {
            return Some(Step::Over(leave));
        }
        let is_busy = self.is_busy();
        match self.rung.next(is_busy) {
            Some(key) => Some(Step::Rang(key)),
            None if is_busy => None,
            None => self.next_of_batch(),
        }
    }

    /// Whether the line must end. If not, the end rings: no turn has to ask for it.
    fn end(&mut self) -> Option<Leave> {
        self.rung.end = false;
        let waker = Waker::from(Arc::new(self.bell.handle(END)));
        let mut cx = Context::from_waker(&waker);
        if self.stop.as_mut().poll(&mut cx).is_ready() {
            return Some(Closing::Stopping.into());
        }
        let is_revoked = self.revoked.as_mut()?.as_mut().poll(&mut cx).is_ready();
        is_revoked.then_some(Leave::Close(REVOKED, "token revoked"))
    }

    /// A frame that is there already, while the batch lasts and everybody keeps up.
    fn next_of_batch(&mut self) -> Option<Step> {
        if self.batch.0 == 0 || self.batch.1 == 0 || self.gate.reading() != Reading::Free {
            return None;
        }
        match self.ws.try_next()? {
            Ok(frame) => self.on_frame(frame),
            Err(error) => Some(Self::broken(error)),
        }
    }

    async fn wait(&mut self) -> Option<Step> {
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
            return poll_fn(|cx| self.poll_turn(cx, now, reading, may_read)).await;
        }
        let gate = self.gate.clone();
        let turn = async {
            tokio::select! {
                step = poll_fn(|cx| self.poll_turn(cx, now, reading, may_read)) => step,
                () = gate.changed() => None,
            }
        };
        // Rare, and in a box, so that an idle connection has no room for it.
        Box::pin(turn).await
    }

    /// Waits for the bell, the socket and the clock. A peer that always has something to say cannot keep the other two
    /// waiting: the bell is heard first, and the clock is read before each wait.
    fn poll_turn(
        &mut self,
        cx: &mut Context<'_>,
        now: Instant,
        reading: Reading,
        may_read: bool,
    ) -> Poll<Option<Step>> {
        let rang = self.rung.hear(&self.bell, cx).is_ready();
        // What the hub has to say about frames of the peer comes before it is asked for more.
        if self.rung.is_urgent() {
            return Poll::Ready(None);
        }
        while let Poll::Ready(turn) = self.ws.poll_turn(cx, may_read) {
            return Poll::Ready(match turn {
                // Nobody waited for it: go on with what the peer says.
                Turn::Flushed if may_read && !rang && !self.rung.waits() => continue,
                Turn::Flushed => None,
                Turn::Closed => Some(Step::Over(match &self.goodbye {
                    Some(goodbye) if goodbye.is_done() => Leave::Left,
                    _ => Leave::Gone,
                })),
                Turn::Failed(error) => Some(Self::broken(error)),
                Turn::Frame(frame) => self.on_first_frame(frame),
            });
        }
        if rang {
            return Poll::Ready(None);
        }
        self.set_timer(now, reading, may_read);
        self.timer.as_mut().poll(cx).map(|()| None)
    }

    /// A frame with which a batch begins.
    fn on_first_frame(&mut self, frame: Incoming) -> Option<Step> {
        let now = Instant::now();
        self.clocks.heard(now);
        self.signs.note(now);
        self.batch = (READ_BATCH, QUEUE_HIGH);
        self.on_frame(frame)
    }

    fn on_frame(&mut self, frame: Incoming) -> Option<Step> {
        let (step, bytes) = match frame {
            Incoming::Binary(bytes) => (Step::Binary, bytes.len()),
            Incoming::Text(text) => {
                let bytes = text.len();
                (Step::Text(text), bytes)
            }
            Incoming::Ping(_) | Incoming::Pong(_) => return None,
            // The peer closes: `turn` completes the handshake and then says so.
            Incoming::Close { code, reason } => {
                let reason = reason.as_str().into();
                self.goodbye = Some(Box::new(Goodbye { code, reason }));
                return None;
            }
        };
        self.batch = (self.batch.0 - 1, self.batch.1.saturating_sub(bytes));
        self.clocks.read += bytes;
        self.counts.came_in(bytes);
        self.answering = Some(self.ws.queued_bytes());
        Some(step)
    }

    fn broken(error: WsError) -> Step {
        match error.close_code() {
            Some(_) => Step::Broken(error),
            None => Step::Over(Leave::Gone),
        }
    }

    /// Brings the connection to its end.
    pub async fn part(&mut self, leave: Leave) {
        if let Leave::Close(code, reason) = leave {
            self.ws.queue_close(code, reason);
            // In a box, so that a connection that lives has no room for it.
            Box::pin(self.ws.finish(FAREWELL)).await;
        }
    }
}
