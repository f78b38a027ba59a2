//! [`AgentSignalling`], the signalling with the agent of a transfer: a background task polls the hub all the time and sorts the
//! signals. No polled signal is lost if a receiver stops waiting.

use std::time::Duration;

use jackfield_sdk::{Error, FileTransfer, ReceivedSignal, ReceivedSignals};
use jackfield_transfer::{
    ChannelError,
    rtc::{SignalKind, Signalling, ice_server_urls},
    signal::{POLL, StatusSignal},
};
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::attempt::AttemptError;
use crate::output;

/// Time limit of one poll.
const WAIT: Duration = Duration::from_secs(20);
/// Pause after a failed poll.
const PAUSE: Duration = Duration::from_millis(500);
/// Time limit for the other side to send a reason for a lost connection.
pub(super) const REASON: Duration = Duration::from_secs(1);
/// Capacity of each queue of signals.
const ROOM: usize = 128;

/// State of a transfer: a [`StatusSignal`] of the agent, or the refusal of the hub.
#[derive(Debug)]
pub(super) enum TransferStatus {
    /// The agent expects the archive, and has this many bytes already.
    Prepared(u64),
    /// The agent has verified and unpacked the archive.
    Received,
    /// The transfer was interrupted.
    Interrupted(String),
    /// The transfer failed permanently.
    Failed(AttemptError),
}

/// Signalling connection with the agent of a transfer.
#[derive(Debug)]
pub(super) struct AgentSignalling {
    pub(super) ways: ChannelSignals,
    pub(super) ice_servers: Vec<String>,
    words: mpsc::Receiver<TransferStatus>,
    _listening: JoinSet<()>,
}

/// Signals for establishing a channel.
#[derive(Debug)]
pub(super) struct ChannelSignals {
    transfer: FileTransfer,
    heard: mpsc::Receiver<(SignalKind, String)>,
    ears: SignalSenders,
}

impl AgentSignalling {
    /// Opens the signalling for a new attempt; older signals are discarded.
    pub(super) async fn reopen(transfer: &FileTransfer) -> Result<Self, AttemptError> {
        let before = transfer.signal(POLL, None, Duration::ZERO).await?;
        Ok(Self::open(transfer, before.ice_servers.as_ref()))
    }

    /// Opens the signalling for a transfer that was just announced.
    pub(super) fn open(transfer: &FileTransfer, ice_servers: Option<&Value>) -> Self {
        let (ways, heard) = mpsc::channel(ROOM);
        let (words, said) = mpsc::channel(ROOM);
        let ears = SignalSenders { ways, words };
        let mut listening = JoinSet::new();
        listening.spawn(listen(transfer.clone(), ears.clone()));
        Self {
            ways: ChannelSignals {
                transfer: transfer.clone(),
                heard,
                ears,
            },
            ice_servers: ice_servers.map(ice_server_urls).unwrap_or_default(),
            words: said,
            _listening: listening,
        }
    }

    /// Waits for the next status signal ([`TransferStatus`]).
    pub(super) async fn next_status(&mut self) -> TransferStatus {
        next(&mut self.words).await
    }

    /// Waits until the agent is ready for an upload, and returns the number of bytes that it has. Skips reports about an
    /// earlier attempt, which may arrive late.
    pub(super) async fn prepared(&mut self) -> Result<u64, AttemptError> {
        loop {
            match self.next_status().await {
                TransferStatus::Prepared(received) => return Ok(received),
                TransferStatus::Failed(why) => return Err(why),
                TransferStatus::Received | TransferStatus::Interrupted(_) => {}
            }
        }
    }

    /// Returns why a transfer through the hub was interrupted, if a reason arrives soon.
    pub(super) async fn why_cut(&mut self) -> AttemptError {
        match timeout(REASON, self.next_status()).await {
            Ok(TransferStatus::Interrupted(why)) => AttemptError::cut(why),
            Ok(TransferStatus::Failed(why)) => why,
            _ => AttemptError::cut("the transfer through the hub was interrupted"),
        }
    }

    /// Runs `work`, and cancels it if the agent reports a permanent failure.
    pub(super) async fn unless_refused<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut ChannelSignals, &[String]) -> Result<T, AttemptError>,
    ) -> Result<T, AttemptError> {
        let Self {
            ways,
            ice_servers,
            words,
            ..
        } = self;
        let refused = async {
            loop {
                if let TransferStatus::Failed(why) = next(words).await {
                    return why;
                }
            }
        };
        tokio::select! {
            done = work(ways, ice_servers) => done,
            why = refused => Err(why),
        }
    }
}

/// Waits for a status signal. The sender lives as long as the receiver, so the channel never closes.
async fn next(words: &mut mpsc::Receiver<TransferStatus>) -> TransferStatus {
    match words.recv().await {
        Some(word) => word,
        None => std::future::pending().await,
    }
}

impl Signalling for ChannelSignals {
    async fn send(&mut self, kind: SignalKind, payload: String) -> Result<(), ChannelError> {
        let said = self
            .transfer
            .signal(kind.as_str(), Some(&payload), Duration::ZERO);
        match said.await {
            Ok(said) => {
                self.ears.sort(said);
                Ok(())
            }
            Err(error) => Err(ChannelError::NoRoute(error.to_string())),
        }
    }

    async fn next(&mut self) -> Option<(SignalKind, String)> {
        self.heard.recv().await
    }
}

/// Senders for the sorted signals, to [`ChannelSignals`] and [`AgentSignalling`].
#[derive(Debug, Clone)]
struct SignalSenders {
    ways: mpsc::Sender<(SignalKind, String)>,
    words: mpsc::Sender<TransferStatus>,
}

impl SignalSenders {
    /// Sorts the agent's signals. Signals above the capacity are dropped; an honest agent sends fewer.
    fn sort(&self, said: ReceivedSignals) {
        for ReceivedSignal {
            signal_type,
            payload,
        } in said.signals
        {
            let Some(Value::String(text)) = payload else {
                continue;
            };
            if let Ok(kind) = signal_type.parse() {
                self.ways.try_send((kind, text)).ok();
            } else if let Some(status) = StatusSignal::read(&signal_type, &text) {
                self.words.try_send(status.into()).ok();
            }
        }
    }
}

impl From<StatusSignal> for TransferStatus {
    fn from(signal: StatusSignal) -> Self {
        match signal {
            StatusSignal::Prepared(received) => Self::Prepared(received),
            StatusSignal::Received(_) => Self::Received,
            StatusSignal::Interrupted(reason) => Self::Interrupted(output::clean(&reason)),
            StatusSignal::Failed(reason) => Self::Failed(AttemptError::said(&reason)),
        }
    }
}

/// Polls the agent's signals until the hub refuses.
async fn listen(transfer: FileTransfer, ears: SignalSenders) {
    loop {
        match transfer.signal(POLL, None, WAIT).await {
            Ok(said) => ears.sort(said),
            Err(error @ Error::Refused { .. }) if !error.is_retryable() => {
                ears.words
                    .send(TransferStatus::Failed(error.into()))
                    .await
                    .ok();
                return;
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}
