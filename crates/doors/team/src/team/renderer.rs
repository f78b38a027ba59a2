//! Renderer of a member's call: turns the events of a call into [`MemberEvent`]s. Pure: the call's observer
//! passes the events in and appends the rendered events to the feeds.
//!
//! Viewers drop events that break the following rules, so the renderer keeps them:
//!
//! - Every segment starts and ends once.
//! - The state of a tool only moves forward.
//! - Events of a tool follow the start of the tool's segment.
//!
//! A status chunk interrupts no segment.

mod artifact;
mod bounded_text;
mod partial_result;
mod tool;
mod tools;

use std::sync::Arc;

use jackfield_kit::files::Files;
use jackfield_model::{
    AgentId, Answer, Artifact, Ask, AskKind, CallId, Chunk, ChunkKind, Done, End, Event, Json,
    Message, id::MAX_NAME,
};
use serde::Serialize;

use self::{
    bounded_text::BoundedText,
    partial_result::PartialResult,
    tool::{ToolClosing, ToolOrigin, ToolPhase},
    tools::{TrackedTools, filled, usable},
};
use super::{
    event::{AgentStatus, MemberEvent, SegmentKind, ToolInvocation},
    feed::ViewerId,
};

/// Maximum length of the displayed reason of an answer, in bytes.
const MAX_REASON: usize = 1024;

/// Error code for a cancelled call. The protocol has no event for a cancellation.
const CANCELLED: &str = "cancelled";

/// Rendered step of a call. A status is separate from other events because only the feed knows the other
/// calls of the member.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RenderedStep {
    /// Event of the member.
    Event(MemberEvent),
    /// Status of the member, as far as the call knows.
    Status {
        /// New status.
        new: AgentStatus,
        /// Tool that the status refers to.
        tool: Option<Arc<str>>,
        /// Cause, for [`AgentStatus::Error`].
        error: Option<String>,
    },
}

/// Renderer of a single call.
#[derive(Debug)]
pub(crate) struct MemberRenderer {
    turn: Arc<str>,
    max_text: usize,
    segments: u64,
    /// Open segment of text or reasoning. No tool receives input while a segment is open.
    speech: Option<OpenSegment>,
    tools: TrackedTools,
    /// Id of the placeholder tool for status lines outside of tools, after the first line.
    status_lines: Option<Arc<str>>,
    result: Option<PartialResult>,
    /// Text of the answer.
    said: BoundedText,
    /// Whether `said` holds the answer from its beginning.
    is_from_start: bool,
    status: Option<(AgentStatus, Option<Arc<str>>)>,
    is_over: bool,
}

#[derive(Debug)]
struct OpenSegment {
    id: Arc<str>,
    kind: SegmentKind,
}

impl MemberRenderer {
    /// Creates a renderer for a new call. Limits each joined text to `max_text` bytes.
    pub(crate) fn new(call: CallId, max_text: usize) -> Self {
        let hex = call.to_string().replace('-', "");
        let turn: Arc<str> = format!("turn_{hex}").into();
        Self {
            tools: TrackedTools::new(turn.clone()),
            turn,
            max_text,
            segments: 0,
            speech: None,
            status_lines: None,
            result: None,
            said: BoundedText::default(),
            is_from_start: true,
            status: None,
            is_over: false,
        }
    }

    /// Marks the beginning of the answer as missing: the hub restarted during the call.
    pub(crate) fn mark_resumed(&mut self) {
        self.is_from_start = false;
    }

    /// Renders the arrival of the message at the member.
    pub(crate) fn opened(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        self.report_status(AgentStatus::ProcessingUserInput, None, tell);
    }

    /// Renders a message from a fellow member as an event of the recipient.
    pub(crate) fn member_message(
        &self,
        sender: &AgentId,
        recipient: &Arc<str>,
        message: &Message,
    ) -> MemberEvent {
        MemberEvent::MemberMessage {
            sender: sender.clone(),
            recipient: recipient.clone(),
            content: self.bounded(&message.joined_text_and_data()),
        }
    }

    /// Renders a message from outside the team as an event of the recipient.
    pub(crate) fn outside_message(
        &self,
        sender: &str,
        viewer: Option<ViewerId>,
        recipient: &Arc<str>,
        message: &Message,
    ) -> MemberEvent {
        MemberEvent::OutsideMessage {
            sender: sender.to_owned(),
            recipient: recipient.clone(),
            content: self.bounded(&message.joined_text_and_data()),
            viewer,
        }
    }

