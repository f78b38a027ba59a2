//! A reconnect storm: the server of many agents is killed and started again, and all agents connect at the same
//! moment. Every agent must be registered again and answer a call.

use std::{
    collections::HashSet,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use jackfield_agora::wire::{AgoraDownlink, Opening, parse_downlink, uplink};
use tempfile::TempDir;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    client::{Connection, Target},
    idle::{IdleAgents, idle_id, raise_file_limit},
    patterns::{RUN_LIMIT, Sample, measure_cpu},
    quiet,
    report::{Section, number, plain, spread},
    rows::{Plan, progress},
    server::{Kind, Programs, Server},
    stats::{Comparison, median, rotated},
};

/// Ports below those that Linux gives to outgoing connections.
const PORTS: Range<u16> = 20_000..32_000;
/// Pause of an agent after a failed attempt to connect.
const RETRY: Duration = Duration::from_millis(50);
/// Number of calls in flight while every agent is called once.
const CALLS_AT_ONCE: usize = 64;

/// Result of one storm.
#[derive(Debug, Clone, Copy)]
struct Storm {
    /// CPU time per reconnect, and reconnects per second.
    sample: Sample,
    /// Time from the kill until the server listens again.
    down: Duration,
    /// Time from then until all agents are registered.
    back: Duration,
    /// Time from then until all agents have answered a call.
    answered: Duration,
    /// Number of failed attempts to connect.
    retries: u64,
}

impl Plan {
    /// Measures the row `storm`.
    pub(crate) async fn storm(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let count = self.storm_size();
        let kinds = [Kind::Bare, Kind::Jackfield, Kind::Bare];
        let mut cpu = Comparison::default();
        let (mut hub, mut bare) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let mut storms = [None; 3];
            for at in rotated(3, round) {
                let mut storm = None;
                let sample = quiet::undisturbed(async || {
                    let measured = run(kinds[at], &self.programs, count).await?;
                    storm = Some(measured);
                    Ok(measured.sample)
                });
                let sample = sample
                    .await
                    .with_context(|| format!("against {}", kinds[at].name()))?;
                foreign.push(sample.foreign);
                storms[at] = storm;
            }
            if let [Some(base), Some(ours), Some(base_again)] = storms {
                let values = [
                    ("bare", base.sample.cpu_us),
                    ("hub", ours.sample.cpu_us),
                    ("bare", base_again.sample.cpu_us),
                    ("hub is back after s", ours.back.as_secs_f64()),
                ];
                progress("storm", round, &values);
                cpu.add(
                    ours.sample.cpu_us,
                    base.sample.cpu_us,
                    base_again.sample.cpu_us,
                );
                hub.push(ours);
                bare.extend([base, base_again]);
            }
        }
        let mut section = section(count);
        for (kind, storms) in [(Kind::Jackfield, &hub), (Kind::Bare, &bare)] {
            let is_hub = kind == Kind::Jackfield;
            let all = |value: fn(&Storm) -> f64| storms.iter().map(value).collect::<Vec<_>>();
            section.line([
                kind.name().to_owned(),
                "0".to_owned(),
                spread(&all(|storm| storm.back.as_secs_f64())),
                plain(median(&all(|storm| storm.answered.as_secs_f64()))),
                plain(median(&all(|storm| storm.down.as_secs_f64()))),
                number(median(&all(|storm| storm.retries as f64))),
                plain(if is_hub { cpu.ours() } else { cpu.base() }),
                if is_hub {
                    Section::ratio(&cpu)
                } else {
                    String::new()
                },
                Section::identical(&cpu),
                plain(median(&all(|storm| {
                    storm.sample.memory.peak_kib as f64 / 1024.0
                }))),
                if is_hub {
                    "met".to_owned()
                } else {
                    String::new()
                },
            ]);
        }
        Ok(section)
    }

    fn storm_size(&self) -> usize {
        raise_file_limit(if self.is_quick { 2_000 } else { 10_000 })
    }

    /// Measures one storm of the hub.
    pub(crate) async fn storm_once(&self, foreign: &mut Vec<f64>) -> Result<Sample> {
        let count = self.storm_size();
        let sample = quiet::undisturbed(async || {
            Ok(run(Kind::Jackfield, &self.programs, count).await?.sample)
        });
        let sample = sample.await?;
        foreign.push(sample.foreign);
        Ok(sample)
    }
}

fn section(count: usize) -> Section {
    Section::new(
        "Reconnect storm",
        &format!(
            "{} agents are registered. The server is killed (SIGKILL) and started again on the same port and in the same folder; the moment \
             that it\nlistens, all agents connect at once, and again {} ms after a failure. TCP itself tries again after a second if the \
             listener's queue is full. Back is the\ntime from then until all of them are registered; called, until each of them has answered \
             a call. Down is the time from the kill until the server\nlistens. CPU is the server's per agent, until all are registered.",
            number(count as f64),
            RETRY.as_millis()
        ),
        &[
            "server",
            "lost",
            "back, s (min–max)",
            "called, s",
            "down, s",
            "failures to connect",
            "CPU µs per reconnect",
            "ratio (min–max)",
            "A/A",
            "peak RSS, MiB",
            "goal: none lost",
        ],
    )
}

