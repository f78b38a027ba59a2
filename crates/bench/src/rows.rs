//! The rows of the report: what is measured, in which order, against which baseline, and the goals.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use tokio::{
    task::JoinSet,
    time::{Duration, sleep, timeout},
};

use crate::{
    files::{BYTES, TransferPath, TransferSetup},
    idle::{attached, raise_file_limit},
    patterns::{Pattern, Sample, Shape, measure, open, send},
    proc::Machine,
    quiet,
    report::{Report, Section, at_least, number, plain, reached, spread},
    server::{Kind, Programs, Server},
    stats::{Comparison, median, rotated},
    team::{Burst, measure_burst},
};

/// How long a pair has been stalled before the other pairs are measured.
const STALLED: Duration = Duration::from_secs(1);
/// Timeout of a row, including the time spent waiting for other processes.
const ROW_LIMIT: Duration = Duration::from_secs(2400);

/// A row of the report, which can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Row {
    /// CPU per message against the bare relay, and NATS if there is one
    Relay,
    /// Memory of idle agents, without and with TLS
    Idle,
    /// Memory of a hub without agents
    Empty,
    /// A thousand streams at once
    Pairs,
    /// One stalled reader
    Stalled,
    /// A hundred thousand chunks to one reader
    Pump,
    /// Cost per message beside few and many agents
    Attached,
    /// A burst through nested teams to one viewer, and to ten
    Team,
    /// Files between agents against a plain copy over TCP
    Files,
    /// Server-sent events of a team to a thousand readers, against nginx with nchan
    FanOut,
    /// Streams at 60 chunks per second with TLS
    Tls,
    /// Ten thousand agents that come back at once after a crash of the hub
    Storm,
    /// Official A2A with its durable task against the disk, live calls and other servers
    A2a,
    /// A call from the bridge to an Agora agent, per chunk, against Agora to Agora
    Across,
    /// Added time to the first chunk of a streamed answer
    FirstChunk,
    /// The hub and other programs in front of the same A2A server
    Rivals,
    /// This build against the build of `--before`
    Builds,
}

impl Row {
    pub(crate) const ALL: [Self; 17] = [
        Self::Relay,
        Self::Idle,
        Self::Empty,
        Self::Pairs,
        Self::Stalled,
        Self::Pump,
        Self::Attached,
        Self::Team,
        Self::Files,
        Self::FanOut,
        Self::Tls,
        Self::Storm,
        Self::A2a,
        Self::Across,
        Self::FirstChunk,
        Self::Rivals,
        Self::Builds,
    ];
}

/// Options of `run`.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) programs: Programs,
    /// Another build of the hub to compare with.
    pub(crate) before: Option<PathBuf>,
    pub(crate) rounds: usize,
    pub(crate) is_quick: bool,
    /// Rows to measure; empty for all.
    pub(crate) only: Vec<Row>,
}

impl Plan {
    /// Measures the rows and returns the report.
    pub(crate) async fn run(&self) -> Result<Report> {
        let mut report = Report::new(Machine::look(), self.rounds, self.is_quick);
        for row in Row::ALL {
            if !self.only.is_empty() && !self.only.contains(&row) {
                continue;
            }
            let measured = timeout(ROW_LIMIT, self.measure(row, &mut report.foreign)).await;
            let sections = measured
                .with_context(|| format!("{row:?} took too long"))?
                .with_context(|| format!("{row:?} failed"))?;
            report.sections.extend(sections);
        }
        report.waited = quiet::waited();
        report.repeated = quiet::repetitions();
        Ok(report)
    }

    async fn measure(&self, row: Row, foreign: &mut Vec<f64>) -> Result<Vec<Section>> {
        Ok(match row {
            Row::Relay => self.relay(foreign).await?,
            Row::Idle => vec![self.idle().await?],
            Row::Empty => vec![self.empty().await?],
            Row::Pairs => vec![self.pairs(foreign).await?],
            Row::Stalled => vec![self.stalled(foreign).await?],
            Row::Pump => vec![self.pump().await?],
            Row::Attached => vec![self.attached(foreign).await?],
            Row::Team => vec![self.team(foreign).await?],
            Row::Files => vec![self.files().await?],
            Row::Builds => match &self.before {
                Some(before) => vec![self.builds(before, foreign).await?],
                None if self.only.is_empty() => Vec::new(),
                None => bail!("name the other build with --before FILE"),
            },
            Row::FanOut => vec![self.fan_out(foreign).await?],
            Row::Tls => vec![self.tls(foreign).await?],
            Row::Storm => vec![self.storm(foreign).await?],
            Row::A2a => self.a2a(foreign).await?,
            Row::Across => vec![self.across(foreign).await?],
            Row::FirstChunk => vec![self.first_chunk(foreign).await?],
            Row::Rivals => vec![self.rivals(foreign).await?],
        })
    }

