//! Lines of `watch`: one for each message, tool use or change, not one for each chunk.

use std::{
    collections::HashMap,
    io::{self, IsTerminal},
    time::{Duration, Instant},
};

use jackfield_sdk::RawEvent;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;

use crate::{
    output::{Style, clean, text},
    reply::asks,
};

/// Number of characters shown of a call's id: the end, since ids of the same minute have the same beginning.
const SHORT: usize = 8;

/// Pause after which an unfinished line is printed. Models pause less between tokens.
pub(super) const QUIET: Duration = Duration::from_secs(2);

/// Maximum length of a line in bytes: some screens full.
const LONGEST: usize = 4096;

/// Formatter of events as lines.
#[derive(Debug)]
pub(super) struct EventLines {
    style: Style,
    zone: TimeZone,
    /// Width of the agent column on a terminal, as wide as the longest id so far; `None` elsewhere, where
    /// tabs separate the columns.
    width: Option<usize>,
    /// Flags to repeat in a command that the user is told to type.
    flags: String,
    /// Unfinished lines, by call.
    open: HashMap<String, UnfinishedLine>,
    /// Names of tools in use, by call and tool call: only the first chunk of a tool call must have the name.
    tools: HashMap<String, HashMap<String, String>>,
}

/// An unfinished line.
#[derive(Debug)]
struct UnfinishedLine {
    prefix: Prefix,
    kind: String,
    tool_call: String,
    tool: String,
    text: String,
    /// Time of the last chunk.
    grew: Instant,
}

/// Columns before the text of a line.
#[derive(Debug, Clone)]
struct Prefix {
    at: String,
    agent: String,
    call: String,
}

impl EventLines {
    pub(super) fn new(flags: String) -> Self {
        Self {
            style: Style::stdout(),
            zone: TimeZone::system(),
            width: io::stdout().is_terminal().then_some(8),
            flags,
            open: HashMap::new(),
            tools: HashMap::new(),
        }
    }

    /// Returns the lines that a [`RawEvent`] completes; none for unknown events of newer hubs.
    pub(super) fn of(&mut self, event: &RawEvent) -> Vec<String> {
        let data = &event.data;
        let call = text(data, "call").to_owned();
        let mut lines = Vec::new();
        if event.name == "chunk" && is_in_pieces(text(data, "kind")) {
            self.piece(&call, data, &mut lines);
            return lines;
        }
        let Some(mut what) = what(&event.name, data, self.style) else {
            return lines;
        };
        self.close(&call, &mut lines);
        if event.name == "chunk" {
            what = chunk(
                text(data, "kind"),
                &self.tool(&call, data),
                text(data, "text"),
                self.style,
            );
        }
        let prefix = self.prefix(data);
        lines.push(self.line(&prefix, &what));
        if event.name == "ask" && !call.is_empty() {
            for how in asks::command(&call, data, &self.flags).lines() {
                lines.push(self.line(&prefix, how));
            }
        }
        if event.name == "ended" {
            self.tools.remove(&call);
        }
        lines
    }

    /// Finishes the lines that got no chunk for [`QUIET`].
    pub(super) fn quiet(&mut self, now: Instant) -> Vec<String> {
        let is_quiet = |open: &UnfinishedLine| now.saturating_duration_since(open.grew) >= QUIET;
        self.finish(is_quiet)
    }

    /// Returns whether a line is unfinished.
    pub(super) fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Finishes all lines.
    pub(super) fn rest(&mut self) -> Vec<String> {
        self.finish(|_| true)
    }

    fn finish(&mut self, is_over: impl Fn(&UnfinishedLine) -> bool) -> Vec<String> {
        let over = self.open.iter().filter(|(_, open)| is_over(open));
        let mut calls: Vec<_> = over.map(|(call, open)| (open.grew, call.clone())).collect();
        calls.sort_unstable();
        let mut lines = Vec::new();
        for (_, call) in calls {
            self.close(&call, &mut lines);
        }
        lines
    }

