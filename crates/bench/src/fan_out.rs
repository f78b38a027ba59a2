//! Server-sent events of a team to many readers. An agent of the team answers at an even pace, and every reader
//! must receive every piece once and in order. The baseline is nginx with nchan, which gets the same bytes.

use std::{
    net::SocketAddr,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use tokio::{
    task::JoinSet,
    time::{MissedTickBehavior, interval, sleep, timeout},
};

use crate::{
    client::{Connection, Outflow},
    frame::DIGITS,
    http::position,
    idle::raise_file_limit,
    nchan,
    patterns::{OPEN_AT_ONCE, RUN_LIMIT, SETTLE, Sample, in_order, measure_cpu},
    proc::Memory,
    quiet,
    report::{Section, at_most, number, plain, spread},
    rows::{Plan, progress},
    server::{Kind, Programs, Server},
    sse::{SseReader, data_of},
    stats::{Comparison, median, rotated},
    team::begin_answer,
};

/// Pieces of the answer per second.
const PACE: u32 = 20;
/// Pieces before the measurement.
const WARM_UP: u64 = 20;
/// Text before a piece of the answer, which begins with its number.
const DELTA: &[u8] = b"\"delta\":\"";
/// Id of the team.
const TEAM: &str = "watched";

/// Result of a run.
#[derive(Debug, Clone, Copy)]
struct Run {
    /// CPU time per delivery, and deliveries per second.
    sample: Sample,
    /// Memory of each reader on the server.
    kib_each: f64,
}

impl Plan {
    /// Measures the row `fan-out`.
    pub(crate) async fn fan_out(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        raise_file_limit(0);
        let readers = 1_000;
        let messages = if self.is_quick { 40 } else { 100 };
        let event = Message::probe(&self.programs).await?;
        let nginx = self.programs.nginx.as_deref();
        let subjects: &[Option<&Path>] = match nginx {
            Some(_) => &[nginx, None, nginx],
            None => &[None],
        };
        let mut cpu = Comparison::default();
        let (mut hub, mut nchan) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let mut runs = vec![None; subjects.len()];
            for at in rotated(subjects.len(), round) {
                let sample = quiet::undisturbed(async || {
                    let run = match subjects[at] {
                        Some(nginx) => from_nchan(nginx, &event, readers, messages).await?,
                        None => from_hub(&self.programs, readers, messages).await?,
                    };
                    runs[at] = Some(run);
                    Ok(run.sample)
                });
                foreign.push(sample.await?.foreign);
            }
            match runs[..] {
                [Some(base), Some(ours), Some(base_again)] => {
                    let values = [
                        ("nchan", base.sample.cpu_us),
                        ("hub", ours.sample.cpu_us),
                        ("nchan", base_again.sample.cpu_us),
                        ("KiB per reader of the hub", ours.kib_each),
                    ];
                    progress("fan-out", round, &values);
                    cpu.add(
                        ours.sample.cpu_us,
                        base.sample.cpu_us,
                        base_again.sample.cpu_us,
                    );
                    hub.push(ours);
                    nchan.extend([base, base_again]);
                }
                [Some(ours)] => {
                    progress("fan-out", round, &[("hub", ours.sample.cpu_us)]);
                    hub.push(ours);
                }
                _ => {}
            }
        }
        let version = match nginx {
            Some(nginx) => Some(nchan::version(nginx).await?),
            None => None,
        };
        let mut section = section(readers, &event, version.as_deref());
        for (name, runs) in [("jackfield", &hub), ("nchan", &nchan)] {
            if runs.is_empty() {
                continue;
            }
            let is_hub = name == "jackfield";
            let is_compared = is_hub && nginx.is_some();
            let all = |value: fn(&Run) -> f64| runs.iter().map(value).collect::<Vec<_>>();
            let each = all(|run| run.kib_each);
            let only = |is_shown: bool, text: &dyn Fn() -> String| match is_shown {
                true => text(),
                false => String::new(),
            };
            section.line([
                name.to_owned(),
                "0".to_owned(),
                number(median(&all(|run| run.sample.per_second))),
                plain(median(&all(|run| run.sample.cpu_us))),
                only(is_compared, &|| Section::ratio(&cpu)),
                only(is_compared, &|| Section::identical(&cpu)),
                only(is_compared, &|| at_most(cpu.ratio().median, 1.0, 0.75)),
                spread(&each),
                only(is_hub, &|| at_most(median(&each), 12.0, 4.0)),
            ]);
        }
        Ok(section)
    }
}

