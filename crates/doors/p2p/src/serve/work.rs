//! The work that a handoff becomes at the hub: a call, a request to an agent behind HTTP, or a known answer.

use std::{mem, sync::Arc};

use jackfield_kit::files::Files;
use jackfield_peer::{
    failure::HandoffError,
    serve::{Progress, Work},
    wire::Data,
};
use jackfield_sidecar::Fetch;

use super::listen::{CallListener, CallProgress};
use crate::translate::data_from_parts;

/// Work on a handoff. Dropping it cancels the work.
#[derive(Debug)]
pub(crate) enum HandoffWork {
    /// A call to an agent, and the store of its files.
    Call(CallListener, Arc<Files>),
    /// A request to an agent behind HTTP.
    Fetch(Fetch),
    /// A known answer.
    Known(String),
}

impl Work for HandoffWork {
    async fn next(&mut self) -> Progress {
        match self {
            Self::Call(listening, files) => match listening.next().await {
                CallProgress::Text(text) => Progress::Text(text),
                CallProgress::Status(text) => Progress::Status(text),
                CallProgress::Over(outcome) => {
                    let outcome = outcome.map(|parts| Some(data_from_parts(parts, files)));
                    Progress::Over(outcome.map_err(HandoffError::from))
                }
            },
            Self::Fetch(fetch) => fetch.next().await,
            Self::Known(text) => Progress::Over(Ok(Some(Data::from_text(mem::take(text))))),
        }
    }

    async fn whole(self) -> Result<Vec<u8>, HandoffError> {
        match self {
            Self::Known(text) => Ok(text.into_bytes()),
            Self::Fetch(fetch) => fetch.whole().await,
            Self::Call(listening, files) => {
                let parts = listening.whole().await?;
                let data = data_from_parts(parts, &files);
                Ok(data.as_str().as_bytes().to_vec())
            }
        }
    }
}
