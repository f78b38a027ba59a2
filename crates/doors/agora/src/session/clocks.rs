//! The clocks of a connection: how much of it may be read, whether its peer is alive, who of those it writes to is not.

use std::{pin::Pin, time::Duration};

use jackfield_core::{gate::Reading, limits::Limits};
use jackfield_kit::socket::Hangup;
use tokio::time::{Instant, Sleep};

use super::{Leave, Session};

/// How often a connection that cannot write or may not be read is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What a connection remembers of the time.
#[derive(Debug)]
pub(super) struct Clocks {
    last_heard: Instant,
    /// Whether a ping was sent since then.
    is_pinged: bool,
    /// By when it must have said who it is.
    register_by: Instant,
    /// Bytes read since `window`, less what was allowed; counts while some pipes are full.
    pub(super) read: usize,
    window: Instant,
    /// Bytes of answers that were queued since the queue was last empty.
    pub(super) answered: usize,
    last_look: Instant,
}

impl Clocks {
    pub(super) fn new(now: Instant, limits: &Limits) -> Self {
        Self {
            last_heard: now,
            is_pinged: false,
            register_by: now + limits.register.0,
            read: 0,
            window: now,
            answered: 0,
            last_look: now,
        }
    }

    /// The peer sent something.
    pub(super) fn heard(&mut self, now: Instant) {
        self.last_heard = now;
        self.is_pinged = false;
    }

    /// A peer that only looks who is there is given more time.
    pub(super) fn listed(&mut self, limits: &Limits) {
        self.register_by = Instant::now() + limits.register.0;
    }

    /// Whether a paced connection may be read now. One large frame is paid for by several windows.
    fn may_read_paced(&mut self, now: Instant, limits: &Limits) -> bool {
        let every = limits.paced_every.0.max(Duration::from_millis(1));
        let windows = now.duration_since(self.window).as_nanos() / every.as_nanos();
        if windows > 0 {
            self.window = now;
            let windows = usize::try_from(windows).unwrap_or(usize::MAX);
            self.read = self
                .read
                .saturating_sub(windows.saturating_mul(limits.paced_read.0));
        }
        self.read < limits.paced_read.0
    }
}

impl Session {
    /// Whether the peer may be read now: freely, a little at a time, or not at all (DESIGN 5.4).
    pub(super) fn may_read(&mut self, reading: Reading) -> bool {
        if self.ws.queued_bytes() == 0 {
            self.clocks.answered = 0;
        }
        if self.owes_much() {
            return false;
        }
        match reading {
            Reading::Free => {
                self.clocks.read = 0;
                true
            }
            Reading::Shut => false,
            Reading::Paced => self
                .clocks
                .may_read_paced(Instant::now(), self.agora.hub.limits()),
        }
    }

    /// Whether so many answers of ours are unread that the peer may ask for no more. Frames of others do not count:
    /// two peers that write before they read must not wait for each other.
    fn owes_much(&self) -> bool {
        let unread = self.clocks.answered.min(self.ws.queued_bytes());
        unread >= self.agora.hub.limits().pipe_full.0
    }

    pub(super) fn set_timer(&self, timer: Pin<&mut Sleep>, reading: Reading, may_read: bool) {
        let (limits, clocks) = (self.agora.hub.limits(), &self.clocks);
        let now = Instant::now();
        let mut at = match &self.registered {
            None => clocks.register_by,
            Some(_) if clocks.is_pinged => clocks.last_heard + 2 * limits.ping.0,
            Some(_) => clocks.last_heard + limits.ping.0,
        };
        if self.ws.queued_bytes() > 0 || reading != Reading::Free {
            at = at.min(now + LOOK);
        }
        if reading == Reading::Paced && !may_read {
            at = at.min(clocks.window + limits.paced_every.0);
        }
        // Moving a timer costs; most turns leave it where it is.
        if timer.deadline() <= now || at < timer.deadline() || at > timer.deadline() + LOOK {
            timer.reset(at);
        }
    }

    pub(super) fn on_timer(&mut self, reading: Reading) -> Option<Leave> {
        let now = Instant::now();
        if self.ws.blocked_for() >= self.agora.hub.limits().write_stuck.0 {
            return Some(Leave::Gone);
        }
        if reading != Reading::Free && now.duration_since(self.clocks.last_look) >= LOOK {
            self.clocks.last_look = now;
            self.look_at_lanes();
        }
        if self.registered.is_none() && now >= self.clocks.register_by {
            return Some(Leave::Close(1008, "register timeout"));
        }
        if reading == Reading::Shut || self.owes_much() {
            // Not being read, it cannot show signs of life; but that it hung up can be seen.
            self.clocks.heard(now);
            return self
                .hangup
                .as_ref()
                .is_some_and(Hangup::is_hung_up)
                .then_some(Leave::Gone);
        }
        self.registered.as_ref()?;
        let ping = self.agora.hub.limits().ping.0;
        let silent = now.duration_since(self.clocks.last_heard);
        if silent >= 2 * ping {
            return Some(Leave::Close(1011, "no sign of life"));
        }
        if silent >= ping && !self.clocks.is_pinged {
            self.clocks.is_pinged = true;
            // A socket that is closing needs no ping.
            self.ws.queue_ping(b"").ok();
        }
        None
    }

    /// Gives up receivers of which nothing was taken for too long. A stuck socket is closed by its own session; this
    /// is for those that take a byte now and then.
    fn look_at_lanes(&self) {
        let limits = self.agora.hub.limits();
        let looks = u32::try_from(limits.pipe_stalled.0.as_secs())
            .unwrap_or(u32::MAX)
            .max(1);
        let stalled = self.lanes.values().filter(|lane| lane.is_stalled(looks));
        stalled.for_each(|_| self.agora.hub.metrics().overrun());
    }
}
