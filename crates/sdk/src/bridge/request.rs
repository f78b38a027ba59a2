//! One request in progress. Its frames are numbered and kept until the hub acknowledges them, to send them
//! again after a lost connection (extension `resume`).

use std::{
    collections::{HashMap, VecDeque},
    task::{Context, Poll, ready},
};

use jackfield_model::Answer;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::translate::{self, FrameTarget};
use crate::{
    AgentFailure,
    agent::{AgentOutput, HandlerEnd, HandlerTask, PeerCallRequest, PeerDiscovery, QueuedOutput},
};

/// Largest frame that the hub accepts. The hub would close the connection at a larger frame, and again at
/// each attempt to resume.
const LARGEST: usize = 8 << 20;

/// A request that the agent works on.
#[derive(Debug)]
pub(super) struct OpenRequest {
    id: String,
    session: String,
    /// The handler's work; `None` after its end.
    work: Option<HandlerTask>,
    /// Sequence number of the last frame.
    last: u64,
    /// Unacknowledged frames, in order.
    kept: VecDeque<UnackedFrame>,
    /// How many of `kept` were sent on this connection.
    sent: usize,
    /// Unanswered questions, by id.
    asks: HashMap<String, OpenQuestion>,
    /// Questions to repeat after a reconnect although the hub acknowledged them: a restarted hub may have
    /// lost them.
    again: VecDeque<Utf8Bytes>,
}

#[derive(Debug)]
struct UnackedFrame {
    seq: u64,
    frame: Utf8Bytes,
    /// Share of the handler's send budget, released when the frame is acknowledged.
    _room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
struct OpenQuestion {
    seq: u64,
    frame: Utf8Bytes,
    answer: oneshot::Sender<Answer>,
}

/// The next output of a request.
#[derive(Debug)]
pub(super) enum NextOutput {
    /// A frame of the request.
    Frame(Utf8Bytes),
    /// A call of a peer agent on behalf of the request.
    Call(PeerCallRequest),
    /// A discovery of peer agents.
    Discover(PeerDiscovery),
}

impl OpenRequest {
    pub(super) fn new(id: String, session: String, work: HandlerTask) -> Self {
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
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>, numbered: bool) -> Poll<NextOutput> {
        if let Some(frame) = self.again.pop_front() {
            return Poll::Ready(NextOutput::Frame(frame));
        }
        if let Some(kept) = self.kept.get(self.sent) {
            self.sent += 1;
            return Poll::Ready(NextOutput::Frame(kept.frame.clone()));
        }
        let Some(work) = &mut self.work else {
            return Poll::Pending;
        };
        let Some(QueuedOutput { output, room }) = ready!(work.poll_output(cx)) else {
            return Poll::Pending;
        };
        Poll::Ready(match output {
            AgentOutput::Call(calling) => NextOutput::Call(calling),
            AgentOutput::Discover(looking) => NextOutput::Discover(looking),
            output => NextOutput::Frame(self.frame_for_output(output, room, numbered)),
        })
    }

    /// Builds the frame for a handler's output.
    fn frame_for_output(
        &mut self,
        output: AgentOutput,
        room: OwnedSemaphorePermit,
        numbered: bool,
    ) -> Utf8Bytes {
        let seq = self.last + 1;
        let mut output = output;
        let mut frame = self.frame(&output, numbered);
        if frame.len() > LARGEST {
            output = failure("the agent said something larger than the hub takes at once");
            frame = self.frame(&output, numbered);
        }
        match output {
            AgentOutput::End(_) => self.work = None,
            AgentOutput::Ask(open) => {
                let (frame, answer) = (frame.clone(), open.answer);
                self.asks
                    .insert(open.ask.id, OpenQuestion { seq, frame, answer });
            }
            AgentOutput::Chunk(_)
            | AgentOutput::Artifact(_)
            | AgentOutput::Call(_)
            | AgentOutput::Discover(_) => {}
        }
        if numbered {
            self.last = seq;
            self.sent += 1;
            self.kept.push_back(UnackedFrame {
                seq,
                frame: frame.clone(),
                _room: Some(room),
            });
        }
        frame
    }

    fn frame(&self, output: &AgentOutput, numbered: bool) -> Utf8Bytes {
        let about = FrameTarget {
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
            self.kept.push_back(UnackedFrame {
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

fn failure(text: &str) -> AgentOutput {
    AgentOutput::End(HandlerEnd::Failed(AgentFailure::new(
        "internal_error",
        text,
    )))
}
