//! The row `across`: a call from one protocol to another. A caller of the bridge's HTTP API reads the answer of an
//! Agora agent as server-sent events, compared with the same chunks from Agora to Agora, which are relayed as they
//! are.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use jackfield_agora::wire::{Opening, uplink};
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use crate::{
    client::{Connection, Outflow},
    frame::{Batch, Template, chunk_text},
    http::{HttpConnection, position, post},
    patterns::{
        Pattern, RUN_LIMIT, SETTLE, Sample, Shape, in_order, measure_cpu, send_all, send_paced,
    },
    quiet::{self, Measured},
    report::{Section, number},
    rows::{Plan, progress},
    server::{Kind, Server},
    stats::{Comparison, median, rotated},
    team::next_call,
};

/// Start of an event with a piece of the answer.
const CHUNK: &[u8] = b"data: {\"type\":\"chunk\",\"delta\":\"";
/// Start of an event that only keeps the connection open.
const KEEPALIVE: &[u8] = b"data: {\"type\":\"keepalive\"";
/// The stream of every agent's answer.
const STREAM: &str = "answer";

/// Result of a run across protocols.
#[derive(Debug, Clone, Copy)]
struct AcrossSample {
    load: Sample,
    /// Events that the callers read, per chunk of the agents: less than one where the hub joined unread text.
    events_per_chunk: f64,
}

impl Measured for AcrossSample {
    fn foreign(&self) -> f64 {
        self.load.foreign
    }
}

impl Plan {
    pub(crate) async fn across(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let mut section = Section::new(
            "Across protocols",
            "Hub's CPU in µs per chunk. An Agora agent answers a caller of the bridge's `POST /api/relay`, who reads server-sent events; against \
             the same\nchunks from Agora to Agora. Text that a caller has not read yet is joined, so there may be fewer events than chunks; every \
             byte is checked.",
            &[
                "pattern",
                "Agora to bridge",
                "Agora to Agora",
                "ratio (min–max)",
                "A/A",
                "goal ≤ 1.6, aim ≤ 1.3",
                "chunks/s",
                "events per chunk",
            ],
        );
        for pattern in Pattern::ALL {
            let shape = pattern.shape(self.is_quick);
            let mut cpu = Comparison::default();
            let (mut speed, mut joined) = (Vec::new(), Vec::new());
            for round in 0..self.rounds {
                let (mut base, mut ours) = ([0.0; 2], None);
                for at in rotated(3, round) {
                    if at == 1 {
                        let sample = quiet::undisturbed(async || self.across_once(&shape).await);
                        let sample = sample.await.context("across protocols")?;
                        foreign.push(sample.load.foreign);
                        ours = Some(sample);
                    } else {
                        let sample = self.once(Kind::Jackfield, &shape, foreign).await?;
                        base[at / 2] = sample.cpu_us;
                    }
                }
                let Some(ours) = ours else { continue };
                let values = [
                    ("Agora", base[0]),
                    ("across", ours.load.cpu_us),
                    ("Agora", base[1]),
                ];
                progress(&format!("across, {}", pattern.name()), round, &values);
                cpu.add(ours.load.cpu_us, base[0], base[1]);
                speed.push(ours.load.per_second);
                joined.push(ours.events_per_chunk);
            }
            let more = [number(median(&speed)), format!("{:.3}", median(&joined))];
            section.compare(pattern.name(), &cpu, (1.6, 1.3), &more);
        }
        Ok(section)
    }

    async fn across_once(&self, shape: &Shape) -> Result<AcrossSample> {
        let server = Server::start(Kind::Jackfield, &self.programs).await?;
        let secret = fs::read_to_string(server.data_dir().join("platform-secret"))
            .context("the hub has no secret for the platform")?;
        let mut answers = Vec::with_capacity(shape.pairs);
        for number in 0..shape.pairs {
            answers.push(answer(&server, secret.trim(), number, shape.per_write).await?);
        }
        drive(&mut answers, shape, shape.warm_up).await?;
        for (_, reader) in &mut answers {
            reader.events = 0;
        }
        sleep(SETTLE).await;
        let chunks = shape.messages * answers.len() as u64;
        let driven = drive(&mut answers, shape, shape.messages);
        let load = measure_cpu(server.pid, chunks, driven).await?;
        let events: u64 = answers.iter().map(|(_, reader)| reader.events).sum();
        server.stop().await?;
        Ok(AcrossSample {
            load,
            events_per_chunk: events as f64 / chunks as f64,
        })
    }
}

/// Attaches an agent and calls it. The agent has begun its answer when the function returns.
async fn answer(
    server: &Server,
    secret: &str,
    number: usize,
    per_write: usize,
) -> Result<(Outflow, SseReader)> {
    let addr = server.target.addr;
    let id = format!("r-{number:05}");
    let mut agent = Connection::open(server.target, &id).await?;
    let order = format!(
        r#"{{"agent_id":"{id}","session_id":"s-{number}","request_id":"q-{number}","content":"go"}}"#
    );
    let headers = format!("X-Platform-Secret: {secret}\r\n");
    let order = post(addr, "/api/relay", &headers, &order);
    let mut caller = HttpConnection::open(addr).await?;
    let begin = async {
        let call = next_call(&mut agent).await?;
        let opening = Opening {
            stream_id: Some(STREAM),
            stream: true,
            ..Opening::default()
        };
        agent.send_text(&uplink::reply(&call, &opening)).await?;
        Ok(call)
    };
    let ((), call) = tokio::try_join!(caller.request(&order), begin)?;
    let sender = Outflow {
        batch: Batch::new(&Template::reply_chunk(&call, STREAM), per_write),
        line: agent,
        next: 0,
    };
    let reader = SseReader {
        connection: caller,
        unread: Vec::new(),
        expected: Expected::new(chunk_text(&call, STREAM).into_bytes()),
        events: 0,
    };
    Ok((sender, reader))
}

