//! An agent that works for another one, inside its handler: a member of a team, or a step of a workflow. Its answer is
//! read piece by piece; what it makes, asks and calls goes out by the reply of the one it works for.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
};

use crate::{
    Agent, Chunk, ChunkKind, Done, Event, Failure, Message, Part, Reply, ReplyError, Transcript,
    agent::{End, Output, Work},
    joined_text::JoinedText,
};

/// The largest answer that is gathered, in bytes: what the hub takes as one result.
const LARGEST: usize = 8 << 20;

/// An agent at work for another one. Dropping it drops its handler where it waits.
pub struct MemberCall {
    name: String,
    reply: Reply,
    /// Nothing once it has ended.
    work: Option<Work>,
    /// What it said that is not for whoever reads the answer, on its way out.
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

/// What is heard of a member.
#[derive(Debug)]
pub(crate) enum Told {
    Chunk(Chunk),
    Done(Done),
}

/// What the words of a member become on the way to the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// Part of the answer.
    Answer,
    /// News of what goes on.
    Status,
    /// Nothing: they come later, or not at all.
    Kept,
}

/// What a member answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) text: String,
    pub(crate) done: Done,
}

impl MemberCall {
    /// Lets an agent work on a message for whoever has this reply.
    pub(crate) fn begin(agent: &Agent, message: Message, reply: &Reply) -> Self {
        Self {
            name: agent.id.clone(),
            work: Some(agent.work_on(message, reply.abilities())),
            reply: reply.clone(),
            passing: None,
        }
    }

    /// The next event; nothing after [`Event::Done`]. Work that failed is an error. Cancel-safe.
    pub async fn next(&mut self) -> Result<Option<Event>, Failure> {
        if self.work.is_none() {
            return Ok(None);
        }
        Ok(Some(match self.hear().await? {
            Told::Chunk(chunk) => Event::Chunk(chunk),
            Told::Done(done) => Event::Done(Done {
                // The reader called an agent, and not by a protocol that has messages beside tasks.
                is_message: false,
                // Nobody could fetch the files: a member hears no signals.
                file_transfer_offer: None,
                ..done
            }),
        }))
    }

    /// Waits for the end and joins the text on the way.
    pub async fn text(mut self) -> Result<String, Failure> {
        let mut text = JoinedText::default();
        while let Some(event) = self.next().await? {
            text.add(&event);
        }
        Ok(text.into_string())
    }

    /// Waits for the end. What it says on the way goes to the caller, its words as `words` has it.
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

    /// What comes next; an error and [`Told::Done`] are the last. Cancel-safe.
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
                // Two members may have chosen the same id.
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
    /// The same message with other words: the conversation and the caller stay.
    pub(crate) fn saying(&self, text: String) -> Self {
        Self {
            parts: vec![Part::Text(text.clone())],
            text,
            ..self.clone()
        }
    }
}
