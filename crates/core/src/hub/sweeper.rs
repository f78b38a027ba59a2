//! The sweeper: looks once a second at every clock of the hub. [`Hub::sweep_forever`] and [`Hub::sweep`] call it.

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

/// Time between two sweeps.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How often old tasks are trimmed, in ticks.
const TRIM_EVERY: u64 = 60;

/// Sweeps until dropped.
pub(super) async fn run(hub: &Hub) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for count in 0u64.. {
        ticks.tick().await;
        sweep(hub, Instant::now());
        if count % TRIM_EVERY == 0 {
            hub.tasks().trim();
        }
    }
}

/// Looks once at every clock.
pub(super) fn sweep(hub: &Hub, now: Instant) {
    // In sweeps, at least one: zero would give up readers of pipes that are not full.
    let stall = hub.limits().pipe_stalled.0.as_secs().max(1);
    let stall = u32::try_from(stall).unwrap_or(u32::MAX);
    for call in hub.calls().all() {
        look_at(&call, now, stall);
    }
    for entry in hub.agents().all() {
        entry.end_grace(now);
    }
    hub.tasks().cancel_unread(now);
    hub.tokens().expire(Timestamp::now());
    hub.tasks().drop_unwanted();
    hub.metrics().pipe_bytes(hub.shared().budget.used());
    hub.shared().observers.tell(|observer| observer.sweep(now));
    if let Some(resolver) = hub.resolver() {
        resolver.sweep(now);
    }
}

fn look_at(call: &Arc<Call>, now: Instant, stall: u32) {
    if call.reply.stalled() >= stall {
        call.overrun();
        return;
    }
    let sent = call.clock.lock().progress == Progress::Sent;
    // A call without a right must not hold a place in the agent's queue until the agent comes.
    if !sent && call.end_without_right() {
        return;
    }
    // The input has no reader before the call is sent.
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
