//! Caller's side of a live call: reads the reply and collects the answer.

use jackfield_core::{
    call::{CallerHandle, Replies, Reply},
    units::Size,
};
use jackfield_model::{
    Ask, AskKind, Chunk, DoneState, End, Event, Failure, Part, Reason, Transcript,
};
use tokio_util::sync::CancellationToken;

/// Element of a call's reply.
#[derive(Debug)]
pub(super) enum ReplyElement {
    /// Piece of the answer, or of the agent's progress.
    Chunk(Chunk),
    /// End of the call, with an answer or an error.
    Over(Result<Vec<Part>, LiveCallError>),
}

impl ReplyElement {
    fn failed(failure: Failure) -> Self {
        Self::Over(Err(LiveCallError::Failed(failure)))
    }
}

/// Reason why a call has no answer.
#[derive(Debug)]
pub(super) enum LiveCallError {
    /// The agent asked a question, which the dialect cannot answer. Contains the error message and the
    /// agent's text.
    Asked(String, Vec<Part>),
    /// The call was cancelled.
    Cancelled,
    /// The call failed.
    Failed(Failure),
}

/// Reader of a call's reply. Dropping the reader cancels the call.
#[derive(Debug)]
pub(super) struct SeedReplyReader {
    replies: Replies,
    revoked: CancellationToken,
    transcript: Transcript,
}

impl SeedReplyReader {
    /// Creates a reader for a call whose answer may have at most `limit` bytes.
    pub(super) fn new(asking: CallerHandle, limit: Size) -> Self {
        Self {
            revoked: asking.call().principal.grant.revoked.clone(),
            replies: asking.replies(),
            transcript: Transcript::new(limit.0),
        }
    }

    /// Returns the next element; must not be called after the end. Cancel-safe.
    pub(super) async fn next(&mut self) -> ReplyElement {
        loop {
            let reply = tokio::select! {
                // Poll for the revocation first: a stream that always has an element ready must not outrun
                // the revocation.
                biased;
                () = self.revoked.cancelled() => return ReplyElement::failed(revoked()),
                reply = self.replies.next() => reply,
            };
            let heard = match reply {
                Some(Reply::Event(event)) => self.event(event),
                Some(Reply::End(end)) => Some(ReplyElement::Over(self.ended(end))),
                None => Some(ReplyElement::failed(Failure::agent_left())),
            };
            if let Some(heard) = heard {
                return heard;
            }
        }
    }

    fn event(&mut self, event: Event) -> Option<ReplyElement> {
        match event {
            Event::Chunk(chunk) => Some(match self.transcript.add_chunk(&chunk) {
                Ok(()) => ReplyElement::Chunk(chunk),
                Err(overflow) => ReplyElement::failed(overflow.into()),
            }),
            Event::Artifact(artifact) => {
                let added = self.transcript.add_artifact(artifact);
                added
                    .err()
                    .map(|overflow| ReplyElement::failed(overflow.into()))
            }
            Event::Ask(ask) => Some(match ask.kind {
                AskKind::Input => ReplyElement::Over(Err(self.asked(&ask))),
                // The agent's owner can approve, the caller of the dialect cannot: wait for the owner.
                AskKind::Approval => ReplyElement::Chunk(Chunk::status(ask.text)),
            }),
        }
    }

    /// Takes the collected transcript; no content is collected afterwards.
    fn take_transcript(&mut self) -> Transcript {
        std::mem::replace(&mut self.transcript, Transcript::new(0))
    }

    fn asked(&mut self, ask: &Ask) -> LiveCallError {
        let mut said = self.take_transcript().into_parts();
        said.push(Part::Text(ask.text.clone()));
        let text = format!(
            "the agent asked a question, which this interface cannot answer: {}; \
             send a new message with the same contextId that tells it",
            ask.text
        );
        LiveCallError::Asked(text, said)
    }

    fn ended(&mut self, end: End) -> Result<Vec<Part>, LiveCallError> {
        match end {
            End::Cancelled => Err(LiveCallError::Cancelled),
            End::Failed(failure) => Err(LiveCallError::Failed(failure)),
            End::Done(done) => {
                let state = done.state;
                let mut transcript = self.take_transcript();
                transcript.finish(*done);
                match state {
                    // For `InputRequired` the answer is a question, and the next message of the conversation
                    // answers the question.
                    DoneState::Completed | DoneState::InputRequired => Ok(transcript.into_parts()),
                    DoneState::Rejected => Err(LiveCallError::Failed(rejected(transcript.text()))),
                }
            }
        }
    }
}

fn revoked() -> Failure {
    let text = "the token was revoked or has expired; ask for a new one";
    Failure::new(Reason::Unauthorized, text)
}

fn rejected(why: &str) -> Failure {
    let text = match why {
        "" => "the agent refused the request".to_owned(),
        why => format!("the agent refused the request: {why}"),
    };
    Failure::new(Reason::Agent("rejected".into()), text)
}
