//! A handoff as a stream of lines: `accepted`, what the agent says as it comes, and how it ended. A line is written at
//! least every ten seconds, so that a peer knows that the work goes on.

use std::{mem, time::Duration};

use crate::wire::{Data, frame::FrameWriter};

use super::{
    Job, Trouble,
    fetch::{Bit, text_from},
    listen::Heard,
};
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
    Text(String),
    Status(String),
    /// It is over; without data, what was streamed is the answer.
    Over(Result<Option<Data>, Trouble>),
    Silence,
}

impl Frames {
    pub(super) fn new(job: Result<Job, Trouble>) -> Self {
        Self {
            state: State::New(job),
            writer: FrameWriter::default(),
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
            News::Text(text) => {
                self.streamed += text.len();
                self.writer.chunk(&text, &mut lines);
            }
            News::Status(text) => self.writer.status("status", &text, &mut lines),
            News::Over(outcome) => return Some(self.close(outcome)),
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

    fn close(&mut self, outcome: Result<Option<Data>, Trouble>) -> Piece {
        self.state = State::Over;
        let mut lines = String::new();
        match outcome {
            // What was streamed is the answer already.
            Ok(Some(Data::Text(text))) if self.streamed > 0 && text.len() == self.streamed => {
                self.writer.result(None, &mut lines);
            }
            // Nothing was: that is an answer too.
            Ok(None) if self.streamed == 0 => {
                let nothing = Data::Text(String::new());
                self.writer.result(Some(&nothing), &mut lines);
            }
            Ok(data) => self.writer.result(data.as_ref(), &mut lines),
            Err(Trouble::Told(error)) => self.writer.error(&error, &mut lines),
            Err(Trouble::Cancelled) => return Piece::Reset,
        }
        Piece::Lines(lines)
    }
}

async fn tell(job: &mut Job) -> News {
    let news = async {
        match job {
            Job::Call(listening, files) => match listening.next().await {
                Heard::Text(text) => News::Text(text),
                Heard::Status(text) => News::Status(text),
                Heard::Over(outcome) => {
                    let outcome = outcome.map(|parts| Some(data_from_parts(parts, files)));
                    News::Over(outcome.map_err(Trouble::from))
                }
            },
            Job::Fetch(fetch) => match fetch.next().await {
                Ok(Bit::Text(text)) => News::Text(text),
                Ok(Bit::Whole(body)) => News::Over(text_from(body).map(Some)),
                Ok(Bit::End) => News::Over(Ok(None)),
                Err(trouble) => News::Over(Err(trouble)),
            },
            Job::Known(text) => News::Over(Ok(Some(Data::from_text(mem::take(text))))),
        }
    };
    let news = tokio::time::timeout(HEARTBEAT, news).await;
    news.unwrap_or(News::Silence)
}
