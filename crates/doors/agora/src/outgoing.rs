//! Calls of this connection to agents of other doors: a `send` becomes a call, its reply becomes `reply*` frames.
//! A message that comes in pieces is joined first where the agent takes only whole ones.

use jackfield_core::{call::CallerHandle, hub::Request, pipe::Pushed, principal::Principal};
use jackfield_model::{
    Chunk, ChunkKind, End, Event, Failure, Input, Part, Reason, StreamedText, Transcript,
};

use crate::translate::Thread;

/// A call that was made, as this connection's agent knows it.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) thread: Thread,
    pub(crate) state: State,
    /// Whether the reply is being streamed.
    opened: bool,
    /// The text that was streamed so far.
    streamed: StreamedText,
    /// The artifacts, which Agora has no frame for before the end; its text stays empty.
    transcript: Transcript,
}

/// The field that names a message which comes in pieces.
const STREAM: &str = "stream_id";

/// What a message that is being joined weighs besides its words.
const JOINING_OVERHEAD: usize = 512;
/// How much of a reply is taken before the next flow has its turn.
const BATCH: usize = 16 << 10;

/// How far it is.
#[derive(Debug)]
pub(crate) enum State {
    /// The message is still coming, and the agent takes only whole ones.
    Joining(Box<Request>, String),
    /// The call is open; the flag says whether more of the message may come.
    Open(CallerHandle, bool),
}

impl Outgoing {
    /// A call whose artifacts may have `max` bytes together.
    pub(crate) fn new(thread: Thread, state: State, max: usize) -> Self {
        Self {
            thread,
            state,
            opened: false,
            streamed: StreamedText::default(),
            transcript: Transcript::new(max),
        }
    }

    /// What it weighs while its message is being joined; nothing afterwards.
    pub(crate) fn joining_weight(&self) -> usize {
        match &self.state {
            State::Joining(request, joined) => {
                JOINING_OVERHEAD + request.message.weight() + joined.len()
            }
            State::Open(..) => 0,
        }
    }

    /// The question that waits for an answer of the caller, if one does.
    pub(crate) fn open_ask(&self, caller: &Principal) -> Option<String> {
        let State::Open(asking, _) = &self.state else {
            return None;
        };
        let asks = asking.call().open_asks(caller).into_iter();
        asks.map(|ask| ask.id).min()
    }

    /// More of the message.
    pub(crate) fn say(&mut self, text: &str, max: usize) -> Result<(), Failure> {
        match &mut self.state {
            State::Joining(_, joined) => {
                if joined.len() + text.len() > max {
                    return Err(Failure::new(
                        Reason::TooLarge,
                        format!("a message may have at most {max} bytes"),
                    ));
                }
                joined.push_str(text);
                Ok(())
            }
            State::Open(asking, true) => match asking.say(Input::Chunk(text.to_owned())) {
                Pushed::Room | Pushed::Full => Ok(()),
                // The end of the call tells why.
                Pushed::Overrun | Pushed::Ended => Ok(()),
            },
            State::Open(_, false) => Err(ended(STREAM)),
        }
    }

    /// The message is complete. Returns the request that is to be called now, if it was being joined.
    pub(crate) fn complete(&mut self) -> Result<Option<Request>, Failure> {
        match &mut self.state {
            State::Joining(request, joined) => {
                let mut message = std::mem::take(&mut request.message);
                if !joined.is_empty() {
                    message.parts.push(Part::Text(std::mem::take(joined)));
                }
                Ok(Some(Request {
                    message,
                    ..(**request).clone()
                }))
            }
            State::Open(asking, more) if *more => {
                *more = false;
                asking.say(Input::EndOfMessage);
                Ok(None)
            }
            State::Open(..) => Err(ended(STREAM)),
        }
    }

    /// Frames for what the agent said. True once the call is over.
    pub(crate) fn reply_frames(&mut self, frames: &mut Vec<String>) -> bool {
        let State::Open(asking, _) = &self.state else {
            return false;
        };
        let mut events = Vec::new();
        let end = asking.take(&mut events, BATCH);
        let call = asking.call().clone();
        for event in events {
            match event {
                Event::Chunk(chunk) => {
                    if !self.opened {
                        self.opened = true;
                        frames.push(self.thread.opening());
                    }
                    if chunk.kind == ChunkKind::Text {
                        self.streamed.push(&chunk.text);
                    }
                    frames.push(self.thread.chunk(&chunk));
                }
                Event::Artifact(artifact) => {
                    if let Err(overflow) = self.transcript.add_artifact(artifact) {
                        frames.push(self.thread.failed(&overflow.into()));
                        return true;
                    }
                }
                Event::Ask(ask) => frames.push(self.thread.ask(&ask)),
            }
        }
        let Some(end) = end else { return false };
        let last = match end {
            End::Done(done) => {
                let (artifacts, links) = (self.transcript.artifacts(), call.files());
                let mut answer = done.result.as_deref();
                if !self.streamed.is_empty() {
                    let rest = self.streamed.rest_of(answer.take().unwrap_or_default());
                    if !rest.is_empty() {
                        frames.push(self.thread.chunk(&Chunk::text(rest)));
                    }
                }
                self.thread
                    .done(&done, answer, artifacts, links, self.opened)
            }
            End::Failed(failure) => self.thread.failed(&failure),
            End::Cancelled => self
                .thread
                .failed(&Failure::new(Reason::Cancelled, "the call was cancelled")),
        };
        frames.push(last);
        true
    }
}

/// The call that a frame goes on with, by what stands in this field, is not open.
pub(crate) fn ended(field: &str) -> Failure {
    let what = if field == STREAM { "stream" } else { "request" };
    let text = format!("field {field:?}: this {what} was never started or has already ended");
    Failure::new(Reason::Invalid, text)
}
