//! [`AnswerReader`]: the answer of a live call in the terms of a chat: content, reasoning, and the end. A question ends
//! the answer; the call then waits for the next request.

use jackfield_core::call::Reply;
use jackfield_model::{ChunkKind, Done, DoneState, End, Event, Failure, Reason};

use super::AnswerEnd;
use crate::{
    door::OpenAiDoor,
    live::LiveTurn,
    translate::{line_of, question, usage_of},
    wire::WaitsFor,
};

/// A step of an answer.
#[derive(Debug)]
pub(crate) enum ReadStep {
    /// More of the answer. One of the two is empty.
    Said { content: String, reasoning: String },
    /// A question, after which the answer ends.
    Asked(String),
    /// The end.
    Ended(AnswerEnd),
    /// The call failed or was cancelled.
    Failed(Failure),
}

/// Reads the answer of a call.
#[derive(Debug)]
pub(crate) struct AnswerReader {
    door: OpenAiDoor,
    /// `None` after the end.
    turn: Option<LiveTurn>,
    /// The end, once the last content is given.
    end: Option<AnswerEnd>,
    has_content: bool,
    /// Whether the reasoning is in the middle of a line.
    is_in_line: bool,
}

impl AnswerReader {
    pub(crate) fn new(door: OpenAiDoor, turn: LiveTurn) -> Self {
        Self {
            door,
            turn: Some(turn),
            end: None,
            has_content: false,
            is_in_line: false,
        }
    }

    /// Waits for the next step. After the end, or a failure, nothing follows.
    pub(crate) async fn next(&mut self) -> ReadStep {
        loop {
            if let Some(end) = self.end.take() {
                return ReadStep::Ended(end);
            }
            let Some(turn) = &mut self.turn else {
                return ReadStep::Failed(Failure::agent_left());
            };
            let step = match turn.next().await {
                Some(Reply::Event(event)) => self.read_event(event),
                Some(Reply::End(end)) => Some(self.read_end(end)),
                None => Some(ReadStep::Failed(Failure::agent_left())),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn read_event(&mut self, event: Event) -> Option<ReadStep> {
        match event {
            Event::Chunk(chunk) if chunk.kind == ChunkKind::Text => {
                if let Some(turn) = &mut self.turn {
                    turn.rest.push(&chunk.text);
                }
                self.content(chunk.text)
            }
            Event::Chunk(chunk) if chunk.kind == ChunkKind::Thinking => {
                if chunk.text.is_empty() {
                    return None;
                }
                self.is_in_line = !chunk.text.ends_with('\n');
                Some(ReadStep::reasoning(chunk.text))
            }
            Event::Chunk(chunk) => {
                let line = line_of(&chunk)?;
                let start = if self.is_in_line { "\n" } else { "" };
                self.is_in_line = false;
                Some(ReadStep::reasoning(format!("{start}{line}\n")))
            }
            Event::Artifact(artifact) => {
                if let Some(turn) = &mut self.turn {
                    turn.rest.artifact(artifact);
                }
                None
            }
            Event::Ask(ask) => {
                let text = question(&ask);
                let text = if self.has_content {
                    format!("\n\n{text}")
                } else {
                    text
                };
                if let Some(turn) = self.turn.take() {
                    turn.park(&self.door, ask);
                }
                self.end = Some(AnswerEnd::ASKED);
                Some(ReadStep::Asked(text))
            }
        }
    }

    fn content(&mut self, content: String) -> Option<ReadStep> {
        if content.is_empty() {
            return None;
        }
        self.has_content = true;
        Some(ReadStep::Said {
            content,
            reasoning: String::new(),
        })
    }

    fn read_end(&mut self, end: End) -> ReadStep {
        let done = match end {
            End::Done(done) => *done,
            End::Failed(failure) => return ReadStep::Failed(failure),
            End::Cancelled => {
                let text = "the call was cancelled";
                return ReadStep::Failed(Failure::new(Reason::Cancelled, text));
            }
        };
        let Some(turn) = self.turn.take() else {
            return ReadStep::Failed(Failure::agent_left());
        };
        let files = self.door.files.of_call(turn.call());
        let rest = turn.into_rest().end(&done, &files);
        if done.state == DoneState::Rejected {
            return ReadStep::Failed(rejected(&rest));
        }
        let end = AnswerEnd::from(&done);
        match self.content(rest) {
            Some(said) => {
                self.end = Some(end);
                said
            }
            None => ReadStep::Ended(end),
        }
    }
}

impl ReadStep {
    fn reasoning(reasoning: String) -> Self {
        Self::Said {
            content: String::new(),
            reasoning,
        }
    }
}

impl From<&Done> for AnswerEnd {
    fn from(done: &Done) -> Self {
        let finish_reason = match done.stop_reason.as_deref() {
            Some("length" | "max_tokens" | "max_output_tokens") => "length",
            Some("content_filter" | "refusal") => "content_filter",
            _ => "stop",
        };
        Self {
            finish_reason,
            usage: usage_of(done.usage.as_ref()),
            waits_for: (done.state == DoneState::InputRequired).then_some(WaitsFor::ANSWER),
        }
    }
}

/// Returns the failure of an agent that refuses the work, with what it said at the end.
pub(crate) fn rejected(said: &str) -> Failure {
    let text = match said.trim() {
        "" => "the agent refused the request".to_owned(),
        said => format!("the agent refused the request: {said}"),
    };
    Failure::new(Reason::Agent("rejected".to_owned()), text)
}
