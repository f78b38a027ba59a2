//! [`ResponseBuilder`]: adds up a response from the rows of a reply, live or stored, and gives the events of its stream.

use std::{mem, sync::Arc};

use jackfield_core::store::{LogItem, TaskRecord, TaskState};
use jackfield_kit::{files::Files, sse::SseFrame};
use jackfield_model::{Ask, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, Reason};
use serde_json::{json, value::RawValue};

use super::{head::ResponseHead, items::ItemList, numbers::SequenceNumbers};
use crate::{
    chat::rejected,
    failure::code,
    translate::{AnswerRest, line_of, question, usage_of},
    wire::{
        IncompleteDetails, ResponseError, ResponseObject, ResponseStatus, ResponseUsage,
        StreamEvent, WaitsFor,
    },
};

/// Empty object of the protocol.
const NOTHING: &str = "{}";

/// A response as far as it is known.
#[derive(Debug)]
pub(crate) struct ResponseBuilder {
    pub(super) id: String,
    pub(super) head: ResponseHead,
    /// Whether the hub stores the response.
    is_stored: bool,
    files: Arc<Files>,
    rest: AnswerRest,
    items: ItemList,
    pub(super) status: ResponseStatus,
    failure: Option<Failure>,
    error: Option<ResponseError>,
    usage: Option<ResponseUsage>,
    waits_for: Option<WaitsFor>,
    /// The question that ended the response.
    pub(super) asked: Option<Ask>,
}

/// What a response is built with.
#[derive(Debug)]
pub(crate) struct ResponseBasis {
    pub(crate) id: String,
    pub(crate) head: ResponseHead,
    pub(crate) is_stored: bool,
    pub(crate) files: Arc<Files>,
    /// Maximum bytes of the output.
    pub(crate) limit: usize,
    /// Number of the last event that the reader has; `None` for all events.
    pub(crate) after: Option<u64>,
    /// Whether events are wanted, and not only the object.
    pub(crate) is_streamed: bool,
}

impl ResponseBuilder {
    pub(crate) fn new(basis: ResponseBasis) -> Self {
        let numbers = SequenceNumbers::new(basis.head.start, basis.after);
        Self {
            items: ItemList::new(&basis.id, numbers, basis.is_streamed, basis.limit),
            id: basis.id,
            head: basis.head,
            is_stored: basis.is_stored,
            files: basis.files,
            rest: AnswerRest::new(basis.limit),
            status: ResponseStatus::InProgress,
            failure: None,
            error: None,
            usage: None,
            waits_for: None,
            asked: None,
        }
    }

    /// Tells that the response has begun.
    pub(crate) fn begin(&mut self) {
        for kind in ["response.created", "response.in_progress"] {
            let number = self.items.numbers.next();
            if self.items.wants(number) {
                let frame = self.object_frame(kind, number);
                self.items.frames.push_back(frame);
            }
        }
    }

    /// Returns the events that are ready.
    pub(crate) fn frames(&mut self) -> &mut std::collections::VecDeque<SseFrame> {
        &mut self.items.frames
    }

    /// Adds a row between two positions. After the end of the response nothing is added.
    pub(crate) fn add(&mut self, pos: u64, end: u64, item: LogItem) {
        if self.status.is_final() {
            return;
        }
        self.items.numbers.begin_row(pos);
        match item {
            LogItem::Message(_) | LogItem::Answer(..) => {}
            LogItem::Event(Event::Chunk(chunk)) => self.chunk(&chunk, pos, end),
            LogItem::Event(Event::Artifact(artifact)) => self.rest.artifact(artifact),
            LogItem::Event(Event::Ask(ask)) => self.ask(ask, end),
            LogItem::End(last) => self.end(last, end),
        }
    }

    /// Marks rows that are no longer there.
    pub(crate) fn mark_gap(&mut self) {
        self.items.is_cut = true;
    }

    fn chunk(&mut self, chunk: &Chunk, pos: u64, end: u64) {
        let tool = chunk.tool_call_id.as_deref();
        let result_of = (chunk.kind == ChunkKind::ToolResult).then_some(tool);
        self.items.close_tools(result_of);
        match chunk.kind {
            ChunkKind::Text => {
                self.rest.push(&chunk.text);
                self.items.text(&chunk.text, Some(pos), end);
            }
            ChunkKind::Thinking => self.items.thinking(&chunk.text, Some(pos), end),
            ChunkKind::Status => {
                if let Some(line) = line_of(chunk) {
                    self.items.line(&line, end);
                }
            }
            ChunkKind::ToolStart => {
                let name = chunk.tool_name.clone().unwrap_or_default();
                self.items.tool(name, tool.map(str::to_owned), &chunk.text);
            }
            ChunkKind::ToolInput => self.items.tool_input(tool, &chunk.text),
            ChunkKind::ToolResult => self.items.tool_result(tool, &chunk.text),
        }
    }

