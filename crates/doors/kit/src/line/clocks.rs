//! The clocks of a line: how much of it may be read, whether its peer is alive, whether it takes what we write.

use std::time::Duration;

use jackfield_core::{gate::Reading, limits::Limits};
use tokio::time::Instant;

use super::{Leave, Line, Step};
use crate::socket::Hangup;

/// How often a connection that cannot write or may not be read is looked at.
const LOOK: Duration = Duration::from_secs(1);

/// What a line remembers of the time.
#[derive(Debug)]
pub(super) struct Clocks {
    last_heard: Instant,
    /// Whether a ping was sent since then.
    is_pinged: bool,
    /// Whether the peer has said who it is.
    pub(super) is_known: bool,
    /// By when it must have.
    pub(super) register_by: Instant,
    /// Bytes read since `window`, less what was allowed; counts while some pipes are full.
    pub(super) read: usize,
    window: Instant,
    last_look: Instant,
}

impl Clocks {
    pub(super) fn new(now: Instant, limits: &Limits) -> Self {
        Self {
            last_heard: now,
            is_pinged: false,
            is_known: false,
            register_by: now + limits.register.0,
            read: 0,
            window: now,
            last_look: now,
        }
    }

    /// The peer sent something.
    pub(super) fn heard(&mut self, now: Instant) {
        self.last_heard = now;
        self.is_pinged = false;
    }

    /// Whether a paced connection may be read now. One large frame is paid for by several windows.
    fn may_read_paced(&mut self, now: Instant, limits: &Limits) -> bool {
        let every = limits.paced_every.0.max(Duration::from_millis(1));
        let windows = now.duration_since(self.window).as_nanos() / every.as_nanos();
        if windows > 0 {
            self.window = now;
            let windows = usize::try_from(windows).unwrap_or(usize::MAX);
            let allowed = windows.saturating_mul(limits.paced_read.0);
            self.read = self.read.saturating_sub(allowed);
        }
        self.read < limits.paced_read.0
    }
}

impl Line {
    /// Whether the peer may be read now: freely, a little at a time, or not at all (DESIGN 5.4).
    pub(super) fn may_read(&mut self, reading: Reading) -> bool {
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
                .may_read_paced(Instant::now(), self.parts.hub.limits()),
        }
    }

    /// Whether so much is queued for the peer that it gets no more answers until it reads. Pipes stop long before:
    /// this is what it asked for itself, or one large frame.
    fn owes_much(&self) -> bool {
        self.ws.queued_bytes() >= self.limits().pipe_full.0
    }

    pub(super) fn set_timer(&mut self, reading: Reading, may_read: bool) {
        let (limits, clocks) = (self.parts.hub.limits(), &self.clocks);
        let now = Instant::now();
        let mut at = match (clocks.is_known, clocks.is_pinged) {
            (false, _) => clocks.register_by,
            (true, true) => clocks.last_heard + 2 * limits.ping.0,
            (true, false) => clocks.last_heard + limits.ping.0,
        };
        if self.ws.queued_bytes() > 0 || reading != Reading::Free {
            at = at.min(now + LOOK);
        }
        if reading == Reading::Paced && !may_read {
            at = at.min(clocks.window + limits.paced_every.0);
        }
        // Moving a timer costs; most turns leave it where it is.
        let set = self.timer.deadline();
        if set <= now || at < set || at > set + LOOK {
            self.timer.as_mut().reset(at);
        }
    }

    pub(super) fn on_timer(&mut self, reading: Reading) -> Option<Step> {
        let now = Instant::now();
        if self.ws.blocked_for() >= self.limits().write_stuck.0 {
            return Some(Step::Over(Leave::Gone));
        }
        if !self.clocks.is_known && now >= self.clocks.register_by {
            return Some(Step::Over(Leave::Close(1008, "register timeout")));
        }
        if reading == Reading::Shut || self.owes_much() {
            // Not being read, it cannot show signs of life; but that it hung up can be seen.
            self.clocks.heard(now);
            if self.parts.hangup.as_ref().is_some_and(Hangup::is_hung_up) {
                return Some(Step::Over(Leave::Gone));
            }
        } else if self.clocks.is_known {
            let ping = self.limits().ping.0;
            let silent = now.duration_since(self.clocks.last_heard);
            if silent >= 2 * ping {
                return Some(Step::Over(Leave::Close(1011, "no sign of life")));
            }
            if silent >= ping && !self.clocks.is_pinged {
                self.clocks.is_pinged = true;
                // A socket that is closing needs no ping.
                self.ws.queue_ping(b"").ok();
            }
        }
        if reading != Reading::Free && now.duration_since(self.clocks.last_look) >= LOOK {
            self.clocks.last_look = now;
            return Some(Step::Look);
        }
        None
    }
}
