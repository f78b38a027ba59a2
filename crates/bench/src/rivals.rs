//! The row `rivals`: programs that people put in front of an A2A server, in front of the same one. Requests/s, CPU
//! time and added latency of each.

use anyhow::{Context, Result};

use crate::{
    first_chunk::dial,
    http_load::{HttpSample, HttpShape, Processes, load},
    question::Question,
    quiet::{self, Measured},
    report::{Section, number, plain},
    rival::{Rival, RivalServer},
    rows::{Plan, progress},
    server::{Kind, Server},
    stats::{Comparison, median, rotated},
};

/// Id of the server at the hub.
const REMOTE: &str = "remote";
/// Numbers of connections.
const AT_ONCE: [usize; 2] = [1, 64];

/// What stands in front of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Front {
    Nothing,
    Rival(Rival),
    /// The hub, by the seed's dialect: a live call.
    HubLive,
    /// The hub, by official A2A: a durable task.
    HubDurable,
}

impl Front {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Rival(rival) => rival.name(),
            Self::HubLive => "jackfield, live calls",
            Self::HubDurable => "jackfield, durable tasks",
        }
    }

    fn shape(self, at_once: usize, is_quick: bool) -> HttpShape {
        let (requests, warm_up) = match (self, at_once) {
            (Self::Rival(Rival::Litellm), 1) => (100, 20),
            (Self::Rival(Rival::Litellm), _) => (256, 64),
            (Self::HubDurable, 1) => (400, 40),
            (Self::HubDurable | Self::HubLive, 64..) => (12_800, 1_280),
            (_, 1) => (4_000, 400),
            _ => (25_600, 2_560),
        };
        HttpShape::new(at_once, requests, warm_up, is_quick)
    }
}

/// Results of one program in front of the server.
#[derive(Debug, Default)]
struct FrontResults {
    /// At 1 and at 64.
    per_second: [Vec<f64>; 2],
    cpu_us: [Vec<f64>; 2],
    /// Latency beyond that of the server alone in the same round, one at a time, in milliseconds.
    added_p50: Vec<f64>,
    added_p99: Vec<f64>,
}

