//! An agent that works for another agent's handler: a member of a team, or a step of a workflow. Its reply is
//! read event by event. Its artifacts, questions and calls go out through the [`Reply`] of the outer agent.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
};

use crate::{
    Agent, AgentFailure, Chunk, ChunkKind, Done, Event, Message, Part, Reply, ReplyError,
    Transcript,
    agent::{AgentOutput, HandlerEnd, HandlerTask},
    joined_text::JoinedText,
};

/// Largest reply that is collected, in bytes: the hub's limit for a result.
const LARGEST: usize = 8 << 20;

/// A member's work for a team or workflow. Dropping it drops the member's handler at its current await point.
pub struct MemberCall {
    name: String,
    reply: Reply,
    /// The member's work; `None` after its end.
    work: Option<HandlerTask>,
    /// Output on its way to the outer agent's [`Reply`].
    forwarding: Option<ForwardFuture>,
}

type ForwardFuture = Pin<Box<dyn Future<Output = Result<(), ReplyError>> + Send>>;

impl std::fmt::Debug for MemberCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemberCall")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Output of a member for its reader.
#[derive(Debug)]
pub(crate) enum MemberOutput {
    Chunk(Chunk),
    Done(Done),
}

/// How a member's text reaches the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberText {
    /// As part of the reply.
    Answer,
    /// As status lines.
    Status,
    /// Not while the member works: the outer agent sends the text later, or not at all.
    Kept,
}

/// A member's complete reply.
#[derive(Debug)]
pub(crate) struct MemberReply {
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
            forwarding: None,
        }
    }

    /// Waits for the next event. Returns `None` after [`Event::Done`]. Failed work is an error. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Event>, AgentFailure> {
        if self.work.is_none() {
            return Ok(None);
        }
        Ok(Some(match self.next_output().await? {
            MemberOutput::Chunk(chunk) => Event::Chunk(chunk),
            MemberOutput::Done(done) => Event::Done(Done {
                // The reader called an agent, without a protocol that distinguishes messages from tasks.
                is_message: false,
                // The files could not be fetched: a member receives no signals.
                file_transfer_offer: None,
                ..done
            }),
        }))
    }

    /// Waits for the end and returns the joined text of the reply.
    pub async fn text(mut self) -> Result<String, AgentFailure> {
        let mut text = JoinedText::default();
        while let Some(event) = self.next().await? {
            text.add(&event);
        }
        Ok(text.into_string())
    }

    /// Waits for the end. Forwards output to the caller meanwhile, text according to `words`.
    pub(crate) async fn finish(mut self, words: MemberText) -> Result<MemberReply, AgentFailure> {
        let mut answer = Transcript::new(LARGEST);
        loop {
            let mut chunk = match self.next_output().await? {
                MemberOutput::Chunk(chunk) => chunk,
                MemberOutput::Done(done) => {
                    answer.finish(done.clone());
                    let (text, ..) = answer.into_inner();
                    return Ok(MemberReply { text, done });
                }
            };
            if chunk.kind == ChunkKind::Text {
                if answer.add_chunk(&chunk).is_err() {
                    return Err(AgentFailure::new(
                        "too_large",
                        "the answer is larger than 8 MiB",
                    ));
                }
                match words {
                    MemberText::Answer => {}
                    MemberText::Status => chunk.kind = ChunkKind::Status,
                    MemberText::Kept => continue,
                }
            }
            let passed = self.reply.forward(AgentOutput::Chunk(chunk)).await;
            passed.map_err(over)?;
        }
    }

    /// Waits for the next output. An error or [`MemberOutput::Done`] is the last. Cancel-safe.
    async fn next_output(&mut self) -> Result<MemberOutput, AgentFailure> {
        loop {
            if let Some(passing) = &mut self.forwarding {
                let passed = passing.await;
                self.forwarding = None;
                passed.map_err(over)?;
            }
            let said = match &mut self.work {
                Some(work) => poll_fn(|cx| work.poll_output(cx)).await,
                None => None,
            };
            let Some(said) = said else {
                return Err(over(ReplyError::Over));
            };
            let output = match said.output {
                AgentOutput::Chunk(chunk) => return Ok(MemberOutput::Chunk(chunk)),
                AgentOutput::End(end) => {
                    self.work = None;
                    return match end {
                        HandlerEnd::Done(done) => Ok(MemberOutput::Done(done)),
                        HandlerEnd::Failed(failure) => Err(failure),
                    };
                }
                // Two members may use the same id.
                AgentOutput::Artifact(mut artifact) => {
                    artifact.id = format!("{}/{}", self.name, artifact.id);
                    AgentOutput::Artifact(artifact)
                }
                AgentOutput::Ask(mut open) => {
                    open.ask.id = format!("{}/{}", self.name, open.ask.id);
                    AgentOutput::Ask(open)
                }
                output @ (AgentOutput::Call(_) | AgentOutput::Discover(_)) => output,
            };
            let reply = self.reply.clone();
            let room = said.room;
            self.forwarding = Some(Box::pin(async move {
                let _room = room;
                reply.forward(output).await
            }));
        }
    }
}

fn over(error: ReplyError) -> AgentFailure {
    AgentFailure::of(error.into())
}

impl Message {
    /// Returns a copy of the message with a different text, in the same conversation and from the same
    /// caller.
    pub(crate) fn with_text(&self, text: String) -> Self {
        Self {
            parts: vec![Part::Text(text.clone())],
            text,
            ..self.clone()
        }
    }
}
