//! Recent output and actions of one member. Pure, with a memory limit.

use std::collections::VecDeque;

use super::super::{
    describe::{self, Tone},
    team_event::{MemberAction, StreamKind, ToolStep},
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
pub(super) struct MemberLane {
    /// Route key of the member.
    pub(super) key: String,
    pub(super) agent: String,
    pub(super) is_online: bool,
    pub(super) status: String,
    pub(super) entries: VecDeque<LaneEntry>,
    weight: usize,
    /// Whether the answer was streamed, so that the complete answer must not be shown again.
    has_text: bool,
}

/// An entry of a lane.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LaneEntry {
    Said {
        id: String,
        kind: StreamKind,
        text: String,
        is_open: bool,
    },
    Used(ToolUse),
    Line(Tone, String),
}

/// One use of a tool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolUse {
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

impl MemberLane {
    pub(super) fn new(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            ..Self::default()
        }
    }

    /// Applies an event of the member ([`MemberAction`]).
    pub(super) fn apply(&mut self, deed: &MemberAction<'_>) {
        match deed {
            MemberAction::Begins { id, kind, tool } => self.begin(id, *kind, tool),
            MemberAction::Says { id, kind, delta } => self.say(id, *kind, delta),
            MemberAction::Ends { id, arguments } => {
                self.end(id);
                if !arguments.is_null()
                    && let Some(tool) = self.tool(id)
                {
                    tool.input = cut(&describe::whole(arguments));
                }
            }
            MemberAction::Answers(content) => {
                self.end_all();
                if !std::mem::take(&mut self.has_text) {
                    self.say("", StreamKind::Text, content);
                    self.end("");
                    self.has_text = false;
                }
            }
            MemberAction::Tool { id, tool, step } => self.step(id, tool, *step),
            MemberAction::Status { status, .. } => {
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
            MemberAction::Hears { .. }
            | MemberAction::Told(_)
            | MemberAction::Todos(_)
            | MemberAction::Made(_)
            | MemberAction::Fails { .. } => self.line(deed),
        }
        self.forget();
    }

    /// Marks a gap: open segments may have ended.
    pub(super) fn gap(&mut self) {
        if self.entries.is_empty() {
            return;
        }
        self.end_all();
        self.push(LaneEntry::Line(
            Tone::Quiet,
            "… some events are missing".to_owned(),
        ));
    }

    fn line(&mut self, deed: &MemberAction<'_>) {
        if let Some((tone, line)) = describe::event_line(deed) {
            self.push(LaneEntry::Line(tone, line));
        }
    }

    fn push(&mut self, entry: LaneEntry) {
        self.weight += entry.weight();
        self.entries.push_back(entry);
    }

    fn begin(&mut self, id: &str, kind: StreamKind, tool: &str) {
        if kind == StreamKind::Tool {
            if self.tool(id).is_none() {
                self.push(LaneEntry::Used(ToolUse::new(id, tool)));
            }
        } else if self.said(id).is_none() {
            self.push(LaneEntry::Said {
                id: id.to_owned(),
                kind,
                text: String::new(),
                is_open: true,
            });
        }
    }

    fn say(&mut self, id: &str, kind: StreamKind, delta: &str) {
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
        let Some(LaneEntry::Said { text, kind, .. }) = self.said(id) else {
            return;
        };
        let is_text = *kind == StreamKind::Text;
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

    /// Returns the open [`LaneEntry::Said`] with this id.
    fn said(&mut self, id: &str) -> Option<&mut LaneEntry> {
        let is_it = |entry: &&mut LaneEntry| matches!(entry, LaneEntry::Said { id: its, is_open: true, .. } if its == id);
        self.entries.iter_mut().rev().find(is_it)
    }

    /// Returns the [`ToolUse`] use with this id.
    fn tool(&mut self, id: &str) -> Option<&mut ToolUse> {
        self.entries.iter_mut().rev().find_map(|entry| match entry {
            LaneEntry::Used(tool) if tool.id == id => Some(tool),
            _ => None,
        })
    }

    fn end(&mut self, id: &str) {
        if let Some(LaneEntry::Said { is_open, .. }) = self.said(id) {
            *is_open = false;
        }
    }

    fn end_all(&mut self) {
        for entry in &mut self.entries {
            if let LaneEntry::Said { is_open, .. } = entry {
                *is_open = false;
            }
        }
    }

    fn step(&mut self, id: &str, name: &str, step: ToolStep<'_>) {
        if let ToolStep::Logs(entry) = step {
            let line = format!("· {}", clean(entry));
            self.push(LaneEntry::Line(Tone::Quiet, line));
            return;
        }
        if self.tool(id).is_none() {
            self.push(LaneEntry::Used(ToolUse::new(id, name)));
        }
        let Some(tool) = self.tool(id) else {
            return;
        };
        let (state, input, output) = match step {
            ToolStep::Asks(ask) => {
                let arguments = describe::whole(ask.arguments);
                (ToolState::Waits, arguments, String::new())
            }
            ToolStep::Runs(arguments) => {
                (ToolState::Runs, describe::whole(arguments), String::new())
            }
            ToolStep::Approved | ToolStep::Logs(_) => {
                (ToolState::Runs, String::new(), String::new())
            }
            ToolStep::Succeeded(result) => {
                (ToolState::Succeeded, String::new(), describe::whole(result))
            }
            ToolStep::Failed(why) => (ToolState::Failed, String::new(), clean(why)),
            ToolStep::Denied(why) => (ToolState::Denied, String::new(), clean(why)),
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

impl ToolUse {
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

impl LaneEntry {
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
