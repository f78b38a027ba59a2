//! The row `a2a`: an official A2A send with its durable task. One at a time against the disk; 64 at once against
//! the seed's live send; CPU time against echo agents on plain axum and on the published libraries.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    time::Instant,
};

use anyhow::Result;

use crate::{
    echo::EchoAgent,
    http::HttpConnection,
    http_load::{HttpSample, HttpShape, Processes, load, measure_processes},
    latency::Latencies,
    patterns::Sample,
    question::Question,
    quiet::{self, Measured},
    report::{Section, at_most, number, plain, reached},
    rival::{Rival, RivalServer},
    rows::{Plan, progress},
    server::{Kind, Server},
    stats::{Comparison, Spread, median, rotated},
};

/// The echo agent's id.
const ECHO: &str = "echo";
/// Path of the echo agent's JSON-RPC at the hub.
pub(crate) const ECHO_PATH: &str = "/a2a/agents/echo";
/// Number of bytes in each write of the disk's measurement.
const BLOCK: usize = 4096;
/// Numbers of connections.
const AT_ONCE: [usize; 2] = [1, 64];

/// Who answers the requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// The hub, by official A2A: a durable task.
    Durable,
    /// The hub, by the seed's dialect: a live call.
    Live,
    Rival(Rival),
}

impl Subject {
    fn name(self) -> &'static str {
        match self {
            Self::Durable => "hub",
            Self::Live => "live",
            Self::Rival(rival) => rival.name(),
        }
    }

    /// Enough requests for a second or two, and for just-in-time compilers to be done.
    fn shape(self, at_once: usize, is_quick: bool) -> HttpShape {
        let (requests, warm_up) = match (self, at_once) {
            (Self::Durable, 1) => (400, 40),
            (Self::Live | Self::Rival(Rival::Bare), 1) => (4_000, 400),
            (Self::Rival(Rival::Node), 1) => (1_000, 1_000),
            (Self::Rival(_), 1) => (160, 40),
            (Self::Durable | Self::Live, _) => (12_800, 1_280),
            (Self::Rival(Rival::Bare), _) => (25_600, 2_560),
            (Self::Rival(Rival::Node), _) => (6_400, 3_200),
            (Self::Rival(_), _) => (1_280, 256),
        };
        HttpShape::new(at_once, requests, warm_up, is_quick)
    }
}

/// A comparison of the hub's CPU time with a rival's, at 1 and at 64.
struct CpuRow {
    rival: Rival,
    goal: f64,
    aim: f64,
    header: &'static str,
    at: [Comparison; 2],
}

impl CpuRow {
    fn new(rival: Rival, (goal, aim): (f64, f64), header: &'static str) -> Self {
        Self {
            rival,
            goal,
            aim,
            header,
            at: [Comparison::default(), Comparison::default()],
        }
    }
}

impl Plan {
    pub(crate) async fn a2a(&self, foreign: &mut Vec<f64>) -> Result<Vec<Section>> {
        let mut rows = vec![
            CpuRow::new(Rival::Bare, (3.0, 2.0), "goal ≤ 3, aim ≤ 2"),
            CpuRow::new(Rival::Node, (0.2, 0.125), "goal ≤ 0.2, aim ≤ 0.125"),
            CpuRow::new(Rival::Python, (0.02, 0.01), "goal ≤ 0.02, aim ≤ 0.01"),
        ];
        let programs = &self.programs.rivals;
        let missing: Vec<_> = rows
            .extract_if(.., |row| row.rival.version(programs).is_none())
            .map(|row| row.rival.left_out())
            .collect();
        let mut subjects = vec![Subject::Live, Subject::Durable, Subject::Live];
        for row in &rows {
            subjects.extend([Subject::Rival(row.rival); 2]);
        }
        let mut throughput = Comparison::default();
        let (mut speeds, mut slowest) = ([Vec::new(), Vec::new()], Vec::new());
        for (which, at_once) in AT_ONCE.into_iter().enumerate() {
            for round in 0..self.rounds {
                let mut samples: Vec<Option<HttpSample>> = vec![None; subjects.len()];
                for at in rotated(subjects.len(), round) {
                    // Live calls are compared at 64 only.
                    if subjects[at] == Subject::Live && at_once == 1 {
                        continue;
                    }
                    let sample = self.a2a_once(subjects[at], at_once).await?;
                    foreign.push(sample.foreign());
                    samples[at] = Some(sample);
                }
                let values: Vec<_> = subjects
                    .iter()
                    .zip(&samples)
                    .filter_map(|(subject, sample)| {
                        Some((subject.name(), sample.as_ref()?.load.cpu_us))
                    })
                    .collect();
                progress(&format!("a2a, {at_once} at once, CPU µs"), round, &values);
                let get = |at: usize| samples.get(at).and_then(Option::as_ref);
                let Some(ours) = get(1) else { continue };
                speeds[which].push(ours.load.per_second);
                if let (Some(base), Some(base_again)) = (get(0), get(2)) {
                    throughput.add(
                        ours.load.per_second,
                        base.load.per_second,
                        base_again.load.per_second,
                    );
                    slowest.push(ours.latencies.p99() / 1e3);
                }
                for (row, at) in rows.iter_mut().zip((3..).step_by(2)) {
                    if let (Some(base), Some(base_again)) = (get(at), get(at + 1)) {
                        let cpu = |sample: &HttpSample| sample.load.cpu_us;
                        row.at[which].add(cpu(ours), cpu(base), cpu(base_again));
                    }
                }
            }
        }
        let mut sections = vec![
            self.a2a_disk(foreign).await?,
            throughput_section(&throughput, &slowest),
        ];
        sections.extend(rows.iter().map(|row| {
            let version = row.rival.version(programs).unwrap_or_default();
            cpu_section(row, &version, &speeds)
        }));
        if let Some(section) = sections.last_mut() {
            for sentence in missing {
                eprintln!("a2a: {sentence}");
                section.note(&sentence);
            }
        }
        Ok(sections)
    }