fn section(readers: usize, event: &Message, nchan: Option<&str>) -> Section {
    let baseline = match nchan {
        Some(version) => format!(
            "The yardstick is {version}, one process,\nwhich gets the same data by a WebSocket."
        ),
        None => {
            "There was no nginx with nchan to compare\nwith (Debian: nginx, libnginx-mod-nchan)."
                .to_owned()
        }
    };
    Section::new(
        "Events to a thousand readers",
        &format!(
            "{} readers watch a team by `GET /v1/teams/ID/events`, the stream behind `jackfield watch TEAM`, while an agent of the team \
             answers in\n{PACE} pieces a second; each piece is an event with {} bytes of data. CPU is the server's per delivery (pieces × \
             readers). KiB per reader is the\nRSS that they add, read after the last piece. {baseline}",
            number(readers as f64),
            event.bytes()
        ),
        &[
            "server",
            "lost",
            "deliveries/s",
            "CPU µs per delivery",
            "ratio (min–max)",
            "A/A",
            "goal ≤ 1.0, aim ≤ 0.75",
            "KiB per reader (min–max)",
            "goal ≤ 12, aim ≤ 4",
        ],
    )
}

/// Measures a fresh hub.
async fn from_hub(programs: &Programs, readers: usize, messages: u64) -> Result<Run> {
    let server = Server::start(Kind::Jackfield, programs).await?;
    let team = WatchedTeam::open(&server).await?;
    sleep(SETTLE).await;
    let before = Memory::of(server.pid)?;
    let readers = Reader::open_all(server.target.addr, &WatchedTeam::path(), readers).await?;
    let publisher = team.ask().await?;
    let run = measure(&server, before, publisher, readers, messages)
        .await
        .context("against jackfield")?;
    server.stop().await?;
    Ok(run)
}

/// Measures a fresh nginx with nchan.
async fn from_nchan(nginx: &Path, message: &Message, readers: usize, messages: u64) -> Result<Run> {
    let server = nchan::start(nginx).await?;
    let line = Connection::open_path(server.target.addr, nchan::PUBLISH).await?;
    sleep(SETTLE).await;
    let before = Memory::of(server.pid)?;
    let readers = Reader::open_all(server.target.addr, nchan::EVENTS, readers).await?;
    let publisher = Publisher::Nchan {
        line,
        message: message.clone(),
        next: 0,
    };
    let run = measure(&server, before, publisher, readers, messages)
        .await
        .context("against nchan")?;
    server.stop().await?;
    Ok(run)
}

async fn measure(
    server: &Server,
    before: Memory,
    mut publisher: Publisher,
    readers: Vec<Reader>,
    messages: u64,
) -> Result<Run> {
    let count = readers.len() as u64;
    let mut readers = pass(&mut publisher, readers, WARM_UP).await?;
    sleep(SETTLE).await;
    let sample = measure_cpu(server.pid, messages * count, async {
        let begun = Instant::now();
        let passing = pass(&mut publisher, std::mem::take(&mut readers), messages);
        readers = passing.await?;
        Ok(begun.elapsed())
    });
    let sample = sample.await?;
    let added = sample.memory.rss_kib.saturating_sub(before.rss_kib);
    Ok(Run {
        sample,
        kib_each: added as f64 / count as f64,
    })
}

/// Publishes messages at an even pace, and waits until all readers have received them.
async fn pass(
    publisher: &mut Publisher,
    readers: Vec<Reader>,
    messages: u64,
) -> Result<Vec<Reader>> {
    let publishing = async {
        let mut due = interval(Duration::from_secs(1) / PACE);
        due.set_missed_tick_behavior(MissedTickBehavior::Burst);
        for _ in 0..messages {
            due.tick().await;
            publisher.publish().await?;
        }
        anyhow::Ok(())
    };
    let reading = readers.into_iter().map(|mut reader| async move {
        reader.read(messages).await?;
        Ok(reader)
    });
    let passing = async { tokio::try_join!(publishing, in_order(reading)) };
    let ((), readers) = timeout(RUN_LIMIT, passing)
        .await
        .context("not every event arrived in time")??;
    Ok(readers)
}

/// A team of one agent.
struct WatchedTeam {
    addr: SocketAddr,
    agent: Connection,
}

impl WatchedTeam {
    async fn open(server: &Server) -> Result<Self> {
        let agent = Connection::open(server.target, "lead").await?;
        let team = format!("{{\"id\":\"{TEAM}\",\"members\":[{{\"agent\":\"lead\"}}]}}");
        let addr = server.target.addr;
        Connection::post(addr, "/v1/teams", &team).await?;
        Ok(Self { addr, agent })
    }

    fn path() -> String {
        format!("/v1/teams/{TEAM}/events")
    }

    /// Sends a message to the team. Its agent begins the answer that is returned.
    async fn ask(self) -> Result<Publisher> {
        let path = format!("/v1/teams/{TEAM}/messages");
        Connection::post(self.addr, &path, "{\"content\":\"go\"}").await?;
        Ok(Publisher::Agent(begin_answer(self.agent).await?))
    }
}

