//! One request that the agent works on: its frames are numbered, and kept until the hub has them, so that they can be
//! sent again after a cut (extension `resume`).

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

/// The largest frame that the hub takes. It would close the connection at a larger one, and again at each attempt to
/// go on.
const LARGEST: usize = 8 << 20;

/// One request that the agent works on.
#[derive(Debug)]
pub(super) struct Request {
    id: String,
    session: String,
    /// Nothing once it has ended.
    work: Option<Work>,
    /// The number of the last frame.
    last: u64,
    /// Frames that the hub may not have, in order.
    kept: VecDeque<Kept>,
    /// How many of those went out on this connection.
    sent: usize,
    /// Questions that nobody has answered.
    asks: HashMap<String, Asked>,
    /// Questions that are put again after a cut, though the hub had them: one that was restarted may have forgotten them.
    again: VecDeque<Utf8Bytes>,
}

#[derive(Debug)]
struct Kept {
    seq: u64,
    frame: Utf8Bytes,
    /// What its handler may say more once this has arrived.
    _room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct Asked {
    seq: u64,
    frame: Utf8Bytes,
    answer: oneshot::Sender<Answer>,
}

/// What a request has to say next.
#[derive(Debug)]
pub(super) enum Next {
    /// A frame about it.
    Frame(Utf8Bytes),
    /// A call of another agent on its behalf.
    Call(Calling),
    /// A look at who is there.
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

    /// The number of the last frame that was sent.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Whether it has ended and the hub knows.
    pub(super) fn is_over(&self) -> bool {
        self.work.is_none() && self.kept.is_empty() && self.again.is_empty()
    }

    /// What there is to say next. Only what is `numbered` is kept: a hub that does not acknowledge will not ask for it.
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

    /// The frame for what the handler says.
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

    /// The hub has all frames up to this number.
    pub(super) fn acked(&mut self, seq: u64) {
        while self.kept.front().is_some_and(|kept| kept.seq <= seq) {
            self.kept.pop_front();
            self.sent = self.sent.saturating_sub(1);
        }
    }

    /// Goes on at a new connection, whose hub has all frames up to this number.
    pub(super) fn resume(&mut self, have: u64) {
        self.acked(have);
        self.sent = 0;
        let mut asks: Vec<_> = self.asks.values().filter(|ask| ask.seq <= have).collect();
        asks.sort_by_key(|ask| ask.seq);
        self.again = asks.into_iter().map(|ask| ask.frame.clone()).collect();
    }

    /// Stops the handler and says why, since the hub could not use what it said. False if it has stopped already.
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

    /// Takes an answer; one that comes again finds nobody who waits.
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
