//! What a handoff has become, and how it is answered: in one body within a deadline, or in frames.

use std::{sync::Arc, time::Duration};

use jackfield_core::files::Files;

use super::{Answer, Frames, Trouble, fetch::Fetch, listen::Listening};
use crate::translate::data_from_parts;
use crate::wire::PROTOCOL_HANDOFF_STREAM;

/// Work on a handoff. Dropping it cancels the work.
#[derive(Debug)]
pub(crate) enum Job {
    /// A call that an agent works on, and where its files are.
    Call(Listening, Arc<Files>),
    /// A request to an agent behind HTTP.
    Fetch(Fetch),
    /// Something that is known already.
    Known(String),
}

impl Job {
    /// Answers a handoff that has become a job, or has not.
    pub(crate) async fn answer(
        job: Result<Self, Trouble>,
        is_framed: bool,
        deadline: Duration,
    ) -> Answer {
        if is_framed {
            return Answer::Frames(Box::new(Frames::new(job)));
        }
        let outcome = match job {
            Ok(job) => job.finish(deadline).await,
            Err(trouble) => Err(trouble),
        };
        match outcome {
            Ok(body) => Answer::Whole(body),
            Err(Trouble::Told(error)) => Answer::Whole(error.to_json().into_bytes()),
            Err(Trouble::Cancelled) => Answer::Reset,
        }
    }

    /// Waits for a plain answer.
    async fn finish(self, deadline: Duration) -> Result<Vec<u8>, Trouble> {
        let work = async {
            match self {
                Self::Known(text) => Ok(text.into_bytes()),
                Self::Fetch(fetch) => fetch.whole().await,
                Self::Call(listening, files) => {
                    let parts = listening.whole().await?;
                    let data = data_from_parts(parts, &files);
                    Ok(data.as_str().as_bytes().to_vec())
                }
            }
        };
        match tokio::time::timeout(deadline, work).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let text = format!(
                    "the agent did not answer within {} s; ask with \"stream\": true, or by the protocol {PROTOCOL_HANDOFF_STREAM}, for work that takes longer",
                    deadline.as_secs_f32()
                );
                Err(Trouble::coded(504, text))
            }
        }
    }
}
