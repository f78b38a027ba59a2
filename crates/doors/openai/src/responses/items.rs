//! [`ItemList`]: the output items of a response, with the events that tell of their beginning, their pieces and their
//! end (`items/events.rs`).

mod events;

use std::collections::VecDeque;

use jackfield_kit::sse::SseFrame;
use serde_json::json;

use super::numbers::SequenceNumbers;
use crate::{
    limits::TOOL_ITEMS,
    wire::{OutputItem, OutputText, StreamEvent, SummaryText},
};

const DONE: &str = "completed";
const GOING_ON: &str = "in_progress";

/// A tool call that has not ended.
#[derive(Debug)]
struct OpenTool {
    index: usize,
    id: Option<String>,
    has_result: bool,
}

/// The output of a response.
#[derive(Debug)]
pub(super) struct ItemList {
    items: Vec<OutputItem>,
    /// Index of the text or the reasoning that goes on.
    open: Option<usize>,
    tools: Vec<OpenTool>,
    /// Number of tool calls so far.
    tool_count: usize,
    /// Suffix of the items' ids.
    suffix: String,
    /// Bytes that still fit.
    room: usize,
    /// Whether something is missing from the items.
    pub(super) is_cut: bool,
    pub(super) numbers: SequenceNumbers,
    pub(super) is_streamed: bool,
    pub(super) frames: VecDeque<SseFrame>,
}

impl ItemList {
    pub(super) fn new(id: &str, numbers: SequenceNumbers, is_streamed: bool, room: usize) -> Self {
        Self {
            items: Vec::new(),
            open: None,
            tools: Vec::new(),
            tool_count: 0,
            suffix: id.trim_start_matches("resp_").to_owned(),
            room,
            is_cut: false,
            numbers,
            is_streamed,
            frames: VecDeque::new(),
        }
    }

    pub(super) fn all(&self) -> &[OutputItem] {
        &self.items
    }

    /// Whether the reader wants the event with this number.
    pub(super) fn wants(&self, number: u64) -> bool {
        self.is_streamed && self.numbers.is_new(number)
    }

    fn new_id(&self, kind: &str) -> String {
        format!("{kind}_{}_{}", self.suffix, self.items.len())
    }

    /// Adds text of the answer that ends at the position `end`. It begins at `pos` if each of its bytes is a position.
    pub(super) fn text(&mut self, text: &str, pos: Option<u64>, end: u64) {
        if text.is_empty() {
            return;
        }
        let is_open = |item: &OutputItem| matches!(item, OutputItem::Message { .. });
        let (index, text) = match self.open.filter(|at| is_open(&self.items[*at])) {
            Some(index) => (index, text),
            // A paragraph at the beginning of an item needs no distance from the text before.
            None if pos.is_none() => (self.open_message(), text.trim_start_matches('\n')),
            None => (self.open_message(), text),
        };
        let kept = self.keep(text);
        if let OutputItem::Message { content, .. } = &mut self.items[index]
            && let Some(part) = content.last_mut()
        {
            part.text.push_str(&kept);
        }
        let event = StreamEvent {
            kind: "response.output_text.delta",
            content_index: Some(0),
            logprobs: Some([]),
            ..StreamEvent::default()
        };
        self.delta(event, index, text, pos, end);
    }

    /// Adds a paragraph to the answer.
    pub(super) fn paragraph(&mut self, text: &str, end: u64) {
        let text = text.trim_start_matches('\n');
        if !text.is_empty() {
            self.text(&format!("\n\n{text}"), None, end);
        }
    }

    /// Adds thinking; the positions are those of [`ItemList::text`].
    pub(super) fn thinking(&mut self, text: &str, pos: Option<u64>, end: u64) {
        if text.is_empty() {
            return;
        }
        let is_open = |item: &OutputItem| matches!(item, OutputItem::Reasoning { .. });
        let open = self.open.filter(|at| is_open(&self.items[*at]));
        let index = open.unwrap_or_else(|| self.open_reasoning());
        let kept = self.keep(text);
        if let OutputItem::Reasoning { summary, .. } = &mut self.items[index]
            && let Some(part) = summary.last_mut()
        {
            part.text.push_str(&kept);
        }
        let event = StreamEvent {
            kind: "response.reasoning_summary_text.delta",
            summary_index: Some(0),
            ..StreamEvent::default()
        };
        self.delta(event, index, text, pos, end);
    }

    /// Adds a line to the thinking.
    pub(super) fn line(&mut self, line: &str, end: u64) {
        let last = self.open.and_then(|at| match &self.items[at] {
            OutputItem::Reasoning { summary, .. } => summary.last(),
            _ => None,
        });
        let is_in_line =
            last.is_some_and(|part| !part.text.is_empty() && !part.text.ends_with('\n'));
        let start = if is_in_line { "\n" } else { "" };
        self.thinking(&format!("{start}{line}\n"), None, end);
    }