    /// Adds a chunk to the line of its call.
    fn piece(&mut self, call: &str, data: &Value, lines: &mut Vec<String>) {
        let (kind, tool_call) = (text(data, "kind"), text(data, "tool_call_id"));
        let tool = self.tool(call, data);
        let goes_on = |open: &UnfinishedLine| open.kind == kind && open.tool_call == tool_call;
        if !self.open.get(call).is_some_and(goes_on) {
            self.close(call, lines);
        }
        let prefix = self.prefix(data);
        let open = self
            .open
            .entry(call.to_owned())
            .or_insert_with(|| UnfinishedLine {
                prefix: prefix.clone(),
                kind: kind.to_owned(),
                tool_call: tool_call.to_owned(),
                tool,
                text: String::new(),
                grew: Instant::now(),
            });
        open.text.push_str(text(data, "text"));
        open.grew = Instant::now();
        // An agent's text is split at its newlines; a tool's input and result are one line each.
        let is_words = matches!(kind, "text" | "thinking");
        while let Some(open) = self.open.get_mut(call) {
            let newline = open.text.find('\n').filter(|_| is_words);
            let Some(end) = newline.or_else(|| too_long(&open.text)) else {
                break;
            };
            let rest = open.text.split_off(end);
            let rest = rest.strip_prefix('\n').unwrap_or(&rest).to_owned();
            let said = std::mem::replace(&mut open.text, rest);
            let (of, tool) = (open.prefix.clone(), open.tool.clone());
            open.prefix = prefix.clone();
            self.said(&of, kind, &tool, &said, lines);
        }
        if self.open.get(call).is_some_and(|open| open.text.is_empty()) {
            self.open.remove(call);
        }
    }

    /// Finishes the line of a call.
    fn close(&mut self, call: &str, lines: &mut Vec<String>) {
        if let Some(open) = self.open.remove(call) {
            self.said(&open.prefix, &open.kind, &open.tool, &open.text, lines);
        }
    }

    fn said(
        &mut self,
        prefix: &Prefix,
        kind: &str,
        tool: &str,
        said: &str,
        lines: &mut Vec<String>,
    ) {
        if !said.trim().is_empty() {
            let what = chunk(kind, tool, said.trim_end(), self.style);
            lines.push(self.line(prefix, &what));
        }
    }

    /// Returns the name of the tool that a chunk belongs to.
    fn tool(&mut self, call: &str, data: &Value) -> String {
        let (id, name) = (text(data, "tool_call_id"), text(data, "tool_name"));
        if name.is_empty() {
            let known = self.tools.get(call).and_then(|tools| tools.get(id));
            return known.cloned().unwrap_or_default();
        }
        let name = clean(name);
        if !id.is_empty() {
            let tools = self.tools.entry(call.to_owned()).or_default();
            tools.insert(id.to_owned(), name.clone());
        }
        name
    }

    fn prefix(&self, data: &Value) -> Prefix {
        let at = text(data, "at")
            .parse()
            .unwrap_or_else(|_| Timestamp::now());
        let call = text(data, "call");
        let short = call.get(call.len().saturating_sub(SHORT)..);
        Prefix {
            at: at
                .to_zoned(self.zone.clone())
                .strftime("%H:%M:%S")
                .to_string(),
            agent: clean(text(data, "agent")),
            call: clean(short.unwrap_or_default()),
        }
    }

    fn line(&mut self, prefix: &Prefix, what: &str) -> String {
        let Prefix { at, agent, call } = prefix;
        let Some(width) = &mut self.width else {
            return [at, agent, call, what].join("\t");
        };
        *width = agent.chars().count().clamp(*width, 32.max(*width));
        let style = self.style;
        let agent = style.agent(agent, &format!("{agent:width$}"));
        let call = style.dim(&format!("{call:SHORT$}"));
        format!("{} {agent} {call} {what}", style.dim(at))
    }
}

/// Returns whether chunks of this kind are parts of one message.
fn is_in_pieces(kind: &str) -> bool {
    matches!(kind, "text" | "thinking" | "tool_input" | "tool_result")
}