/// Kills a server with `count` agents, starts it again, and measures their return.
async fn run(kind: Kind, programs: &Programs, count: usize) -> Result<Storm> {
    let data = TempDir::new().context("cannot make a temporary folder")?;
    let server = Server::start_in(kind, programs, data, lasting_addr()?).await?;
    let agents = IdleAgents::gather(server.target, count).await?;
    let killed = Instant::now();
    let server = server.restart(kind, programs).await?;
    let down = killed.elapsed();
    // Their files are free again, and every agent knows that its connection is gone.
    timeout(RUN_LIMIT, agents.wait_for_cut())
        .await
        .context("connections outlived their server")?;
    let retries = Arc::new(AtomicU64::new(0));
    let (begun, mut agents) = (Instant::now(), Vec::new());
    let sample = measure_cpu(server.pid, count as u64, async {
        let returning = all_come_back(server.target, count, &retries);
        agents = timeout(RUN_LIMIT, returning)
            .await
            .context("not every agent came back in time")??;
        Ok(begun.elapsed())
    });
    let sample = sample.await?;
    let back = begun.elapsed();
    timeout(RUN_LIMIT, call_all(server.target, agents))
        .await
        .context("not every agent answered in time")??;
    let answered = begun.elapsed();
    server.stop().await?;
    Ok(Storm {
        sample,
        down,
        back,
        answered,
        retries: retries.load(Ordering::Relaxed),
    })
}

/// Returns a free address whose port stays free while the server is down, as does the next port, at which the
/// hub listens for peers: outgoing connections get higher ports. Each call gives another port, because
/// connections of the last storm linger in the kernel.
fn lasting_addr() -> Result<SocketAddr> {
    static NEXT: AtomicU16 = AtomicU16::new(PORTS.start);
    let is_free = |port: &u16| {
        let mut both = [*port, *port + 1].into_iter();
        both.all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
    };
    let mut ports = NEXT.load(Ordering::Relaxed)..PORTS.end;
    let port = ports.find(is_free).context("no free port")?;
    NEXT.store(port + 2, Ordering::Relaxed);
    Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
}

/// Connects and registers all agents at once.
async fn all_come_back(
    target: Target,
    count: usize,
    retries: &Arc<AtomicU64>,
) -> Result<Vec<Connection>> {
    let mut returning = JoinSet::new();
    for number in 0..count {
        let retries = retries.clone();
        returning.spawn(async move {
            let id = idle_id(number);
            loop {
                if let Ok(connection) = Connection::open(target, &id).await {
                    return connection;
                }
                retries.fetch_add(1, Ordering::Relaxed);
                sleep(RETRY).await;
            }
        });
    }
    let mut agents = Vec::with_capacity(count);
    while let Some(connection) = returning.join_next().await {
        agents.push(connection?);
    }
    Ok(agents)
}

/// Calls every agent once; fails unless each agent answers once.
async fn call_all(target: Target, agents: Vec<Connection>) -> Result<()> {
    let count = agents.len();
    let mut answering = JoinSet::new();
    for agent in agents {
        answering.spawn(answer(agent));
    }
    let mut caller = Connection::open(target, "caller").await?;
    let mut answered = HashSet::with_capacity(count);
    let numbers: Vec<usize> = (0..count).collect();
    for numbers in numbers.chunks(CALLS_AT_ONCE) {
        for number in numbers {
            let id = idle_id(*number);
            let question = format!(
                "{{\"type\":\"send\",\"to\":\"{id}\",\"payload\":{{\"request_id\":\"{id}\",\"body\":{{\"question\":\"go\"}}}}}}"
            );
            caller.send_text(&question).await?;
        }
        for _ in numbers {
            let text = caller.text().await?;
            let AgoraDownlink::Delivery(answer) = parse_downlink(&text)? else {
                bail!("the server says {text}");
            };
            let is_first = answered.insert(answer.from.into_owned());
            ensure!(is_first, "an agent answered twice: {text}");
        }
    }
    // The connections stay open until every agent was called.
    answering
        .join_all()
        .await
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    ensure!(answered.len() == count, "some agents did not answer");
    Ok(())
}

/// Answers one call.
async fn answer(mut agent: Connection) -> Result<Connection> {
    let text = agent.text().await?;
    let AgoraDownlink::Delivery(call) = parse_downlink(&text)? else {
        bail!("the server says {text}");
    };
    agent
        .send_text(&uplink::reply(&call.from, &Opening::default()))
        .await?;
    Ok(agent)
}