    /// Starts a fresh server and loads it once.
    pub(crate) async fn once(
        &self,
        kind: Kind,
        shape: &Shape,
        foreign: &mut Vec<f64>,
    ) -> Result<Sample> {
        let sample = quiet::undisturbed(async || {
            let server = Server::start(kind, &self.programs).await?;
            let mut pairs = open(server.target, shape, 0).await?;
            let sample = measure(&mut pairs, server.pid, shape).await?;
            server.stop().await?;
            Ok(sample)
        });
        let sample = sample
            .await
            .with_context(|| format!("against {}", kind.name()))?;
        foreign.push(sample.foreign);
        Ok(sample)
    }

    async fn relay(&self, foreign: &mut Vec<f64>) -> Result<Vec<Section>> {
        let mut kinds = vec![Kind::Bare, Kind::Jackfield, Kind::Bare];
        if self.programs.nats.is_some() {
            kinds.extend([Kind::Nats, Kind::Nats]);
        }
        let (mut against_bare, mut against_nats) = (
            Section::relay(),
            Section::nats(&self.programs.nats_version()),
        );
        for pattern in Pattern::ALL {
            let shape = pattern.shape(self.is_quick);
            let (mut bare, mut nats) = (Comparison::default(), Comparison::default());
            let (mut speed, mut peak) = (Vec::new(), Vec::new());
            for round in 0..self.rounds {
                let mut samples = vec![None; kinds.len()];
                for at in rotated(kinds.len(), round) {
                    samples[at] = Some(self.once(kinds[at], &shape, foreign).await?);
                }
                let cpu = |at: usize| samples.get(at).copied().flatten().map(|it| it.cpu_us);
                if let (Some(base), Some(ours), Some(base_again)) = (cpu(0), cpu(1), cpu(2)) {
                    progress(
                        pattern.name(),
                        round,
                        &[("bare", base), ("hub", ours), ("bare", base_again)],
                    );
                    bare.add(ours, base, base_again);
                }
                if let (Some(base), Some(ours), Some(base_again)) = (cpu(3), cpu(1), cpu(4)) {
                    progress(
                        pattern.name(),
                        round,
                        &[("NATS", base), ("NATS", base_again)],
                    );
                    nats.add(ours, base, base_again);
                }
                if let Some(ours) = samples[1] {
                    speed.push(ours.per_second);
                    peak.push(ours.memory.peak_kib as f64 / 1024.0);
                }
            }
            let speed_and_peak = [number(median(&speed)), plain(median(&peak))];
            against_bare.compare(pattern.name(), &bare, (1.3, 1.1), &speed_and_peak);
            if self.programs.nats.is_some() {
                against_nats.compare(pattern.name(), &nats, (1.0, 0.7), &[]);
            }
        }
        let mut sections = vec![against_bare];
        if self.programs.nats.is_some() {
            sections.push(against_nats);
        }
        Ok(sections)
    }

    async fn pairs(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        raise_file_limit(0);
        let shape = Shape {
            pairs: if self.is_quick { 200 } else { 1_000 },
            per_write: 1,
            pace: Some(10_000),
            messages: if self.is_quick { 50 } else { 200 },
            warm_up: 5,
        };
        let mut section = Section::pairs(shape.pairs, shape.messages);
        for (round, kind) in [Kind::Bare, Kind::Jackfield, Kind::Bare]
            .into_iter()
            .enumerate()
        {
            let sample = self.once(kind, &shape, foreign).await?;
            progress(kind.name(), round, &[("µs", sample.cpu_us)]);
            section.line([
                kind.name().to_owned(),
                number(shape.pairs as f64 * shape.messages as f64),
                "0".to_owned(),
                plain(sample.cpu_us),
                number(sample.per_second),
                plain(sample.memory.rss_kib as f64 / 1024.0),
                plain(sample.memory.peak_kib as f64 / 1024.0),
            ]);
        }
        Ok(section)
    }