    /// Sends messages that become durable tasks to a fresh hub.
    pub(crate) async fn durable_sends(
        &self,
        at_once: usize,
        foreign: &mut Vec<f64>,
    ) -> Result<Sample> {
        let sample = self.a2a_once(Subject::Durable, at_once).await?;
        foreign.push(sample.foreign());
        Ok(sample.load)
    }

    /// Starts a fresh server and loads it once.
    async fn a2a_once(&self, subject: Subject, at_once: usize) -> Result<HttpSample> {
        let shape = subject.shape(at_once, self.is_quick);
        quiet::undisturbed(async || match subject {
            Subject::Durable | Subject::Live => {
                let server = Server::start(Kind::Jackfield, &self.programs).await?;
                let mut agent = EchoAgent::attach(server.target, ECHO).await?;
                let addr = server.target.addr;
                let question = match subject {
                    Subject::Live => Question::seed(addr, ECHO, "message/send"),
                    _ => Question::official(addr, ECHO_PATH, "", "SendMessage"),
                };
                let sample = load(addr, &question, &shape, &Processes::of(server.pid)).await;
                agent.check_connected()?;
                server.stop().await?;
                sample
            }
            Subject::Rival(rival) => {
                let server = RivalServer::start(rival, &self.programs.rivals, None).await?;
                let processes = Processes {
                    measured: server.pids()?,
                    beside: Vec::new(),
                };
                let sample = load(server.addr, &server.question(), &shape, &processes).await?;
                server.stop().await?;
                Ok(sample)
            }
        })
        .await
    }

    /// Compares one request at a time with writes of a block to the same disk, in turns: a write, a request, a
    /// write. The two series of writes are the identical pair.
    async fn a2a_disk(&self, foreign: &mut Vec<f64>) -> Result<Section> {
        let requests = if self.is_quick { 50 } else { 200 };
        let mut latency = Comparison::default();
        let mut slowest = Vec::new();
        for round in 0..self.rounds {
            let sample = quiet::undisturbed(async || {
                let server = Server::start(Kind::Jackfield, &self.programs).await?;
                let mut agent = EchoAgent::attach(server.target, ECHO).await?;
                let sample = disk_turns(&server, requests).await;
                agent.check_connected()?;
                server.stop().await?;
                sample
            });
            let sample = sample.await?;
            foreign.push(sample.foreign);
            let p50 = [&sample.request, &sample.before, &sample.after].map(Latencies::p50);
            let [ours, base, base_again] = p50.map(|microseconds| microseconds / 1e3);
            let values = [("sync", base), ("hub", ours), ("sync", base_again)];
            progress("a2a, one at a time, ms", round, &values);
            latency.add(ours, base, base_again);
            slowest.push(sample.request.p99() / 1e3);
        }
        let mut section = Section::new(
            "Official A2A: one at a time against the disk",
            "p50 in ms of a blocking `SendMessage` to an echo agent, whose task is on disk before the agent gets it and before the answer, \
             against appending\n4 KiB to a file and `fdatasync`: in turns, in the hub's own data folder (below `TMPDIR`).",
            &[
                "",
                "hub",
                "fdatasync",
                "ratio (min–max)",
                "A/A",
                "goal ≤ 4, aim ≤ 2.5",
                "p99",
            ],
        );
        let verdict = at_most(latency.ratio().median, 4.0, 2.5);
        section.line([
            "durable task".to_owned(),
            plain(latency.ours()),
            plain(latency.base()),
            Section::ratio(&latency),
            Section::identical(&latency),
            verdict,
            plain(median(&slowest)),
        ]);
        Ok(section)
    }
}

