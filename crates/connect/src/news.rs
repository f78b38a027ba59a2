//! What happens to a connected agent, for whoever looks on.

use std::time::{Duration, Instant};

use jackfield_sdk::Failure;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum News {
    /// The hub has confirmed the agent, for the first time or again.
    Attached,
    /// There is no connection; it is tried again.
    Cut {
        /// Why.
        why: String,
        /// How long until then.
        wait: Duration,
    },
    /// The hub was found at another address.
    Moved {
        /// The hub's URL.
        hub: String,
    },
    /// A message came.
    Came {
        /// Its request.
        request: String,
        /// Who called.
        caller: Option<String>,
        /// The conversation.
        session: String,
    },
    /// It waits for a place on this machine.
    Waiting {
        /// Its request.
        request: String,
        /// How many wait before it.
        ahead: usize,
    },
    /// The work on it has ended.
    Ended {
        /// Its request.
        request: String,
        /// Who called.
        caller: Option<String>,
        /// How.
        how: Ended,
        /// How long it took.
        took: Duration,
    },
}

/// How the work on a message ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It is done.
    Done,
    /// It failed.
    Failed(Failure),
    /// Somebody cancelled it, or the agent leaves.
    Cancelled,
}

/// Whoever looks on.
pub type Listener = std::sync::Arc<dyn Fn(News) + Send + Sync>;

/// Tells that a message came, and how the work on it ended: cancelled, if nothing else was said.
pub(crate) struct Telling {
    listener: Listener,
    request: String,
    caller: Option<String>,
    since: Instant,
    how: Ended,
}

impl Telling {
    pub(crate) fn begin(listener: Listener, message: &jackfield_sdk::Message) -> Self {
        listener(News::Came {
            request: message.request_id.clone(),
            caller: message.caller.clone(),
            session: message.session.clone(),
        });
        Self {
            listener,
            request: message.request_id.clone(),
            caller: message.caller.clone(),
            since: Instant::now(),
            how: Ended::Cancelled,
        }
    }

    pub(crate) fn end(mut self, result: &Result<(), Failure>) {
        self.how = match result {
            Ok(()) => Ended::Done,
            Err(failure) => Ended::Failed(failure.clone()),
        };
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        (self.listener)(News::Ended {
            request: std::mem::take(&mut self.request),
            caller: self.caller.take(),
            how: self.how.clone(),
            took: self.since.elapsed(),
        });
    }
}
