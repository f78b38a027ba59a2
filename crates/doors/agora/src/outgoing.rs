//! Calls of this connection to agents of other doors: a `send` becomes a call, its reply becomes `reply*` frames.
//! A message that comes in pieces is joined first where the agent takes only whole ones.

use jackfield_core::{
    call::Asking,
    event::{Artifact, End, Event, Input},
    failure::{Failure, Reason},
    hub::Request,
    pipe::Pushed,
};

use crate::translate::Thread;

/// A call that was made, as this connection's agent knows it.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) thread: Thread,
    pub(crate) state: State,
    opened: bool,
    artifacts: Vec<Artifact>,
}

/// How far it is.
#[derive(Debug)]
pub(crate) enum State {
    /// The message is still coming, and the agent takes only whole ones.
    Joining(Box<Request>, String),
    /// The call is open; the flag says whether more of the message may come.
    Open(Asking, bool),
}

impl Outgoing {
    pub(crate) fn new(thread: Thread, state: State) -> Self {
        Self {
            thread,
            state,
            opened: false,
            artifacts: Vec::new(),
        }
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
            State::Open(_, false) => Err(ended()),
        }
    }

    /// The message is complete. Returns the request that is to be called now, if it was being joined.
    pub(crate) fn complete(&mut self) -> Result<Option<Request>, Failure> {
        match &mut self.state {
            State::Joining(request, joined) => {
                let mut request = (**request).clone();
                let joined = std::mem::take(joined);
                if !joined.is_empty() {
                    request
                        .message
                        .parts
                        .push(jackfield_core::event::Part::Text(joined));
                }
                Ok(Some(request))
            }
            State::Open(asking, more) if *more => {
                *more = false;
                asking.say(Input::EndOfMessage);
                Ok(None)
            }
            State::Open(..) => Err(ended()),
        }
    }

    /// Frames for what the agent said. True once the call is over.
    pub(crate) fn reply_frames(&mut self, frames: &mut Vec<String>) -> bool {
        let State::Open(asking, _) = &self.state else {
            return false;
        };
        let mut events = Vec::new();
        let end = asking.take(&mut events, 16 << 10);
        for event in events {
            match event {
                Event::Chunk(chunk) => {
                    if !self.opened {
                        self.opened = true;
                        frames.push(self.thread.opening());
                    }
                    frames.push(self.thread.chunk(&chunk));
                }
                Event::Artifact(artifact) => self.artifacts.push(artifact),
                Event::Ask(ask) => frames.push(self.thread.ask(&ask)),
            }
        }
        let Some(end) = end else { return false };
        frames.push(match end {
            End::Done(done) => self.thread.done(&done, &self.artifacts, self.opened),
            End::Failed(failure) => self.thread.failed(&failure),
            End::Cancelled => self
                .thread
                .failed(&Failure::new(Reason::Cancelled, "the call was cancelled")),
        });
        true
    }
}

fn ended() -> Failure {
    Failure::new(
        Reason::Invalid,
        "field \"stream_id\": this stream was never started or has already ended",
    )
}