/// Returns where to cut a line longer than [`LONGEST`]: at a character boundary.
fn too_long(text: &str) -> Option<usize> {
    (text.len() > LONGEST).then(|| text.floor_char_boundary(LONGEST))
}

fn what(name: &str, data: &Value, style: Style) -> Option<String> {
    let of = |key: &str| clean(text(data, key));
    Some(match name {
        "online" => style.green(&format!("online by {}", of("door"))),
        "offline" => style.yellow("offline"),
        "started" => {
            let said = words(&data["message"]);
            format!("{} calls: {said}", style.bold(&of("caller")))
        }
        "message" => format!("{} {}", style.bold("message:"), words(data)),
        "chunk" => String::new(),
        "artifact" => format!(
            "made {}",
            clean(data["name"].as_str().unwrap_or(text(data, "id")))
        ),
        "ask" => {
            let ask = format!("asks ({}, {}):", of("kind"), of("id"));
            format!("{} {}", style.yellow(&ask), asks::one_line(data))
        }
        "answer" => format!("answered ({}): {}", of("ask_id"), of("content")),
        "ended" => return what(text(&data["end"], "type"), &data["end"], style),
        "done" => style.green(&format!("done, {}", of("state"))),
        "cancelled" => style.yellow("cancelled"),
        "failed" => style.red(&format!("failed, {}: {}", of("error"), of("message"))),
        "relayed" => {
            let head = format!("{} to {}:", of("kind"), of("to"));
            format!("{} {}", style.bold(&head), of("text"))
        }
        "frame" => {
            let arrow = if text(data, "direction") == "in" {
                "<-"
            } else {
                "->"
            };
            format!("{} {}", style.bold(arrow), of("text"))
        }
        "missed" => style.yellow(&format!(
            "missed {} events: this program was too slow",
            data["count"]
        )),
        "gap" => style.yellow("some events are no longer stored"),
        _ => return None,
    })
}

fn chunk(kind: &str, tool: &str, said: &str, style: Style) -> String {
    let said = clean(said);
    let of_tool = |arrow: &str| style.dim(&["tool", tool, arrow, &said].join(" "));
    match kind {
        "text" => said,
        "tool_start" => style.dim(format!("tool {tool} {said}").trim_end()),
        "tool_input" => of_tool("<-"),
        "tool_result" => of_tool("->"),
        kind => style.dim(&format!("({}) {said}", clean(kind))),
    }
}

