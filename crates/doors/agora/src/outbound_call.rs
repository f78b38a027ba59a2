//! Calls of this connection to agents of other doors: a `send` becomes a call, its reply becomes `reply*`
//! frames. A streamed message is joined first if the agent accepts only whole messages.

use jackfield_core::{call::CallerHandle, hub::Request, pipe::Pushed, principal::Principal};
use jackfield_kit::files::Files;
use jackfield_model::{
    Chunk, ChunkKind, End, Event, Failure, Input, Part, Reason, StreamedText, Transcript,
};

use crate::translate::ReplyFrameWriter;

/// A call made by the agent of this connection.
#[derive(Debug)]
pub(crate) struct OutboundCall {
    pub(crate) thread: ReplyFrameWriter,
    pub(crate) state: OutboundState,
    /// Whether the reply is streamed.
    opened: bool,
    /// Text streamed up to now.
    streamed: StreamedText,
    /// Artifacts, which Agora can carry only at the end; the text of the [`Transcript`] stays empty.
    transcript: Transcript,
}

/// Field with the id of a streamed message.
const STREAM: &str = "stream_id";

/// Bytes that a message being joined counts beyond its text.
const JOINING_OVERHEAD: usize = 512;
/// Bytes of a reply taken before the next flow is served.
const BATCH: usize = 16 << 10;

/// Progress of a call.
#[derive(Debug)]
pub(crate) enum OutboundState {
    /// The message is incomplete, and the agent accepts only whole messages.
    Joining(Box<Request>, String),
    /// The call is open; the flag tells whether more of the message may arrive.
    Open(CallerHandle, bool),
}

impl OutboundCall {
    /// Creates a call whose artifacts may have `max` bytes together.
    pub(crate) fn new(thread: ReplyFrameWriter, state: OutboundState, max: usize) -> Self {
        Self {
            thread,
            state,
            opened: false,
            streamed: StreamedText::default(),
            transcript: Transcript::new(max),
        }
    }

    /// Returns the bytes counted while the message is being joined; zero afterwards.
    pub(crate) fn joining_weight(&self) -> usize {
        match &self.state {
            OutboundState::Joining(request, joined) => {
                JOINING_OVERHEAD + request.message.weight() + joined.len()
            }
            OutboundState::Open(..) => 0,
        }
    }

    /// Returns the id of a question that waits for an answer of the [`Principal`] `caller`.
    pub(crate) fn open_ask(&self, caller: &Principal) -> Option<String> {
        let OutboundState::Open(asking, _) = &self.state else {
            return None;
        };
        let asks = asking.call().open_asks(caller).into_iter();
        asks.map(|ask| ask.id).min()
    }

    /// Appends text to the message.
    pub(crate) fn append_text(&mut self, text: &str, max: usize) -> Result<(), Failure> {
        match &mut self.state {
            OutboundState::Joining(_, joined) => {
                if joined.len() + text.len() > max {
                    return Err(Failure::new(
                        Reason::TooLarge,
                        format!("a message may have at most {max} bytes"),
                    ));
                }
                joined.push_str(text);
                Ok(())
            }
            OutboundState::Open(asking, true) => match asking.say(Input::Chunk(text.to_owned())) {
                Pushed::Room | Pushed::Full => Ok(()),
                // The end of the call reports the reason.
                Pushed::Overrun | Pushed::Ended => Ok(()),
            },
            OutboundState::Open(_, false) => Err(ended(STREAM)),
        }
    }

    /// Completes the message. Returns the [`Request`] to call now, if the message was being joined.
    pub(crate) fn complete(&mut self) -> Result<Option<Request>, Failure> {
        match &mut self.state {
            OutboundState::Joining(request, joined) => {
                let mut message = std::mem::take(&mut request.message);
                if !joined.is_empty() {
                    message.parts.push(Part::Text(std::mem::take(joined)));
                }
                Ok(Some(Request {
                    message,
                    ..(**request).clone()
                }))
            }
            OutboundState::Open(asking, more) if *more => {
                *more = false;
                asking.say(Input::EndOfMessage);
                Ok(None)
            }
            OutboundState::Open(..) => Err(ended(STREAM)),
        }
    }

    /// Appends the frames for the agent's reply; `files` provides links. Returns `true` once the call is over.
    pub(crate) fn reply_frames(&mut self, files: &Files, frames: &mut Vec<String>) -> bool {
        let OutboundState::Open(asking, _) = &self.state else {
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
                let (artifacts, links) = (self.transcript.artifacts(), files.of_call(&call));
                let mut answer = done.result.as_deref();
                if !self.streamed.is_empty() {
                    let rest = self.streamed.rest_of(answer.take().unwrap_or_default());
                    if !rest.is_empty() {
                        frames.push(self.thread.chunk(&Chunk::text(rest)));
                    }
                }
                self.thread
                    .done(&done, answer, artifacts, &links, self.opened)
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

/// Returns the [`Failure`] for a frame that continues a call which is not open; `field` holds the id of the
/// call.
pub(crate) fn ended(field: &str) -> Failure {
    let what = if field == STREAM { "stream" } else { "request" };
    let text = format!("field {field:?}: this {what} was never started or has already ended");
    Failure::new(Reason::Invalid, text)
}
