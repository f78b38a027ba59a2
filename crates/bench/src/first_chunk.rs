//! The row `first-chunk`: the time from a request to the first piece of a streamed answer, through the hub and from
//! the agent called directly. An A2A agent is called by A2A, as a live call and as a durable task; an Agora agent by
//! Agora.

use std::{net::SocketAddr, time::Instant};

use anyhow::{Context, Result, ensure};
use jackfield_agora::wire::{Opening, uplink};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use crate::{
    client::Connection,
    frame::client_text,
    http::{HttpConnection, position},
    http_load::{Processes, measure_processes},
    latency::Latencies,
    question::{Question, YOU_SAID},
    quiet::{self, Measured},
    report::{Section, at_most, plain},
    rival::{Rival, RivalServer},
    rows::{Plan, progress},
    server::{Kind, Server},
    stats::{Spread, median, rotated},
};

/// Id of the dialled agent at the hub.
const REMOTE: &str = "remote";
/// Ids of the Agora agent and its caller.
const AGENT: &str = "first";
const CALLER: &str = "caller";

/// How an agent is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// A2A, without a hub.
    A2aDirect,
    /// A2A through the hub: a live call by the seed's dialect.
    A2aLive,
    /// A2A through the hub: a durable task by official A2A.
    A2aDurable,
    /// The bytes of the Agora frames over TCP, without a hub.
    AgoraDirect,
    /// Agora through the hub.
    Agora,
}

/// The order of a round: each pair of direct calls is the identical pair of the ways beside it.
const WAYS: [Way; 7] = [
    Way::A2aDirect,
    Way::A2aLive,
    Way::A2aDurable,
    Way::A2aDirect,
    Way::AgoraDirect,
    Way::Agora,
    Way::AgoraDirect,
];

/// Latencies of the first chunks of one run.
#[derive(Debug, Clone)]
struct FirstChunks {
    latencies: Latencies,
    foreign: f64,
}

impl Measured for FirstChunks {
    fn foreign(&self) -> f64 {
        self.foreign
    }
}

/// Differences to the direct calls of the same round, in microseconds.
#[derive(Debug, Default)]
struct Added {
    direct: Vec<f64>,
    through: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    /// What the two series of direct calls differ by, at p50.
    identical: Vec<f64>,
}

impl Added {
    fn add(&mut self, through: &Latencies, direct: [&Latencies; 2]) {
        let base = direct.map(Latencies::p50);
        let p50 = f64::midpoint(base[0], base[1]);
        let p99 = f64::midpoint(direct[0].p99(), direct[1].p99());
        self.direct.push(p50);
        self.through.push(through.p50());
        self.p50.push(through.p50() - p50);
        self.p99.push(through.p99() - p99);
        self.identical.push((base[0] - base[1]).abs());
    }

    /// Returns the cells of a row, in milliseconds.
    fn line(&self, name: &str, has_goal: bool) -> [String; 7] {
        let ms = |values: &[f64]| plain(median(values) / 1e3);
        let Spread { median, min, max } = spread_of(&self.p50);
        [
            name.to_owned(),
            ms(&self.direct),
            ms(&self.through),
            format!("{median:.3} ({min:.3}–{max:.3})"),
            ms(&self.p99),
            format!("{:.3}", self::median(&self.identical) / 1e3),
            if has_goal {
                at_most(median, 0.3, 0.15)
            } else {
                String::new()
            },
        ]
    }
}

/// Returns the spread of differences, which may be negative, in milliseconds.
fn spread_of(microseconds: &[f64]) -> Spread {
    let ms: Vec<f64> = microseconds.iter().map(|value| value / 1e3).collect();
    Spread {
        median: median(&ms),
        min: ms.iter().copied().fold(f64::INFINITY, f64::min),
        max: ms.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    }
}

