//! The storyteller: turns what happens in one call of a team's member into the member's events. Pure; the stage gives it
//! what the call says and puts on show what it tells.
//!
//! Every segment is begun and ended once, a tool's state only goes forward, and a tool is told of only after its segment
//! was begun: viewers drop what does not keep to that. A status chunk interrupts nothing.

mod giving;
mod joined;
mod made;
mod tool;
mod tools;

use std::sync::Arc;

use jackfield_core::files::Files;
use jackfield_model::{
    AgentId, Answer, Artifact, Ask, AskKind, CallId, Chunk, ChunkKind, Done, End, Event, Json,
    Message, id::MAX_NAME,
};
use serde::Serialize;

use self::{
    giving::Giving,
    joined::Joined,
    tool::{Closing, Origin, Phase},
    tools::{Tools, filled, usable},
};
use super::{
    event::{AgentStatus, Invocation, MemberEvent, SegmentKind},
    stage::ViewerId,
};

/// The longest reason of an answer that is shown, in bytes.
const MAX_REASON: usize = 1024;

/// How a call that was cancelled is shown to have ended. The protocol has no other word for it.
const CANCELLED: &str = "cancelled";

/// What a step of the story says. Statuses are told apart since the stage knows the member's other calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Telling {
    /// An event of the member.
    Event(MemberEvent),
    /// How the member is doing, as far as this call goes.
    Status {
        /// What it is now.
        new: AgentStatus,
        /// The tool it is about.
        tool: Option<Arc<str>>,
        /// Why, for [`AgentStatus::Error`].
        error: Option<String>,
    },
}

/// The story of one call.
#[derive(Debug)]
pub(crate) struct Story {
    turn: Arc<str>,
    max_text: usize,
    segments: u64,
    /// The segment of text or reasoning that is open. No tool is written while there is one.
    speech: Option<Speech>,
    tools: Tools,
    /// The id under which the status lines outside of tools are shown, once there was one.
    status_lines: Option<Arc<str>>,
    result: Option<Giving>,
    /// All text of the answer.
    said: Joined,
    /// Whether the answer began where this story does.
    is_from_start: bool,
    status: Option<(AgentStatus, Option<Arc<str>>)>,
    is_over: bool,
}

#[derive(Debug)]
struct Speech {
    id: Arc<str>,
    kind: SegmentKind,
}

impl Story {
    /// The story of a call of which nothing was told. No text that is joined gets longer than `max_text` bytes.
    pub(crate) fn new(call: CallId, max_text: usize) -> Self {
        let hex = call.to_string().replace('-', "");
        let turn: Arc<str> = format!("turn_{hex}").into();
        Self {
            tools: Tools::new(turn.clone()),
            turn,
            max_text,
            segments: 0,
            speech: None,
            status_lines: None,
            result: None,
            said: Joined::default(),
            is_from_start: true,
            status: None,
            is_over: false,
        }
    }

    /// The member said something already, which this story does not have: the hub was restarted meanwhile.
    pub(crate) fn goes_on(&mut self) {
        self.is_from_start = false;
    }

    /// The member got its message.
    pub(crate) fn opened(&mut self, tell: &mut impl FnMut(Telling)) {
        self.say(AgentStatus::ProcessingUserInput, None, tell);
    }

    /// A message of another member, as the one who gets it shows it.
    pub(crate) fn heard(
        &self,
        sender: &AgentId,
        recipient: &Arc<str>,
        message: &Message,
    ) -> MemberEvent {
        MemberEvent::InterAgent {
            sender: sender.clone(),
            recipient: recipient.clone(),
            content: self.bounded(&message.words_and_data()),
        }
    }

    /// A message of somebody outside the team, as the member who gets it shows it.
    pub(crate) fn told(
        &self,
        sender: &str,
        viewer: Option<ViewerId>,
        recipient: &Arc<str>,
        message: &Message,
    ) -> MemberEvent {
        MemberEvent::Told {
            sender: sender.to_owned(),
            recipient: recipient.clone(),
            content: self.bounded(&message.words_and_data()),
            viewer,
        }
    }

