//! One line for each thing that is seen.

use std::io::{self, IsTerminal};

use jackfield_sdk::RawEvent;
use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;

use crate::{
    output::{Style, clean, text},
    reply::asks,
};

/// How much of a call's id is shown: its end, since ids of the same minute begin alike.
const SHORT: usize = 8;

/// Writes lines.
#[derive(Debug)]
pub(super) struct Lines {
    style: Style,
    zone: TimeZone,
    /// The widest agent so far, so that what follows is aligned; elsewhere than on a terminal there are tabs.
    width: Option<usize>,
    /// The flags to repeat in a command that somebody is told to type.
    flags: String,
}

impl Lines {
    pub(super) fn new(flags: String) -> Self {
        Self {
            style: Style::stdout(),
            zone: TimeZone::system(),
            width: io::stdout().is_terminal().then_some(8),
            flags,
        }
    }

    /// The line of an event; nothing for what a newer hub may say.
    pub(super) fn of(&mut self, event: &RawEvent) -> Option<String> {
        let (data, style) = (&event.data, self.style);
        let mut what = what(&event.name, data, style)?;
        let at = text(data, "at")
            .parse()
            .unwrap_or_else(|_| Timestamp::now());
        let at = at
            .to_zoned(self.zone.clone())
            .strftime("%H:%M:%S")
            .to_string();
        let id = clean(text(data, "agent"));
        let call = text(data, "call");
        if event.name == "ask" && !call.is_empty() {
            what += &format!("; {}", asks::command(call, data, &self.flags));
        }
        let short = call.get(call.len().saturating_sub(SHORT)..);
        let short = clean(short.unwrap_or_default());
        let Some(width) = &mut self.width else {
            return Some([at, id, short, what].join("\t"));
        };
        *width = id.chars().count().clamp(*width, 32.max(*width));
        let agent = style.agent(&id, &format!("{id:width$}"));
        let call = style.dim(&format!("{short:SHORT$}"));
        Some(format!("{} {agent} {call} {what}", style.dim(&at)))
    }
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
        "chunk" => chunk(data, style),
        "artifact" => format!(
            "made {}",
            clean(data["name"].as_str().unwrap_or(text(data, "id")))
        ),
        "ask" => {
            let ask = format!("asks ({}, {}):", of("kind"), of("id"));
            format!("{} {}", style.yellow(&ask), asks::wanted(data))
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
            "missed {} events: we were too slow",
            data["count"]
        )),
        "gap" => style.yellow("some of it is no longer kept"),
        _ => return None,
    })
}

fn chunk(data: &Value, style: Style) -> String {
    let said = clean(text(data, "text"));
    let tool = clean(text(data, "tool_name"));
    match text(data, "kind") {
        "text" => said,
        "tool_start" => style.dim(&format!("tool {tool} {said}")),
        "tool_input" => style.dim(&format!("tool {tool} <- {said}")),
        "tool_result" => style.dim(&format!("tool {tool} -> {said}")),
        kind => style.dim(&format!("({}) {said}", clean(kind))),
    }
}

/// The words of a message, and that there is more than words.
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

    fn line(name: &str, data: Value) -> Option<String> {
        let mut lines = Lines {
            style: Style::plain(),
            zone: TimeZone::UTC,
            width: Some(4),
            flags: " --hub http://h".to_owned(),
        };
        lines.of(&RawEvent {
            name: name.to_owned(),
            id: None,
            data,
        })
    }

    #[test]
    fn a_line_has_time_agent_call_and_what() {
        let at = "2026-03-04T05:06:07Z";
        let call = "0199c2f0-1111-7aaa-8bbb-123456789abc";
        let chunk =
            json!({"at": at, "agent": "bob", "call": call, "kind": "text", "text": "hi\nyou"});
        assert_eq!(
            line("chunk", chunk).unwrap(),
            "05:06:07 bob  56789abc hi you"
        );
        let online = json!({"at": at, "agent": "bobby", "door": "agora"});
        assert_eq!(
            line("online", online).unwrap(),
            "05:06:07 bobby          online by agora"
        );
        let end = json!({"at": at, "agent": "bob", "call": call, "end": {"type": "failed", "error": "offline", "message": "it left"}});
        assert!(
            line("ended", end)
                .unwrap()
                .ends_with("failed, offline: it left")
        );
        let frame = json!({"at": at, "agent": "bob", "direction": "in", "text": "{}"});
        assert!(line("frame", frame).unwrap().ends_with(" <- {}"));
        assert_eq!(line("something_new", json!({})), None);
        let ask = json!({"at": at, "agent": "bob", "call": call, "id": "q1", "kind": "approval", "text": "may I?", "tool_name": "rm"});
        assert_eq!(
            line("ask", ask).unwrap(),
            format!(
                "05:06:07 bob  56789abc asks (approval, q1): may I? [rm]; \
                 answer with: jackfield task answer {call} q1 --approve|--deny --hub http://h"
            )
        );
    }
}