    async fn stalled(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let shape = Shape {
            pairs: 63,
            ..Pattern::SixtyFour.shape(self.is_quick)
        };
        let (mut speed, mut cpu) = (Comparison::default(), Comparison::default());
        let mut peak = Vec::new();
        for round in 0..self.rounds {
            let mut samples = [None; 3];
            for at in rotated(3, round) {
                let sample = if at == 1 {
                    quiet::undisturbed(async || self.beside_a_stalled_reader(&shape).await).await?
                } else {
                    self.once(Kind::Jackfield, &shape, foreign).await?
                };
                samples[at] = Some(sample);
            }
            if let [Some(base), Some(ours), Some(base_again)] = samples {
                let values = [
                    ("without", base.per_second),
                    ("with", ours.per_second),
                    ("without", base_again.per_second),
                ];
                progress("stalled", round, &values);
                speed.add(ours.per_second, base.per_second, base_again.per_second);
                cpu.add(ours.cpu_us, base.cpu_us, base_again.cpu_us);
                peak.push(ours.memory.peak_kib as f64 / 1024.0);
            }
        }
        let mut section = Section::stalled();
        let verdict = at_least(speed.ratio().median, 0.9);
        section.line([
            "messages/s of the other 63".to_owned(),
            number(speed.ours()),
            number(speed.base()),
            Section::ratio(&speed),
            Section::identical(&speed),
            verdict,
        ]);
        section.line([
            "CPU µs per message".to_owned(),
            plain(cpu.ours()),
            plain(cpu.base()),
            Section::ratio(&cpu),
            Section::identical(&cpu),
            String::new(),
        ]);
        section.line([
            "peak RSS, MiB".to_owned(),
            plain(median(&peak)),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
        ]);
        Ok(section)
    }

    async fn beside_a_stalled_reader(&self, shape: &Shape) -> Result<Sample> {
        let server = Server::start(Kind::Jackfield, &self.programs).await?;
        let all = Shape {
            pairs: shape.pairs + 1,
            ..*shape
        };
        let mut pairs = open(server.target, &all, 0).await?;
        let stalled = pairs.pop().context("no pair to stall")?;
        let mut sending = JoinSet::new();
        sending.spawn(send(stalled.sender, u64::MAX >> 1, shape.per_write));
        sleep(STALLED).await;
        let sample = measure(&mut pairs, server.pid, shape).await?;
        // Kept open and unread until here.
        drop(stalled.receiver);
        server.stop().await?;
        Ok(sample)
    }

    async fn pump(&self) -> Result<Section> {
        let shape = Shape {
            messages: 100_000,
            warm_up: 0,
            ..Pattern::Burst.shape(false)
        };
        let mut section = Section::pump();
        let sample = self
            .once(Kind::Jackfield, &shape, &mut Vec::new())
            .await
            .context("chunks were lost")?;
        section.line([
            number(shape.messages as f64),
            "0".to_owned(),
            number(sample.per_second),
            plain(sample.memory.peak_kib as f64 / 1024.0),
            "met".to_owned(),
        ]);
        Ok(section)
    }

    async fn attached(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let few = 10;
        let many = raise_file_limit(if self.is_quick { 2_000 } else { 10_000 });
        eprintln!("attached: {many} agents register first");
        let rounds = attached(&self.programs, (few, many), self.rounds, self.is_quick).await?;
        let mut cpu = Comparison::default();
        for (round, [base, ours, base_again]) in rounds.iter().enumerate() {
            let values = [
                ("few", base.cpu_us),
                ("many", ours.cpu_us),
                ("few", base_again.cpu_us),
            ];
            progress("attached", round, &values);
            cpu.add(ours.cpu_us, base.cpu_us, base_again.cpu_us);
            foreign.extend([base.foreign, ours.foreign, base_again.foreign]);
        }
        let mut section = Section::attached(few, many);
        section.compare("64", &cpu, (1.15, 1.05), &[]);
        Ok(section)
    }

