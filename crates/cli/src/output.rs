//! Output of the commands: data to standard output, messages to standard error. Tables and colours on a
//! terminal, tab-separated text to a pipe, JSON on request. Text from agents never controls the terminal.

use std::{
    io::{self, IsTerminal, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::Result;
use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table as Drawing, presets,
};
use jiff::Timestamp;
use serde_json::Value;

/// Colour support of an output stream; see [`Style::stdout`] and [`Style::stderr`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
}

/// Colours of agents; readable on light and dark backgrounds.
const AGENT_COLOURS: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

/// Minimum width in columns to which a table is fitted.
const NARROW: u16 = 40;

impl Style {
    /// Returns the style of standard output.
    pub(crate) fn stdout() -> Self {
        Self::of(io::stdout().is_terminal())
    }

    /// Returns the style of standard error.
    pub(crate) fn stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    /// Returns a [`Style`] without colours.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { coloured: false }
    }

    fn of(is_terminal: bool) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            coloured: is_terminal && !set("NO_COLOR") && !is_dumb,
        }
    }

    /// Returns whether colours may be used.
    pub(crate) fn is_coloured(self) -> bool {
        self.coloured
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured && !text.is_empty() {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }

    /// Formats secondary text.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Formats emphasised text.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Formats a success.
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Formats a warning.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Formats a failure.
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// Formats text in the colour of an agent; the colour depends only on the id.
    pub(crate) fn agent(self, id: &str, text: &str) -> String {
        let sum = id.bytes().fold(0usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        self.paint(AGENT_COLOURS[sum % AGENT_COLOURS.len()], text)
    }
}

/// Cleans foreign text for one line: control characters, including line ends, become spaces.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if is_control(c) { ' ' } else { c })
        .collect()
}

/// Cleans foreign text of several lines: removes control characters, except tabs and line ends.
pub(crate) fn clean_lines(text: &str) -> String {
    text.chars()
        .filter(|c| matches!(c, '\n' | '\t') || !is_control(*c))
        .collect()
}

/// Returns whether a character controls the terminal: control characters, and those that change the text
/// direction.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether the command goes on after its standard output was closed.
static OUTLIVES_READER: AtomicBool = AtomicBool::new(false);

/// From now on, a closed standard output (`| head`) does not end the command: further output is discarded.
pub(crate) fn ignore_closed_stdout() {
    OUTLIVES_READER.store(true, Ordering::Relaxed);
}

/// Writes to standard output, and flushes.
pub(crate) fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error)
            if error.kind() == io::ErrorKind::BrokenPipe
                && OUTLIVES_READER.load(Ordering::Relaxed) =>
        {
            Ok(())
        }
        written => written,
    }
}

/// Writes a line to standard output.
pub(crate) fn line(text: &str) -> io::Result<()> {
    write(&format!("{text}\n"))
}

/// Writes a JSON value on one line.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    line(&value.to_string())
}

/// Prints a message line to standard error. A write error is ignored.
pub(crate) fn print_message(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Prints to standard error like [`print_message`], without a line end.
pub(crate) fn print_message_part(text: &str) {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes()).ok();
    err.flush().ok();
}

/// A table: rows under a header.
#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a [`Table`] without rows.
    pub(crate) fn new(header: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            header: header.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; the cells may contain foreign text.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// Prints a table on a terminal; elsewhere prints tab-separated values without a header.
    pub(crate) fn print(&self) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        if !io::stdout().is_terminal() {
            let lines: Vec<_> = self.rows.iter().map(|row| row.join("\t")).collect();
            return Ok(line(&lines.join("\n"))?);
        }
        let style = Style::stdout();
        let mut drawing = Drawing::new();
        drawing
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Dynamic);
        // A terminal with unknown width wraps lines itself.
        if drawing.width().is_none_or(|width| width < NARROW) {
            drawing.set_content_arrangement(ContentArrangement::Disabled);
        }
        drawing.set_header(self.header.iter().map(|name| {
            let cell = Cell::new(name.to_uppercase());
            if style.coloured {
                cell.add_attribute(Attribute::Dim)
            } else {
                cell
            }
        }));
        for row in &self.rows {
            drawing.add_row(row.iter().map(|text| match colour(text) {
                Some(colour) if style.coloured => Cell::new(text).fg(colour),
                _ => Cell::new(text),
            }));
        }
        for column in drawing.column_iter_mut() {
            column.set_padding((0, 2));
        }
        // Users copy ids, so the first column is never wrapped; other columns shrink instead.
        if let Some(ids) = drawing.column_mut(0) {
            ids.set_constraint(ColumnConstraint::ContentWidth);
        }
        Ok(line(&drawing.trim_fmt())?)
    }
}

/// Returns the [`Color`] of a state's name.
fn colour(state: &str) -> Option<Color> {
    match state {
        "online" | "completed" => Some(Color::Green),
        "working" | "submitted" | "input_required" | "in_progress" | "RUNNING" => {
            Some(Color::Yellow)
        }
        "failed" | "rejected" | "blocked" | "ERROR" => Some(Color::Red),
        "offline" | "cancelled" | "revoked" | "expired" => Some(Color::DarkGrey),
        _ => None,
    }
}

/// Prints names and values, aligned on a terminal, separated by a tab elsewhere.
pub(crate) fn facts(facts: &[(&str, String)]) -> Result<()> {
    let is_terminal = io::stdout().is_terminal();
    let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
    let style = Style::stdout();
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        let value = clean(value);
        if is_terminal {
            line(&format!("{}{value}", style.dim(&format!("{name:width$}"))))?;
        } else {
            line(&format!("{name}\t{value}"))?;
        }
    }
    Ok(())
}

/// Returns the time in a field, to the second; empty if the field has no time.
pub(crate) fn time(value: &Value, key: &str) -> String {
    match text(value, key).parse::<Timestamp>() {
        Ok(at) => at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => String::new(),
    }
}

/// Returns the items of an array field; empty if absent.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the text of a field; empty if absent.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_agents_say_does_not_steer_the_terminal() {
        assert_eq!(clean("a\u{1b}]52;c;x\u{7}b\nc\td"), "a ]52;c;x b c d");
        assert_eq!(clean_lines("a\u{1b}[2J\nb\tc\u{202e}\r"), "a[2J\nb\tc");
        assert_eq!(clean("\u{e4}\u{1f980}"), "\u{e4}\u{1f980}");
    }

    #[test]
    fn without_colours_text_stays_as_it_is() {
        assert_eq!(Style::plain().red("x"), "x");
        assert_eq!(Style { coloured: true }.dim(""), "");
    }
}
