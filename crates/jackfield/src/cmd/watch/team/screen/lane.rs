//! Recent output and actions of one member. Pure, with a memory limit.

use std::collections::VecDeque;

use super::super::{
    story::{Deed, Kind, Step},
    words::{self, Tone},
};
use crate::output::{clean, clean_lines};

/// Memory limit of a lane in bytes; a screen shows much less.
const LANE_MAX: usize = 256 << 10;
/// Limit of one segment in bytes; the end is kept.
const SEGMENT_MAX: usize = 64 << 10;
/// Limit of a tool's input, and of a tool's output, in bytes.
const TOOL_MAX: usize = 4 << 10;
/// Assumed size of an entry besides its text.
const ENTRY: usize = 128;

/// A member of the team.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Route key of the member.
    pub(super) key: String,
    pub(super) agent: String,
    pub(super) is_online: bool,
    pub(super) status: String,
    pub(super) entries: VecDeque<Entry>,
    weight: usize,
    /// Whether the answer was streamed, so that the complete answer must not be shown again.
    has_text: bool,
}

/// An entry of a lane.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Said {
        id: String,
        kind: Kind,
        text: String,
        is_open: bool,
    },
    Used(Tool),
    Line(Tone, String),
}

/// One use of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tool {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: ToolState,
    /// Input, and output or error.
    pub(super) input: String,
    pub(super) output: String,
}

/// Progress of a tool use. Never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ToolState {
    Begun,
    Waits,
    Runs,
    Succeeded,
    Failed,
    Denied,
}

impl ToolState {
    fn is_end(self) -> bool {
        self >= Self::Succeeded
    }
}