impl Plan {
    pub(crate) async fn rivals(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let programs = &self.programs.rivals;
        let mut text = String::from(
            "The server is the bare axum one: an echo agent by itself, which is quicker than anything in front of it. CPU in µs per request is that \
             of all\nprocesses of the program in front; latencies are those at one at a time beyond the server's own, in ms. nginx and HAProxy pass \
             requests on and\nread nothing; LiteLLM checks a key; the hub reads, checks and records, and with durable tasks waits for the disk.",
        );
        let mut fronts = vec![Front::Nothing];
        for rival in [Rival::Nginx, Rival::Haproxy, Rival::Litellm] {
            match rival.version(programs) {
                Some(version) => {
                    fronts.push(Front::Rival(rival));
                    text += &format!(" {} {version}.", rival.name());
                }
                None => {
                    eprintln!("rivals: {}", rival.left_out());
                    text += &format!(" {}", rival.left_out());
                }
            }
        }
        fronts.extend([Front::HubLive, Front::HubDurable, Front::Nothing]);
        let last = fronts.len() - 1;
        let mut results: Vec<FrontResults> =
            fronts.iter().map(|_| FrontResults::default()).collect();
        // The server alone is measured twice: the identical pair.
        let mut alone = [Comparison::default(), Comparison::default()];
        for (which, at_once) in AT_ONCE.into_iter().enumerate() {
            for round in 0..self.rounds {
                let mut samples: Vec<Option<HttpSample>> = vec![None; fronts.len()];
                for at in rotated(fronts.len(), round) {
                    let sample = self.behind(fronts[at], at_once).await;
                    let sample = sample.with_context(|| fronts[at].name())?;
                    foreign.push(sample.foreign());
                    samples[at] = Some(sample);
                }
                let samples: Vec<_> = samples.into_iter().flatten().collect();
                let values: Vec<_> = fronts
                    .iter()
                    .zip(&samples)
                    .map(|(front, sample)| (front.name(), sample.load.per_second))
                    .collect();
                progress(
                    &format!("rivals, {at_once} at once, requests/s"),
                    round,
                    &values,
                );
                let (base, again) = (&samples[0], &samples[last]);
                let mean = |value: fn(&HttpSample) -> f64| f64::midpoint(value(base), value(again));
                let (p50, p99) = (mean(|it| it.latencies.p50()), mean(|it| it.latencies.p99()));
                let speed = mean(|it| it.load.per_second);
                alone[which].add(speed, base.load.per_second, again.load.per_second);
                for (result, sample) in results.iter_mut().zip(&samples) {
                    result.per_second[which].push(sample.load.per_second);
                    result.cpu_us[which].push(sample.load.cpu_us);
                    if at_once == 1 {
                        result.added_p50.push((sample.latencies.p50() - p50) / 1e3);
                        result.added_p99.push((sample.latencies.p99() - p99) / 1e3);
                    }
                }
            }
        }
        let mut section = Section::new(
            "Rivals in front of an A2A server",
            &text,
            &[
                "in front",
                "requests/s, 1",
                "requests/s, 64",
                "added p50",
                "added p99",
                "CPU µs, 1",
                "CPU µs, 64",
                "A/A, 1 and 64",
            ],
        );
        for (front, result) in fronts.iter().zip(&results).take(last) {
            let is_front = *front != Front::Nothing;
            let shown = |text: String| if is_front { text } else { String::new() };
            section.line([
                front.name().to_owned(),
                number(median(&result.per_second[0])),
                number(median(&result.per_second[1])),
                shown(format!("{:.3}", median(&result.added_p50))),
                shown(format!("{:.3}", median(&result.added_p99))),
                shown(plain(median(&result.cpu_us[0]))),
                shown(plain(median(&result.cpu_us[1]))),
                if is_front {
                    String::new()
                } else {
                    alone.each_ref().map(Section::identical).join("; ")
                },
            ]);
        }
        Ok(section)
    }

    /// Starts a fresh server with something in front of it, and loads both once.
    async fn behind(&self, front: Front, at_once: usize) -> Result<HttpSample> {
        let shape = front.shape(at_once, self.is_quick);
        let programs = &self.programs.rivals;
        quiet::undisturbed(async || {
            let agent = RivalServer::start(Rival::Bare, programs, None).await?;
            let beside = agent.pids()?;
            let sample = match front {
                Front::Nothing => {
                    let processes = Processes {
                        measured: beside,
                        beside: Vec::new(),
                    };
                    load(agent.addr, &agent.question(), &shape, &processes).await?
                }
                Front::Rival(rival) => {
                    let proxy = RivalServer::start(rival, programs, Some(agent.addr)).await?;
                    let measured = proxy.pids()?;
                    let processes = Processes { measured, beside };
                    let sample = load(proxy.addr, &proxy.question(), &shape, &processes).await?;
                    proxy.stop().await?;
                    sample
                }
                Front::HubLive | Front::HubDurable => {
                    let hub = Server::start(Kind::Jackfield, &self.programs).await?;
                    let addr = hub.target.addr;
                    dial(addr, REMOTE, agent.addr).await?;
                    let question = if front == Front::HubLive {
                        Question::seed(addr, REMOTE, "message/send")
                    } else {
                        let path = format!("/a2a/agents/{REMOTE}");
                        Question::official(addr, &path, "", "SendMessage")
                    };
                    let measured = vec![hub.pid];
                    let processes = Processes { measured, beside };
                    let sample = load(addr, &question, &shape, &processes).await?;
                    hub.stop().await?;
                    sample
                }
            };
            agent.stop().await?;
            Ok(sample)
        })
        .await
    }
}
