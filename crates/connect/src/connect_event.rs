//! Events of a connected agent ([`Connect`](crate::Connect)), for display.

use std::time::{Duration, Instant};

use jackfield_sdk::AgentFailure;

/// An event of a connected agent.
#[derive(Debug, Clone)]
pub enum ConnectEvent {
    /// The hub has confirmed the agent, for the first time or after a reconnect.
    Attached,
    /// The connection is lost or failed; a retry follows.
    Cut {
        /// Cause of the failure.
        why: String,
        /// Time until the next attempt.
        wait: Duration,
    },
    /// The hub was found at a new address.
    Moved {
        /// URL of the hub.
        hub: String,
    },
    /// A message arrived.
    Came {
        /// Id of the request.
        request: String,
        /// The caller.
        caller: Option<String>,
        /// Id of the conversation.
        session: String,
    },
    /// A message waits for a slot of the machine-wide queue.
    Waiting {
        /// Id of the request.
        request: String,
        /// Number of messages ahead.
        ahead: usize,
    },
    /// The work on a message has ended.
    Ended {
        /// Id of the request.
        request: String,
        /// The caller.
        caller: Option<String>,
        /// Outcome of the work.
        how: MessageOutcome,
        /// Duration of the work.
        took: Duration,
    },
}

/// Outcome of the work on a message ([`ConnectEvent::Ended`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageOutcome {
    /// Completed.
    Done,
    /// Failed.
    Failed(AgentFailure),
    /// Cancelled by the caller, or because the agent detaches.
    Cancelled,
}

/// Callback for [`ConnectEvent`].
pub type ConnectListener = std::sync::Arc<dyn Fn(ConnectEvent) + Send + Sync>;

/// Reports the arrival of a message and, on drop, the outcome of its work: cancelled unless
/// [`end`](Self::end) was called.
pub(crate) struct MessageReport {
    listener: ConnectListener,
    request: String,
    caller: Option<String>,
    since: Instant,
    how: MessageOutcome,
}

impl MessageReport {
    pub(crate) fn begin(listener: ConnectListener, message: &jackfield_sdk::Message) -> Self {
        listener(ConnectEvent::Came {
            request: message.request_id.clone(),
            caller: message.caller.clone(),
            session: message.session.clone(),
        });
        Self {
            listener,
            request: message.request_id.clone(),
            caller: message.caller.clone(),
            since: Instant::now(),
            how: MessageOutcome::Cancelled,
        }
    }

    pub(crate) fn end(mut self, result: &Result<(), AgentFailure>) {
        self.how = match result {
            Ok(()) => MessageOutcome::Done,
            Err(failure) => MessageOutcome::Failed(failure.clone()),
        };
    }
}

impl Drop for MessageReport {
    fn drop(&mut self) {
        (self.listener)(ConnectEvent::Ended {
            request: std::mem::take(&mut self.request),
            caller: self.caller.take(),
            how: self.how.clone(),
            took: self.since.elapsed(),
        });
    }
}