impl Plan {
    pub(crate) async fn first_chunk(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let requests = if self.is_quick { 100 } else { 500 };
        let (mut live, mut durable, mut agora) =
            (Added::default(), Added::default(), Added::default());
        for round in 0..self.rounds {
            let mut all: [Latencies; 7] = Default::default();
            for at in rotated(WAYS.len(), round) {
                let sample = quiet::undisturbed(async || match WAYS[at] {
                    Way::AgoraDirect => agora_direct(requests).await,
                    Way::Agora => self.through_agora(requests).await,
                    way => self.through_a2a(way, requests).await,
                });
                let sample = sample.await.with_context(|| format!("{:?}", WAYS[at]))?;
                foreign.push(sample.foreign);
                all[at] = sample.latencies;
            }
            let values = WAYS.iter().zip(&all);
            let names = ["direct", "live", "durable", "direct", "TCP", "Agora", "TCP"];
            let values: Vec<_> = names
                .into_iter()
                .zip(values.map(|(_, latencies)| latencies.p50() / 1e3))
                .collect();
            progress("first chunk, p50 in ms", round, &values);
            live.add(&all[1], [&all[0], &all[3]]);
            durable.add(&all[2], [&all[0], &all[3]]);
            agora.add(&all[5], [&all[4], &all[6]]);
        }
        let mut section = Section::new(
            "Added time to the first chunk",
            "From a request to the first piece of the answer, in ms, one at a time: through the hub, less the same agent called directly. The A2A \
             agent is the\nbare axum server, which streams. A live call is `message/stream` of the seed's dialect; a durable one is \
             `SendStreamingMessage`, whose task is on disk\nbefore the agent gets it: it cannot be quicker than the disk, so the goal is that of \
             live calls. For Agora, direct is the bytes of the same frames over TCP.",
            &[
                "call",
                "direct p50",
                "through the hub p50",
                "added p50 (min–max)",
                "added p99",
                "direct A/A, p50",
                "goal ≤ 0.3, aim ≤ 0.15",
            ],
        );
        section.line(live.line("A2A, live", true));
        section.line(durable.line("A2A, durable", false));
        section.line(agora.line("Agora to Agora", true));
        Ok(section)
    }

    /// Calls the streaming A2A agent, directly or through the hub that dials it.
    async fn through_a2a(&self, way: Way, requests: u64) -> Result<FirstChunks> {
        let agent = RivalServer::start(Rival::BareStreaming, &self.programs.rivals, None).await?;
        if way == Way::A2aDirect {
            let question = Question::official(agent.addr, "/", "", "SendStreamingMessage");
            let processes = Processes {
                measured: agent.pids()?,
                beside: Vec::new(),
            };
            let first = first_chunks(agent.addr, question, requests, &processes).await?;
            agent.stop().await?;
            return Ok(first);
        }
        let server = Server::start(Kind::Jackfield, &self.programs).await?;
        let addr = server.target.addr;
        dial(addr, REMOTE, agent.addr).await?;
        let question = match way {
            Way::A2aDurable => {
                let path = format!("/a2a/agents/{REMOTE}");
                Question::official(addr, &path, "", "SendStreamingMessage")
            }
            _ => Question::seed(addr, REMOTE, "message/stream"),
        };
        let processes = Processes {
            measured: vec![server.pid],
            beside: agent.pids()?,
        };
        let first = first_chunks(addr, question, requests, &processes).await?;
        server.stop().await?;
        agent.stop().await?;
        Ok(first)
    }

    async fn through_agora(&self, requests: u64) -> Result<FirstChunks> {
        let server = Server::start(Kind::Jackfield, &self.programs).await?;
        let (question, answer) = agora_frames();
        let mut agent = Connection::open(server.target, AGENT).await?;
        let mut caller = Connection::open(server.target, CALLER).await?;
        let mut answering = JoinSet::new();
        answering.spawn(async move {
            loop {
                let mut frames = 0;
                let count = |_: &[u8]| {
                    frames += 1;
                    Ok(())
                };
                agent.arrived_texts(count).await?;
                for _ in 0..frames {
                    agent.write(&answer).await?;
                }
            }
            #[expect(unreachable_code, reason = "names the type of the errors")]
            anyhow::Ok(())
        });
        let processes = Processes::of(server.pid);
        let first = one_at_a_time(&processes, requests, async || {
            let begun = Instant::now();
            caller.write(&question).await?;
            let text = caller.text().await?;
            let took = begun.elapsed();
            ensure!(text.contains("reply_chunk"), "the hub says {text}");
            Ok(took)
        });
        let first = first.await?;
        server.stop().await?;
        Ok(first)
    }
}

