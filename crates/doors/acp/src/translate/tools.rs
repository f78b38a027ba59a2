//! The tool calls of one turn. An update of the protocol replaces the input or the result of a tool call, while an agent
//! streams them in pieces: the pieces are collected and sent together.

use std::collections::HashMap;

use jackfield_model::{Ask, Chunk, Json, TaskId};
use serde_json::Value;

use crate::{
    limits::{TOOL_TEXT, TOOLS, TOOLS_TEXT},
    wire::{SessionUpdate, ToolCall, ToolCallUpdate, ToolContent, ToolStatus},
};

/// Start of a failed tool's result, as agents of the hub report it.
const FAILED: &str = "[error] ";
/// Mark at the end of a text that is not shown whole.
const CUT: &str = "…";

/// Prefix of the ids of a turn's tool calls. Agents number their calls within a turn; an editor needs ids that are different
/// in the whole session, and the same when the session is loaded again.
#[derive(Debug, Clone)]
pub(crate) struct ToolPrefix(String);

impl ToolPrefix {
    /// Creates the prefix of the turn that begins at a position in the log of a task.
    pub(crate) fn new(task: TaskId, turn: u64) -> Self {
        // The last digits are the random ones.
        let digits = task.to_string();
        let digits = &digits[digits.len() - 12..];
        Self(format!("{digits}-{turn}-"))
    }

    /// Returns the id for the editor.
    pub(crate) fn id(&self, id: &str) -> String {
        format!("{}{id}", self.0)
    }
}

/// How a turn ended, for its tool calls without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolsEnd {
    Done,
    Stopped,
}

/// The tool calls of a turn.
#[derive(Debug)]
pub(super) struct ToolCalls {
    prefix: ToolPrefix,
    tools: HashMap<String, Tool>,
    /// Id of the tool call that began last, for pieces without an id.
    last: String,
    /// Id of the tool call with pieces that were not sent.
    dirty: Option<String>,
    /// Bytes of input and results that may still be kept.
    room: usize,
}

#[derive(Debug, Default)]
struct Tool {
    input: Collected,
    result: Collected,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Collected {
    text: String,
    is_cut: bool,
    is_dirty: bool,
}

impl Collected {
    /// Adds a piece, as far as there is room.
    fn add(&mut self, piece: &str, room: &mut usize) {
        let free = TOOL_TEXT.saturating_sub(self.text.len()).min(*room);
        let taken = &piece[..piece.floor_char_boundary(free)];
        self.text.push_str(taken);
        *room -= taken.len();
        self.is_dirty |= !self.is_cut;
        self.is_cut |= taken.len() < piece.len();
    }

    /// Returns all pieces, if some were not sent.
    fn take_news(&mut self) -> Option<String> {
        let mark = if self.is_cut { CUT } else { "" };
        std::mem::take(&mut self.is_dirty).then(|| format!("{}{mark}", self.text))
    }
}

impl ToolCalls {
    pub(super) fn new(prefix: ToolPrefix) -> Self {
        Self {
            prefix,
            tools: HashMap::new(),
            last: String::new(),
            dirty: None,
            room: TOOLS_TEXT,
        }
    }

    /// Whether there are pieces that were not sent.
    pub(super) fn is_dirty(&self) -> bool {
        self.dirty.is_some()
    }

    /// Begins a tool call. Returns the updates to send.
    pub(super) fn start(&mut self, chunk: Chunk) -> Vec<SessionUpdate> {
        let id = chunk
            .tool_call_id
            .unwrap_or_else(|| format!("tool{}", self.tools.len()));
        let mut updates = self.flush();
        self.last.clone_from(&id);
        let name = chunk.tool_name.filter(|name| !name.is_empty());
        let title = name.unwrap_or_else(|| "tool".to_owned());
        updates.extend(self.known(&id, &title));
        // Most agents send the input in chunks of their own.
        if !chunk.text.is_empty() {
            updates.extend(self.piece(Some(id), &chunk.text, |tool| &mut tool.input));
        }
        updates
    }

    /// Adds a piece of a tool call's input.
    pub(super) fn input(&mut self, chunk: Chunk) -> Vec<SessionUpdate> {
        self.piece(chunk.tool_call_id, &chunk.text, |tool| &mut tool.input)
    }

    /// Adds a piece of a tool call's result.
    pub(super) fn result(&mut self, chunk: Chunk) -> Vec<SessionUpdate> {
        self.piece(chunk.tool_call_id, &chunk.text, |tool| &mut tool.result)
    }

