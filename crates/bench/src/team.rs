//! A burst through nested teams: an agent three teams deep sends a long answer, and the viewers of the
//! outermost team must receive every piece, in order and only once, beside a stalled viewer.

use std::{
    net::SocketAddr,
    ops::ControlFlow,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use jackfield_agora::wire::{AgoraDownlink, Opening, parse_downlink, uplink};
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use crate::{
    client::{Connection, Dialect, Outflow, Target},
    frame::{Batch, Template},
    patterns::{RUN_LIMIT, SETTLE, Sample, measure_cpu, send},
};

/// Number of answer pieces per write.
const PER_WRITE: usize = 32;
/// Number of pieces sent before the measurement.
const WARM_UP: u64 = 2_000;
/// Text before the sequence number of an event.
const SEQUENCE: &[u8] = b"\"sequence\":";
/// Start of an event with a piece of the answer.
const CONTENT: &[u8] = b"{\"type\":\"SEGMENT_CONTENT\"";

/// Parameters of a burst.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Burst {
    /// Number of answer pieces.
    pub(crate) events: u64,
    /// Number of viewers that read.
    pub(crate) viewers: usize,
    /// Number of viewers that read nothing.
    pub(crate) stalled: usize,
}

impl Burst {
    /// Returns a burst to one viewer, as in the goal.
    pub(crate) fn to_one(is_quick: bool) -> Self {
        Self {
            events: if is_quick { 25_000 } else { 100_000 },
            viewers: 1,
            stalled: 0,
        }
    }

    /// Returns a burst to ten viewers, one of which is stalled.
    pub(crate) fn to_ten(is_quick: bool) -> Self {
        Self {
            viewers: 9,
            stalled: 1,
            ..Self::to_one(is_quick)
        }
    }
}

/// Creates teams, lets them answer and measures. `number` distinguishes the teams from other bursts at the
/// same server.
pub(crate) async fn measure_burst(
    addr: SocketAddr,
    pid: u32,
    burst: Burst,
    number: usize,
) -> Result<Sample> {
    let mut teams = Teams::open(addr, number).await?;
    let mut stalled = Vec::new();
    for _ in 0..burst.stalled {
        stalled.push(teams.view().await?);
    }
    let mut viewers = Vec::new();
    for _ in 0..burst.viewers {
        viewers.push(Viewer {
            line: teams.view().await?,
            last: 0,
        });
    }
    let mut answer = teams.ask().await?;
    answer = pass(answer, &mut viewers, WARM_UP).await?.0;
    sleep(SETTLE).await;
    let sample = measure_cpu(pid, burst.events, async {
        Ok(pass(answer, &mut viewers, burst.events).await?.1)
    });
    let sample = sample.await?;
    // Kept open and unread until here.
    drop(stalled);
    teams.readers.shutdown().await;
    Ok(sample)
}

/// Loads a running server, and prints its CPU time.
pub(crate) async fn load(addr: SocketAddr, pid: u32, burst: Burst, times: usize) -> Result<()> {
    for number in 0..times {
        let sample = measure_burst(addr, pid, burst, number).await?;
        println!(
            "{} viewers and {} stalled: {:.3} µs per event, {:.0} events/s, RSS {} KiB, others used {:.0} % of a core",
            burst.viewers,
            burst.stalled,
            sample.cpu_us,
            sample.per_second,
            sample.memory.rss_kib,
            sample.foreign * 100.0
        );
    }
    Ok(())
}

/// Sends more of the answer and waits until all viewers have received it.
async fn pass(
    answer: Outflow,
    viewers: &mut Vec<Viewer>,
    events: u64,
) -> Result<(Outflow, Duration)> {
    let begun = Instant::now();
    let mut watching = JoinSet::new();
    for mut viewer in viewers.drain(..) {
        watching.spawn(async move {
            viewer.watch(events).await?;
            anyhow::Ok(viewer)
        });
    }
    let seen = async {
        while let Some(viewer) = watching.join_next().await {
            viewers.push(viewer??);
        }
        Ok(())
    };
    let passed = async { tokio::try_join!(send(answer, events, PER_WRITE), seen) };
    let (answer, ()) = timeout(RUN_LIMIT, passed)
        .await
        .context("not every event arrived in time")??;
    Ok((answer, begun.elapsed()))
}

/// Three nested teams, each with an agent; all but the innermost have the next team as a member.
struct Teams {
    addr: SocketAddr,
    outermost: String,
    names: [String; 3],
    agents: Vec<Connection>,
    /// Readers of the waiting agents' connections.
    readers: JoinSet<Result<()>>,
}

