//! Signals of callers about file transfers, and the agent's answers over its own connection.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use jackfield_wire::bridge::uplink::{self, RtcSignal};
use serde_json::{Value, value::to_raw_value};
use tokio::sync::mpsc;

/// Signals that may wait to be sent: enough for several negotiations at once.
const WAITING: usize = 256;

/// A signal of a caller about a file transfer. `Debug` shows neither payload nor credentials.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallerSignal {
    /// Id of the transfer.
    pub transfer_id: String,
    /// Sender of the signal: an agent's id, or `http-caller`. Answers go to this id.
    pub from_agent_id: String,
    /// Type of the signal: `offer`, `candidate`, `prepare-upload`, `relay`, or a type that both peers agree
    /// on.
    pub signal_type: String,
    /// Content of the signal.
    pub payload: Option<String>,
    /// Client name to which the files belong.
    pub client_id: Option<String>,
    /// ICE servers for a direct connection, with credentials. Valid for this transfer only.
    pub ice_servers: Option<Value>,
}

impl fmt::Debug for CallerSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("transfer_id", &self.transfer_id)
            .field("from_agent_id", &self.from_agent_id)
            .field("signal_type", &self.signal_type)
            .finish_non_exhaustive()
    }
}

/// Why a signal was not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// The agent is not connected to the hub.
    #[error("the agent is not connected to the hub")]
    Cut,
    /// Too many signals are waiting to be sent.
    #[error("too many signals wait to go out")]
    Full,
}

/// Sends signals about transfers over the agent's connection. Signals are not stored: unsent signals are lost
/// with the connection, and the peer asks again.
#[derive(Debug, Clone)]
pub struct Signaller {
    frames: mpsc::Sender<String>,
    is_attached: Arc<AtomicBool>,
}

impl Signaller {
    /// Sends a signal about a transfer to its peer: `to` is the [`CallerSignal::from_agent_id`] of the peer's
    /// signal.
    pub fn send(
        &self,
        transfer_id: &str,
        to: &str,
        signal_type: &str,
        payload: Option<&str>,
    ) -> Result<(), SignalError> {
        if !self.is_attached.load(Ordering::Acquire) {
            return Err(SignalError::Cut);
        }
        let payload = payload.and_then(|text| to_raw_value(text).ok());
        let frame = uplink::rtc_signal(&RtcSignal {
            transfer_id: transfer_id.into(),
            target_agent_id: to.into(),
            signal_type: signal_type.into(),
            payload: payload.as_deref(),
            extra: Vec::new(),
        });
        self.frames.try_send(frame).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => SignalError::Full,
            mpsc::error::TrySendError::Closed(_) => SignalError::Cut,
        })
    }
}

/// Queue of outgoing signals, read by the current connection.
#[derive(Debug)]
pub(crate) struct SignalQueue {
    signaller: Signaller,
    frames: mpsc::Receiver<String>,
}

impl Default for SignalQueue {
    fn default() -> Self {
        let (sender, frames) = mpsc::channel(WAITING);
        let signaller = Signaller {
            frames: sender,
            is_attached: Arc::default(),
        };
        Self { signaller, frames }
    }
}

impl SignalQueue {
    /// Returns a sender for this queue.
    pub(crate) fn signaller(&self) -> Signaller {
        self.signaller.clone()
    }

    /// Marks the agent as connected or disconnected. Drops queued signals: they belong to the previous
    /// connection.
    pub(crate) fn set_attached(&mut self, is_attached: bool) {
        self.signaller.is_attached.store(false, Ordering::Release);
        while self.frames.try_recv().is_ok() {}
        self.signaller
            .is_attached
            .store(is_attached, Ordering::Release);
    }

    /// Polls the next frame.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        match self.frames.poll_recv(cx) {
            Poll::Ready(Some(frame)) => Poll::Ready(frame),
            // `self` holds a sender, so the channel never closes.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}
