//! Idle agents: the memory of each, with and without TLS, and their effect on the cost of messages between other agents.

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
    report::{Section, at_most, number, plain, spread},
    rows::{Plan, progress},
    server::{Kind, Programs, Server},
    stats::{median, rotated},
    tls::{Dialer, start_hub},
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
        Self::gather_by(&Dialer::plain(target), count).await
    }

    /// Registers `count` agents with connections of this dialer.
    async fn gather_by(dialer: &Dialer, count: usize) -> Result<Self> {
        let pings = Arc::new(AtomicU64::new(0));
        let (mut agents, mut opening) = (JoinSet::new(), JoinSet::new());
        let mut numbers = 0..count;
        loop {
            while opening.len() < OPEN_AT_ONCE
                && let Some(number) = numbers.next()
            {
                opening.spawn(connect_idle(dialer.clone(), idle_id(number)));
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

    /// Waits until all agents are disconnected.
    pub(crate) async fn wait_for_cut(mut self) {
        while self.agents.join_next().await.is_some() {}
    }

    /// Fails if an agent was disconnected.
    pub(crate) fn check_connected(&mut self) -> Result<()> {
        match self.agents.try_join_next() {
            None => Ok(()),
            Some(ended) => ended?.context("an idle agent was lost"),
        }
    }
}

/// Returns the id of an idle agent.
pub(crate) fn idle_id(number: usize) -> String {
    format!("idle-{number:06}")
}

async fn connect_idle(dialer: Dialer, id: String) -> Result<Connection> {
    let mut connection = dialer.open(&id).await?;
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
    before_kib: u64,
    after: Memory,
    registered_per_second: f64,
}

/// A kind of server whose idle agents are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Hub,
    HubWithTls,
    Bare,
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Hub => Kind::Jackfield.name(),
            Self::HubWithTls => "jackfield, TLS",
            Self::Bare => Kind::Bare.name(),
        }
    }

    async fn start(self, programs: &Programs) -> Result<(Server, Dialer)> {
        match self {
            Self::Hub => start_hub(programs, false).await,
            Self::HubWithTls => start_hub(programs, true).await,
            Self::Bare => {
                let server = Server::start(Kind::Bare, programs).await?;
                let dialer = Dialer::plain(server.target);
                Ok((server, dialer))
            }
        }
    }

    /// Returns the goal and the verdict for the memory of each agent.
    fn verdict(self, kib_each: f64) -> (&'static str, String) {
        match self {
            Self::Hub => ("≤ 4, aim ≤ 2", at_most(kib_each, 4.0, 2.0)),
            Self::HubWithTls => ("≤ 24, aim ≤ 16", at_most(kib_each, 24.0, 16.0)),
            Self::Bare => ("", String::new()),
        }
    }
}

impl Plan {
    /// Measures the row `idle`.
    pub(crate) async fn idle(&self) -> Result<Section> {
        let count = raise_file_limit(if self.is_quick { 2_000 } else { 10_000 });
        let rounds = if self.is_quick { 1 } else { 3 };
        let mut section = section(count);
        for subject in [Subject::Hub, Subject::HubWithTls, Subject::Bare] {
            let mut costs = Vec::new();
            for round in 0..rounds {
                let cost = idle_cost(subject, &self.programs, count, self.is_quick).await?;
                progress(subject.name(), round, &[("KiB each", cost.kib_each)]);
                costs.push(cost);
            }
            let all = |value: fn(&IdleCost) -> f64| costs.iter().map(value).collect::<Vec<_>>();
            let each = all(|cost| cost.kib_each);
            let (goal, verdict) = subject.verdict(median(&each));
            section.line([
                subject.name().to_owned(),
                spread(&each),
                plain(median(&all(|cost| cost.before_kib as f64 / 1024.0))),
                plain(median(&all(|cost| cost.after.rss_kib as f64 / 1024.0))),
                plain(median(&all(|cost| cost.after.peak_kib as f64 / 1024.0))),
                number(median(&all(|cost| cost.registered_per_second))),
                goal.to_owned(),
                verdict,
            ]);
        }
        Ok(section)
    }
}

fn section(count: usize) -> Section {
    Section::new(
        "Idle agents",
        &format!(
            "RSS that {} registered agents add, each; after all of them have registered, said something and, on the hub, been pinged. With TLS,\n\
             every agent connects by `wss` with a full handshake.",
            number(count as f64)
        ),
        &[
            "server",
            "KiB each (min–max)",
            "RSS before, MiB",
            "after",
            "peak",
            "registered/s",
            "goal",
            "",
        ],
    )
}

/// Measures the memory of idle agents on a fresh server.
pub(crate) async fn idle_cost(
    subject: Subject,
    programs: &Programs,
    count: usize,
    is_quick: bool,
) -> Result<IdleCost> {
    let (server, dialer) = subject.start(programs).await?;
    sleep(SETTLE).await;
    let before = Memory::of(server.pid)?;
    let begun = Instant::now();
    let mut idle_agents = IdleAgents::gather_by(&dialer, count).await?;
    let took = begun.elapsed();
    // The bare relay sends no pings; a quick run does not wait for the hub's pings.
    if subject != Subject::Bare && !is_quick {
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
