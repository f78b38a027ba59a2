//! The caller's end of a call while the agent works: what is heard of it, and how it came out.

use jackfield_core::{
    call::{Asking, Replies, Reply},
    event::{Artifact, AskKind, Chunk, ChunkKind, Done, DoneState, End, Event, Part},
    failure::{Failure, Reason},
    pipe::Item as _,
    units::Size,
};

/// What is heard of a call.
#[derive(Debug)]
pub(super) enum Heard {
    /// A piece of the answer.
    Text(String),
    /// What the agent is doing.
    Status(String),
    /// It is over, with an answer or without.
    Over(Result<Vec<Part>, Failure>),
}

/// Listens to one call. Dropping it cancels the call.
#[derive(Debug)]
pub(crate) struct Listening {
    replies: Replies,
    limit: Size,
    room: usize,
    text: String,
    /// By their ids, in the order in which they began.
    artifacts: Vec<(String, Vec<Part>)>,
}

impl Listening {
    /// Listens to a call whose answer may have so many bytes.
    pub(super) fn new(asking: Asking, limit: Size) -> Self {
        Self {
            replies: asking.replies(),
            limit,
            room: limit.0,
            text: String::new(),
            artifacts: Vec::new(),
        }
    }

    /// What comes next; nothing after it is over. Cancel-safe.
    pub(super) async fn next(&mut self) -> Heard {
        loop {
            let heard = match self.replies.next().await {
                Some(Reply::Event(event)) => self.event(event).unwrap_or_else(failed),
                Some(Reply::End(end)) => Some(Heard::Over(self.ended(end))),
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
            if let Heard::Over(outcome) = self.next().await {
                return outcome;
            }
        }
    }

    fn event(&mut self, event: Event) -> Result<Option<Heard>, Failure> {
        let weight = event.weight();
        match event {
            Event::Chunk(Chunk { kind, text, .. }) => match kind {
                ChunkKind::Text => {
                    self.take(text.len())?;
                    self.text.push_str(&text);
                    Ok(Some(Heard::Text(text)))
                }
                ChunkKind::Status => Ok(Some(Heard::Status(text))),
                // The protocol has no place for them.
                ChunkKind::Thinking
                | ChunkKind::ToolStart
                | ChunkKind::ToolInput
                | ChunkKind::ToolResult => Ok(None),
            },
            Event::Artifact(artifact) => {
                self.take(weight)?;
                self.artifact(artifact);
                Ok(None)
            }
            Event::Ask(ask) => match ask.kind {
                AskKind::Input => Err(cannot_answer(&ask.text)),
                // The agent's owner may approve as well as the caller, who cannot: it is waited for.
                AskKind::Approval => Ok(Some(Heard::Status(ask.text))),
            },
        }
    }

    fn take(&mut self, weight: usize) -> Result<(), Failure> {
        let room = self.room.checked_sub(weight);
        self.room = room.ok_or_else(|| {
            let text = format!("the answer is larger than {}", self.limit);
            Failure::new(Reason::TooLarge, text)
        })?;
        Ok(())
    }

    fn artifact(&mut self, new: Artifact) {
        match self.artifacts.iter_mut().find(|(id, _)| *id == new.id) {
            None => self.artifacts.push((new.id, new.parts)),
            Some((_, had)) if new.append => {
                for part in new.parts {
                    append(had, part);
                }
            }
            Some((_, had)) => *had = new.parts,
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
        // Agents that stream may repeat the whole at the end; others give it only there.
        if self.text.is_empty() {
            self.text = done.result.clone().unwrap_or_default();
        }
        match done.state {
            DoneState::Completed => Ok(self.parts(done)),
            DoneState::InputRequired => Err(cannot_answer(&self.text)),
            DoneState::Rejected => Err(rejected(&self.text)),
        }
    }

    /// The words, then what the agent made, then what it attached.
    fn parts(&mut self, done: Done) -> Vec<Part> {
        let words = Some(std::mem::take(&mut self.text)).filter(|text| !text.is_empty());
        let made = std::mem::take(&mut self.artifacts).into_iter();
        let made = made.flat_map(|(_, parts)| parts);
        let attached = done.attachments.into_iter().map(Part::File);
        let words = words.map(Part::Text).into_iter();
        words.chain(made).chain(attached).collect()
    }
}

fn failed(failure: Failure) -> Option<Heard> {
    Some(Heard::Over(Err(failure)))
}

/// Text goes on where text ended: an artifact that is streamed is one text, in however many pieces it came.
fn append(parts: &mut Vec<Part>, next: Part) {
    match (parts.last_mut(), next) {
        (Some(Part::Text(last)), Part::Text(next)) => last.push_str(&next),
        (_, next) => parts.push(next),
    }
}

/// A handoff is one request and one answer: there is no way to answer a question.
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