    /// Adds a tool call that begins.
    pub(super) fn tool(&mut self, name: String, id: Option<String>, arguments: &str) {
        self.close_open();
        if self.tool_count >= TOOL_ITEMS {
            self.is_cut = true;
            return;
        }
        self.tool_count += 1;
        let arguments = self.keep(arguments);
        let item = OutputItem::Tool {
            id: self.new_id("jtc"),
            name,
            status: GOING_ON,
            arguments,
            output: String::new(),
        };
        let index = self.push(item);
        self.tools.push(OpenTool {
            index,
            id,
            has_result: false,
        });
    }

    /// Adds input of a tool call.
    pub(super) fn tool_input(&mut self, id: Option<&str>, text: &str) {
        let kept = self.keep(text);
        if let Some(at) = self.find_tool(id)
            && let OutputItem::Tool { arguments, .. } = &mut self.items[self.tools[at].index]
        {
            arguments.push_str(&kept);
        }
    }

    /// Adds the result of a tool call, which ends before the next row that is about something else.
    pub(super) fn tool_result(&mut self, id: Option<&str>, text: &str) {
        let kept = self.keep(text);
        if let Some(at) = self.find_tool(id) {
            self.tools[at].has_result = true;
            if let OutputItem::Tool { output, .. } = &mut self.items[self.tools[at].index] {
                output.push_str(&kept);
            }
        }
    }

    fn find_tool(&self, id: Option<&str>) -> Option<usize> {
        self.tools.iter().rposition(|tool| tool.id.as_deref() == id)
    }

    /// Ends the tool calls that have a result, except one whose result goes on.
    pub(super) fn close_tools(&mut self, goes_on: Option<Option<&str>>) {
        let is_over = |tool: &mut OpenTool| tool.has_result && goes_on != Some(tool.id.as_deref());
        let over: Vec<_> = self.tools.extract_if(.., is_over).collect();
        for tool in over {
            self.close_tool(tool.index);
        }
    }

    /// Ends everything.
    pub(super) fn close_all(&mut self) {
        self.close_open();
        for tool in std::mem::take(&mut self.tools) {
            self.close_tool(tool.index);
        }
    }

    fn close_tool(&mut self, index: usize) {
        if let OutputItem::Tool { status, .. } = &mut self.items[index] {
            *status = DONE;
        }
        self.item_event("response.output_item.done", index);
    }

    fn open_message(&mut self) -> usize {
        self.close_open();
        let index = self.push(OutputItem::Message {
            id: self.new_id("msg"),
            role: "assistant",
            status: GOING_ON,
            content: Vec::new(),
        });
        let part = OutputText::new(String::new());
        self.part_event("response.content_part.added", index, json!(part));
        if let OutputItem::Message { content, .. } = &mut self.items[index] {
            content.push(part);
        }
        self.open = Some(index);
        index
    }

    fn open_reasoning(&mut self) -> usize {
        self.close_open();
        let index = self.push(OutputItem::Reasoning {
            id: self.new_id("rs"),
            summary: Vec::new(),
        });
        let part = SummaryText::new(String::new());
        self.part_event("response.reasoning_summary_part.added", index, json!(part));
        if let OutputItem::Reasoning { summary, .. } = &mut self.items[index] {
            summary.push(part);
        }
        self.open = Some(index);
        index
    }

    /// Adds an item that begins, and returns its index.
    fn push(&mut self, item: OutputItem) -> usize {
        let index = self.items.len();
        self.items.push(item);
        self.item_event("response.output_item.added", index);
        index
    }

    /// Ends the text or the reasoning that goes on.
    fn close_open(&mut self) {
        let Some(index) = self.open.take() else {
            return;
        };
        let (kinds, text, part) = match &mut self.items[index] {
            OutputItem::Message {
                status, content, ..
            } => {
                *status = DONE;
                let kinds = ["response.output_text.done", "response.content_part.done"];
                let part = content.last().cloned();
                let text = part.as_ref().map(|part| part.text.clone());
                (kinds, text, json!(part))
            }
            OutputItem::Reasoning { summary, .. } => {
                let kinds = [
                    "response.reasoning_summary_text.done",
                    "response.reasoning_summary_part.done",
                ];
                let part = summary.last().cloned();
                let text = part.as_ref().map(|part| part.text.clone());
                (kinds, text, json!(part))
            }
            OutputItem::Tool { .. } => return,
        };
        self.text_event(kinds[0], index, &text.unwrap_or_default());
        self.part_event(kinds[1], index, part);
        self.item_event("response.output_item.done", index);
    }

    /// Returns the part of a text that fits into the output.
    fn keep(&mut self, text: &str) -> String {
        let kept = &text[..text.floor_char_boundary(self.room)];
        self.room -= kept.len();
        self.is_cut |= kept.len() < text.len();
        kept.to_owned()
    }
}