    async fn team(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let (one, ten) = (Burst::to_one(self.is_quick), Burst::to_ten(self.is_quick));
        let mut speed = Comparison::default();
        let (mut to_one, mut to_ten) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let mut samples = [None; 3];
            for at in rotated(3, round) {
                let burst = if at == 1 { ten } else { one };
                samples[at] = Some(self.burst(burst, foreign).await?);
            }
            if let [Some(base), Some(ours), Some(base_again)] = samples {
                let values = [
                    ("one", base.per_second),
                    ("ten", ours.per_second),
                    ("one", base_again.per_second),
                ];
                progress("team", round, &values);
                speed.add(ours.per_second, base.per_second, base_again.per_second);
                to_one.extend([base, base_again]);
                to_ten.push(ours);
            }
        }
        let mut section = Section::team(one.events);
        let all = |samples: &[Sample], value: fn(&Sample) -> f64| {
            samples.iter().map(value).collect::<Vec<_>>()
        };
        for (name, samples) in [("one", &to_one), ("ten, one stalled", &to_ten)] {
            let per_second = all(samples, |sample| sample.per_second);
            let cpu = all(samples, |sample| sample.cpu_us);
            let peak = all(samples, |sample| sample.memory.peak_kib as f64 / 1024.0);
            let is_one = name == "one";
            section.line([
                name.to_owned(),
                "0".to_owned(),
                spread(&per_second),
                plain(median(&cpu)),
                plain(median(&peak)),
                if is_one {
                    Section::identical(&speed)
                } else {
                    String::new()
                },
                if is_one {
                    reached(median(&per_second), 50_000.0, 500_000.0)
                } else {
                    String::new()
                },
            ]);
        }
        Ok(section)
    }

    async fn files(&self) -> Result<Section> {
        let paths = [
            TransferPath::Tcp,
            TransferPath::Direct,
            TransferPath::Hub,
            TransferPath::Tcp,
        ];
        let (mut direct, mut hub) = (Comparison::default(), Comparison::default());
        for round in 0..self.rounds {
            let mut speeds = [0.0; 4];
            for at in rotated(paths.len(), round) {
                speeds[at] = self.transfer(paths[at]).await?.per_second / 1e6;
            }
            let [base, by_webrtc, through_hub, base_again] = speeds;
            let values = paths
                .iter()
                .zip(speeds)
                .map(|(path_kind, speed)| (path_kind.name(), speed));
            progress("files", round, &values.collect::<Vec<_>>());
            direct.add(by_webrtc, base, base_again);
            hub.add(through_hub, base, base_again);
        }
        let mut section = Section::files(BYTES);
        for (path_kind, speed) in [(TransferPath::Direct, &direct), (TransferPath::Hub, &hub)] {
            section.line([
                path_kind.name().to_owned(),
                plain(speed.ours()),
                plain(speed.base()),
                Section::ratio(speed),
                Section::identical(speed),
            ]);
        }
        Ok(section)
    }

    /// Sends a burst through the teams of a fresh hub.
    pub(crate) async fn burst(&self, burst: Burst, foreign: &mut Vec<f64>) -> Result<Sample> {
        let sample = quiet::undisturbed(async || {
            let server = Server::start(Kind::Jackfield, &self.programs).await?;
            let sample = measure_burst(server.target.addr, server.pid, burst, 0).await?;
            server.stop().await?;
            Ok(sample)
        });
        let sample = sample.await?;
        foreign.push(sample.foreign);
        Ok(sample)
    }

    /// Transfers files once, with a fresh hub.
    pub(crate) async fn transfer(&self, path: TransferPath) -> Result<Sample> {
        let sample = quiet::undisturbed(async || {
            // No connection may be open while waiting for other processes.
            let transfer_setup = TransferSetup::open(&self.programs).await?;
            let sample = transfer_setup.transfer(path).await?;
            transfer_setup.close().await?;
            Ok(sample)
        });
        sample.await
    }
}

/// Prints the values of a round.
pub(crate) fn progress(what: &str, round: usize, values: &[(&str, f64)]) {
    let values: Vec<_> = values
        .iter()
        .map(|(name, value)| format!("{name} {value:.2}"))
        .collect();
    eprintln!("{what}, round {}: {}", round + 1, values.join(", "));
}
