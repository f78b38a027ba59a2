//! Runs the script with the real program at a terminal, and records the time of each letter.

use std::{path::Path, time::Duration};

use rustix::process::{Signal, kill_process};
use tokio::{process::Command, time::Instant};
use vt100::{Color, Parser};

use super::script::Step;
use crate::cli::terminal::Terminal;
use crate::run::Cli;

/// The width of the terminal, in letters.
pub(super) const COLUMNS: u16 = 100;
/// More lines than any command prints, so that none scrolls away.
const LINES: u16 = 200;
/// Pauses after a typed command and after its end: time to read.
const TYPED: Duration = Duration::from_millis(500);
const READ: Duration = Duration::from_millis(1600);
/// The hub address on the pages, and thus in the picture.
const USUAL: &str = "127.0.0.1:7411";

/// Text of one style and one time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Span {
    /// Style, as names of classes.
    pub(super) look: String,
    pub(super) text: String,
    pub(super) at: Duration,
}

/// A line of the terminal.
pub(super) type Row = Vec<Span>;

/// Runs the whole script.
pub(super) async fn record(steps: &[Step]) -> Vec<Row> {
    let cli = Cli::at("");
    let mut hub = String::from(USUAL);
    let (mut rows, mut staying) = (Vec::new(), Vec::new());
    let mut now = Duration::ZERO;
    for step in steps {
        if !rows.is_empty() {
            rows.push(Row::new());
        }
        rows.push(prompt(&step.command, now));
        let mut terminal = Terminal::start_wide(command(&cli, &hub, &step.command), COLUMNS);
        let shown = watch(&mut terminal, step.until.as_deref(), now + TYPED).await;
        if step.until.is_some() {
            hub = place(&shown);
        }
        rows.extend(shown.into_iter().map(|row| moved(row, &hub)));
        let last = rows.iter().flatten().map(|span| span.at).max();
        now = last.unwrap_or_default() + READ;
        if step.until.is_some() {
            staying.push(terminal);
        } else {
            assert_eq!(terminal.end().await.0, Some(0), "{}", step.command);
        }
    }
    for terminal in staying {
        kill_process(terminal.pid(), Signal::INT).expect("it runs");
        assert_eq!(terminal.end().await.0, Some(0));
    }
    rows
}

/// A command of the script in a shell. The demo can't use the default port in tests, and makes no background calls.
fn command(cli: &Cli, hub: &str, line: &str) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_jackfield"));
    let folder = program.parent().expect("a file is in a folder");
    let line = match line {
        "jackfield demo" => format!("{line} --quiet --port 0"),
        _ => line.to_owned(),
    };
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec {line}")])
        .env_clear()
        .env("HOME", cli.home())
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .env("JACKFIELD_HUB", format!("http://{hub}"))
        .current_dir(cli.home())
        .kill_on_drop(true);
    command
}

fn prompt(command: &str, at: Duration) -> Row {
    let span = |look: &str, text: &str| Span {
        look: look.to_owned(),
        text: text.to_owned(),
        at,
    };
    vec![span("p", "$ "), span("b", command)]
}

/// Records a program's output up to its end, or up to the line with this text. The first letters get the
/// given time.
async fn watch(terminal: &mut Terminal, until: Option<&str>, first: Duration) -> Vec<Row> {
    let mut parser = Parser::new(size(LINES), size(COLUMNS), 0);
    let mut cells: Vec<Vec<Span>> = Vec::new();
    let begun = Instant::now();
    while let Some(more) = terminal.more().await {
        parser.process(more.as_bytes());
        note(&parser, &mut cells, first + begun.elapsed());
        let has = |row: &Vec<Span>, words: &str| text(row).contains(words);
        let end = until.and_then(|words| cells.iter().position(|row| has(row, words)));
        if let Some(end) = end {
            cells.truncate(end + 1);
            break;
        }
    }
    let lines = cells.iter().rposition(|row| !text(row).trim().is_empty());
    cells.truncate(lines.map_or(0, |last| last + 1));
    cells.into_iter().map(joined).collect()
}

fn size(letters: u16) -> std::num::NonZeroU16 {
    std::num::NonZeroU16::new(letters).expect("more than none")
}

/// Records the letters that changed.
fn note(parser: &Parser, cells: &mut Vec<Vec<Span>>, now: Duration) {
    let screen = parser.screen();
    let blank = Span {
        look: String::new(),
        text: " ".to_owned(),
        at: Duration::ZERO,
    };
    cells.resize(usize::from(LINES), vec![blank; usize::from(COLUMNS)]);
    for (row, cells) in (0..).zip(cells) {
        for (column, known) in (0..).zip(cells) {
            let Some(cell) = screen.cell(row, column).filter(|cell| cell.has_contents()) else {
                continue;
            };
            let look = look(cell);
            if (known.look.as_str(), known.text.as_str()) != (&look, cell.contents()) {
                *known = Span {
                    look,
                    text: cell.contents().to_owned(),
                    at: now,
                };
            }
        }
    }
}

/// The style of a letter: bold, dim, and one of the eight colours.
fn look(cell: &vt100::Cell) -> String {
    if cell.contents() == " " {
        return String::new();
    }
    let colour = match cell.fgcolor() {
        Color::Idx(index) => ["", "r", "g", "y", "l", "m", "c", ""][usize::from(index % 8)],
        Color::Default | Color::Rgb(..) => "",
    };
    let flags = [("b", cell.bold()), ("d", cell.dim())];
    let flags = flags
        .iter()
        .filter(|(_, is_set)| *is_set)
        .map(|(name, _)| *name);
    let all: Vec<_> = flags
        .chain([colour])
        .filter(|name| !name.is_empty())
        .collect();
    all.join(" ")
}

fn text(row: &[Span]) -> String {
    row.iter().map(|span| span.text.as_str()).collect()
}

/// Joins letters of the same style and time. A space takes the style of the letter before it.
fn joined(cells: Vec<Span>) -> Row {
    let mut row = Row::new();
    for cell in cells {
        match row.last_mut() {
            Some(last)
                if cell.text == " "
                    || (last.look == cell.look && tenths(last.at) == tenths(cell.at)) =>
            {
                last.text += &cell.text;
            }
            _ => row.push(cell),
        }
    }
    if let Some(last) = row.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    row.retain(|span| !span.text.is_empty());
    row
}

/// The time in tenths of a second; letters of the same tenth appear together.
pub(super) fn tenths(at: Duration) -> u128 {
    at.as_millis() / 100
}

/// The hub's address in its output.
fn place(rows: &[Row]) -> String {
    let text: Vec<_> = rows.iter().map(|row| text(row)).collect();
    let text = text.join("\n");
    let (_, place) = text.split_once("http://").expect("it says where it is");
    let place = place.split_whitespace().next();
    place.unwrap_or_default().to_owned()
}

/// Replaces the hub's address by the default one.
fn moved(mut row: Row, hub: &str) -> Row {
    for span in &mut row {
        span.text = span.text.replace(hub, USUAL);
    }
    row
}
