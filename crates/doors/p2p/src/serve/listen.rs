//! The caller's end of a call while the agent works: its progress, and its outcome.

use jackfield_core::{
    call::{CallerHandle, Replies, Reply},
    units::Size,
};
use jackfield_model::{
    AskKind, ChunkKind, DoneState, End, Event, Failure, Part, Reason, Transcript,
};

/// Progress of a call.
#[derive(Debug)]
pub(super) enum CallProgress {
    /// A piece of the answer.
    Text(String),
    /// What the agent is doing.
    Status(String),
    /// The outcome: an answer, or a failure.
    Over(Result<Vec<Part>, Failure>),
}

/// The caller's end of one call. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct CallListener {
    replies: Replies,
    transcript: Transcript,
}

impl CallListener {
    /// Listens to a call whose answer may have `limit` bytes.
    pub(super) fn new(asking: CallerHandle, limit: Size) -> Self {
        Self {
            replies: asking.replies(),
            transcript: Transcript::new(limit.0),
        }
    }

    /// Waits for the next progress; nothing follows [`CallProgress::Over`]. Cancel-safe.
    pub(super) async fn next(&mut self) -> CallProgress {
        loop {
            let heard = match self.replies.next().await {
                Some(Reply::Event(event)) => self.event(event).unwrap_or_else(failed),
                Some(Reply::End(end)) => Some(CallProgress::Over(self.ended(end))),
                None => failed(Failure::agent_left()),
            };
            if let Some(heard) = heard {
                return heard;
            }
        }
    }

    /// Waits for the answer.
    pub(super) async fn whole(mut self) -> Result<Vec<Part>, Failure> {
        loop {
            if let CallProgress::Over(outcome) = self.next().await {
                return outcome;
            }
        }
    }

    fn event(&mut self, event: Event) -> Result<Option<CallProgress>, Failure> {
        match event {
            Event::Chunk(chunk) => match chunk.kind {
                ChunkKind::Text => {
                    self.transcript.add_chunk(&chunk)?;
                    Ok(Some(CallProgress::Text(chunk.text)))
                }
                ChunkKind::Status => Ok(Some(CallProgress::Status(chunk.text))),
                // The protocol has no field for them.
                ChunkKind::Thinking
                | ChunkKind::ToolStart
                | ChunkKind::ToolInput
                | ChunkKind::ToolResult => Ok(None),
            },
            Event::Artifact(artifact) => {
                self.transcript.add_artifact(artifact)?;
                Ok(None)
            }
            Event::Ask(ask) => match ask.kind {
                AskKind::Input => Err(cannot_answer(&ask.text)),
                // The caller cannot approve, but the agent's owner can: the call waits.
                AskKind::Approval => Ok(Some(CallProgress::Status(ask.text))),
            },
        }
    }

    fn ended(&mut self, end: End) -> Result<Vec<Part>, Failure> {
        let done = match end {
            End::Done(done) => *done,
            End::Failed(failure) => return Err(failure),
            End::Cancelled => {
                return Err(Failure::new(Reason::Cancelled, "the call was cancelled"));
            }
        };
        let state = done.state;
        let mut transcript = std::mem::replace(&mut self.transcript, Transcript::new(0));
        transcript.finish(done);
        match state {
            DoneState::Completed => Ok(transcript.into_parts()),
            DoneState::InputRequired => Err(cannot_answer(transcript.text())),
            DoneState::Rejected => Err(rejected(transcript.text())),
        }
    }
}

fn failed(failure: Failure) -> Option<CallProgress> {
    Some(CallProgress::Over(Err(failure)))
}

/// Creates the failure of a question: a handoff is one request and one answer, so the caller cannot reply.
fn cannot_answer(question: &str) -> Failure {
    let text = format!(
        "the agent asked a question, which a handoff cannot answer; hand off again and tell it: {question}"
    );
    Failure::new(Reason::Unsupported, text)
}

fn rejected(why: &str) -> Failure {
    let text = match why {
        "" => "the agent refused the request".to_owned(),
        why => format!("the agent refused the request: {why}"),
    };
    Failure::new(Reason::Agent("rejected".into()), text)
}