    /// The member said something. Asks are given to [`Story::asked`] instead.
    pub(crate) fn event(&mut self, event: &Event, files: &Files, tell: &mut impl FnMut(Telling)) {
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

    /// The member asks. Returns the invocation under which the ask is shown, for the answer.
    pub(crate) fn asked(&mut self, ask: &Ask, tell: &mut impl FnMut(Telling)) -> Invocation {
        if self.is_over {
            return Invocation {
                id: ask.id.as_str().into(),
                tool: name_of(ask).into(),
            };
        }
        self.take_turn(tell);
        let at = self.place_of(ask, tell);
        let arguments = ask.arguments.as_ref();
        let shown = match ask.kind {
            AskKind::Approval => arguments.cloned().unwrap_or_else(|| question(ask)),
            AskKind::Input => question(ask),
        };
        let text = self.bounded(&ask.text);
        self.tools[at].ask(arguments, &shown, text, tell);
        self.say(AgentStatus::AwaitingToolApproval, None, tell);
        self.tools[at].of.clone()
    }

    /// An ask was answered, the one that is shown under this invocation.
    pub(crate) fn answered(
        &mut self,
        of: &Invocation,
        kind: AskKind,
        answer: &Answer,
        tell: &mut impl FnMut(Telling),
    ) {
        self.tell_result(tell);
        let asked = self.tools.told_as(&of.id);
        let Some(at) = asked.filter(|at| self.tools[*at].phase == Phase::Asked) else {
            return;
        };
        let tool = &mut self.tools[at];
        let (is_yes, reason) = match kind {
            AskKind::Approval => (answer.approved == Some(true), answer.reason.as_deref()),
            // A question is not a matter of yes or no, but somebody may refuse to answer it.
            AskKind::Input if answer.approved == Some(false) => (false, answer.reason.as_deref()),
            AskKind::Input => (true, answer.content.as_deref().or(answer.reason.as_deref())),
        };
        let reason = filled(reason).map(|words| &words[..words.floor_char_boundary(MAX_REASON)]);
        if !is_yes {
            tool.deny(reason.unwrap_or("denied").to_owned(), tell);
            self.say(AgentStatus::ToolDenied, None, tell);
            return;
        }
        tool.approve(reason.map(str::to_owned), tell);
        let name = tool.of.tool.clone();
        match kind {
            AskKind::Approval => self.say(AgentStatus::ExecutingTool, Some(name), tell),
            AskKind::Input => self.say(AgentStatus::AnalyzingLlmResponse, None, tell),
        }
        if self.tools[at].origin != Origin::Stand {
            self.tools[at].start(tell);
        }
    }

    /// The call ended: closes what is open. Only the first end counts, and nothing is told after it.
    pub(crate) fn ended(&mut self, end: &End, files: &Files, tell: &mut impl FnMut(Telling)) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.take_turn(tell);
        match end {
            End::Done(done) => {
                self.tools.close_all(Closing::Unreported, tell);
                self.complete(done, files, tell);
                self.say(AgentStatus::Idle, None, tell);
            }
            End::Cancelled => {
                self.tools.close_all(Closing::Broken(CANCELLED), tell);
                tell(Telling::Event(MemberEvent::Error {
                    code: CANCELLED.to_owned(),
                    message: "stopped before it was done".to_owned(),
                }));
                self.say(AgentStatus::Idle, None, tell);
            }
            End::Failed(failure) => {
                let label = failure.reason.label();
                let why = self.bounded(filled(Some(&*failure.text)).unwrap_or(label));
                self.tools.close_all(Closing::Broken(&why), tell);
                tell(Telling::Event(MemberEvent::Error {
                    code: label.to_owned(),
                    message: why.clone(),
                }));
                tell(Telling::Status {
                    new: AgentStatus::Error,
                    tool: None,
                    error: Some(why),
                });
            }
        }
    }

