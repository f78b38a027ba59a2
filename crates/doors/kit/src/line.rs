//! One held WebSocket as a door's session sees it: what the peer sends, what rang, and when it is over. The line owns
//! the socket's clocks: pings, the time to say who one is, stuck writes, and how much may be read while those the
//! peer writes to do not keep up (DESIGN 5.4). It knows no protocol; one flush per batch.

mod clocks;

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jackfield_core::{
    agent::Closing,
    bell::{Bell, Rope},
    gate::{Gate, Reading},
    hub::Hub,
    limits::Limits,
    metrics::{Connected, Traffic},
};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use self::clocks::Clocks;
use crate::{
    io::Io,
    socket::Hangup,
    ws::{Incoming, Turn, Utf8Bytes, Ws, WsError},
};

/// Frames are queued for the socket up to this much, then flushed before more is taken from the pipes.
const QUEUE_HIGH: usize = 64 << 10;
/// How many frames are handled before the answers to them are flushed.
const READ_BATCH: usize = 64;
/// How long the last frames of a closing connection may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// A sign of life counts for the sweeper if it is not older than this: a little over one look.
const FRESH: Duration = Duration::from_millis(1500);

/// What a line needs of its hub.
#[derive(Debug)]
pub struct LineParts {
    /// The hub.
    pub hub: Hub,
    /// Where its traffic is counted.
    pub traffic: Traffic,
    /// Counts the connection.
    pub connected: Connected,
    /// Fires when the hub stops.
    pub stop: CancellationToken,
    /// Tells whether a peer that is not read has hung up, where that can be known.
    pub hangup: Option<Hangup>,
}

/// What happens next on a line.
#[derive(Debug)]
pub enum Step {
    /// The peer sent text.
    Text(Utf8Bytes),
    /// The peer sent binary data.
    Binary,
    /// Something with this key wants to be served.
    Rang(u32),
    /// About once a second while not all of what the peer sends is taken: time to look at who does not take it.
    Look,
    /// The peer broke a rule of WebSocket or of size; say what there is to say, then [`Line::part`].
    Broken(WsError),
    /// It is over.
    Over(Leave),
}

/// Why a line is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leave {
    /// The peer is gone.
    Gone,
    /// We close, with this code and reason.
    Close(u16, &'static str),
}

impl From<Closing> for Leave {
    fn from(why: Closing) -> Self {
        match why {
            Closing::Replaced => Self::Close(4001, "replaced by a newer connection"),
            Closing::Revoked => Self::Close(4002, "token revoked"),
            Closing::Stopping => Self::Close(1001, "hub is stopping"),
        }
    }
}

impl From<&WsError> for Leave {
    fn from(error: &WsError) -> Self {
        match error.close_code() {
            None => Self::Gone,
            Some(1009) => Self::Close(1009, "frame too large"),
            Some(1007) => Self::Close(1007, "text is not UTF-8"),
            Some(code) => Self::Close(code, "protocol error"),
        }
    }
}

/// When the peer last showed a sign of life; a link answers the sweeper from it.
#[derive(Debug)]
pub struct Signs {
    born: Instant,
    /// In ms after `born`.
    last: AtomicU64,
}

impl Signs {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            born: Instant::now(),
            last: AtomicU64::new(0),
        })
    }

    fn note(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.born).as_millis();
        self.last
            .store(u64::try_from(ms).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether there was one since about the sweeper's last look.
    pub fn are_fresh(&self) -> bool {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(last) <= FRESH
    }
}

/// One held WebSocket.
pub struct Line {
    ws: Ws<Io>,
    parts: LineParts,
    bell: Arc<Bell>,
    gate: Arc<Gate>,
    signs: Arc<Signs>,
    /// Fires when the token by which the peer proved who it is stops working.
    revoked: Option<CancellationToken>,
    /// What rang and was not yet served.
    ready: VecDeque<u32>,
    clocks: Clocks,
    timer: Pin<Box<Sleep>>,
    /// How many more frames, and bytes of them, belong to this batch.
    batch: (usize, usize),
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line")
            .field("queued", &self.ws.queued_bytes())
            .finish_non_exhaustive()
    }
}

impl Line {
    /// A line whose peer has said nothing yet.
    pub fn new(ws: Ws<Io>, parts: LineParts) -> Self {
        let now = Instant::now();
        Self {
            ws,
            bell: Bell::new(),
            gate: Arc::default(),
            signs: Signs::new(),
            revoked: None,
            ready: VecDeque::new(),
            clocks: Clocks::new(now, parts.hub.limits()),
            timer: Box::pin(tokio::time::sleep_until(now)),
            batch: (0, 0),
            parts,
        }
    }

