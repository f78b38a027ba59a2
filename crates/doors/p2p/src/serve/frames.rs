//! A handoff as a stream of lines: `accepted`, what the agent says as it comes, and how it ended. A line is written at
//! least every ten seconds, so that a peer knows that the work goes on.

use std::{mem, sync::Arc, time::Duration};

use jackfield_core::files::Files;
use jackfield_wire::p2p::{Data, frame::FrameWriter};

use super::{Job, Trouble, listen::Heard};
use crate::translate::data_from_parts;

/// How long nothing is said before a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What is to be written next.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// One line or several.
    Lines(String),
    /// Nothing: somebody cancelled the work, and the stream is reset.
    Reset,
}

/// The lines of one handoff. Dropping them cancels the work.
#[derive(Debug)]
pub struct Frames {
    state: State,
    writer: FrameWriter,
    files: Arc<Files>,
    /// How many bytes of the answer were streamed.
    streamed: usize,
}

#[derive(Debug)]
enum State {
    New(Result<Job, Trouble>),
    Working(Job),
    Over,
}

/// What happened.
enum News {
    Heard(Heard),
    Whole(Result<Vec<u8>, Trouble>),
    Silence,
}

impl Frames {
    pub(super) fn new(job: Result<Job, Trouble>, files: Arc<Files>) -> Self {
        Self {
            state: State::New(job),
            writer: FrameWriter::default(),
            files,
            streamed: 0,
        }
    }

    /// What is to be written next; nothing after the last line. Cancel-safe.
    pub async fn next(&mut self) -> Option<Piece> {
        let news = match &mut self.state {
            State::New(_) => return Some(self.open()),
            State::Over => return None,
            State::Working(job) => tell(job).await,
        };
        let mut lines = String::new();
        match news {
            News::Silence => self.writer.heartbeat(&mut lines),
            News::Heard(Heard::Text(text)) => {
                self.streamed += text.len();
                self.writer.chunk(&text, &mut lines);
            }
            News::Heard(Heard::Status(text)) => self.writer.status("status", &text, &mut lines),
            News::Heard(Heard::Over(outcome)) => {
                let outcome = outcome.map(|parts| data_from_parts(parts, &self.files));
                return Some(self.close(outcome.map_err(Trouble::from)));
            }
            News::Whole(outcome) => return Some(self.close(outcome.and_then(text_from))),
        }
        Some(Piece::Lines(lines))
    }

    fn open(&mut self) -> Piece {
        match mem::replace(&mut self.state, State::Over) {
            State::New(Err(trouble)) => self.close(Err(trouble)),
            State::New(Ok(job)) => {
                let mut lines = String::new();
                // A live call is no task: nobody could ask for it later.
                self.writer.accepted(None, &mut lines);
                self.state = State::Working(job);
                Piece::Lines(lines)
            }
            State::Working(_) | State::Over => Piece::Reset,
        }
    }

    fn close(&mut self, outcome: Result<Data, Trouble>) -> Piece {
        self.state = State::Over;
        let mut lines = String::new();
        match outcome {
            // What was streamed is the answer already.
            Ok(Data::Text(text)) if self.streamed > 0 && text.len() == self.streamed => {
                self.writer.result(None, &mut lines);
            }
            Ok(data) => self.writer.result(Some(&data), &mut lines),
            Err(Trouble::Told(error)) => self.writer.error(&error, &mut lines),
            Err(Trouble::Cancelled) => return Piece::Reset,
        }
        Piece::Lines(lines)
    }
}

async fn tell(job: &mut Job) -> News {
    let news = async {
        match job {
            Job::Call(listening) => News::Heard(listening.next().await),
            Job::Whole(work) => News::Whole(work.await),
        }
    };
    let news = tokio::time::timeout(HEARTBEAT, news).await;
    news.unwrap_or(News::Silence)
}

/// A body in a line must be text.
fn text_from(body: Vec<u8>) -> Result<Data, Trouble> {
    let not_text = || {
        Trouble::coded(
            502,
            "the agent's answer is not text; ask for it without \"stream\"",
        )
    };
    let text = String::from_utf8(body).map_err(|_| not_text())?;
    Ok(Data::from_text(text))
}
