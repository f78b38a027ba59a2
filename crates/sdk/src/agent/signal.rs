//! What callers say to the agent about transfers of files, and how it answers: over its own connection, at any time.

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

/// How many signals may wait to go out: several negotiations at once.
const WAITING: usize = 256;

/// What somebody says to the agent about a transfer. `Debug` shows neither content nor credentials.
#[derive(Clone)]
#[non_exhaustive]
pub struct Signal {
    /// The transfer.
    pub transfer_id: String,
    /// Who says it: an agent, or `http-caller`. The answer goes there.
    pub from_agent_id: String,
    /// What it is: `offer`, `candidate`, `prepare-upload`, `relay`, or whatever peers agree on.
    pub signal_type: String,
    /// Its content.
    pub payload: Option<String>,
    /// Whose files are meant.
    pub client_id: Option<String>,
    /// Servers for a direct way, with credentials: for this transfer and nothing else.
    pub ice_servers: Option<Value>,
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal")
            .field("transfer_id", &self.transfer_id)
            .field("from_agent_id", &self.from_agent_id)
            .field("signal_type", &self.signal_type)
            .finish_non_exhaustive()
    }
}

/// Why a signal did not go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignalError {
    /// There is no connection to the hub now.
    #[error("the agent is not connected to the hub")]
    Cut,
    /// Too many wait already.
    #[error("too many signals wait to go out")]
    Full,
}

/// Says something about transfers over the agent's connection. Signals are not kept: what has not gone out when the
/// connection is cut is lost, and the other party asks again.
#[derive(Debug, Clone)]
pub struct Signaller {
    frames: mpsc::Sender<String>,
    is_attached: Arc<AtomicBool>,
}

impl Signaller {
    /// Says something about a transfer to its other party: [`Signal::from_agent_id`].
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

/// Signals on their way out, and the connection that takes them.
#[derive(Debug)]
pub(crate) struct Signals {
    signaller: Signaller,
    frames: mpsc::Receiver<String>,
}

impl Default for Signals {
    fn default() -> Self {
        let (sender, frames) = mpsc::channel(WAITING);
        let signaller = Signaller {
            frames: sender,
            is_attached: Arc::default(),
        };
        Self { signaller, frames }
    }
}

impl Signals {
    /// By which others send.
    pub(crate) fn signaller(&self) -> Signaller {
        self.signaller.clone()
    }

    /// There is a connection, or there is none any more. What waited was for the one before.
    pub(crate) fn set_attached(&mut self, is_attached: bool) {
        self.signaller.is_attached.store(false, Ordering::Release);
        while self.frames.try_recv().is_ok() {}
        self.signaller
            .is_attached
            .store(is_attached, Ordering::Release);
    }

    /// The next frame.
    pub(crate) fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        match self.frames.poll_recv(cx) {
            Poll::Ready(Some(frame)) => Poll::Ready(frame),
            // It holds a sender itself, so that there is never an end.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}