impl Lane {
    pub(super) fn new(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..Self::default()
        }
    }

    /// Applies an event of the member ([`Deed`]).
    pub(super) fn see(&mut self, deed: &Deed<'_>) {
        match deed {
            Deed::Begins { id, kind, tool } => self.begin(id, *kind, tool),
            Deed::Says { id, kind, delta } => self.say(id, *kind, delta),
            Deed::Ends { id, arguments } => {
                self.end(id);
                if !arguments.is_null()
                    && let Some(tool) = self.tool(id)
                {
                    tool.input = cut(&words::whole(arguments));
                }
            }
            Deed::Answers(content) => {
                self.end_all();
                if !std::mem::take(&mut self.has_text) {
                    self.say("", Kind::Text, content);
                    self.end("");
                    self.has_text = false;
                }
            }
            Deed::Tool { id, tool, step } => self.step(id, tool, *step),
            Deed::Status { status, .. } => {
                self.status = clean(status);
                if matches!(*status, "idle" | "error") {
                    self.end_all();
                    self.has_text = false;
                }
                // The lane's title shows the status; only the reason of a failure needs a line.
                if *status == "error" {
                    self.line(deed);
                }
            }
            Deed::Hears { .. }
            | Deed::Told(_)
            | Deed::Todos(_)
            | Deed::Made(_)
            | Deed::Fails { .. } => self.line(deed),
        }
        self.forget();
    }

    /// Marks a gap: open segments may have ended.
    pub(super) fn gap(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.end_all();
        self.push(Entry::Line(
            Tone::Quiet,
            "… some events are missing".to_owned(),
        ));
    }

    fn line(&mut self, deed: &Deed<'_>) {
        if let Some((tone, line)) = words::of_deed(deed) {
            self.push(Entry::Line(tone, line));
        }
    }

    fn push(&mut self, entry: Entry) {
        self.weight += entry.weight();
        self.entries.push_back(entry);
    }

    fn begin(&mut self, id: &str, kind: Kind, tool: &str) {
        if kind == Kind::Tool {
            if self.tool(id).is_none() {
                self.push(Entry::Used(Tool::new(id, tool)));
            }
        } else if self.said(id).is_none() {
            self.push(Entry::Said {
                id: id.to_owned(),
                kind,
                text: String::new(),
                is_open: true,
            });
        }
    }

    fn say(&mut self, id: &str, kind: Kind, delta: &str) {
        if let Some(tool) = self.tool(id) {
            if tool.input.len() < TOOL_MAX {
                tool.input += &clean(delta);
            }
            return;
        }
        if self.said(id).is_none() {
            self.begin(id, kind, "");
        }
        let delta = clean_lines(delta).replace('\t', "    ");
        let Some(Entry::Said { text, kind, .. }) = self.said(id) else {
            return;
        };
        let is_text = *kind == Kind::Text;
        *text += &delta;
        let mut gone = 0;
        if text.len() > SEGMENT_MAX {
            gone = text.len() - SEGMENT_MAX / 2;
            while !text.is_char_boundary(gone) {
                gone += 1;
            }
            text.drain(..gone);
        }
        self.weight = (self.weight + delta.len()).saturating_sub(gone);
        self.has_text |= is_text;
    }

    /// Returns the open [`Entry::Said`] with this id.
    fn said(&mut self, id: &str) -> Option<&mut Entry> {
        let is_it = |entry: &&mut Entry| matches!(entry, Entry::Said { id: its, is_open: true, .. } if its == id);
        self.entries.iter_mut().rev().find(is_it)
    }

    /// Returns the [`Tool`] use with this id.
    fn tool(&mut self, id: &str) -> Option<&mut Tool> {
        self.entries.iter_mut().rev().find_map(|entry| match entry {
            Entry::Used(tool) if tool.id == id => Some(tool),
            _ => None,
        })
    }

    fn end(&mut self, id: &str) {
        if let Some(Entry::Said { is_open, .. }) = self.said(id) {
            *is_open = false;
        }
    }

    fn end_all(&mut self) {
        for entry in &mut self.entries {
            if let Entry::Said { is_open, .. } = entry {
                *is_open = false;
            }
        }
    }

    fn step(&mut self, id: &str, name: &str, step: Step<'_>) {
        if let Step::Logs(entry) = step {
            let line = format!("· {}", clean(entry));
            self.push(Entry::Line(Tone::Quiet, line));
            return;
        }
        if self.tool(id).is_none() {
            self.push(Entry::Used(Tool::new(id, name)));
        }
        let Some(tool) = self.tool(id) else {
            return;
        };
        let (state, input, output) = match step {
            Step::Asks(ask) => {
                let arguments = words::whole(ask.arguments);
                (ToolState::Waits, arguments, String::new())
            }
            Step::Runs(arguments) => (ToolState::Runs, words::whole(arguments), String::new()),
            Step::Approved | Step::Logs(_) => (ToolState::Runs, String::new(), String::new()),
            Step::Succeeded(result) => (ToolState::Succeeded, String::new(), words::whole(result)),
            Step::Failed(why) => (ToolState::Failed, String::new(), clean(why)),
            Step::Denied(why) => (ToolState::Denied, String::new(), clean(why)),
        };
        if tool.state.is_end() || tool.state > state {
            return;
        }
        tool.state = state;
        if !input.is_empty() {
            tool.input = cut(&input);
        }
        if !output.is_empty() {
            tool.output = cut(&output);
        }
    }

    fn forget(&mut self) {
        while self.weight > LANE_MAX
            && self.entries.len() > 1
            && let Some(oldest) = self.entries.pop_front()
        {
            self.weight = self.weight.saturating_sub(oldest.weight());
        }
    }
}

impl Tool {
    fn new(id: &str, name: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: clean(name),
            state: ToolState::Begun,
            input: String::new(),
            output: String::new(),
        }
    }
}

impl Entry {
    fn weight(&self) -> usize {
        match self {
            Self::Said { text, .. } | Self::Line(_, text) => ENTRY + text.len(),
            // Input and output arrive later, so the entry counts with their maximum.
            Self::Used(_) => ENTRY + TOOL_MAX,
        }
    }
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(TOOL_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}
