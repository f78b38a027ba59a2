//! [`Clock`]: the timeouts of a call, as a pure function of the time and of the call's signs of life (docs/promises.md, Clocks). One sweeper looks at all clocks every second, so that no chunk reads a clock and no call has a timer. A clock's lock is a leaf.

use std::time::Duration;

use jackfield_model::{Cause, Failure, Reason};
use tokio::time::Instant;

/// Progress of a call on its way to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Waits for the agent to come online.
    Waiting,
    /// Waits behind another call of its session.
    Queued,
    /// Has its turn. A durable call is committed as sent before its delivery.
    Placed,
    /// Delivered to the agent.
    Sent,
}

/// The timeouts of one call.
#[derive(Debug, Clone)]
pub(crate) struct Clock {
    pub(crate) progress: Progress,
    /// Time of the current progress.
    pub(crate) since: Instant,
    /// Last sign of life of the agent or its connection; counts from the delivery.
    pub(crate) last_sign: Instant,
    /// Time of the sweeper's last look.
    pub(crate) last_look: Instant,
    /// Time since which a question is open.
    pub(crate) ask_since: Option<Instant>,
    /// Time until which the call waits for its agent, if the caller allows waiting.
    pub(crate) wait_until: Option<Instant>,
    /// Latest end, inherited from an explicit parent.
    pub(crate) deadline: Option<Instant>,
    pub(crate) idle: Duration,
    pub(crate) absolute: Duration,
    pub(crate) ask: Duration,
    pub(crate) queue: Duration,
}

/// State of a call, as the sweeper sees it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Signs {
    /// Whether an event came, or the agent's connection showed a sign of life.
    pub(crate) alive: bool,
    /// Whether a question of this call or of a descendant is open.
    pub(crate) suspended: bool,
    /// Whether the reply is full: the agent is paced and cannot send.
    pub(crate) full: bool,
}

impl Clock {
    pub(crate) fn enter(&mut self, progress: Progress, now: Instant) {
        self.progress = progress;
        self.since = now;
        self.last_sign = now;
        self.last_look = now;
    }

    /// Returns the latest end of the call, for the calls made for it.
    pub(crate) fn latest_end(&self) -> Option<Instant> {
        let own = (self.progress == Progress::Sent).then(|| self.since + self.absolute);
        match (own, self.deadline) {
            (Some(own), Some(deadline)) => Some(own.min(deadline)),
            (own, deadline) => own.or(deadline),
        }
    }

    /// Looks once; returns the failure if a timeout has passed.
    pub(crate) fn look(&mut self, now: Instant, signs: Signs) -> Option<Failure> {
        let passed = now.saturating_duration_since(self.last_look);
        self.last_look = now;
        if let Some(since) = self.ask_since
            && now.saturating_duration_since(since) >= self.ask
        {
            let text = format!(
                "nobody answered the agent's question within {}",
                seconds(self.ask)
            );
            return Some(timeout(text).because(Cause::Unanswered));
        }
        if signs.suspended {
            // While a question is open, the other timeouts stand still.
            self.since += passed;
            self.last_sign = now;
            self.deadline = self.deadline.map(|at| at + passed);
            return None;
        }
        if self.deadline.is_some_and(|at| now >= at) {
            return Some(timeout("the deadline of the call has passed".to_owned()));
        }
        let so_far = now.saturating_duration_since(self.since);
        match self.progress {
            Progress::Waiting => match self.wait_until {
                Some(until) if now >= until => Some(Failure::new(
                    Reason::Offline,
                    "the agent did not come online in the time given",
                )),
                Some(_) => None,
                // Within the grace period of a resuming agent; the entry ends that wait.
                None if so_far >= self.queue => Some(timeout(format!(
                    "the call waited {} to be sent",
                    seconds(self.queue)
                ))),
                None => None,
            },
            Progress::Queued | Progress::Placed if so_far >= self.queue => Some(timeout(format!(
                "the call waited {} in the agent's queue",
                seconds(self.queue)
            ))),
            Progress::Queued | Progress::Placed => None,
            Progress::Sent => {
                if so_far >= self.absolute {
                    return Some(timeout(format!(
                        "the call lasted {}, its limit",
                        seconds(self.absolute)
                    )));
                }
                if signs.alive || signs.full {
                    self.last_sign = now;
                }
                let silent = now.saturating_duration_since(self.last_sign);
                (silent >= self.idle).then(|| {
                    timeout(format!(
                        "the agent did not respond within {}",
                        seconds(self.idle)
                    ))
                })
            }
        }
    }
}