    /// Renders an [`Event`] of the reply. Questions go to [`MemberRenderer::asked`] instead.
    pub(crate) fn event(
        &mut self,
        event: &Event,
        files: &Files,
        tell: &mut impl FnMut(RenderedStep),
    ) {
        if self.is_over {
            return;
        }
        match event {
            Event::Chunk(chunk) => match chunk.kind {
                ChunkKind::Text => self.speak(SegmentKind::Text, &chunk.text, tell),
                ChunkKind::Thinking => self.speak(SegmentKind::Reasoning, &chunk.text, tell),
                ChunkKind::ToolStart => self.tool_starts(chunk, tell),
                ChunkKind::ToolInput => self.tool_gets(chunk, tell),
                ChunkKind::ToolResult => self.tool_gives(chunk, tell),
                ChunkKind::Status => self.remark(&chunk.text, tell),
            },
            Event::Artifact(artifact) => self.make(artifact, files, tell),
            Event::Ask(_) => {}
        }
    }

    /// Renders an [`Ask`]. Returns the tool call that represents the question, for [`MemberRenderer::answered`].
    pub(crate) fn asked(
        &mut self,
        ask: &Ask,
        tell: &mut impl FnMut(RenderedStep),
    ) -> ToolInvocation {
        if self.is_over {
            return ToolInvocation {
                id: ask.id.as_str().into(),
                tool: name_of(ask).into(),
            };
        }
        self.interrupt(tell);
        let at = self.tool_for_question(ask, tell);
        let arguments = ask.arguments.as_ref();
        let shown = match ask.kind {
            AskKind::Approval => arguments.cloned().unwrap_or_else(|| question(ask)),
            AskKind::Input => question(ask),
        };
        let text = self.bounded(&ask.text);
        self.tools[at].ask(arguments, &shown, text, tell);
        self.report_status(AgentStatus::AwaitingToolApproval, None, tell);
        self.tools[at].of.clone()
    }

    /// Renders the [`Answer`] to the question represented by `of`.
    pub(crate) fn answered(
        &mut self,
        of: &ToolInvocation,
        kind: AskKind,
        answer: &Answer,
        tell: &mut impl FnMut(RenderedStep),
    ) {
        self.finish_result(tell);
        let asked = self.tools.find_shown(&of.id);
        let Some(at) = asked.filter(|at| self.tools[*at].phase == ToolPhase::Asked) else {
            return;
        };
        let tool = &mut self.tools[at];
        let (is_yes, reason) = match kind {
            AskKind::Approval => (answer.approved == Some(true), answer.reason.as_deref()),
            // Input needs no approval, but the approver may refuse to answer.
            AskKind::Input if answer.approved == Some(false) => (false, answer.reason.as_deref()),
            AskKind::Input => (true, answer.content.as_deref().or(answer.reason.as_deref())),
        };
        let reason = filled(reason).map(|words| &words[..words.floor_char_boundary(MAX_REASON)]);
        if !is_yes {
            tool.deny(reason.unwrap_or("denied").to_owned(), tell);
            self.report_status(AgentStatus::ToolDenied, None, tell);
            return;
        }
        tool.approve(reason.map(str::to_owned), tell);
        let name = tool.of.tool.clone();
        match kind {
            AskKind::Approval => self.report_status(AgentStatus::ExecutingTool, Some(name), tell),
            AskKind::Input => self.report_status(AgentStatus::AnalyzingLlmResponse, None, tell),
        }
        if self.tools[at].origin != ToolOrigin::Stand {
            self.tools[at].start(tell);
        }
    }

