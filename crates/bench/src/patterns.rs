//! Load patterns: the three patterns of docs/benchmarks.md, and building blocks for other rows. A run has a
//! fixed number of messages, is limited by TCP alone, and fails unless every message arrives once and in
//! order.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::{
    task::{JoinSet, spawn_blocking, yield_now},
    time::{sleep, timeout},
};

use crate::{
    client::{Dialect, Inflow, Outflow, Pair, Target},
    proc::{Cpu, Memory, machine_busy},
};

/// Timeout of a run, which would otherwise wait forever for a lost message.
pub(crate) const RUN_LIMIT: Duration = Duration::from_secs(120);
/// Number of connections opened at the same time; fewer than the backlog of a listener.
pub(crate) const OPEN_AT_ONCE: usize = 64;
/// Pause before a server is measured.
pub(crate) const SETTLE: Duration = Duration::from_millis(100);

/// The load patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Pattern {
    /// One stream, 32 frames per write.
    Burst,
    /// 64 streams, 4 frames per write.
    #[value(name = "64")]
    SixtyFour,
    /// 64 streams at 4,000 messages per second in total, one frame per write.
    Paced,
}

impl Pattern {
    pub(crate) const ALL: [Self; 3] = [Self::Burst, Self::SixtyFour, Self::Paced];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Burst => "burst",
            Self::SixtyFour => "64",
            Self::Paced => "paced",
        }
    }

    /// Returns the parameters of the pattern; `is_quick` for a short check.
    pub(crate) fn shape(self, is_quick: bool) -> Shape {
        let (pairs, per_write, pace, messages, warm_up) = match self {
            Self::Burst => (1, 32, None, 400_000, 40_000),
            Self::SixtyFour => (64, 4, None, 4_000, 400),
            Self::Paced => (64, 1, Some(4_000), 190, 16),
        };
        Shape {
            pairs,
            per_write,
            pace,
            messages: if is_quick { messages / 4 } else { messages },
            warm_up,
        }
    }
}

/// Parameters of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) pairs: usize,
    pub(crate) per_write: usize,
    /// Messages per second of all pairs together; `None` for as fast as TCP allows.
    pub(crate) pace: Option<u32>,
    /// Messages per pair.
    pub(crate) messages: u64,
    /// Warm-up messages per pair.
    pub(crate) warm_up: u64,
}

/// Result of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// CPU time of the server per message, in microseconds.
    pub(crate) cpu_us: f64,
    pub(crate) per_second: f64,
    pub(crate) memory: Memory,
    /// CPU time of all other processes on the machine meanwhile, as a share of one core.
    pub(crate) foreign: f64,
}

/// Opens the pairs of a [`Shape`], with agents numbered from `first`.
pub(crate) async fn open(target: Target, shape: &Shape, first: usize) -> Result<Vec<Pair>> {
    let per_write = shape.per_write;
    let mut pairs = Vec::with_capacity(shape.pairs);
    let mut opening = JoinSet::new();
    let mut numbers = first..first + shape.pairs;
    loop {
        while opening.len() < OPEN_AT_ONCE
            && let Some(number) = numbers.next()
        {
            opening.spawn(async move { Pair::open(target, number, per_write).await });
        }
        match opening.join_next().await {
            Some(pair) => pairs.push(pair??),
            None => return Ok(pairs),
        }
    }
}

/// Warms up and measures open pairs.
pub(crate) async fn measure(pairs: &mut Vec<Pair>, pid: u32, shape: &Shape) -> Result<Sample> {
    drive(pairs, shape, shape.warm_up).await?;
    sleep(SETTLE).await;
    let messages = shape.messages * pairs.len() as u64;
    measure_cpu(pid, messages, drive(pairs, shape, shape.messages)).await
}

/// Measures the CPU time of a server while `drive` sends `messages` messages and returns the elapsed time.
pub(crate) async fn measure_cpu(
    pid: u32,
    messages: u64,
    drive: impl Future<Output = Result<Duration>>,
) -> Result<Sample> {
    let me = std::process::id();
    let (cpu, mine, all) = (Cpu::of(pid)?, Cpu::of(me)?, machine_busy()?);
    let took = drive.await?;
    let (cpu, mine, all) = (
        Cpu::of(pid)?.since(&cpu),
        Cpu::of(me)?.since(&mine),
        machine_busy()?.saturating_sub(all),
    );
    Ok(Sample {
        cpu_us: cpu as f64 / 1e3 / messages as f64,
        per_second: messages as f64 / took.as_secs_f64(),
        memory: Memory::of(pid)?,
        foreign: all.saturating_sub(cpu + mine) as f64 / took.as_nanos() as f64,
    })
}

