//! Loads an HTTP server from keep-alive connections, one request at a time on each, and checks every answer.

use std::{
    collections::HashMap,
    fs,
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    http::HttpConnection,
    latency::Latencies,
    patterns::{RUN_LIMIT, SETTLE, Sample},
    proc::{Cpu, Memory, machine_busy},
    question::Question,
    quiet::Measured,
};

/// Parameters of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HttpShape {
    /// Number of connections.
    pub(crate) at_once: usize,
    /// Requests on each connection.
    pub(crate) requests: u64,
    /// Requests on each connection before the measurement.
    pub(crate) warm_up: u64,
}

impl HttpShape {
    /// Divides `requests` in total by the connections; a quick run has a quarter of them.
    pub(crate) fn new(at_once: usize, requests: u64, warm_up: u64, is_quick: bool) -> Self {
        let each = |total: u64| {
            let total = if is_quick { total / 4 } else { total };
            (total / at_once as u64).max(1)
        };
        Self {
            at_once,
            requests: each(requests),
            warm_up: each(warm_up),
        }
    }
}

/// Result of a run.
#[derive(Debug, Clone)]
pub(crate) struct HttpSample {
    pub(crate) load: Sample,
    pub(crate) latencies: Latencies,
}

impl Measured for HttpSample {
    fn foreign(&self) -> f64 {
        self.load.foreign
    }
}

/// Processes of a run: those whose CPU time is measured, and others that also belong to the benchmark.
#[derive(Debug, Clone, Default)]
pub(crate) struct Processes {
    pub(crate) measured: Vec<u32>,
    pub(crate) beside: Vec<u32>,
}

impl Processes {
    /// One server alone.
    pub(crate) fn of(pid: u32) -> Self {
        Self {
            measured: vec![pid],
            beside: Vec::new(),
        }
    }
}

/// CPU time of several processes so far.
struct GroupCpu(Vec<Cpu>);

impl GroupCpu {
    fn of(pids: &[u32]) -> Result<Self> {
        Ok(Self(
            pids.iter()
                .map(|pid| Cpu::of(*pid))
                .collect::<Result<_>>()?,
        ))
    }

    fn since(&self, before: &Self) -> u64 {
        let pairs = self.0.iter().zip(&before.0);
        pairs.map(|(now, before)| now.since(before)).sum()
    }
}

/// Opens the connections of a [`HttpShape`], warms up and measures.
pub(crate) async fn load(
    addr: SocketAddr,
    question: &Question,
    shape: &HttpShape,
    processes: &Processes,
) -> Result<HttpSample> {
    let mut callers = Vec::with_capacity(shape.at_once);
    for number in 0..shape.at_once {
        callers.push(HttpCaller {
            connection: HttpConnection::open(addr).await?,
            question: question.clone(),
            next: number as u64 * 1_000_000,
            answer: Vec::new(),
            latencies: Vec::new(),
        });
    }
    callers = drive(callers, shape.warm_up).await?.0;
    for caller in &mut callers {
        caller.latencies.clear();
    }
    sleep(SETTLE).await;
    let requests = shape.requests * callers.len() as u64;
    let (load, callers) = measure_processes(processes, requests, async || {
        drive(std::mem::take(&mut callers), shape.requests).await
    })
    .await?;
    let latencies = callers.into_iter().flat_map(|caller| caller.latencies);
    Ok(HttpSample {
        load,
        latencies: Latencies::new(latencies.collect()),
    })
}

/// Measures the CPU time of processes while `drive` makes `count` requests. `drive` also returns the elapsed
/// time.
pub(crate) async fn measure_processes<T>(
    processes: &Processes,
    count: u64,
    mut drive: impl AsyncFnMut() -> Result<(T, Duration)>,
) -> Result<(Sample, T)> {
    let me = [std::process::id()];
    let look = || -> Result<_> {
        Ok((
            GroupCpu::of(&processes.measured)?,
            GroupCpu::of(&processes.beside)?,
            GroupCpu::of(&me)?,
            machine_busy()?,
        ))
    };
    let before = look()?;
    let (driven, took) = drive().await?;
    let after = look()?;
    let cpu = after.0.since(&before.0);
    let ours = cpu + after.1.since(&before.1) + after.2.since(&before.2);
    let root = processes.measured.first().unwrap_or(&me[0]);
    let sample = Sample {
        cpu_us: cpu as f64 / 1e3 / count as f64,
        per_second: count as f64 / took.as_secs_f64(),
        memory: Memory::of(*root)?,
        foreign: after.3.saturating_sub(before.3).saturating_sub(ours) as f64
            / took.as_nanos() as f64,
    };
    Ok((sample, driven))
}

/// One connection with its requests.
struct HttpCaller {
    connection: HttpConnection,
    question: Question,
    next: u64,
    answer: Vec<u8>,
    /// Time of each request, in microseconds.
    latencies: Vec<f64>,
}

impl HttpCaller {
    async fn call(&mut self) -> Result<()> {
        let begun = Instant::now();
        let request = self.question.ask(self.next);
        self.connection.exchange(request, &mut self.answer).await?;
        self.latencies.push(begun.elapsed().as_secs_f64() * 1e6);
        self.next += 1;
        self.question.check(&self.answer)
    }
}

/// Makes `requests` on every connection, all connections at once.
async fn drive(callers: Vec<HttpCaller>, requests: u64) -> Result<(Vec<HttpCaller>, Duration)> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    let count = callers.len();
    for mut caller in callers {
        running.spawn(async move {
            for _ in 0..requests {
                caller.call().await?;
            }
            anyhow::Ok(caller)
        });
    }
    let mut callers = Vec::with_capacity(count);
    let driven = async {
        while let Some(caller) = running.join_next().await {
            callers.push(caller??);
        }
        anyhow::Ok(())
    };
    timeout(RUN_LIMIT, driven)
        .await
        .context("not every request was answered in time")??;
    Ok((callers, begun.elapsed()))
}

/// Returns the process and all its descendants.
pub(crate) fn process_tree(root: u32) -> Result<Vec<u32>> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that ends meanwhile is ignored.
        if let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat"))
            && let Some(parent) = parent_of_stat(&stat)
        {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(pid) = tree.get(next) {
        tree.extend(children.remove(pid).unwrap_or_default());
        next += 1;
    }
    Ok(tree)
}

/// Parses the parent's id from `/proc/PID/stat`, whose second field may contain any text.
fn parent_of_stat(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_is_found_behind_any_name() {
        assert_eq!(parent_of_stat("7 (a) b (c)) S 12 7 7 0"), Some(12));
        assert_eq!(parent_of_stat("nonsense"), None);
    }

    #[test]
    fn a_child_belongs_to_its_parents_tree() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let tree = process_tree(std::process::id());
        child.kill().unwrap();
        child.wait().unwrap();
        let tree = tree.unwrap();
        assert_eq!(tree[0], std::process::id());
        assert!(tree.contains(&child.id()), "{tree:?}");
    }

    #[test]
    fn requests_are_divided_among_the_connections() {
        let shape = HttpShape::new(64, 6_400, 640, false);
        assert_eq!((shape.requests, shape.warm_up), (100, 10));
        let quick = HttpShape::new(64, 6_400, 100, true);
        assert_eq!((quick.requests, quick.warm_up), (25, 1));
    }
}