    /// A rope that lets the line step with this key.
    pub fn rope(&self, key: u32) -> Rope {
        self.bell.rope(key)
    }

    /// The gate of the pipes that the peer writes into.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The peer's signs of life.
    pub fn signs(&self) -> &Arc<Signs> {
        &self.signs
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        self.parts.hub.limits()
    }

    /// The peer has said who it is: larger frames are taken, and it is pinged from now on.
    pub fn known(&mut self, revoked: CancellationToken) {
        self.ws.set_max_message(self.limits().frame.0);
        self.clocks.is_known = true;
        self.revoked = Some(revoked);
        self.signs.note(Instant::now());
    }

    /// Gives a peer that has not said who it is as much time as at first.
    pub fn more_time(&mut self) {
        self.clocks.register_by = Instant::now() + self.limits().register.0;
    }

    /// Queues a frame for the peer. It leaves with the next step.
    pub fn queue(&mut self, frame: &str) {
        self.parts.traffic.went_out(1, frame.len() as u64);
        // A socket that is closing takes no more; the line is over with its next step.
        self.ws.queue_text(frame).ok();
    }

    /// Whether the socket has enough to write for now, so that what rang stays where it is counted.
    pub fn is_busy(&self) -> bool {
        self.ws.queued_bytes() >= QUEUE_HIGH || self.ws.is_closing()
    }

    /// What happens next. Cancel-safe.
    pub async fn next(&mut self) -> Step {
        loop {
            if !self.is_busy()
                && let Some(key) = self.ready.pop_front()
            {
                return Step::Rang(key);
            }
            if let Some(step) = self.next_of_batch() {
                return step;
            }
            if let Some(step) = self.wait().await {
                return step;
            }
        }
    }

    /// A frame that is there already, while the batch lasts and everybody keeps up.
    fn next_of_batch(&mut self) -> Option<Step> {
        if self.batch.0 == 0
            || self.batch.1 == 0
            || self.is_busy()
            || self.gate.reading() != Reading::Free
        {
            return None;
        }
        match self.ws.try_next() {
            Some(Ok(frame)) => self.on_frame(frame),
            Some(Err(error)) => Some(Self::broken(error)),
            None => None,
        }
    }

    async fn wait(&mut self) -> Option<Step> {
        self.batch = (READ_BATCH, QUEUE_HIGH);
        let reading = self.gate.reading();
        let may_read = self.may_read(reading);
        self.set_timer(reading, may_read);
        let (bell, gate) = (self.bell.clone(), self.gate.clone());
        let mut keys = Vec::new();
        tokio::select! {
            turn = self.ws.turn(may_read) => match turn {
                Turn::Flushed => None,
                Turn::Closed => Some(Step::Over(Leave::Gone)),
                Turn::Failed(error) => Some(Self::broken(error)),
                Turn::Frame(frame) => {
                    let now = Instant::now();
                    self.clocks.heard(now);
                    self.signs.note(now);
                    self.on_frame(frame)
                }
            },
            () = bell.wait(&mut keys), if self.ready.is_empty() => {
                self.ready.extend(keys);
                None
            }
            () = gate.changed(), if reading != Reading::Free => None,
            () = self.timer.as_mut() => self.on_timer(reading),
            () = cancelled(self.revoked.as_ref()) => Some(Step::Over(Closing::Revoked.into())),
            () = self.parts.stop.cancelled() => Some(Step::Over(Closing::Stopping.into())),
        }
    }

    fn on_frame(&mut self, frame: Incoming) -> Option<Step> {
        match frame {
            Incoming::Text(text) => {
                let bytes = text.len();
                self.batch = (self.batch.0 - 1, self.batch.1.saturating_sub(bytes));
                self.clocks.read += bytes;
                self.parts.traffic.came_in(1, bytes as u64);
                Some(Step::Text(text))
            }
            Incoming::Binary(_) => Some(Step::Binary),
            // The peer closes: `turn` completes the handshake and then says so.
            Incoming::Ping(_) | Incoming::Pong(_) | Incoming::Close { .. } => None,
        }
    }

    fn broken(error: WsError) -> Step {
        match error.close_code() {
            Some(_) => Step::Broken(error),
            None => Step::Over(Leave::Gone),
        }
    }

    /// Brings the connection to its end.
    pub async fn part(mut self, leave: Leave) {
        if let Leave::Close(code, reason) = leave {
            self.ws.queue_close(code, reason);
            self.ws.finish(FAREWELL).await;
        }
    }
}

async fn cancelled(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}