    fn piece(
        &mut self,
        id: Option<String>,
        text: &str,
        of: impl Fn(&mut Tool) -> &mut Collected,
    ) -> Vec<SessionUpdate> {
        let id = id.unwrap_or_else(|| self.last.clone());
        let mut updates = match &self.dirty {
            Some(dirty) if *dirty != id => self.flush(),
            _ => Vec::new(),
        };
        updates.extend(self.known(&id, "tool"));
        if let Some(tool) = self.tools.get_mut(&id) {
            of(tool).add(text, &mut self.room);
            self.dirty = Some(id);
        }
        updates
    }

    /// Begins a tool call that is not known yet, unless there are too many.
    fn known(&mut self, id: &str, title: &str) -> Option<SessionUpdate> {
        self.begin(id, title, ToolStatus::InProgress)
    }

    fn begin(&mut self, id: &str, title: &str, status: ToolStatus) -> Option<SessionUpdate> {
        if self.tools.contains_key(id) || self.tools.len() >= TOOLS {
            return None;
        }
        self.tools.insert(id.to_owned(), Tool::default());
        Some(SessionUpdate::ToolCall(ToolCall {
            tool_call_id: self.prefix.id(id),
            title: title.to_owned(),
            status,
        }))
    }

    /// Shows that a tool call waits for approval. An approval without a tool call is shown as a tool call of its own.
    pub(super) fn approval(&mut self, ask: &Ask) -> (String, Vec<SessionUpdate>) {
        let mut updates = self.flush();
        let id = asking_tool(ask);
        let name = ask.tool_name.as_deref().filter(|name| !name.is_empty());
        let title = name.unwrap_or(&ask.text);
        updates.extend(self.begin(&id, title, ToolStatus::Pending));
        (self.prefix.id(&id), updates)
    }

    /// Shows that a tool call was approved, or not.
    pub(super) fn decided(&mut self, ask: &Ask, is_approved: bool) -> Vec<SessionUpdate> {
        let mut updates = self.flush();
        let id = asking_tool(ask);
        if let Some(tool) = self.tools.get_mut(&id) {
            tool.is_over |= !is_approved;
            let status = match is_approved {
                true => ToolStatus::InProgress,
                false => ToolStatus::Failed,
            };
            updates.push(self.status(&id, status));
        }
        updates
    }

    /// Returns the update with the status of a tool call, and nothing else.
    fn status(&self, id: &str, status: ToolStatus) -> SessionUpdate {
        SessionUpdate::ToolCallUpdate(ToolCallUpdate {
            tool_call_id: self.prefix.id(id),
            status: Some(status),
            content: Vec::new(),
            raw_input: None,
        })
    }

    /// Returns the update with all pieces that were not sent.
    pub(super) fn flush(&mut self) -> Vec<SessionUpdate> {
        let Some(id) = self.dirty.take() else {
            return Vec::new();
        };
        let Some(tool) = self.tools.get_mut(&id) else {
            return Vec::new();
        };
        let raw_input = tool.input.take_news().map(|text| {
            // Pieces of JSON are a text until the JSON is complete.
            Json::parse(&text).unwrap_or_else(|_| Value::String(text).into())
        });
        let result = tool.result.take_news();
        tool.is_over |= result.is_some();
        let status = result
            .as_ref()
            .map(|result| match result.starts_with(FAILED) {
                true => ToolStatus::Failed,
                false => ToolStatus::Completed,
            });
        let content = result.map(|result| match result.strip_prefix(FAILED) {
            Some(why) => ToolContent::text(why),
            None => ToolContent::text(result),
        });
        vec![SessionUpdate::ToolCallUpdate(ToolCallUpdate {
            tool_call_id: self.prefix.id(&id),
            status,
            content: content.into_iter().collect(),
            raw_input,
        })]
    }

    /// Ends the turn: sends all pieces, and ends tool calls without a result.
    pub(super) fn finish(&mut self, how: ToolsEnd) -> Vec<SessionUpdate> {
        let mut updates = self.flush();
        let mut open: Vec<_> = self
            .tools
            .drain()
            .filter(|(_, tool)| !tool.is_over)
            .collect();
        open.sort_by(|(one, _), (other, _)| one.cmp(other));
        let status = match how {
            ToolsEnd::Done => ToolStatus::Completed,
            ToolsEnd::Stopped => ToolStatus::Failed,
        };
        updates.extend(open.into_iter().map(|(id, _)| self.status(&id, status)));
        updates
    }
}

/// Returns the agent's id of the tool call that an approval is about.
fn asking_tool(ask: &Ask) -> String {
    let id = ask.tool_call_id.as_ref();
    id.map_or_else(|| format!("approval-{}", ask.id), String::clone)
}