    /// Renders the [`End`] of the call and closes open segments and tools. Ignores all later events and ends.
    pub(crate) fn ended(&mut self, end: &End, files: &Files, tell: &mut impl FnMut(RenderedStep)) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.interrupt(tell);
        match end {
            End::Done(done) => {
                self.tools.close_all(ToolClosing::Unreported, tell);
                self.complete(done, files, tell);
                self.report_status(AgentStatus::Idle, None, tell);
            }
            End::Cancelled => {
                self.tools.close_all(ToolClosing::Broken(CANCELLED), tell);
                tell(RenderedStep::Event(MemberEvent::Error {
                    code: CANCELLED.to_owned(),
                    message: "stopped before it was done".to_owned(),
                }));
                self.report_status(AgentStatus::Idle, None, tell);
            }
            End::Failed(failure) => {
                let label = failure.reason.label();
                let why = self.bounded(filled(Some(&*failure.text)).unwrap_or(label));
                self.tools.close_all(ToolClosing::Broken(&why), tell);
                tell(RenderedStep::Event(MemberEvent::Error {
                    code: label.to_owned(),
                    message: why.clone(),
                }));
                tell(RenderedStep::Status {
                    new: AgentStatus::Error,
                    tool: None,
                    error: Some(why),
                });
            }
        }
    }

    fn speak(&mut self, kind: SegmentKind, text: &str, tell: &mut impl FnMut(RenderedStep)) {
        if text.is_empty() {
            return;
        }
        self.finish_result(tell);
        let open = self.speech.as_ref().filter(|speech| speech.kind == kind);
        let id = match open.map(|speech| speech.id.clone()) {
            Some(id) => {
                self.report_status(AgentStatus::AnalyzingLlmResponse, None, tell);
                id
            }
            None => self.begin_speech(kind, tell),
        };
        if kind == SegmentKind::Text {
            self.said
                .add(text, self.max_text.saturating_sub(self.said.len()));
        }
        let delta = text.to_owned();
        let content = MemberEvent::SegmentContent { id, kind, delta };
        tell(RenderedStep::Event(content));
    }

    fn begin_speech(&mut self, kind: SegmentKind, tell: &mut impl FnMut(RenderedStep)) -> Arc<str> {
        self.end_speech(tell);
        self.tools.run_all(tell);
        self.report_status(AgentStatus::AnalyzingLlmResponse, None, tell);
        self.segments += 1;
        let id: Arc<str> = format!("{}:seg_{}", self.turn, self.segments).into();
        tell(RenderedStep::Event(MemberEvent::SegmentStart {
            id: id.clone(),
            kind,
            tool: None,
        }));
        self.speech = Some(OpenSegment {
            id: id.clone(),
            kind,
        });
        id
    }

    fn end_speech(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        if let Some(speech) = self.speech.take() {
            tell(RenderedStep::Event(MemberEvent::SegmentEnd {
                id: speech.id,
                tool: None,
                arguments: None,
            }));
        }
    }

    fn tool_starts(&mut self, chunk: &Chunk, tell: &mut impl FnMut(RenderedStep)) {
        self.interrupt(tell);
        let words = chunk.text.trim();
        let (name, input) = match filled(chunk.tool_name.as_deref()) {
            Some(name) if name == words => (name, ""),
            Some(name) => (name, chunk.text.as_str()),
            None if words.is_empty() => ("tool", ""),
            // A tool name is cut at `MAX_NAME`; the full text becomes input of the tool.
            None if words.len() > MAX_NAME => (words, words),
            None => (words, ""),
        };
        let given = usable(chunk.tool_call_id.as_deref());
        let asked = given.and_then(|given| self.tools.find_by_agent_id(given));
        let asked = asked.filter(|at| {
            let tool = &self.tools[*at];
            tool.origin == ToolOrigin::AskedFirst && tool.phase != ToolPhase::Over
        });
        let at = match asked {
            Some(at) => {
                self.tools[at].origin = ToolOrigin::Begun;
                at
            }
            None => self.tools.begin(given, name, ToolOrigin::Begun, tell),
        };
        self.write(at, input, tell);
        let name = self.tools[at].of.tool.clone();
        self.report_status(AgentStatus::ExecutingTool, Some(name), tell);
    }

    fn tool_gets(&mut self, chunk: &Chunk, tell: &mut impl FnMut(RenderedStep)) {
        if chunk.text.is_empty() {
            return;
        }
        self.interrupt(tell);
        let name = filled(chunk.tool_name.as_deref());
        let found = match usable(chunk.tool_call_id.as_deref()) {
            Some(given) => self.tools.find_by_agent_id(given),
            None => self.tools.written(name).or_else(|| self.tools.open(name)),
        };
        let at = found.unwrap_or_else(|| self.begin_late(chunk, tell));
        self.write(at, &chunk.text, tell);
    }

    fn tool_gives(&mut self, chunk: &Chunk, tell: &mut impl FnMut(RenderedStep)) {
        let is_by_id = usable(chunk.tool_call_id.as_deref()).is_some();
        let id = self.tool_of_result(chunk).map(|at| &self.tools[at].of.id);
        if let Some(giving) = &mut self.result
            && giving.is_by_id == is_by_id
            && id == Some(&giving.id)
        {
            giving.add(&chunk.text, self.max_text);
            return;
        }
        self.interrupt(tell);
        let at = match self.tool_of_result(chunk) {
            Some(at) => at,
            None => self.begin_late(chunk, tell),
        };
        if self.tools[at].phase == ToolPhase::Over {
            self.log(&self.tools[at].of, &chunk.text, tell);
            return;
        }
        self.tools[at].come_back(tell);
        self.report_status(AgentStatus::ProcessingToolResult, None, tell);
        let mut giving = PartialResult::new(self.tools[at].of.id.clone(), is_by_id);
        giving.add(&chunk.text, self.max_text);
        self.result = Some(giving);
    }

    /// Finds the tool that a result belongs to.
    fn tool_of_result(&self, chunk: &Chunk) -> Option<usize> {
        match usable(chunk.tool_call_id.as_deref()) {
            Some(given) => self.tools.find_by_agent_id(given),
            None => self.tools.open(filled(chunk.tool_name.as_deref())),
        }
    }

    /// Starts a tool whose start the agent did not report.
    fn begin_late(&mut self, chunk: &Chunk, tell: &mut impl FnMut(RenderedStep)) -> usize {
        let given = usable(chunk.tool_call_id.as_deref());
        let name = filled(chunk.tool_name.as_deref()).unwrap_or("tool");
        let at = self.tools.begin(given, name, ToolOrigin::Begun, tell);
        let name = self.tools[at].of.tool.clone();
        self.report_status(AgentStatus::ExecutingTool, Some(name), tell);
        at
    }

    /// Adds input to a tool. Input after the end of the tool's segment becomes a log line, unless the
    /// question already contained the arguments.
    fn write(&mut self, at: usize, input: &str, tell: &mut impl FnMut(RenderedStep)) {
        let room = self.max_text.saturating_sub(self.tools.weight());
        let tool = &mut self.tools[at];
        if tool.phase == ToolPhase::Writing {
            tool.write(input, room, tell);
        } else if !tool.is_told_whole {
            self.log(&self.tools[at].of, input, tell);
        }
    }

    fn remark(&mut self, words: &str, tell: &mut impl FnMut(RenderedStep)) {
        self.finish_result(tell);
        match self.tools.open(None) {
            Some(at) => self.log(&self.tools[at].of, words, tell),
            None if words.trim().is_empty() => {}
            None => {
                let of = self.status_lines(tell);
                self.log(&of, words, tell);
            }
        }
    }

    /// Returns the placeholder tool for status lines outside of tools. Viewers drop log lines of a segment
    /// without a start, so the placeholder has a segment.
    fn status_lines(&mut self, tell: &mut impl FnMut(RenderedStep)) -> ToolInvocation {
        let known = self.status_lines.as_ref();
        let known = known.and_then(|id| self.tools.find_shown(id));
        let known = known.filter(|at| self.tools[*at].phase != ToolPhase::Over);
        let at = known.unwrap_or_else(|| {
            let at = self.tools.begin(None, "status", ToolOrigin::Stand, tell);
            self.tools[at].run(tell);
            at
        });
        let of = self.tools[at].of.clone();
        self.status_lines = Some(of.id.clone());
        of
    }

    fn log(&self, of: &ToolInvocation, words: &str, tell: &mut impl FnMut(RenderedStep)) {
        if !words.trim().is_empty() {
            tell(RenderedStep::Event(MemberEvent::Log {
                of: of.clone(),
                entry: self.bounded(words),
            }));
        }
    }

    fn make(&mut self, artifact: &Artifact, files: &Files, tell: &mut impl FnMut(RenderedStep)) {
        self.interrupt(tell);
        self.tools.run_all(tell);
        let made = artifact::of_artifact(artifact, files);
        tell(RenderedStep::Event(MemberEvent::Artifact(made)));
    }

    /// Finds the tool of a question while the tool still receives input. Otherwise starts a placeholder tool.
    fn tool_for_question(&mut self, ask: &Ask, tell: &mut impl FnMut(RenderedStep)) -> usize {
        let given = match ask.kind {
            AskKind::Approval => usable(ask.tool_call_id.as_deref()),
            AskKind::Input => None,
        };
        let known = given.and_then(|given| self.tools.find_by_agent_id(given));
        let phase = known.map(|at| self.tools[at].phase);
        if let (Some(at), Some(ToolPhase::Writing)) = (known, phase) {
            return at;
        }
        let (wanted, origin) = match (given, phase) {
            (Some(given), None | Some(ToolPhase::Over)) => (Some(given), ToolOrigin::AskedFirst),
            // A tool that runs or awaits approval cannot return to asking. A placeholder tool shows the
            // question.
            _ => (usable(Some(&ask.id)), ToolOrigin::Stand),
        };
        let open = known.or_else(|| self.tools.open(None));
        let name = match (filled(ask.tool_name.as_deref()), ask.kind, open) {
            (None, AskKind::Approval, Some(at)) => self.tools[at].of.tool.clone(),
            _ => name_of(ask).into(),
        };
        self.tools.begin(wanted, &name, origin, tell)
    }

    fn complete(&mut self, done: &Done, files: &Files, tell: &mut impl FnMut(RenderedStep)) {
        for (at, file) in done.attachments.iter().enumerate() {
            let id = format!("{}:file_{}", self.turn, at + 1);
            let made = artifact::of_attachment(id, file, files);
            tell(RenderedStep::Event(MemberEvent::Artifact(made)));
        }
        let mut said = std::mem::take(&mut self.said);
        let mut is_whole = self.is_from_start;
        if let Some(result) = &done.result
            && (said.is_empty() || !is_whole)
        {
            said = BoundedText::default();
            said.add(result, self.max_text);
            is_whole = true;
        }
        tell(RenderedStep::Event(MemberEvent::Complete {
            is_cut: !is_whole || said.is_cut(),
            content: said.into_text(),
            usage: done.usage.clone(),
        }));
    }

    /// Finishes the current tool result and the open segment before the next event.
    fn interrupt(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        self.finish_result(tell);
        self.end_speech(tell);
    }

    fn finish_result(&mut self, tell: &mut impl FnMut(RenderedStep)) {
        if let Some(giving) = self.result.take()
            && let Some(at) = self.tools.find_shown(&giving.id)
        {
            giving.end(&mut self.tools[at], tell);
        }
    }

    /// Reports a status unless unchanged. Suppresses other statuses while a question is unanswered.
    fn report_status(
        &mut self,
        new: AgentStatus,
        tool: Option<Arc<str>>,
        tell: &mut impl FnMut(RenderedStep),
    ) {
        let is_same = |(last, of): &(AgentStatus, Option<Arc<str>>)| *last == new && *of == tool;
        if self.status.as_ref().is_some_and(is_same)
            || (new != AgentStatus::AwaitingToolApproval && self.tools.is_any_asked())
        {
            return;
        }
        self.status = Some((new, tool.clone()));
        let error = None;
        tell(RenderedStep::Status { new, tool, error });
    }

    fn bounded(&self, text: &str) -> String {
        let mut bounded = BoundedText::default();
        bounded.add(text, self.max_text);
        bounded.into_text()
    }
}

/// Returns the name of the tool for a question.
fn name_of(ask: &Ask) -> &str {
    match ask.kind {
        AskKind::Input => "ask_user",
        AskKind::Approval => filled(ask.tool_name.as_deref()).unwrap_or("approval"),
    }
}

/// Returns a question as arguments of the tool that represents it.
fn question(ask: &Ask) -> Json {
    #[derive(Serialize)]
    struct QuestionArguments<'a> {
        question: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<&'a Json>,
    }
    let schema = ask.schema.as_ref().filter(|_| ask.kind == AskKind::Input);
    let question = QuestionArguments {
        question: &ask.text,
        schema,
    };
    Json::of(&question).expect("words and JSON are JSON")
}

#[cfg(test)]
mod tests;
