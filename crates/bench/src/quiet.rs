//! Waits until no other process uses the machine. A measurement beside a compiler is worthless. Therefore
//! each measurement first checks for other load, and is repeated if load appeared meanwhile. The total
//! waiting time is limited; once it is used up, the report shows the remaining disturbance.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use anyhow::Result;
use tokio::time::sleep;

use crate::{
    patterns::Sample,
    proc::{Cpu, machine_busy},
};

/// Share of a core above which other processes disturb a measurement.
pub(crate) const LOUD: f64 = 0.15;
/// Duration of a check; a tick of the kernel's clock is 10 ms.
const LOOK: Duration = Duration::from_millis(250);
/// Pause before the next check.
const PAUSE: Duration = Duration::from_secs(1);
/// Maximum waiting time of all measurements together.
const PATIENCE: Duration = Duration::from_secs(600);
/// Number of repetitions of a disturbed measurement.
const RETRIES: usize = 3;

static IS_TOLERANT: AtomicBool = AtomicBool::new(false);
static WAITED: AtomicU64 = AtomicU64::new(0);
static REPEATED: AtomicU64 = AtomicU64::new(0);

/// Makes all measurements start at once and count, whatever else runs.
pub(crate) fn tolerate_noise() {
    IS_TOLERANT.store(true, Ordering::Relaxed);
}

/// The result of a measurement.
pub(crate) trait Measured {
    /// Returns the CPU time of other processes meanwhile, as a share of one core.
    fn foreign(&self) -> f64;
}

impl Measured for Sample {
    fn foreign(&self) -> f64 {
        self.foreign
    }
}

/// Measures while the machine is quiet, and repeats a disturbed measurement up to [`RETRIES`] times. No
/// connection may be open while the function waits, because a server would drop an unserved connection.
pub(crate) async fn undisturbed<T: Measured>(
    mut measure: impl AsyncFnMut() -> Result<T>,
) -> Result<T> {
    for _ in 0..RETRIES {
        if IS_TOLERANT.load(Ordering::Relaxed) {
            break;
        }
        wait().await?;
        let sample = measure().await?;
        if sample.foreign() <= LOUD {
            return Ok(sample);
        }
        REPEATED.fetch_add(1, Ordering::Relaxed);
    }
    measure().await
}

/// Waits until no other process uses the machine, or the waiting time is used up.
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

/// Returns the total waiting time.
pub(crate) fn waited() -> Duration {
    Duration::from_millis(WAITED.load(Ordering::Relaxed))
}

/// Returns the number of repeated measurements.
pub(crate) fn repetitions() -> u64 {
    REPEATED.load(Ordering::Relaxed)
}
