//! One request in progress. Its frames are numbered and kept until the hub acknowledges them, to send them
//! again after a lost connection (extension `resume`).

use std::{
    collections::{HashMap, VecDeque},
    task::{Context, Poll, ready},
};

use jackfield_model::Answer;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::translate::{self, About};
use crate::{
    Failure,
    agent::{Calling, End, Looking, Output, Said, Work},
};

/// Largest frame that the hub accepts. The hub would close the connection at a larger frame, and again at
/// each attempt to resume.
const LARGEST: usize = 8 << 20;

/// A request that the agent works on.
#[derive(Debug)]
pub(super) struct Request {
    id: String,
    session: String,
    /// The handler's work; `None` after its end.
    work: Option<Work>,
    /// Sequence number of the last frame.
    last: u64,
    /// Unacknowledged frames, in order.
    kept: VecDeque<Kept>,
    /// How many of `kept` were sent on this connection.
    sent: usize,
    /// Unanswered questions, by id.
    asks: HashMap<String, Asked>,
    /// Questions to repeat after a reconnect although the hub acknowledged them: a restarted hub may have
    /// lost them.
    again: VecDeque<Utf8Bytes>,
}

#[derive(Debug)]
struct Kept {
    seq: u64,
    frame: Utf8Bytes,
    /// Share of the handler's send budget, released when the frame is acknowledged.
    _room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct Asked {
    seq: u64,
    frame: Utf8Bytes,
    answer: oneshot::Sender<Answer>,
}

/// The next output of a request.
#[derive(Debug)]
pub(super) enum Next {
    /// A frame of the request.
    Frame(Utf8Bytes),
    /// A call of a peer agent on behalf of the request.
    Call(Calling),
    /// A discovery of peer agents.
    Discover(Looking),
}

impl Request {
    pub(super) fn new(id: String, session: String, work: Work) -> Self {
        Self {
            id,
            session,
            work: Some(work),
            last: 0,
            kept: VecDeque::new(),
            sent: 0,
            asks: HashMap::new(),
            again: VecDeque::new(),
        }
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// Returns the sequence number of the last frame.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns whether the request has ended and the hub has acknowledged the end.
    pub(super) fn is_over(&self) -> bool {
        self.work.is_none() && self.kept.is_empty() && self.again.is_empty()
    }

    /// Polls the next output. Keeps only `numbered` frames: a hub without acknowledgements never asks for
    /// them again.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>, numbered: bool) -> Poll<Next> {
        if let Some(frame) = self.again.pop_front() {
            return Poll::Ready(Next::Frame(frame));
        }
        if let Some(kept) = self.kept.get(self.sent) {
            self.sent += 1;
            return Poll::Ready(Next::Frame(kept.frame.clone()));
        }
        let Some(work) = &mut self.work else {
            return Poll::Pending;
        };
        let Some(Said { output, room }) = ready!(work.poll_said(cx)) else {
            return Poll::Pending;
        };
        Poll::Ready(match output {
            Output::Call(calling) => Next::Call(calling),
            Output::Discover(looking) => Next::Discover(looking),
            output => Next::Frame(self.say(output, room, numbered)),
        })
    }

    /// Builds the frame for a handler's output.
    fn say(&mut self, output: Output, room: OwnedSemaphorePermit, numbered: bool) -> Utf8Bytes {
        let seq = self.last + 1;
        let mut output = output;
        let mut frame = self.frame(&output, numbered);
        if frame.len() > LARGEST {
            output = failure("the agent said something larger than the hub takes at once");
            frame = self.frame(&output, numbered);
        }
        match output {
            Output::End(_) => self.work = None,
            Output::Ask(open) => {
                let (frame, answer) = (frame.clone(), open.answer);
                self.asks.insert(open.ask.id, Asked { seq, frame, answer });
            }
            Output::Chunk(_) | Output::Artifact(_) | Output::Call(_) | Output::Discover(_) => {}
        }
        if numbered {
            self.last = seq;
            self.sent += 1;
            self.kept.push_back(Kept {
                seq,
                frame: frame.clone(),
                _room: Some(room),
            });
        }
        frame
    }

    fn frame(&self, output: &Output, numbered: bool) -> Utf8Bytes {
        let about = About {
            session: &self.session,
            request: &self.id,
            seq: numbered.then_some(self.last + 1),
        };
        translate::frame(about, output).into()
    }

    /// Drops frames up to `seq`, which the hub has.
    pub(super) fn acked(&mut self, seq: u64) {
        while self.kept.front().is_some_and(|kept| kept.seq <= seq) {
            self.kept.pop_front();
            self.sent = self.sent.saturating_sub(1);
        }
    }

    /// Continues on a new connection. The hub has all frames up to `have`.
    pub(super) fn resume(&mut self, have: u64) {
        self.acked(have);
        self.sent = 0;
        let mut asks: Vec<_> = self.asks.values().filter(|ask| ask.seq <= have).collect();
        asks.sort_by_key(|ask| ask.seq);
        self.again = asks.into_iter().map(|ask| ask.frame.clone()).collect();
    }

    /// Stops the handler and fails the request, because the hub could not use a frame. Returns `false` if the
    /// handler has ended already.
    pub(super) fn fail(&mut self, why: &str, numbered: bool) -> bool {
        if self.work.take().is_none() {
            return false;
        }
        self.asks.clear();
        let frame = self.frame(&failure(why), numbered);
        if numbered {
            self.last += 1;
            self.kept.push_back(Kept {
                seq: self.last,
                frame,
                _room: None,
            });
        } else {
            self.again.push_back(frame);
        }
        true
    }

    /// Passes an answer to the handler. A repeated answer is ignored.
    pub(super) fn answer(&mut self, ask_id: &str, answer: Answer) {
        if let Some(asked) = self.asks.remove(ask_id) {
            // The handler may have stopped waiting.
            asked.answer.send(answer).ok();
        }
    }
}

fn failure(text: &str) -> Output {
    Output::End(End::Failed(Failure::new("internal_error", text)))
}
