//! The answer to a handoff as a stream of lines: `accepted`, the agent's text as it arrives, and the end. A
//! line is written at least every ten seconds, so that the peer knows that the work continues.

use std::{mem, time::Duration};

use tokio::time::timeout;

use crate::wire::{Data, frame::FrameWriter};

use super::{Progress, Work};
use crate::failure::HandoffError;

/// Silence before a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The next output of a streamed answer.
#[derive(Debug, PartialEq, Eq)]
pub enum FrameOutput {
    /// One or more lines.
    Lines(String),
    /// No output: the work was cancelled, and the stream is reset.
    Reset,
}

/// The lines of one handoff. Dropping them cancels the work.
#[derive(Debug)]
pub struct Frames<W> {
    state: State<W>,
    writer: FrameWriter,
    /// Bytes of the answer that were streamed.
    streamed: usize,
}

#[derive(Debug)]
enum State<W> {
    New(Result<W, HandoffError>),
    Working(W),
    Over,
}

impl<W: Work> Frames<W> {
    pub(super) fn new(work: Result<W, HandoffError>) -> Self {
        Self {
            state: State::New(work),
            writer: FrameWriter::default(),
            streamed: 0,
        }
    }

    /// Waits for the next output; `None` after the last line. Cancel-safe.
    pub async fn next(&mut self) -> Option<FrameOutput> {
        let progress = match &mut self.state {
            State::New(_) => return Some(self.open()),
            State::Over => return None,
            State::Working(work) => timeout(HEARTBEAT, work.next()).await,
        };
        let mut lines = String::new();
        match progress {
            Err(_) => self.writer.heartbeat(&mut lines),
            Ok(Progress::Text(text)) => {
                self.streamed += text.len();
                self.writer.chunk(&text, &mut lines);
            }
            Ok(Progress::Status(text)) => self.writer.status("status", &text, &mut lines),
            Ok(Progress::Over(outcome)) => return Some(self.close(outcome)),
        }
        Some(FrameOutput::Lines(lines))
    }

    fn open(&mut self) -> FrameOutput {
        match mem::replace(&mut self.state, State::Over) {
            State::New(Err(trouble)) => self.close(Err(trouble)),
            State::New(Ok(work)) => {
                let mut lines = String::new();
                // A live call is no task, so there is no id to ask for later.
                self.writer.accepted(None, &mut lines);
                self.state = State::Working(work);
                FrameOutput::Lines(lines)
            }
            State::Working(_) | State::Over => FrameOutput::Reset,
        }
    }

    fn close(&mut self, outcome: Result<Option<Data>, HandoffError>) -> FrameOutput {
        self.state = State::Over;
        let mut lines = String::new();
        match outcome {
            // The streamed text is the whole answer.
            Ok(Some(Data::Text(text))) if self.streamed > 0 && text.len() == self.streamed => {
                self.writer.result(None, &mut lines);
            }
            // An empty answer is an answer too.
            Ok(None) if self.streamed == 0 => {
                let nothing = Data::Text(String::new());
                self.writer.result(Some(&nothing), &mut lines);
            }
            Ok(data) => self.writer.result(data.as_ref(), &mut lines),
            Err(HandoffError::Reported(error)) => self.writer.error(&error, &mut lines),
            Err(HandoffError::Cancelled) => return FrameOutput::Reset,
        }
        FrameOutput::Lines(lines)
    }
}
