//! Streams at the speed of a model, with TLS on both sides of the hub: how many of them one core carries, and
//! whether all chunks of a few hundred streams arrive in time.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::{
    task::{JoinSet, spawn_blocking},
    time::{sleep, timeout},
};

use crate::{
    client::Pair,
    idle::raise_file_limit,
    patterns::{OPEN_AT_ONCE, RUN_LIMIT, SETTLE, Sample, in_order, measure_cpu, send_paced},
    quiet,
    report::{Section, number, plain, reached},
    rows::{Plan, progress},
    server::Programs,
    stats::{Comparison, median, rotated},
    tls::{Dialer, start_hub},
};

/// Number of streams at the same time: the goal for one core.
const STREAMS: usize = 400;
/// Chunks per second of each stream.
const PACE: u32 = 60;
/// Warm-up chunks per stream.
const WARM_UP: u64 = 60;
/// Delay from which a chunk counts as late: a person notices it.
const LATE: Duration = Duration::from_millis(100);

/// Delays of the chunks of one run, measured from the moment at which each chunk had to be sent.
#[derive(Debug, Default, Clone)]
struct Delays(Vec<Duration>);

impl Delays {
    fn late(&self) -> usize {
        self.0.iter().filter(|delay| **delay > LATE).count()
    }

    /// Returns the delay in milliseconds that this share of the chunks does not exceed.
    fn percentile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        sorted.get(at).map_or(0.0, Duration::as_secs_f64) * 1e3
    }
}

impl Plan {
    /// Measures the row `tls`.
    pub(crate) async fn tls(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        raise_file_limit(0);
        let chunks = if self.is_quick { 120 } else { 300 };
        let mut cpu = Comparison::default();
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let mut samples = [None, None, None];
            for at in rotated(3, round) {
                let mut delays = Delays::default();
                let sample = quiet::undisturbed(async || {
                    let sample;
                    (sample, delays) = run(&self.programs, at == 1, chunks).await?;
                    Ok(sample)
                });
                let sample = sample.await?;
                foreign.push(sample.foreign);
                samples[at] = Some((sample, delays));
            }
            if let [Some(base), Some(ours), Some(base_again)] = samples {
                let values = [
                    ("without", base.0.cpu_us),
                    ("TLS", ours.0.cpu_us),
                    ("without", base_again.0.cpu_us),
                ];
                progress("tls", round, &values);
                cpu.add(ours.0.cpu_us, base.0.cpu_us, base_again.0.cpu_us);
                with.push(ours);
                without.extend([base, base_again]);
            }
        }
        let mut section = section(chunks);
        for (name, runs) in [("TLS", &with), ("without TLS", &without)] {
            let is_tls = name == "TLS";
            let cost = if is_tls { cpu.ours() } else { cpu.base() };
            let all =
                |value: fn(&(Sample, Delays)) -> f64| runs.iter().map(value).collect::<Vec<_>>();
            let worst = all(|(_, delays)| delays.percentile(1.0));
            section.line([
                name.to_owned(),
                plain(cost),
                number(streams_per_core(cost)),
                if is_tls {
                    Section::ratio(&cpu)
                } else {
                    String::new()
                },
                Section::identical(&cpu),
                "0".to_owned(),
                number(all(|(_, delays)| delays.late() as f64).iter().sum()),
                plain(median(&all(|(_, delays)| delays.percentile(0.5)))),
                plain(median(&all(|(_, delays)| delays.percentile(0.99)))),
                plain(worst.into_iter().fold(0.0, f64::max)),
                plain(median(&all(|(sample, _)| {
                    sample.memory.peak_kib as f64 / 1024.0
                }))),
                if is_tls {
                    reached(streams_per_core(cost), 400.0, 1000.0)
                } else {
                    String::new()
                },
            ]);
        }
        Ok(section)
    }
}

fn section(chunks: u64) -> Section {
    Section::new(
        "Streams with TLS",
        &format!(
            "{STREAMS} pairs of agents, each with a stream of {chunks} chunks at {PACE} chunks/s, one frame a write; with TLS, both agents of a \
             pair connect by\n`wss`. Streams per core are 1 / ({PACE} × the hub's CPU seconds per chunk). The delay of a chunk counts from the \
             moment at which it had to be\nsent until its receiver has it, the load generator's own delay included; late is above {} ms.",
            LATE.as_millis()
        ),
        &[
            "hub",
            "CPU µs per chunk",
            "streams per core",
            "ratio (min–max)",
            "A/A",
            "lost",
            "late",
            "delay p50, ms",
            "p99",
            "max",
            "peak RSS, MiB",
            "goal ≥ 400, aim ≥ 1,000",
        ],
    )
}

