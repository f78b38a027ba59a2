//! Waits until nobody else needs the machine. A number that was taken beside a compiler is worth nothing, so that each
//! measurement first looks whether others are at work, and is repeated if they came in the middle. The patience for
//! this is limited in all; when it is used up, the report shows that it was loud.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::time::sleep;

use crate::{
    patterns::Sample,
    proc::{Cpu, machine_busy},
};

/// Others that use more than this share of a core disturb a measurement.
pub(crate) const LOUD: f64 = 0.15;
/// How long one look takes; a tick of the kernel's clock is 10 ms.
const LOOK: Duration = Duration::from_millis(250);
/// How long to leave the others alone before the next look.
const PAUSE: Duration = Duration::from_secs(1);
/// How long all measurements together wait for others.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often a measurement that others disturbed is repeated.
const RETRIES: usize = 3;

static WAITED: AtomicU64 = AtomicU64::new(0);
static REPEATED: AtomicU64 = AtomicU64::new(0);

/// Measures when others are quiet, and again, a few times, if they were not meanwhile. Nothing may be open while this
/// waits: a connection that is not served would be given up by its server.
pub(crate) async fn undisturbed(
    mut measure: impl AsyncFnMut() -> Result<Sample>,
) -> Result<Sample> {
    for _ in 0..RETRIES {
        wait().await?;
        let sample = measure().await?;
        if sample.foreign <= LOUD {
            return Ok(sample);
        }
        REPEATED.fetch_add(1, Ordering::Relaxed);
    }
    measure().await
}

/// Waits until nobody but us uses the machine, or the patience is used up.
async fn wait() -> Result<()> {
    let me = std::process::id();
    loop {
        let begun = Instant::now();
        let (mine, all) = (Cpu::of(me)?, machine_busy()?);
        sleep(LOOK).await;
        let mine = Cpu::of(me)?.since(&mine);
        let others = machine_busy()?.saturating_sub(all).saturating_sub(mine);
        let share = others as f64 / begun.elapsed().as_nanos() as f64;
        if share <= LOUD || waited() >= PATIENCE {
            return Ok(());
        }
        sleep(PAUSE).await;
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        WAITED.fetch_add(took, Ordering::Relaxed);
    }
}

/// How long others were waited for.
pub(crate) fn waited() -> Duration {
    Duration::from_millis(WAITED.load(Ordering::Relaxed))
}

/// How many measurements were repeated.
pub(crate) fn repetitions() -> u64 {
    REPEATED.load(Ordering::Relaxed)
}
