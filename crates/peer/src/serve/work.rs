//! One handoff that is worked on, and how it is answered: in one body within a deadline, or in frames.

use std::{fmt, time::Duration};

use super::{Frames, HandoffReply};
use crate::failure::HandoffError;
use crate::wire::{Data, PROTOCOL_HANDOFF_STREAM};

/// The next news of work on a handoff.
#[derive(Debug)]
pub enum Progress {
    /// A piece of the answer.
    Text(String),
    /// What the agent is doing; no part of the answer.
    Status(String),
    /// The end of the work. Without data, the pieces before it are the answer.
    Over(Result<Option<Data>, HandoffError>),
}

/// Work on one handoff, created by a [`Host`](super::Host). Dropping the value cancels the work.
pub trait Work: fmt::Debug + Send + 'static {
    /// Waits for the next [`Progress`]; nothing comes after [`Progress::Over`]. Cancel-safe.
    fn next(&mut self) -> impl Future<Output = Progress> + Send;

    /// Waits for the whole answer, as one body.
    fn whole(self) -> impl Future<Output = Result<Vec<u8>, HandoffError>> + Send;
}

/// Answers a handoff with its [`Work`], or with the reason for the lack of any.
pub async fn answer<W: Work>(
    work: Result<W, HandoffError>,
    is_framed: bool,
    deadline: Duration,
) -> HandoffReply<W> {
    if is_framed {
        return HandoffReply::Frames(Box::new(Frames::new(work)));
    }
    let outcome = match work {
        Ok(work) => in_time(work, deadline).await,
        Err(trouble) => Err(trouble),
    };
    match outcome {
        Ok(body) => HandoffReply::Whole(body),
        Err(HandoffError::Reported(error)) => HandoffReply::Whole(error.to_json().into_bytes()),
        Err(HandoffError::Cancelled) => HandoffReply::Reset,
    }
}

/// Waits for a plain answer until the deadline.
async fn in_time<W: Work>(work: W, deadline: Duration) -> Result<Vec<u8>, HandoffError> {
    match tokio::time::timeout(deadline, work.whole()).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let text = format!(
                "the agent did not answer within {} s; ask with \"stream\": true, or by the protocol {PROTOCOL_HANDOFF_STREAM}, for work that takes longer",
                deadline.as_secs_f32()
            );
            Err(HandoffError::with_code(504, text))
        }
    }
}
