//! Idle agents: the memory of each, and their effect on the cost of messages between other agents.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use jackfield_agora::wire::{AgoraDownlink, parse_downlink, uplink};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::{task::JoinSet, time::sleep};

use crate::{
    client::{Connection, Target},
    patterns::{Pattern, Sample, measure, open},
    proc::Memory,
    quiet,
    server::{Kind, Programs, Server},
    stats::rotated,
};

/// Number of connections opened at the same time.
const OPEN_AT_ONCE: usize = 64;
/// File descriptors besides idle connections: pairs, the database, the runtime.
const OTHER_FILES: u64 = 2_500;
/// Timeout for pings to all agents. The hub pings after 25 s of silence, and all agents are registered a
/// while earlier.
const PINGED: Duration = Duration::from_secs(60);
/// Delay before the memory of a server is read.
const SETTLE: Duration = Duration::from_secs(1);

/// Idle agents on one server; dropping it disconnects them.
#[derive(Debug)]
pub(crate) struct IdleAgents {
    agents: JoinSet<Result<()>>,
    pings: Arc<AtomicU64>,
}

impl IdleAgents {
    /// Registers `count` agents. Each agent has sent a frame and received an answer when the function
    /// returns.
    pub(crate) async fn gather(target: Target, count: usize) -> Result<Self> {
        let pings = Arc::new(AtomicU64::new(0));
        let (mut agents, mut opening) = (JoinSet::new(), JoinSet::new());
        let mut numbers = 0..count;
        loop {
            while opening.len() < OPEN_AT_ONCE
                && let Some(number) = numbers.next()
            {
                opening.spawn(connect_idle(target, format!("idle-{number:06}")));
            }
            let Some(connection) = opening.join_next().await else {
                return Ok(Self { agents, pings });
            };
            let (connection, pings) = (connection??, pings.clone());
            agents.spawn(async move { connection.idle(&pings).await });
        }
    }

    /// Waits until the server has sent as many pings as there are agents.
    async fn wait_for_all_pings(&mut self) -> Result<()> {
        let begun = Instant::now();
        while self.pings.load(Ordering::Relaxed) < self.agents.len() as u64 {
            self.check_connected()?;
            ensure!(begun.elapsed() < PINGED, "some agents were never pinged");
            sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    /// Fails if an agent was disconnected.
    pub(crate) fn check_connected(&mut self) -> Result<()> {
        match self.agents.try_join_next() {
            None => Ok(()),
            Some(ended) => ended?.context("an idle agent was lost"),
        }
    }
}

async fn connect_idle(target: Target, id: String) -> Result<Connection> {
    let mut connection = Connection::open(target, &id).await?;
    connection.send_text(&uplink::ping()).await?;
    let answer = connection.text().await?;
    ensure!(
        matches!(parse_downlink(&answer)?, AgoraDownlink::Pong),
        "{id} expected a pong: {answer}"
    );
    Ok(connection)
}

/// Raises the limit of open files for this process and its children, and returns the number of agents that
/// the limit allows.
pub(crate) fn raise_file_limit(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let room = files.map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES));
    wanted.min(usize::try_from(room).unwrap_or(usize::MAX))
}

/// Cost of idle agents on a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdleCost {
    pub(crate) kib_each: f64,
    pub(crate) before_kib: u64,
    pub(crate) after: Memory,
    pub(crate) registered_per_second: f64,
}

/// Measures the memory of idle agents on a fresh server.
pub(crate) async fn idle_cost(
    kind: Kind,
    programs: &Programs,
    count: usize,
    wait_for_pings: bool,
) -> Result<IdleCost> {
    let server = Server::start(kind, programs).await?;
    sleep(SETTLE).await;
    let before = Memory::of(server.pid)?;
    let begun = Instant::now();
    let mut idle_agents = IdleAgents::gather(server.target, count).await?;
    let took = begun.elapsed();
    if wait_for_pings {
        idle_agents.wait_for_all_pings().await?;
    }
    sleep(SETTLE).await;
    idle_agents.check_connected()?;
    let after = Memory::of(server.pid)?;
    drop(idle_agents);
    server.stop().await?;
    Ok(IdleCost {
        kib_each: after.rss_kib.saturating_sub(before.rss_kib) as f64 / count as f64,
        before_kib: before.rss_kib,
        after,
        registered_per_second: count as f64 / took.as_secs_f64(),
    })
}

/// Measures pattern 64 on three hubs in turn, round by round. The second hub has `many` idle agents, the
/// others `few`.
pub(crate) async fn attached(
    programs: &Programs,
    (few, many): (usize, usize),
    rounds: usize,
    is_quick: bool,
) -> Result<Vec<[Sample; 3]>> {
    let shape = Pattern::SixtyFour.shape(is_quick);
    let mut hubs = Vec::new();
    for count in [few, many, few] {
        let server = Server::start(Kind::Jackfield, programs).await?;
        let idle_agents = IdleAgents::gather(server.target, count).await?;
        hubs.push((server, idle_agents));
    }
    // Each sample uses new agent ids, so that no agent replaces another.
    let mut numbers = (0..).step_by(shape.pairs);
    let mut results = Vec::new();
    for round in 0..rounds {
        let mut samples = [None; 3];
        for at in rotated(3, round) {
            let (server, idle_agents) = &mut hubs[at];
            idle_agents.check_connected()?;
            let sample = quiet::undisturbed(async || {
                let first = numbers.next().unwrap_or_default();
                let mut pairs = open(server.target, &shape, first).await?;
                measure(&mut pairs, server.pid, &shape).await
            });
            samples[at] = Some(sample.await?);
        }
        if let [Some(few), Some(many), Some(base_again)] = samples {
            results.push([few, many, base_again]);
        }
    }
    for (server, _) in hubs {
        server.stop().await?;
    }
    Ok(results)
}