/// Latencies of requests, and of writes before and after each of them.
struct DiskSample {
    request: Latencies,
    before: Latencies,
    after: Latencies,
    foreign: f64,
}

impl Measured for DiskSample {
    fn foreign(&self) -> f64 {
        self.foreign
    }
}

async fn disk_turns(server: &Server, requests: u64) -> Result<DiskSample> {
    let addr = server.target.addr;
    let mut question = Question::official(addr, ECHO_PATH, "", "SendMessage");
    let mut connection = HttpConnection::open(addr).await?;
    let mut disk = Disk::open(server.data_dir())?;
    let mut answer = Vec::new();
    let warm_up = requests / 10;
    for number in 0..warm_up {
        connection
            .exchange(question.ask(number), &mut answer)
            .await?;
        disk.sync()?;
    }
    let processes = Processes::of(server.pid);
    let turns = measure_processes(&processes, requests, async || {
        let begun = Instant::now();
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for number in warm_up..warm_up + requests {
            // This thread runs nothing else, so it may block.
            times[0].push(disk.sync()?);
            let asked = Instant::now();
            connection
                .exchange(question.ask(number), &mut answer)
                .await?;
            times[1].push(asked.elapsed().as_secs_f64() * 1e6);
            question.check(&answer)?;
            times[2].push(disk.sync()?);
        }
        Ok((times, begun.elapsed()))
    });
    let (sample, times) = turns.await?;
    let [before, request, after] = times.map(Latencies::new);
    Ok(DiskSample {
        request,
        before,
        after,
        foreign: sample.foreign,
    })
}

/// A file that grows by a block with every write.
struct Disk {
    file: File,
    block: Vec<u8>,
}

impl Disk {
    fn open(folder: &Path) -> Result<Self> {
        let path = folder.join("fdatasync");
        Ok(Self {
            file: OpenOptions::new().create(true).append(true).open(path)?,
            block: vec![0x5a; BLOCK],
        })
    }

    /// Appends a block, waits until it is on disk, and returns the microseconds that this took.
    fn sync(&mut self) -> Result<f64> {
        let begun = Instant::now();
        self.file.write_all(&self.block)?;
        self.file.sync_data()?;
        Ok(begun.elapsed().as_secs_f64() * 1e6)
    }
}

fn throughput_section(throughput: &Comparison, slowest: &[f64]) -> Section {
    let mut section = Section::new(
        "Official A2A: 64 at once against live calls",
        "Requests/s from 64 keep-alive connections to one echo agent: durable tasks by `SendMessage`, and live calls by the `message/send` of \
         the seed's dialect.",
        &[
            "",
            "durable",
            "live",
            "ratio (min–max)",
            "A/A",
            "goal ≥ 0.5, aim ≥ 0.8",
            "p99 of durable, ms",
        ],
    );
    section.line([
        "requests/s".to_owned(),
        number(throughput.ours()),
        number(throughput.base()),
        Section::ratio(throughput),
        Section::identical(throughput),
        reached(throughput.ratio().median, 0.5, 0.8),
        plain(median(slowest)),
    ]);
    section
}

fn cpu_section(row: &CpuRow, version: &str, speeds: &[Vec<f64>; 2]) -> Section {
    let (title, text) = match row.rival {
        Rival::Node => (
            format!("Official A2A: CPU against the JavaScript SDK {version}"),
            "CPU in µs per request. An echo agent on `@a2a-js/sdk` with express and its in-memory task store.",
        ),
        Rival::Python => (
            format!("Official A2A: CPU against the Python SDK {version}"),
            "CPU in µs per request. An echo agent on `a2a-sdk` with uvicorn (asyncio, h11) and its in-memory task store.",
        ),
        _ => (
            "Official A2A: CPU against a bare axum server".to_owned(),
            "CPU in µs per request. The hub's process without the agent; the bare server answers the same JSON itself and stores nothing.",
        ),
    };
    let header = [
        "at once",
        "hub",
        row.rival.name(),
        "ratio (min–max)",
        "A/A",
        row.header,
        "hub's requests/s",
    ];
    let mut section = Section::new(&title, text, &header);
    for ((at_once, cpu), speed) in AT_ONCE.iter().zip(&row.at).zip(speeds) {
        let Spread {
            median: ratio,
            min,
            max,
        } = cpu.ratio();
        section.line([
            at_once.to_string(),
            plain(cpu.ours()),
            plain(cpu.base()),
            format!("{ratio:.3} ({min:.3}–{max:.3})"),
            Section::identical(cpu),
            at_most(ratio, row.goal, row.aim),
            number(median(speed)),
        ]);
    }
    section
}