impl Teams {
    async fn open(addr: SocketAddr, number: usize) -> Result<Self> {
        // A server started elsewhere may still have the teams of an earlier run.
        let me = std::process::id();
        let names = [1, 2, 3].map(|level| format!("t{level}-{me}-{number:05}"));
        let mut agents = Vec::new();
        for name in &names {
            let target = Target {
                addr,
                dialect: Dialect::Agora,
            };
            agents.push(Connection::open(target, &format!("lead-{name}")).await?);
        }
        for level in [2, 1, 0] {
            let name = &names[level];
            let below = names.get(level + 1);
            let below = below.map_or_else(String::new, |below| {
                format!(",{{\"name\":\"below\",\"team\":\"{below}\"}}")
            });
            let team = format!(
                "{{\"id\":\"{name}\",\"coordinator\":\"lead\",\"members\":[{{\"name\":\"lead\",\"agent\":\"lead-{name}\"}}{below}]}}"
            );
            Connection::post(addr, "/v1/teams", &team).await?;
        }
        Ok(Self {
            addr,
            outermost: names[0].clone(),
            names,
            agents,
            readers: JoinSet::new(),
        })
    }

    /// Opens a viewer of the outermost team.
    async fn view(&self) -> Result<Connection> {
        Connection::open_path(self.addr, &format!("/ws/agent-team/{}", self.outermost)).await
    }

    /// Sends a request to the outermost team. The agent of each team sends a request to the team below. The
    /// innermost agent begins its answer, which is returned.
    async fn ask(&mut self) -> Result<Outflow> {
        let mut asker = self.view().await?;
        asker
            .send_text("{\"type\":\"SEND_MESSAGE\",\"payload\":{\"content\":\"go\"}}")
            .await?;
        self.read_on(asker);
        let mut agents = std::mem::take(&mut self.agents).into_iter();
        for below in &self.names.clone()[1..] {
            let mut agent = agents.next().context("an agent of each team")?;
            next_call(&mut agent).await?;
            let question = format!(
                "{{\"type\":\"send\",\"to\":\"{below}\",\"payload\":{{\"request_id\":\"go\",\"body\":{{\"question\":\"go\"}}}}}}"
            );
            agent.send_text(&question).await?;
            self.read_on(agent);
        }
        begin_answer(agents.next().context("an agent of each team")?).await
    }

    /// Reads and ignores all frames of a connection, so that its sender never blocks.
    fn read_on(&mut self, mut line: Connection) {
        let reading = async move { line.texts(|_| Ok(ControlFlow::Continue(()))).await };
        self.readers.spawn(reading);
    }
}

/// Waits for a request to the agent, and begins the streamed answer that is returned.
pub(crate) async fn begin_answer(mut agent: Connection) -> Result<Outflow> {
    let call = next_call(&mut agent).await?;
    let stream_id = "burst";
    let opening = Opening {
        stream_id: Some(stream_id),
        stream: true,
        ..Opening::default()
    };
    agent.send_text(&uplink::reply(&call, &opening)).await?;
    let chunk = Template::reply_chunk(&call, stream_id);
    Ok(Outflow {
        line: agent,
        batch: Batch::new(&chunk, PER_WRITE),
        next: 0,
    })
}

/// Waits for a request to the agent, and returns its call id.
pub(crate) async fn next_call(agent: &mut Connection) -> Result<String> {
    let text = timeout(RUN_LIMIT, agent.text())
        .await
        .context("an agent is not asked")??;
    match parse_downlink(&text)? {
        AgoraDownlink::Delivery(delivery) => Ok(delivery.from.into_owned()),
        _ => bail!("the server says {text}"),
    }
}

struct Viewer {
    line: Connection,
    /// Sequence number of the last received event.
    last: u64,
}

impl Viewer {
    /// Reads until `pieces` pieces of an answer have arrived; fails if an event is missing or repeated.
    async fn watch(&mut self, pieces: u64) -> Result<()> {
        let (mut missing, last) = (pieces, &mut self.last);
        let watched = self.line.texts(|text| {
            // The initial snapshot has no sequence number.
            if let Some(sequence) = sequence_of(text) {
                ensure!(
                    sequence == *last + 1,
                    "event {sequence} came after {last}: lost or out of order"
                );
                *last = sequence;
            }
            missing -= u64::from(text.starts_with(CONTENT));
            Ok(match missing {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        });
        watched.await
    }
}

/// Returns the sequence number of an event, which is near its end. Quotes in the answer's text are escaped,
/// so that text cannot be mistaken for the number.
fn sequence_of(text: &[u8]) -> Option<u64> {
    let mut places = text.windows(SEQUENCE.len());
    let at = places.rposition(|part| part == SEQUENCE)? + SEQUENCE.len();
    let digits = text[at..].iter().take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_known_by_its_own_number_and_not_by_what_was_said() {
        let text = br#"{"type":"SEGMENT_CONTENT","payload":{"delta":"\"sequence\":9","team_stream_event_envelope":{"sequence":17,"origin":"local"}}}"#;
        assert_eq!(sequence_of(text), Some(17));
        assert_eq!(sequence_of(br#"{"type":"CONNECTED"}"#), None);
    }
}
