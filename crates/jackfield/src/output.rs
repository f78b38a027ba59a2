//! What the commands print: data on standard output, everything else on standard error. Tables and colours on a
//! terminal, plain text with tabs to a pipe, JSON when asked. What agents say never steers the terminal.

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

/// Whether colours may be used on a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    coloured: bool,
}

/// The colours that agents get; readable on light and dark.
const AGENT_COLOURS: [&str; 6] = ["36", "33", "35", "32", "34", "31"];

/// A table is not squeezed into less than this.
const NARROW: u16 = 40;

impl Style {
    /// Of standard output.
    pub(crate) fn stdout() -> Self {
        Self::of(io::stdout().is_terminal())
    }

    /// Of standard error.
    pub(crate) fn stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    /// Without any colours.
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

    /// Whether colours may be used.
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

    /// In the background.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// In the foreground.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Good.
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// Doubtful.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Bad.
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// In the colour of an agent, always the same one.
    pub(crate) fn agent(self, id: &str, text: &str) -> String {
        let sum = id.bytes().fold(0usize, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(byte.into())
        });
        self.paint(AGENT_COLOURS[sum % AGENT_COLOURS.len()], text)
    }
}

/// Text of somebody else on one line: what would steer the terminal or end the line becomes a space.
pub(crate) fn clean(text: &str) -> String {
    text.chars()
        .map(|c| if steers(c) { ' ' } else { c })
        .collect()
}

/// Text of somebody else on its own lines: what would steer the terminal is left out.
pub(crate) fn clean_lines(text: &str) -> String {
    text.chars()
        .filter(|c| matches!(c, '\n' | '\t') || !steers(*c))
        .collect()
}

/// Control characters, and those that turn the direction of what follows.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether there is work to do besides what is printed.
static OUTLIVES_READER: AtomicBool = AtomicBool::new(false);

/// From here on a reader of standard output that goes away (`| head`) ends nothing: the rest is printed to nobody.
pub(crate) fn outlive_reader() {
    OUTLIVES_READER.store(true, Ordering::Relaxed);
}

/// Writes to standard output, at once.
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

/// One JSON object on one line.
pub(crate) fn json(value: &Value) -> io::Result<()> {
    line(&value.to_string())
}

/// A line of chatter. Nobody may be listening.
pub(crate) fn chat(text: &str) {
    writeln!(io::stderr().lock(), "{text}").ok();
}

/// Chatter without an end of line.
pub(crate) fn murmur(text: &str) {
    let mut err = io::stderr().lock();
    err.write_all(text.as_bytes()).ok();
    err.flush().ok();
}

/// Rows under a header.
#[derive(Debug)]
pub(crate) struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(header: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            header: header.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// One more row; its text may be somebody else's.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// A table on a terminal; lines of values with tabs between them, and no header, elsewhere.
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
        // A terminal that does not know its width breaks lines itself.
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
        // An id is there to be copied: the others make room for it.
        if let Some(ids) = drawing.column_mut(0) {
            ids.set_constraint(ColumnConstraint::ContentWidth);
        }
        Ok(line(&drawing.trim_fmt())?)
    }
}

/// Words for states have their colour wherever they stand.
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

/// Names and values of one thing, aligned on a terminal, with a tab between them elsewhere.
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

/// The time in a field, to the second; nothing if there is none.
pub(crate) fn time(value: &Value, key: &str) -> String {
    match text(value, key).parse::<Timestamp>() {
        Ok(at) => at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        Err(_) => String::new(),
    }
}

/// The items of a field, or none.
pub(crate) fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a field, or nothing.
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
