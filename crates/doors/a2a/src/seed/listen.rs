//! The caller's end of a call while the agent works: what is heard of it, and how it came out.

use jackfield_core::{
    call::{CallerHandle, Replies, Reply},
    units::Size,
};
use jackfield_model::{
    Ask, AskKind, Chunk, DoneState, End, Event, Failure, Part, Reason, Transcript,
};
use tokio_util::sync::CancellationToken;

/// What is heard of a call.
#[derive(Debug)]
pub(super) enum Heard {
    /// A piece of the answer, or of how it comes about.
    Chunk(Chunk),
    /// It is over, with an answer or without.
    Over(Result<Vec<Part>, Trouble>),
}

impl Heard {
    fn failed(failure: Failure) -> Self {
        Self::Over(Err(Trouble::Failed(failure)))
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The agent asked a question, which this protocol cannot answer: what to say of it, and what the agent said.
    Asked(String, Vec<Part>),
    /// Somebody cancelled.
    Cancelled,
    /// Something went wrong.
    Failed(Failure),
}

/// Listens to one call. Dropping it cancels the call.
#[derive(Debug)]
pub(super) struct Listening {
    replies: Replies,
    revoked: CancellationToken,
    transcript: Transcript,
}

impl Listening {
    /// Listens to a call whose answer may have so many bytes.
    pub(super) fn new(asking: CallerHandle, limit: Size) -> Self {
        Self {
            revoked: asking.call().principal.grant.revoked.clone(),
            replies: asking.replies(),
            transcript: Transcript::new(limit.0),
        }
    }

    /// What comes next; nothing after it is over. Cancel-safe.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            let reply = tokio::select! {
                // A stream that always has something to say must not outrun the revocation.
                biased;
                () = self.revoked.cancelled() => return Heard::failed(revoked()),
                reply = self.replies.next() => reply,
            };
            let heard = match reply {
                Some(Reply::Event(event)) => self.event(event),
                Some(Reply::End(end)) => Some(Heard::Over(self.ended(end))),
                None => Some(Heard::failed(Failure::agent_left())),
            };
            if let Some(heard) = heard {
                return heard;
            }
        }
    }

    fn event(&mut self, event: Event) -> Option<Heard> {
        match event {
            Event::Chunk(chunk) => Some(match self.transcript.add_chunk(&chunk) {
                Ok(()) => Heard::Chunk(chunk),
                Err(overflow) => Heard::failed(overflow.into()),
            }),
            Event::Artifact(artifact) => {
                let added = self.transcript.add_artifact(artifact);
                added.err().map(|overflow| Heard::failed(overflow.into()))
            }
            Event::Ask(ask) => Some(match ask.kind {
                AskKind::Input => Heard::Over(Err(self.asked(&ask))),
                // The agent's owner may approve as well as the caller, who cannot: it is waited for.
                AskKind::Approval => Heard::Chunk(Chunk::status(ask.text)),
            }),
        }
    }

    /// What was heard; nothing more is heard afterwards.
    fn take_transcript(&mut self) -> Transcript {
        std::mem::replace(&mut self.transcript, Transcript::new(0))
    }

    fn asked(&mut self, ask: &Ask) -> Trouble {
        let mut said = self.take_transcript().into_parts();
        said.push(Part::Text(ask.text.clone()));
        let text = format!(
            "the agent asked a question, which this interface cannot answer: {}; \
             send a new message with the same contextId that tells it",
            ask.text
        );
        Trouble::Asked(text, said)
    }

    fn ended(&mut self, end: End) -> Result<Vec<Part>, Trouble> {
        match end {
            End::Cancelled => Err(Trouble::Cancelled),
            End::Failed(failure) => Err(Trouble::Failed(failure)),
            End::Done(done) => {
                let state = done.state;
                let mut transcript = self.take_transcript();
                transcript.finish(*done);
                match state {
                    // The answer is a question then, and the next message of the conversation answers it.
                    DoneState::Completed | DoneState::InputRequired => Ok(transcript.into_parts()),
                    DoneState::Rejected => Err(Trouble::Failed(rejected(transcript.text()))),
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