/// Sends `messages` over every pair and waits until all have arrived.
async fn drive(pairs: &mut Vec<Pair>, shape: &Shape, messages: u64) -> Result<Duration> {
    let begun = Instant::now();
    let (senders, receivers): (Vec<_>, Vec<_>) = std::mem::take(pairs)
        .into_iter()
        .map(|pair| (pair.sender, pair.receiver))
        .unzip();
    let driven = async {
        let receiving = receive_all(receivers, messages);
        match shape.pace {
            Some(pace) => {
                let interval = Duration::from_secs(1) / pace;
                let sending =
                    spawn_blocking(move || send_paced(senders, messages, interval, begun));
                tokio::try_join!(async { sending.await? }, receiving)
            }
            None => tokio::try_join!(send_all(senders, messages, shape.per_write), receiving),
        }
    };
    let (senders, receivers) = timeout(RUN_LIMIT, driven)
        .await
        .context("not every message arrived in time")??;
    let took = begun.elapsed();
    for (mut sender, receiver) in senders.into_iter().zip(receivers) {
        sender.line.check_errors().await?;
        pairs.push(Pair { sender, receiver });
    }
    Ok(took)
}

async fn receive_all(receivers: Vec<Inflow>, messages: u64) -> Result<Vec<Inflow>> {
    let tasks = receivers.into_iter().map(|mut flow| async move {
        let until = flow.next + messages;
        flow.line
            .receive(&mut flow.expected, &mut flow.next, until)
            .await?;
        Ok(flow)
    });
    in_order(tasks).await
}

pub(crate) async fn send_all(
    senders: Vec<Outflow>,
    messages: u64,
    per_write: usize,
) -> Result<Vec<Outflow>> {
    let tasks = senders
        .into_iter()
        .map(move |flow| send(flow, messages, per_write));
    in_order(tasks).await
}

/// Sends as fast as TCP allows, and yields after each write.
pub(crate) async fn send(mut flow: Outflow, messages: u64, per_write: usize) -> Result<Outflow> {
    let until = flow.next + messages;
    while flow.next < until {
        let frames = per_write.min(usize::try_from(until - flow.next).unwrap_or(per_write));
        flow.line
            .write(flow.batch.numbered(flow.next, frames))
            .await?;
        flow.next += frames as u64;
        yield_now().await;
    }
    Ok(flow)
}

/// Sends one message at a time, round robin over the streams, at even intervals; the first is due at `due`.
/// Runs on a thread of its own, because the runtime's clock has a resolution of milliseconds.
pub(crate) fn send_paced(
    mut senders: Vec<Outflow>,
    messages: u64,
    interval: Duration,
    mut due: Instant,
) -> Result<Vec<Outflow>> {
    for _ in 0..messages {
        for flow in &mut senders {
            if let Some(early) = due.checked_duration_since(Instant::now()) {
                std::thread::sleep(early);
            }
            due += interval;
            let frame = flow.batch.numbered(flow.next, 1);
            flow.next += 1;
            flow.line
                .stream
                .write_blocking(frame)
                .context("cannot write")?;
        }
    }
    Ok(senders)
}

/// Runs tasks concurrently; returns the results in the order of the tasks, or the first error.
pub(crate) async fn in_order<T: Send + 'static>(
    tasks: impl Iterator<Item = impl Future<Output = Result<T>> + Send + 'static>,
) -> Result<Vec<T>> {
    let mut running = JoinSet::new();
    for (at, task) in tasks.enumerate() {
        running.spawn(async move { (at, task.await) });
    }
    let mut results = Vec::with_capacity(running.len());
    while let Some(ended) = running.join_next().await {
        let (at, result) = ended?;
        results.push((at, result?));
    }
    results.sort_by_key(|(at, _)| *at);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Loads a running server, and prints its CPU time.
pub(crate) async fn load(
    addr: SocketAddr,
    pid: u32,
    dialect: Dialect,
    pattern: Pattern,
    times: usize,
) -> Result<()> {
    ensure!(times > 0, "--times must be at least 1");
    let shape = pattern.shape(false);
    let mut pairs = open(Target { addr, dialect }, &shape, 0).await?;
    for _ in 0..times {
        let sample = measure(&mut pairs, pid, &shape).await?;
        println!(
            "{}: {:.3} µs per message, {:.0} messages/s, RSS {} KiB, others used {:.0} % of a core",
            pattern.name(),
            sample.cpu_us,
            sample.per_second,
            sample.memory.rss_kib,
            sample.foreign * 100.0
        );
    }
    Ok(())
}