/// Returns the text of a message, with markers for files and data.
fn words(message: &Value) -> String {
    let parts = message["parts"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let part = |part: &Value| match part["text"].as_str() {
        Some(words) => clean(words),
        None if part["file"].is_object() => {
            format!("[file {}]", clean(text(&part["file"], "name")))
        }
        None => "[data]".to_owned(),
    };
    parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plain() -> EventLines {
        EventLines {
            style: Style::plain(),
            zone: TimeZone::UTC,
            width: Some(4),
            flags: " --hub http://h".to_owned(),
            open: HashMap::new(),
            tools: HashMap::new(),
        }
    }

    fn event(name: &str, data: Value) -> RawEvent {
        RawEvent {
            name: name.to_owned(),
            id: None,
            data,
        }
    }

    const AT: &str = "2026-03-04T05:06:07Z";
    const CALL: &str = "0199c2f0-1111-7aaa-8bbb-123456789abc";

    /// Returns the lines of one call's chunks, given by kind, tool call and text; without the prefix.
    fn words(lines: &mut EventLines, chunks: &[(&str, &str, &str)]) -> Vec<String> {
        let of = |(kind, tool_call, text): &(&str, &str, &str)| {
            let name = (*kind == "tool_start").then_some("rm");
            let data = json!({"at": AT, "agent": "bob", "call": CALL, "kind": kind, "text": text, "tool_call_id": tool_call, "tool_name": name});
            lines.of(&event("chunk", data))
        };
        let all: Vec<String> = chunks.iter().flat_map(of).collect();
        let before = "05:06:07 bob  56789abc ";
        all.iter()
            .map(|line| line.strip_prefix(before).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_line_has_time_agent_call_and_what() {
        let line = |name: &str, data: Value| plain().of(&event(name, data)).join("|");
        let online = json!({"at": AT, "agent": "bobby", "door": "agora"});
        assert_eq!(
            line("online", online),
            "05:06:07 bobby          online by agora"
        );
        let end = json!({"at": AT, "agent": "bob", "call": CALL, "end": {"type": "failed", "error": "offline", "message": "it left"}});
        assert!(line("ended", end).ends_with("failed, offline: it left"));
        let frame = json!({"at": AT, "agent": "bob", "direction": "in", "text": "{}"});
        assert!(line("frame", frame).ends_with(" <- {}"));
        assert_eq!(line("something_new", json!({})), "");
    }

    #[test]
    fn a_question_has_a_line_for_each_answer() {
        let ask = json!({"at": AT, "agent": "bob", "call": CALL, "id": "q1", "kind": "approval", "text": "may I?", "tool_name": "rm"});
        let before = "05:06:07 bob  56789abc ";
        assert_eq!(
            plain().of(&event("ask", ask)),
            [
                format!("{before}asks (approval, q1): may I? [rm]"),
                format!(
                    "{before}approve with: jackfield task answer {CALL} q1 --approve --hub http://h"
                ),
                format!("{before}deny with: jackfield task answer {CALL} q1 --deny --hub http://h"),
            ]
        );
    }

    #[test]
    fn a_message_is_a_line_and_not_its_tokens() {
        let mut lines = plain();
        let tokens = [
            ("text", "", "hel"),
            ("text", "", "lo\n\nyou"),
            ("text", "", " there"),
        ];
        assert_eq!(words(&mut lines, &tokens), ["hello"]);
        assert_eq!(
            words(&mut lines, &[("status", "", "reading")]),
            ["you there", "(status) reading"]
        );
        assert!(!lines.is_open());
        words(&mut lines, &[("thinking", "", "hm")]);
        let end = json!({"at": AT, "agent": "bob", "call": CALL, "end": {"type": "done", "state": "completed"}});
        let closed = lines.of(&event("ended", end));
        assert!(closed[0].ends_with("(thinking) hm") && closed[1].ends_with("done, completed"));
    }

    #[test]
    fn a_tool_is_named_in_all_of_its_lines() {
        let mut lines = plain();
        let chunks = [
            ("tool_start", "t1", ""),
            ("tool_input", "t1", "{\"path\":\n"),
            ("tool_input", "t1", "\"/\"}"),
            ("tool_result", "t1", "gone"),
            ("tool_result", "t2", "of a tool whose start was missed"),
            ("text", "", "so\n"),
        ];
        assert_eq!(
            words(&mut lines, &chunks),
            [
                "tool rm",
                "tool rm <- {\"path\": \"/\"}",
                "tool rm -> gone",
                "tool  -> of a tool whose start was missed",
                "so",
            ]
        );
    }

    #[test]
    fn calls_do_not_cut_each_other_and_no_line_grows_without_end() {
        let mut lines = plain();
        words(&mut lines, &[("text", "", "one")]);
        let other =
            json!({"at": AT, "agent": "ann", "call": "c2", "kind": "text", "text": "two\n"});
        assert_eq!(
            lines.of(&event("chunk", other)),
            ["05:06:07 ann  c2       two"]
        );
        let long = "x".repeat(2 * LONGEST + 5);
        let cut = words(&mut lines, &[("text", "", &long)]);
        assert_eq!(
            cut.iter().map(String::len).collect::<Vec<_>>(),
            [LONGEST, LONGEST]
        );
        assert_eq!(lines.rest().len(), 1);
    }

    #[test]
    fn a_line_without_an_end_is_printed_after_a_pause() {
        let mut lines = plain();
        words(&mut lines, &[("text", "", "wait")]);
        let now = Instant::now();
        assert!(lines.quiet(now).is_empty());
        assert_eq!(lines.quiet(now + QUIET), ["05:06:07 bob  56789abc wait"]);
        assert!(!lines.is_open());
    }
}