/// Lets every agent send `chunks` chunks, and waits until the callers have read all of them.
async fn drive(
    answers: &mut Vec<(Outflow, SseReader)>,
    shape: &Shape,
    chunks: u64,
) -> Result<Duration> {
    let begun = Instant::now();
    let (senders, readers): (Vec<_>, Vec<_>) = std::mem::take(answers).into_iter().unzip();
    let reading = in_order(readers.into_iter().map(move |mut reader| async move {
        let until = reader.expected.next + chunks;
        reader.read_until(until).await?;
        Ok(reader)
    }));
    let driven = async {
        match shape.pace {
            Some(pace) => {
                let sending = spawn_blocking(move || {
                    let interval = Duration::from_secs(1) / pace;
                    send_paced(senders, chunks, interval, Instant::now())
                });
                tokio::try_join!(async { sending.await? }, reading)
            }
            None => tokio::try_join!(send_all(senders, chunks, shape.per_write), reading),
        }
    };
    let (senders, readers) = timeout(RUN_LIMIT, driven)
        .await
        .context("not every chunk arrived in time")??;
    let took = begun.elapsed();
    for (mut sender, reader) in senders.into_iter().zip(readers) {
        sender.line.check_errors().await?;
        answers.push((sender, reader));
    }
    Ok(took)
}

/// A caller that reads an answer as server-sent events.
struct SseReader {
    connection: HttpConnection,
    unread: Vec<u8>,
    expected: Expected,
    events: u64,
}

impl SseReader {
    /// Reads until the chunk before number `until` is complete.
    async fn read_until(&mut self, until: u64) -> Result<()> {
        loop {
            let mut taken = 0;
            while let Some(length) = position(&self.unread[taken..], b"\n\n") {
                let event = &self.unread[taken..taken + length];
                if let Some(rest) = event.strip_prefix(CHUNK) {
                    let end = rest.iter().position(|byte| *byte == b'"');
                    self.expected.take(&rest[..end.context("half an event")?])?;
                    self.events += 1;
                } else if !event.starts_with(KEEPALIVE) {
                    bail!("the hub says {}", String::from_utf8_lossy(event));
                }
                taken += length + 2;
            }
            self.unread.drain(..taken);
            if self.expected.next >= until {
                return Ok(());
            }
            let goes_on = self.connection.piece(&mut self.unread).await?;
            ensure!(goes_on, "the stream ended");
        }
    }
}

/// The text that is still to come: numbered chunks, one after the other, wherever the hub divides them.
struct Expected {
    chunk: Vec<u8>,
    /// Number of the chunk that is being read.
    next: u64,
    /// Number of bytes of it that have come.
    read: usize,
}

impl Expected {
    /// Takes the text of chunk 0, which begins with its number.
    fn new(chunk: Vec<u8>) -> Self {
        Self {
            chunk,
            next: 0,
            read: 0,
        }
    }

    fn take(&mut self, mut text: &[u8]) -> Result<()> {
        while !text.is_empty() {
            let length = text.len().min(self.chunk.len() - self.read);
            let (now, later) = text.split_at(length);
            ensure!(
                now == &self.chunk[self.read..self.read + length],
                "lost or out of order: {:?} came in chunk {}",
                String::from_utf8_lossy(now),
                self.next
            );
            text = later;
            self.read += length;
            if self.read == self.chunk.len() {
                self.read = 0;
                self.next += 1;
                self.stamp();
            }
        }
        Ok(())
    }

    fn stamp(&mut self) {
        let mut number = self.next;
        for digit in self.chunk[..10].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::number_of;

    fn text(numbers: std::ops::Range<u64>) -> String {
        numbers
            .map(|number| format!("{number:010}the tide "))
            .collect()
    }

    fn expected() -> Expected {
        Expected::new(text(0..1).into_bytes())
    }

    #[test]
    fn chunks_may_be_divided_anywhere() {
        let all = text(0..12);
        for size in [1, 7, 19, 40] {
            let mut expected = expected();
            for part in all.as_bytes().chunks(size) {
                expected.take(part).unwrap();
            }
            assert_eq!((expected.next, expected.read), (12, 0));
        }
    }

    #[test]
    fn a_lost_or_repeated_chunk_is_noticed() {
        let mut lost = expected();
        lost.take(text(0..3).as_bytes()).unwrap();
        assert!(lost.take(text(4..5).as_bytes()).is_err());
        let mut repeated = expected();
        repeated.take(text(0..3).as_bytes()).unwrap();
        assert!(repeated.take(text(2..3).as_bytes()).is_err());
    }

    #[test]
    fn a_chunk_of_the_benchmark_begins_with_its_number() {
        assert_eq!(number_of(&chunk_text("call:1", STREAM)), Some(0));
    }
}