/// Returns the number of streams that use one core, from the CPU time of one chunk in microseconds.
fn streams_per_core(cpu_us: f64) -> f64 {
    1e6 / (cpu_us * f64::from(PACE))
}

/// Measures a fresh hub.
async fn run(programs: &Programs, has_tls: bool, chunks: u64) -> Result<(Sample, Delays)> {
    let (server, dialer) = start_hub(programs, has_tls).await?;
    let mut pairs = open(&dialer).await?;
    drive(&mut pairs, WARM_UP).await?;
    sleep(SETTLE).await;
    let mut delays = Delays::default();
    let sample = measure_cpu(server.pid, chunks * STREAMS as u64, async {
        let begun = Instant::now();
        delays = drive(&mut pairs, chunks).await?;
        Ok(begun.elapsed())
    });
    let sample = sample.await?;
    server.stop().await?;
    Ok((sample, delays))
}

/// Opens the pairs.
async fn open(dialer: &Dialer) -> Result<Vec<Pair>> {
    let mut pairs = Vec::with_capacity(STREAMS);
    let mut opening = JoinSet::new();
    let mut numbers = 0..STREAMS;
    loop {
        while opening.len() < OPEN_AT_ONCE
            && let Some(number) = numbers.next()
        {
            let dialer = dialer.clone();
            opening.spawn(async move {
                let (from, to) = Pair::ids(number);
                let receiver = dialer.open(&to).await?;
                let sender = dialer.open(&from).await?;
                Pair::between(sender, receiver, number, 1).await
            });
        }
        match opening.join_next().await {
            Some(pair) => pairs.push(pair??),
            None => return Ok(pairs),
        }
    }
}

/// Sends `chunks` over every pair, waits until all have arrived, and returns their delays.
async fn drive(pairs: &mut Vec<Pair>, chunks: u64) -> Result<Delays> {
    let streams = u32::try_from(pairs.len())?;
    let interval = Duration::from_secs(1) / (PACE * streams);
    let begun = Instant::now();
    let (senders, receivers): (Vec<_>, Vec<_>) = std::mem::take(pairs)
        .into_iter()
        .map(|pair| (pair.sender, pair.receiver))
        .unzip();
    let receiving = (0..streams)
        .zip(receivers)
        .map(|(at, mut flow)| async move {
            let mut delays = Vec::new();
            for place in (at..).step_by(streams as usize).zip(0..chunks) {
                let until = flow.next + 1;
                flow.line
                    .receive(&mut flow.expected, &mut flow.next, until)
                    .await?;
                delays.push(begun.elapsed().saturating_sub(interval * place.0));
            }
            Ok((flow, delays))
        });
    let sending = spawn_blocking(move || send_paced(senders, chunks, interval, begun));
    let driven = async { tokio::try_join!(async { sending.await? }, in_order(receiving)) };
    let (senders, received) = timeout(RUN_LIMIT, driven)
        .await
        .context("not every chunk arrived in time")??;
    let mut delays = Vec::new();
    for (mut sender, (receiver, of_stream)) in senders.into_iter().zip(received) {
        sender.line.check_errors().await?;
        delays.extend(of_stream);
        pairs.push(Pair { sender, receiver });
    }
    Ok(Delays(delays))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_chunk_tells_how_many_streams_use_a_core() {
        assert_eq!(streams_per_core(100.0).round(), 167.0);
        assert_eq!(streams_per_core(1e6 / 60.0 / 400.0).round(), 400.0);
    }

    #[test]
    fn a_delay_counts_as_late_only_above_the_limit() {
        let delays = Delays([1, 100, 101, 3].map(Duration::from_millis).to_vec());
        assert_eq!(delays.late(), 1);
        assert_eq!(delays.percentile(0.0), 1.0);
        assert_eq!(delays.percentile(1.0), 101.0);
        assert_eq!(Delays::default().percentile(0.5), 0.0);
    }
}