    /// Ends the response with a question. Artifacts so far are told before it.
    fn ask(&mut self, ask: Ask, end: u64) {
        let rest = mem::replace(&mut self.rest, AnswerRest::new(0));
        let rest = rest.end(&Done::default(), &self.files);
        self.items.paragraph(&rest, end);
        self.items.paragraph(&question(&ask), end);
        self.asked = Some(ask);
        self.waits_for = Some(WaitsFor::ANSWER);
        self.finish(ResponseStatus::Completed, end);
    }

    fn end(&mut self, last: End, end: u64) {
        match last {
            End::Done(done) => self.done(&done, end),
            End::Failed(failure) => self.fail(failure, end),
            End::Cancelled => self.finish(ResponseStatus::Cancelled, end),
        }
    }

    fn done(&mut self, done: &Done, end: u64) {
        let rest = mem::replace(&mut self.rest, AnswerRest::new(0));
        let rest = rest.end(done, &self.files);
        if done.state == DoneState::Rejected {
            return self.fail(rejected(&rest), end);
        }
        self.items.text(&rest, None, end);
        self.usage = usage_of(done.usage.as_ref()).map(ResponseUsage::from);
        if done.state == DoneState::InputRequired {
            self.waits_for = Some(WaitsFor::ANSWER);
        }
        self.finish(ResponseStatus::Completed, end);
    }

    fn fail(&mut self, failure: Failure, end: u64) {
        self.set_failure(failure);
        self.finish(ResponseStatus::Failed, end);
    }

    fn set_failure(&mut self, failure: Failure) {
        self.error = Some(ResponseError {
            code: code(&failure.reason),
            message: failure.text.to_string(),
        });
        self.failure = Some(failure);
    }

    fn finish(&mut self, status: ResponseStatus, end: u64) {
        self.items.close_all();
        self.status = match status {
            ResponseStatus::Completed if self.items.is_cut => ResponseStatus::Incomplete,
            status => status,
        };
        let number = self.items.numbers.content(end);
        // A reader may have had more than is left after a restart of the hub; it needs the end in any case.
        if self.items.is_streamed && !self.items.numbers.is_last_known(number) {
            let frame = self.object_frame(self.status.event(), number);
            self.items.frames.push_back(frame);
        }
    }

    /// Takes over the state of the task, where the log does not have the end.
    pub(crate) fn settle(&mut self, record: &TaskRecord) {
        if self.status.is_final() {
            return;
        }
        self.status = match record.state {
            TaskState::Submitted => ResponseStatus::Queued,
            TaskState::Working | TaskState::InputRequired => ResponseStatus::InProgress,
            TaskState::Completed => ResponseStatus::Incomplete,
            TaskState::Cancelled => ResponseStatus::Cancelled,
            TaskState::Failed | TaskState::Rejected => ResponseStatus::Failed,
        };
        if self.status == ResponseStatus::Failed {
            let failure = record.failure.clone();
            self.set_failure(failure.unwrap_or_else(|| rejected("")));
        }
    }

    /// Returns why the response failed or was cancelled.
    pub(crate) fn failure(&self) -> Option<Failure> {
        match self.status {
            ResponseStatus::Cancelled => Some(Failure::new(
                Reason::Cancelled,
                "the response was cancelled",
            )),
            _ => self.failure.clone(),
        }
    }

    /// Returns the response as far as it is known.
    pub(crate) fn object(&self) -> ResponseObject<'_> {
        let metadata = self.head.metadata.as_ref().map(|json| json.raw());
        let is_cut = self.status == ResponseStatus::Incomplete;
        ResponseObject {
            id: &self.id,
            object: "response",
            created_at: self.head.created_at,
            status: self.status,
            background: self.head.background,
            error: self.error.as_ref(),
            incomplete_details: is_cut.then_some(IncompleteDetails::TOO_LONG),
            instructions: self.head.instructions.as_deref(),
            max_output_tokens: None,
            metadata: metadata.unwrap_or_else(|| {
                serde_json::from_str::<&RawValue>(NOTHING).expect("it is an object")
            }),
            model: &self.head.model,
            output: self.items.all(),
            parallel_tool_calls: false,
            previous_response_id: self.head.previous.as_deref(),
            reasoning: json!({"effort": null, "summary": null}),
            store: self.is_stored,
            temperature: None,
            text: json!({"format": {"type": "text"}}),
            tool_choice: "none",
            tools: [],
            top_p: None,
            truncation: "disabled",
            usage: self.usage,
            user: self.head.user.as_deref(),
            jackfield: self.waits_for,
        }
    }

    fn object_frame(&self, kind: &'static str, number: u64) -> SseFrame {
        let object = self.object();
        let event = StreamEvent {
            kind,
            sequence_number: number,
            response: Some(&object),
            ..StreamEvent::default()
        };
        event.frame()
    }
}