/// Makes an A2A server an agent of the hub.
pub(crate) async fn dial(hub: SocketAddr, id: &str, server: SocketAddr) -> Result<()> {
    let remote = format!(r#"{{"url":"http://{server}/","id":"{id}"}}"#);
    Connection::post(hub, "/v1/remotes", &remote).await
}

/// Streams answers one after the other; the whole of each is read and checked.
async fn first_chunks(
    addr: SocketAddr,
    mut question: Question,
    requests: u64,
    processes: &Processes,
) -> Result<FirstChunks> {
    let mut connection = HttpConnection::open(addr).await?;
    let (mut body, mut number) = (Vec::new(), 0);
    one_at_a_time(processes, requests, async || {
        number += 1;
        body.clear();
        let begun = Instant::now();
        connection.request(question.ask(number)).await?;
        let mut took = None;
        while connection.piece(&mut body).await? {
            if took.is_none() && position(&body, YOU_SAID.as_bytes()).is_some() {
                took = Some(begun.elapsed());
            }
        }
        question.check_stream(&body)?;
        took.context("no first chunk")
    })
    .await
}

/// Warms up and measures; `call` returns the time to the first chunk.
async fn one_at_a_time(
    processes: &Processes,
    requests: u64,
    mut call: impl AsyncFnMut() -> Result<std::time::Duration>,
) -> Result<FirstChunks> {
    for _ in 0..requests / 5 {
        call().await?;
    }
    let (sample, times) = measure_processes(processes, requests, async || {
        let begun = Instant::now();
        let mut times = Vec::new();
        for _ in 0..requests {
            times.push(call().await?.as_secs_f64() * 1e6);
        }
        Ok((times, begun.elapsed()))
    })
    .await?;
    Ok(FirstChunks {
        latencies: Latencies::new(times),
        foreign: sample.foreign,
    })
}

/// Returns the frames of an Agora caller's question, and of the agent's answer to it.
fn agora_frames() -> (Vec<u8>, Vec<u8>) {
    let opening = Opening {
        stream_id: Some("s"),
        ..Opening::default()
    };
    let question = uplink::send(AGENT, &opening);
    let answer = uplink::reply_chunk(CALLER, "s", YOU_SAID);
    (client_text(&question), client_text(&answer))
}

/// Sends the bytes of the same frames over one TCP connection, both ways.
async fn agora_direct(requests: u64) -> Result<FirstChunks> {
    let (question, answer) = agora_frames();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let mut caller = TcpStream::connect(listener.local_addr()?).await?;
    let (mut agent, _) = listener.accept().await?;
    caller.set_nodelay(true)?;
    agent.set_nodelay(true)?;
    let (mut asked, mut answered) = (vec![0; question.len()], vec![0; answer.len()]);
    let mut answering = JoinSet::new();
    answering.spawn(async move {
        while agent.read_exact(&mut asked).await.is_ok() {
            if agent.write_all(&answer).await.is_err() {
                return;
            }
        }
    });
    one_at_a_time(&Processes::default(), requests, async || {
        let begun = Instant::now();
        caller.write_all(&question).await?;
        caller.read_exact(&mut answered).await?;
        Ok(begun.elapsed())
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_added_time_is_taken_within_a_round() {
        let latencies = |microseconds: f64| Latencies::new(vec![microseconds; 3]);
        let mut added = Added::default();
        added.add(&latencies(300.0), [&latencies(100.0), &latencies(120.0)]);
        added.add(&latencies(700.0), [&latencies(500.0), &latencies(520.0)]);
        let line = added.line("live", true);
        assert_eq!(line[3], "0.190 (0.190–0.190)");
        assert_eq!((line[5].as_str(), line[6].as_str()), ("0.020", "met"));
    }

    #[test]
    fn a_difference_may_be_negative() {
        let spread = spread_of(&[-20.0, 10.0, 30.0]);
        assert_eq!((spread.min, spread.median, spread.max), (-0.02, 0.01, 0.03));
    }
}