fn timeout(text: String) -> Failure {
    Failure::new(Reason::Timeout, text)
}

fn seconds(span: Duration) -> String {
    if span.subsec_millis() == 0 {
        return format!("{} seconds", span.as_secs());
    }
    format!("{} ms", span.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_limit_is_said_as_it_was_set() {
        assert_eq!(seconds(120 * SECOND), "120 seconds");
        assert_eq!(seconds(Duration::from_millis(200)), "200 ms");
        assert_eq!(seconds(Duration::from_millis(1500)), "1500 ms");
    }

    fn clock(progress: Progress) -> (Clock, Instant) {
        let now = Instant::now();
        let clock = Clock {
            progress,
            since: now,
            last_sign: now,
            last_look: now,
            ask_since: None,
            wait_until: None,
            deadline: None,
            idle: 120 * SECOND,
            absolute: 3600 * SECOND,
            ask: 600 * SECOND,
            queue: 600 * SECOND,
        };
        (clock, now)
    }

    /// Looks every second with these signs; after how many seconds it was over, and why.
    fn run(
        clock: &mut Clock,
        start: Instant,
        from: u32,
        to: u32,
        signs: Signs,
    ) -> Option<(u32, Failure)> {
        (from..to).find_map(|second| {
            clock
                .look(start + second * SECOND, signs)
                .map(|failure| (second, failure))
        })
    }

    #[test]
    fn silence_ends_a_sent_call_and_a_sign_of_life_does_not_let_it() {
        let (mut clock, start) = clock(Progress::Sent);
        let alive = Signs {
            alive: true,
            ..Signs::default()
        };
        assert!(run(&mut clock, start, 0, 1000, alive).is_none());
        let (second, failure) = run(&mut clock, start, 1000, 2000, Signs::default()).unwrap();
        assert_eq!((second, failure.reason), (999 + 120, Reason::Timeout));
    }

    #[test]
    fn nothing_resets_the_absolute_limit() {
        let (mut clock, start) = clock(Progress::Sent);
        let alive = Signs {
            alive: true,
            ..Signs::default()
        };
        assert_eq!(run(&mut clock, start, 0, 5000, alive).unwrap().0, 3600);
    }

    #[test]
    fn a_full_reply_is_not_the_agents_silence() {
        let (mut clock, start) = clock(Progress::Sent);
        assert!(
            run(
                &mut clock,
                start,
                0,
                1000,
                Signs {
                    full: true,
                    ..Signs::default()
                }
            )
            .is_none()
        );
    }

    #[test]
    fn an_ask_stops_the_other_clocks_and_runs_its_own() {
        let (mut clock, start) = clock(Progress::Sent);
        assert!(
            run(
                &mut clock,
                start,
                0,
                3500,
                Signs {
                    alive: true,
                    ..Signs::default()
                }
            )
            .is_none()
        );
        clock.ask_since = Some(start + 3500 * SECOND);
        let asking = Signs {
            suspended: true,
            ..Signs::default()
        };
        assert!(
            run(&mut clock, start, 3500, 4000, asking).is_none(),
            "past the absolute limit, but suspended"
        );
        clock.ask_since = None;
        let (second, _) = run(
            &mut clock,
            start,
            4000,
            9000,
            Signs {
                alive: true,
                ..Signs::default()
            },
        )
        .unwrap();
        assert_eq!(second, 3600 + 500, "the time of the ask does not count");
    }

    #[test]
    fn an_unanswered_ask_ends_the_call() {
        let (mut clock, start) = clock(Progress::Sent);
        clock.ask_since = Some(start);
        assert_eq!(
            run(
                &mut clock,
                start,
                0,
                1000,
                Signs {
                    suspended: true,
                    ..Signs::default()
                }
            )
            .unwrap()
            .0,
            600
        );
    }

    #[test]
    fn a_queued_call_waits_ten_minutes_and_a_patient_one_as_long_as_it_said() {
        let (mut queued, start) = clock(Progress::Queued);
        assert_eq!(
            run(&mut queued, start, 0, 1000, Signs::default())
                .unwrap()
                .0,
            600
        );
        let (mut waiting, start) = clock(Progress::Waiting);
        waiting.wait_until = Some(start + 5000 * SECOND);
        let (second, failure) = run(&mut waiting, start, 0, 9000, Signs::default()).unwrap();
        assert_eq!((second, failure.reason), (5000, Reason::Offline));
    }
}
