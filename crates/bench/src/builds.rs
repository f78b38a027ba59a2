//! This build of the hub against another build, under the loads of the other rows: shows what a change costs.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{
    files::TransferPath,
    idle::{Subject, idle_cost, raise_file_limit},
    patterns::Pattern,
    report::{Section, plain},
    rows::{Plan, progress},
    server::{Kind, Programs},
    stats::{Comparison, rotated},
    team::Burst,
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
    /// Durable tasks by official A2A, with this many requests at once.
    Durable(usize),
    Storm,
}

impl Load {
    const ALL: [Self; 11] = [
        Self::Durable(1),
        Self::Durable(64),
        Self::Relay(Pattern::Burst),
        Self::Relay(Pattern::SixtyFour),
        Self::Relay(Pattern::Paced),
        Self::Idle,
        Self::TeamOne,
        Self::TeamTen,
        Self::Files(TransferPath::Direct),
        Self::Files(TransferPath::Hub),
        Self::Storm,
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
            Self::Durable(1) => "official A2A, one at a time: CPU µs per request",
            Self::Durable(_) => "official A2A, 64 at once: CPU µs per request",
            Self::Storm => "reconnect storm: RSS afterwards, MiB",
        }
    }

    /// Measures a fresh hub once, while the machine is quiet.
    async fn measure(self, plan: &Plan, foreign: &mut Vec<f64>) -> Result<f64> {
        let is_quick = plan.is_quick;
        Ok(match self {
            Self::Relay(pattern) => {
                let shape = pattern.shape(is_quick);
                plan.once(Kind::Jackfield, &shape, foreign).await?.cpu_us
            }
            Self::Idle => {
                let count = raise_file_limit(if is_quick { 2_000 } else { 10_000 });
                let cost = idle_cost(Subject::Hub, &plan.programs, count, true).await?;
                cost.kib_each
            }
            Self::TeamOne => plan.burst(Burst::to_one(is_quick), foreign).await?.cpu_us,
            Self::TeamTen => plan.burst(Burst::to_ten(is_quick), foreign).await?.cpu_us,
            Self::Files(path) => 1e9 / plan.transfer(path).await?.per_second,
            Self::Durable(at_once) => plan.durable_sends(at_once, foreign).await?.cpu_us,
            Self::Storm => {
                let memory = plan.storm_once(foreign).await?.memory;
                memory.rss_kib as f64 / 1024.0
            }
        })
    }

    fn rounds(self, rounds: usize) -> usize {
        match self {
            Self::Idle | Self::Storm => rounds.min(FEW_ROUNDS),
            Self::Relay(_) | Self::TeamOne | Self::TeamTen | Self::Files(_) | Self::Durable(_) => {
                rounds
            }
        }
    }
}

impl Plan {
    /// Compares this build with the build at `other` under each load.
    pub(crate) async fn builds(&self, other: &Path, foreign: &mut Vec<f64>) -> Result<Section> {
        let other = Plan {
            programs: Programs {
                jackfield: other.to_owned(),
                ..self.programs.clone()
            },
            before: None,
            rounds: self.rounds,
            is_quick: self.is_quick,
            only: Vec::new(),
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
                    let plan = if at == 1 { self } else { &other };
                    let value = load.measure(plan, foreign).await;
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
