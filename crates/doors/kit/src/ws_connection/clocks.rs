//! Clocks of a [`WsConnection`]: the allowed reading rate, the liveness of the peer, and the detection of stuck
//! writes.

use std::time::Duration;

use jackfield_core::{gate::Reading, limits::Limits};
use tokio::time::Instant;

use super::{WsConnection, WsConnectionEnd, WsConnectionEvent};
use crate::socket::HangupDetector;

/// Interval of the checks while queued frames cannot be written or the peer is not read freely.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Times and byte counts behind the timeouts and rate limits of a connection.
#[derive(Debug)]
pub(super) struct ConnectionClocks {
    last_heard: Instant,
    /// Whether a ping was sent since `last_heard`.
    is_pinged: bool,
    /// Whether the peer is authenticated.
    pub(super) is_known: bool,
    /// Deadline for the registration of the peer.
    pub(super) register_by: Instant,
    /// Latest time to which `register_by` may be moved.
    pub(super) register_latest: Instant,
    /// Bytes read since `window`, minus the allowed bytes. Counts while some pipes are full.
    pub(super) read: usize,
    window: Instant,
    /// Bytes of answers queued since the write queue was last empty.
    answered: usize,
    last_look: Instant,
}

impl ConnectionClocks {
    pub(super) fn new(now: Instant, limits: &Limits) -> Self {
        Self {
            last_heard: now,
            is_pinged: false,
            is_known: false,
            register_by: now + limits.register.0,
            register_latest: now + limits.register_latest.0.max(limits.register.0),
            read: 0,
            window: now,
            answered: 0,
            last_look: now,
        }
    }

    /// Notes that the peer sent a frame.
    pub(super) fn heard(&mut self, now: Instant) {
        self.last_heard = now;
        self.is_pinged = false;
    }

    /// Returns whether a paced connection may be read now. A large frame uses up the allowance of several
    /// windows.
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

/// Returns how long a peer may be silent before a ping is sent: at most half of the time after which silence
/// ends the connection.
fn probe(limits: &Limits) -> Duration {
    limits.probe.0.min(limits.ping.0)
}

impl WsConnection {
    /// Counts as answers the bytes that the session queued since it received a frame of the peer.
    pub(super) fn note_answers(&mut self) {
        if let Some(queued) = self.answering.take() {
            self.clocks.answered += self.ws.queued_bytes().saturating_sub(queued);
        }
    }

    /// Returns whether the peer may be read now: freely, at a limited rate, or not at all (docs/promises.md,
    /// Flow control).
    pub(super) fn may_read(&mut self, now: Instant, reading: Reading) -> bool {
        if self.ws.queued_bytes() == 0 {
            self.clocks.answered = 0;
        }
        if self.has_many_unread_answers() {
            return false;
        }
        match reading {
            Reading::Free => {
                self.clocks.read = 0;
                true
            }
            Reading::Shut => false,
            Reading::Paced => self.clocks.may_read_paced(now, self.hub.limits()),
        }
    }

    /// Returns whether too many answers are unread by the peer to accept more requests. Frames from other
    /// agents do not count: two peers that write before reading must not wait for each other.
    fn has_many_unread_answers(&self) -> bool {
        let unread = self.clocks.answered.min(self.ws.queued_bytes());
        unread >= self.limits().pipe_full.0
    }

    pub(super) fn set_timer(&mut self, now: Instant, reading: Reading, may_read: bool) {
        let (limits, clocks) = (self.hub.limits(), &self.clocks);
        let mut at = match (clocks.is_known, clocks.is_pinged) {
            (false, _) => clocks.register_by,
            (true, false) => clocks.last_heard + probe(limits),
            (true, true) if !self.signs.is_silent() => clocks.last_heard + 2 * probe(limits),
            (true, true) => clocks.last_heard + 2 * limits.ping.0,
        };
        if self.ws.queued_bytes() > 0 || reading != Reading::Free {
            at = at.min(now + CHECK_INTERVAL);
        }
        if reading == Reading::Paced && !may_read {
            at = at.min(clocks.window + limits.paced_every.0);
        }
        // Moving a timer has a cost; most turns leave the deadline unchanged.
        let set = self.timer.deadline();
        if set <= now || at < set || at > set + CHECK_INTERVAL {
            self.timer.as_mut().reset(at);
        }
    }

    /// Checks all clocks, whichever of them the timer was set for.
    pub(super) fn on_timer(&mut self, now: Instant, reading: Reading) -> Option<WsConnectionEvent> {
        if self.ws.blocked_for() >= self.limits().write_stuck.0 {
            return Some(WsConnectionEvent::Over(WsConnectionEnd::Gone));
        }
        if !self.clocks.is_known && now >= self.clocks.register_by {
            return Some(WsConnectionEvent::Over(WsConnectionEnd::Close(
                1008,
                "register timeout",
            )));
        }
        if reading == Reading::Shut || self.has_many_unread_answers() {
            // A peer that is not read cannot show signs of life, but a hang-up is still visible.
            self.clocks.heard(now);
            self.signs.set_silent(false);
            if self.hangup.as_ref().is_some_and(HangupDetector::is_hung_up) {
                return Some(WsConnectionEvent::Over(WsConnectionEnd::Gone));
            }
        } else if self.clocks.is_known {
            let (probe, ping) = (probe(self.limits()), self.limits().ping.0);
            let silent = now.duration_since(self.clocks.last_heard);
            if silent >= 2 * ping {
                return Some(WsConnectionEvent::Over(WsConnectionEnd::Close(
                    1011,
                    "no sign of life",
                )));
            }
            if silent >= 2 * probe {
                self.signs.set_silent(true);
            }
            if silent >= probe && !self.clocks.is_pinged {
                self.clocks.is_pinged = true;
                // A closing socket needs no ping.
                self.ws.queue_ping(b"").ok();
            }
        }
        if reading != Reading::Free && now.duration_since(self.clocks.last_look) >= CHECK_INTERVAL {
            self.clocks.last_look = now;
            return Some(WsConnectionEvent::Look);
        }
        None
    }
}
