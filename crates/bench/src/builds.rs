//! This build of the hub against another build, under the loads of the other rows: shows what a change costs.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{
    files::{TransferPath, TransferSetup},
    idle::{Subject, idle_cost, raise_file_limit},
    patterns::{Pattern, Sample, Shape, measure, open},
    quiet,
    report::{Section, plain},
    rows::{Plan, progress},
    server::{Kind, Programs, Server},
    stats::{Comparison, rotated},
    team::{Burst, measure_burst},
};

/// Rounds of loads that take long, at most.
const FEW_ROUNDS: usize = 3;

/// A load under which two builds are compared.
#[derive(Debug, Clone, Copy)]
enum Load {
    Relay(Pattern),
    Idle,
    TeamOne,
    TeamTen,
    Files(TransferPath),
}

impl Load {
    const ALL: [Self; 8] = [
        Self::Relay(Pattern::Burst),
        Self::Relay(Pattern::SixtyFour),
        Self::Relay(Pattern::Paced),
        Self::Idle,
        Self::TeamOne,
        Self::TeamTen,
        Self::Files(TransferPath::Direct),
        Self::Files(TransferPath::Hub),
    ];

    /// Returns what is measured; a smaller value is always better.
    fn name(self) -> &'static str {
        match self {
            Self::Relay(Pattern::Burst) => "relay, burst: CPU µs per message",
            Self::Relay(Pattern::SixtyFour) => "relay, 64: CPU µs per message",
            Self::Relay(Pattern::Paced) => "relay, paced: CPU µs per message",
            Self::Idle => "idle agents: KiB each",
            Self::TeamOne => "team, one viewer: CPU µs per event",
            Self::TeamTen => "team, ten viewers, one stalled: CPU µs per event",
            Self::Files(TransferPath::Direct) => "files by WebRTC: seconds per GB",
            Self::Files(TransferPath::Hub) => "files through the hub: seconds per GB",
            Self::Files(TransferPath::Tcp) => "files over TCP: seconds per GB",
        }
    }

    /// Measures a fresh hub once, while the machine is quiet.
    async fn measure(self, programs: &Programs, is_quick: bool) -> Result<f64> {
        if let Self::Idle = self {
            let count = raise_file_limit(if is_quick { 2_000 } else { 10_000 });
            let cost = idle_cost(Subject::Hub, programs, count, true).await?;
            return Ok(cost.kib_each);
        }
        let sample = quiet::undisturbed(async || match self {
            Self::Relay(pattern) => relay(programs, &pattern.shape(is_quick)).await,
            Self::TeamTen => burst(programs, Burst::to_ten(is_quick)).await,
            Self::Files(path) => files(programs, path).await,
            Self::TeamOne | Self::Idle => burst(programs, Burst::to_one(is_quick)).await,
        });
        let sample = sample.await?;
        Ok(match self {
            Self::Files(_) => 1e9 / sample.per_second,
            Self::Relay(_) | Self::Idle | Self::TeamOne | Self::TeamTen => sample.cpu_us,
        })
    }

    fn rounds(self, rounds: usize) -> usize {
        match self {
            Self::Idle => rounds.min(FEW_ROUNDS),
            Self::Relay(_) | Self::TeamOne | Self::TeamTen | Self::Files(_) => rounds,
        }
    }
}

async fn relay(programs: &Programs, shape: &Shape) -> Result<Sample> {
    let server = Server::start(Kind::Jackfield, programs).await?;
    let mut pairs = open(server.target, shape, 0).await?;
    let sample = measure(&mut pairs, server.pid, shape).await?;
    server.stop().await?;
    Ok(sample)
}

async fn files(programs: &Programs, path: TransferPath) -> Result<Sample> {
    let transfer_setup = TransferSetup::open(programs).await?;
    let sample = transfer_setup.transfer(path).await?;
    transfer_setup.close().await?;
    Ok(sample)
}

async fn burst(programs: &Programs, burst: Burst) -> Result<Sample> {
    let server = Server::start(Kind::Jackfield, programs).await?;
    let sample = measure_burst(server.target.addr, server.pid, burst, 0).await?;
    server.stop().await?;
    Ok(sample)
}

impl Plan {
    /// Compares this build with the build at `other` under each load.
    pub(crate) async fn builds(&self, other: &Path) -> Result<Section> {
        let before = Programs {
            jackfield: other.to_owned(),
            ..self.programs.clone()
        };
        let mut section = Section::new(
            "This build against another build",
            "The other build is measured twice in each round. A ratio below 1 means that this build is better; a \
             difference within A/A proves nothing.",
            &[
                "load",
                "this build",
                "other build",
                "ratio (min–max)",
                "A/A",
            ],
        );
        for load in Load::ALL {
            let mut comparison = Comparison::default();
            for round in 0..load.rounds(self.rounds) {
                let mut values = [0.0; 3];
                for at in rotated(3, round) {
                    let programs = if at == 1 { &self.programs } else { &before };
                    let value = load.measure(programs, self.is_quick).await;
                    values[at] = value.context(load.name())?;
                }
                let [base, ours, base_again] = values;
                let names = [("other", base), ("this", ours), ("other", base_again)];
                progress(load.name(), round, &names);
                comparison.add(ours, base, base_again);
            }
            section.line([
                load.name().to_owned(),
                plain(comparison.ours()),
                plain(comparison.base()),
                Section::ratio(&comparison),
                Section::identical(&comparison),
            ]);
        }
        Ok(section)
    }
}
