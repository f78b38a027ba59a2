//! An agent that works for another agent's handler: a member of a team, or a step of a workflow. Its reply is
//! read event by event. Its artifacts, questions and calls go out through the [`Reply`] of the outer agent.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
};

use crate::{
    Agent, Chunk, ChunkKind, Done, Event, Failure, Message, Part, Reply, ReplyError, Transcript,
    agent::{End, Output, Work},
    joined_text::JoinedText,
};

/// Largest reply that is collected, in bytes: the hub's limit for a result.
const LARGEST: usize = 8 << 20;

/// A member's work for a team or workflow. Dropping it drops the member's handler at its current await point.
pub struct MemberCall {
    name: String,
    reply: Reply,
    /// The member's work; `None` after its end.
    work: Option<Work>,
    /// Output on its way to the outer agent's [`Reply`].
    passing: Option<Passing>,
}

type Passing = Pin<Box<dyn Future<Output = Result<(), ReplyError>> + Send>>;

impl std::fmt::Debug for MemberCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemberCall")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Output of a member for its reader.
#[derive(Debug)]
pub(crate) enum Told {
    Chunk(Chunk),
    Done(Done),
}

/// How a member's text reaches the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// As part of the reply.
    Answer,
    /// As status lines.
    Status,
    /// Not while the member works: the outer agent sends the text later, or not at all.
    Kept,
}

/// A member's complete reply.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) text: String,
    pub(crate) done: Done,
}

impl MemberCall {
    /// Starts an agent's work on a message, on behalf of the outer agent's `reply`.
    pub(crate) fn begin(agent: &Agent, message: Message, reply: &Reply) -> Self {
        Self {
            name: agent.id.clone(),
            work: Some(agent.work_on(message, reply.abilities())),
            reply: reply.clone(),
            passing: None,
        }
    }

    /// Waits for the next event. Returns `None` after [`Event::Done`]. Failed work is an error. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Event>, Failure> {
        if self.work.is_none() {
            return Ok(None);
        }
        Ok(Some(match self.hear().await? {
            Told::Chunk(chunk) => Event::Chunk(chunk),
            Told::Done(done) => Event::Done(Done {
                // The reader called an agent, without a protocol that distinguishes messages from tasks.
                is_message: false,
                // The files could not be fetched: a member receives no signals.
                file_transfer_offer: None,
                ..done
            }),
        }))
    }

    /// Waits for the end and returns the joined text of the reply.
    pub async fn text(mut self) -> Result<String, Failure> {
        let mut text = JoinedText::default();
        while let Some(event) = self.next().await? {
            text.add(&event);
        }
        Ok(text.into_string())
    }

    /// Waits for the end. Forwards output to the caller meanwhile, text according to `words`.
    pub(crate) async fn finish(mut self, words: Words) -> Result<Answered, Failure> {
        let mut answer = Transcript::new(LARGEST);
        loop {
            let mut chunk = match self.hear().await? {
                Told::Chunk(chunk) => chunk,
                Told::Done(done) => {
                    answer.finish(done.clone());
                    let (text, ..) = answer.into_inner();
                    return Ok(Answered { text, done });
                }
            };
            if chunk.kind == ChunkKind::Text {
                if answer.add_chunk(&chunk).is_err() {
                    return Err(Failure::new("too_large", "the answer is larger than 8 MiB"));
                }
                match words {
                    Words::Answer => {}
                    Words::Status => chunk.kind = ChunkKind::Status,
                    Words::Kept => continue,
                }
            }
            let passed = self.reply.pass_on(Output::Chunk(chunk)).await;
            passed.map_err(over)?;
        }
    }

    /// Waits for the next output. An error or [`Told::Done`] is the last. Cancel-safe.
    async fn hear(&mut self) -> Result<Told, Failure> {
        loop {
            if let Some(passing) = &mut self.passing {
                let passed = passing.await;
                self.passing = None;
                passed.map_err(over)?;
            }
            let said = match &mut self.work {
                Some(work) => poll_fn(|cx| work.poll_said(cx)).await,
                None => None,
            };
            let Some(said) = said else {
                return Err(over(ReplyError::Over));
            };
            let output = match said.output {
                Output::Chunk(chunk) => return Ok(Told::Chunk(chunk)),
                Output::End(end) => {
                    self.work = None;
                    return match end {
                        End::Done(done) => Ok(Told::Done(done)),
                        End::Failed(failure) => Err(failure),
                    };
                }
                // Two members may use the same id.
                Output::Artifact(mut artifact) => {
                    artifact.id = format!("{}/{}", self.name, artifact.id);
                    Output::Artifact(artifact)
                }
                Output::Ask(mut open) => {
                    open.ask.id = format!("{}/{}", self.name, open.ask.id);
                    Output::Ask(open)
                }
                output @ (Output::Call(_) | Output::Discover(_)) => output,
            };
            let reply = self.reply.clone();
            let room = said.room;
            self.passing = Some(Box::pin(async move {
                let _room = room;
                reply.pass_on(output).await
            }));
        }
    }
}

fn over(error: ReplyError) -> Failure {
    Failure::of(error.into())
}

impl Message {
    /// Returns a copy of the message with a different text, in the same conversation and from the same
    /// caller.
    pub(crate) fn saying(&self, text: String) -> Self {
        Self {
            parts: vec![Part::Text(text.clone())],
            text,
            ..self.clone()
        }
    }
}