/// The source of the messages.
enum Publisher {
    /// An agent that answers.
    Agent(Outflow),
    /// A publisher of nchan.
    Nchan {
        line: Connection,
        message: Message,
        next: u64,
    },
}

impl Publisher {
    async fn publish(&mut self) -> Result<()> {
        match self {
            Self::Agent(answer) => {
                let frame = answer.batch.numbered(answer.next, 1);
                answer.line.write(frame).await?;
                answer.next += 1;
            }
            Self::Nchan {
                line,
                message,
                next,
            } => {
                line.send_text(&message.numbered(*next)).await?;
                *next += 1;
                // nchan confirms every message.
                line.text().await?;
            }
        }
        Ok(())
    }
}

/// The data of an event of the hub, with a number that can be changed.
#[derive(Debug, Clone)]
struct Message {
    before: String,
    after: String,
}

impl Message {
    /// Takes the data of an event from a hub.
    async fn probe(programs: &Programs) -> Result<Self> {
        let server = Server::start(Kind::Jackfield, programs).await?;
        let team = WatchedTeam::open(&server).await?;
        let mut reader = SseReader::open(server.target.addr, &WatchedTeam::path()).await?;
        let mut publisher = team.ask().await?;
        let probing = async {
            publisher.publish().await?;
            loop {
                let event = reader.next().await?;
                if let Some(message) = Self::of(&event) {
                    return anyhow::Ok(message);
                }
            }
        };
        let message = timeout(RUN_LIMIT, probing)
            .await
            .context("no event arrived")??;
        server.stop().await?;
        Ok(message)
    }

    fn of(event: &[u8]) -> Option<Self> {
        number_of(event)?;
        let data = std::str::from_utf8(data_of(event)?).ok()?;
        let at = position(data.as_bytes(), DELTA)? + DELTA.len();
        Some(Self {
            before: data[..at].to_owned(),
            after: data[at + DIGITS..].to_owned(),
        })
    }

    fn numbered(&self, number: u64) -> String {
        format!("{}{number:0DIGITS$}{}", self.before, self.after)
    }

    fn bytes(&self) -> usize {
        self.before.len() + DIGITS + self.after.len()
    }
}

/// A reader, with the number of the next piece.
#[derive(Debug)]
struct Reader {
    events: SseReader,
    next: u64,
}

impl Reader {
    async fn open_all(addr: SocketAddr, path: &str, count: usize) -> Result<Vec<Self>> {
        let mut readers = Vec::with_capacity(count);
        let mut opening = JoinSet::new();
        let mut missing = count;
        loop {
            while opening.len() < OPEN_AT_ONCE && missing > 0 {
                missing -= 1;
                let path = path.to_owned();
                opening.spawn(async move { SseReader::open(addr, &path).await });
            }
            match opening.join_next().await {
                Some(events) => readers.push(Self {
                    events: events??,
                    next: 0,
                }),
                None => return Ok(readers),
            }
        }
    }

    /// Reads so many pieces; fails if a piece is missing or repeated.
    async fn read(&mut self, pieces: u64) -> Result<()> {
        let until = self.next + pieces;
        while self.next < until {
            let event = self.events.next().await?;
            // Other events of the team have no piece of an answer.
            if let Some(number) = number_of(&event) {
                ensure!(
                    number == self.next,
                    "piece {number} came instead of {}: lost or out of order",
                    self.next
                );
                self.next += 1;
            }
        }
        Ok(())
    }
}

/// Returns the number of the piece in an event. Quotes in the answer's text are escaped, so that text cannot be
/// mistaken for a piece.
fn number_of(event: &[u8]) -> Option<u64> {
    let at = position(event, DELTA)? + DELTA.len();
    let digits = std::str::from_utf8(event.get(at..at + DIGITS)?).ok()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENT: &[u8] =
        b"event: envelope\nid: run:3\ndata: {\"sequence\":3,\"delta\":\"0000000007the tide\"}";

    #[test]
    fn a_piece_is_known_by_its_number() {
        assert_eq!(number_of(EVENT), Some(7));
        assert_eq!(number_of(b"event: snapshot\ndata: {}"), None);
        assert_eq!(number_of(b"data: {\"delta\":\"short\"}"), None);
    }

    #[test]
    fn the_baseline_gets_the_data_of_an_event_with_another_number() {
        let message = Message::of(EVENT).unwrap();
        let text = message.numbered(12);
        assert_eq!(text, "{\"sequence\":3,\"delta\":\"0000000012the tide\"}");
        assert_eq!(text.len(), message.bytes());
    }
}