    fn speak(&mut self, kind: SegmentKind, text: &str, tell: &mut impl FnMut(Telling)) {
        if text.is_empty() {
            return;
        }
        self.tell_result(tell);
        let open = self.speech.as_ref().filter(|speech| speech.kind == kind);
        let id = match open.map(|speech| speech.id.clone()) {
            Some(id) => {
                self.say(AgentStatus::AnalyzingLlmResponse, None, tell);
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
        tell(Telling::Event(content));
    }

    fn begin_speech(&mut self, kind: SegmentKind, tell: &mut impl FnMut(Telling)) -> Arc<str> {
        self.end_speech(tell);
        self.tools.run_all(tell);
        self.say(AgentStatus::AnalyzingLlmResponse, None, tell);
        self.segments += 1;
        let id: Arc<str> = format!("{}:seg_{}", self.turn, self.segments).into();
        tell(Telling::Event(MemberEvent::SegmentStart {
            id: id.clone(),
            kind,
            tool: None,
        }));
        self.speech = Some(Speech {
            id: id.clone(),
            kind,
        });
        id
    }

    fn end_speech(&mut self, tell: &mut impl FnMut(Telling)) {
        if let Some(speech) = self.speech.take() {
            tell(Telling::Event(MemberEvent::SegmentEnd {
                id: speech.id,
                tool: None,
                arguments: None,
            }));
        }
    }

    fn tool_starts(&mut self, chunk: &Chunk, tell: &mut impl FnMut(Telling)) {
        self.take_turn(tell);
        let words = chunk.text.trim();
        let (name, input) = match filled(chunk.tool_name.as_deref()) {
            Some(name) if name == words => (name, ""),
            Some(name) => (name, chunk.text.as_str()),
            None if words.is_empty() => ("tool", ""),
            // What is longer than a name is cut there, and whole here.
            None if words.len() > MAX_NAME => (words, words),
            None => (words, ""),
        };
        let given = usable(chunk.tool_call_id.as_deref());
        let asked = given.and_then(|given| self.tools.given(given));
        let asked = asked.filter(|at| {
            let tool = &self.tools[*at];
            tool.origin == Origin::AskedFirst && tool.phase != Phase::Over
        });
        let at = match asked {
            Some(at) => {
                self.tools[at].origin = Origin::Begun;
                at
            }
            None => self.tools.begin(given, name, Origin::Begun, tell),
        };
        self.write(at, input, tell);
        let name = self.tools[at].of.tool.clone();
        self.say(AgentStatus::ExecutingTool, Some(name), tell);
    }

    fn tool_gets(&mut self, chunk: &Chunk, tell: &mut impl FnMut(Telling)) {
        if chunk.text.is_empty() {
            return;
        }
        self.take_turn(tell);
        let name = filled(chunk.tool_name.as_deref());
        let found = match usable(chunk.tool_call_id.as_deref()) {
            Some(given) => self.tools.given(given),
            None => self.tools.written(name).or_else(|| self.tools.open(name)),
        };
        let at = found.unwrap_or_else(|| self.begin_late(chunk, tell));
        self.write(at, &chunk.text, tell);
    }

    fn tool_gives(&mut self, chunk: &Chunk, tell: &mut impl FnMut(Telling)) {
        let is_by_id = usable(chunk.tool_call_id.as_deref()).is_some();
        let id = self.giver(chunk).map(|at| &self.tools[at].of.id);
        if let Some(giving) = &mut self.result
            && giving.is_by_id == is_by_id
            && id == Some(&giving.id)
        {
            giving.add(&chunk.text, self.max_text);
            return;
        }
        self.take_turn(tell);
        let at = match self.giver(chunk) {
            Some(at) => at,
            None => self.begin_late(chunk, tell),
        };
        if self.tools[at].phase == Phase::Over {
            self.log(&self.tools[at].of, &chunk.text, tell);
            return;
        }
        self.tools[at].come_back(tell);
        self.say(AgentStatus::ProcessingToolResult, None, tell);
        let mut giving = Giving::new(self.tools[at].of.id.clone(), is_by_id);
        giving.add(&chunk.text, self.max_text);
        self.result = Some(giving);
    }

    /// The tool whose result this is.
    fn giver(&self, chunk: &Chunk) -> Option<usize> {
        match usable(chunk.tool_call_id.as_deref()) {
            Some(given) => self.tools.given(given),
            None => self.tools.open(filled(chunk.tool_name.as_deref())),
        }
    }

    /// Begins a tool of which the agent did not say that it starts.
    fn begin_late(&mut self, chunk: &Chunk, tell: &mut impl FnMut(Telling)) -> usize {
        let given = usable(chunk.tool_call_id.as_deref());
        let name = filled(chunk.tool_name.as_deref()).unwrap_or("tool");
        let at = self.tools.begin(given, name, Origin::Begun, tell);
        let name = self.tools[at].of.tool.clone();
        self.say(AgentStatus::ExecutingTool, Some(name), tell);
        at
    }

    /// Input of a tool; a remark, if it comes when the segment is complete and says something new.
    fn write(&mut self, at: usize, input: &str, tell: &mut impl FnMut(Telling)) {
        let room = self.max_text.saturating_sub(self.tools.weight());
        let tool = &mut self.tools[at];
        if tool.phase == Phase::Writing {
            tool.write(input, room, tell);
        } else if !tool.is_told_whole {
            self.log(&self.tools[at].of, input, tell);
        }
    }

    fn remark(&mut self, words: &str, tell: &mut impl FnMut(Telling)) {
        self.tell_result(tell);
        match self.tools.open(None) {
            Some(at) => self.log(&self.tools[at].of, words, tell),
            None if words.trim().is_empty() => {}
            None => {
                let of = self.status_lines(tell);
                self.log(&of, words, tell);
            }
        }
    }

    /// What stands for the status lines outside of tools. Viewers drop lines of a segment that never started, so it has one.
    fn status_lines(&mut self, tell: &mut impl FnMut(Telling)) -> Invocation {
        let known = self.status_lines.as_ref();
        let known = known.and_then(|id| self.tools.told_as(id));
        let known = known.filter(|at| self.tools[*at].phase != Phase::Over);
        let at = known.unwrap_or_else(|| {
            let at = self.tools.begin(None, "status", Origin::Stand, tell);
            self.tools[at].run(tell);
            at
        });
        let of = self.tools[at].of.clone();
        self.status_lines = Some(of.id.clone());
        of
    }

    fn log(&self, of: &Invocation, words: &str, tell: &mut impl FnMut(Telling)) {
        if !words.trim().is_empty() {
            tell(Telling::Event(MemberEvent::Log {
                of: of.clone(),
                entry: self.bounded(words),
            }));
        }
    }

    fn make(&mut self, artifact: &Artifact, files: &Files, tell: &mut impl FnMut(Telling)) {
        self.take_turn(tell);
        self.tools.run_all(tell);
        let made = made::of_artifact(artifact, files);
        tell(Telling::Event(MemberEvent::Artifact(made)));
    }

    /// The tool that an ask is about, still written; where there is none, one that stands for it.
    fn place_of(&mut self, ask: &Ask, tell: &mut impl FnMut(Telling)) -> usize {
        let given = match ask.kind {
            AskKind::Approval => usable(ask.tool_call_id.as_deref()),
            AskKind::Input => None,
        };
        let known = given.and_then(|given| self.tools.given(given));
        let phase = known.map(|at| self.tools[at].phase);
        if let (Some(at), Some(Phase::Writing)) = (known, phase) {
            return at;
        }
        let (wanted, origin) = match (given, phase) {
            (Some(given), None | Some(Phase::Over)) => (Some(given), Origin::AskedFirst),
            // A tool that runs, or waits for an answer, cannot go back to asking: the ask is shown beside it.
            _ => (usable(Some(&ask.id)), Origin::Stand),
        };
        let open = known.or_else(|| self.tools.open(None));
        let name = match (filled(ask.tool_name.as_deref()), ask.kind, open) {
            (None, AskKind::Approval, Some(at)) => self.tools[at].of.tool.clone(),
            _ => name_of(ask).into(),
        };
        self.tools.begin(wanted, &name, origin, tell)
    }

    fn complete(&mut self, done: &Done, files: &Files, tell: &mut impl FnMut(Telling)) {
        for (at, file) in done.attachments.iter().enumerate() {
            let id = format!("{}:file_{}", self.turn, at + 1);
            let made = made::of_attachment(id, file, files);
            tell(Telling::Event(MemberEvent::Artifact(made)));
        }
        let mut said = std::mem::take(&mut self.said);
        let mut is_whole = self.is_from_start;
        if let Some(result) = &done.result
            && (said.is_empty() || !is_whole)
        {
            said = Joined::default();
            said.add(result, self.max_text);
            is_whole = true;
        }
        tell(Telling::Event(MemberEvent::Complete {
            is_cut: !is_whole || said.is_cut(),
            content: said.into_text(),
            usage: done.usage.clone(),
        }));
    }

    /// Ends what the next thing interrupts: the result that is joined, and the speech.
    fn take_turn(&mut self, tell: &mut impl FnMut(Telling)) {
        self.tell_result(tell);
        self.end_speech(tell);
    }

    fn tell_result(&mut self, tell: &mut impl FnMut(Telling)) {
        if let Some(giving) = self.result.take()
            && let Some(at) = self.tools.told_as(&giving.id)
        {
            giving.end(&mut self.tools[at], tell);
        }
    }

    /// Says a status, unless it was the last. While an answer is waited for, nothing else is said.
    fn say(&mut self, new: AgentStatus, tool: Option<Arc<str>>, tell: &mut impl FnMut(Telling)) {
        let is_same = |(last, of): &(AgentStatus, Option<Arc<str>>)| *last == new && *of == tool;
        if self.status.as_ref().is_some_and(is_same)
            || (new != AgentStatus::AwaitingToolApproval && self.tools.is_any_asked())
        {
            return;
        }
        self.status = Some((new, tool.clone()));
        let error = None;
        tell(Telling::Status { new, tool, error });
    }

    fn bounded(&self, text: &str) -> String {
        let mut bounded = Joined::default();
        bounded.add(text, self.max_text);
        bounded.into_text()
    }
}

/// The tool that an ask names.
fn name_of(ask: &Ask) -> &str {
    match ask.kind {
        AskKind::Input => "ask_user",
        AskKind::Approval => filled(ask.tool_name.as_deref()).unwrap_or("approval"),
    }
}

/// A question as the arguments of the tool that stands for it.
fn question(ask: &Ask) -> Json {
    #[derive(Serialize)]
    struct Question<'a> {
        question: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<&'a Json>,
    }
    let schema = ask.schema.as_ref().filter(|_| ask.kind == AskKind::Input);
    let question = Question {
        question: &ask.text,
        schema,
    };
    Json::of(&question).expect("words and JSON are JSON")
}

#[cfg(test)]
mod tests;
