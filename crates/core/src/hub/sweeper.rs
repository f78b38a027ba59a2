//! One look a second at every clock of the hub.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use jiff::Timestamp;
use tokio::time::{Instant, MissedTickBehavior};

use super::Hub;
use jackfield_model::End;

use crate::{
    call::Call,
    clock::{Progress, Signs},
};

/// How often the sweeper looks.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How often old tasks are trimmed, in ticks.
const TRIM_EVERY: u64 = 60;

impl Hub {
    /// Looks at the clocks until dropped. Run exactly one per hub.
    pub async fn sweep_forever(&self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for count in 0u64.. {
            ticks.tick().await;
            self.sweep(Instant::now());
            if count % TRIM_EVERY == 0 {
                self.tasks().trim();
            }
        }
    }

    /// One look.
    pub fn sweep(&self, now: Instant) {
        let calls: Vec<Arc<Call>> = self.0.shared.calls.lock().values().cloned().collect();
        // In looks, at least one: nought would give up readers of pipes that are not full.
        let stall = self.limits().pipe_stalled.0.as_secs().max(1);
        let stall = u32::try_from(stall).unwrap_or(u32::MAX);
        for call in calls {
            self.look_at(&call, now, stall);
        }
        let entries: Vec<_> = self.0.agents.read().values().cloned().collect();
        for entry in entries {
            entry.end_grace(now);
        }
        self.tasks().cancel_unread(now);
        self.0.tokens.expire(Timestamp::now());
        self.tasks().drop_unwanted();
        self.files().expire(Timestamp::now());
        self.metrics().pipe_bytes(self.0.shared.budget.used());
        if let Some(resolver) = &self.0.resolver {
            resolver.sweep(now);
        }
    }

    fn look_at(&self, call: &Arc<Call>, now: Instant, stall: u32) {
        if call.reply.stalled() >= stall {
            call.overrun();
            return;
        }
        let sent = call.clock.lock().progress == Progress::Sent;
        // It shall not take a place in the agent's queue until the agent comes.
        if !sent && call.end_without_right() {
            return;
        }
        // Before it is sent, nobody is there to read the input.
        if sent && call.input.stalled() >= stall {
            call.flooded();
            return;
        }
        let signs = Signs {
            alive: call.touched.swap(false, Ordering::Relaxed)
                || (sent && call.entry.link().is_some_and(|link| link.alive(call))),
            suspended: call.suspended.load(Ordering::Acquire) > 0,
            full: call.reply.is_full(),
        };
        let verdict = call.clock.lock().look(now, signs);
        if let Some(failure) = verdict {
            call.finish(End::Failed(failure), true);
        }
    }
}
