//! [`Line`], the signalling with the agent of a transfer: a background task polls the hub all the time and sorts the
//! signals. No polled signal is lost if a receiver stops waiting.

use std::time::Duration;

use jackfield_files::{
    ChannelError,
    rtc::{Kind, Signalling, ice_server_urls},
};
use jackfield_sdk::{Error, Said, SaidSignal, Transfer};
use serde::Deserialize;
use serde_json::Value;
use tokio::{
    sync::mpsc,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::trouble::Trouble;
use crate::output;

/// Time limit of one poll.
const WAIT: Duration = Duration::from_secs(20);
/// Pause after a failed poll.
const PAUSE: Duration = Duration::from_millis(500);
/// Time limit for the other side to send a reason for a lost connection.
pub(super) const REASON: Duration = Duration::from_secs(1);
/// Capacity of each queue of signals.
const ROOM: usize = 128;

/// A status signal of the agent, besides the signals for a channel. Only our own agents send them.
#[derive(Debug)]
pub(super) enum Word {
    /// The agent expects the archive, and has this many bytes already.
    Prepared(u64),
    /// The agent has verified and unpacked the archive.
    Received,
    /// The transfer was interrupted.
    Interrupted(String),
    /// The transfer failed permanently.
    Failed(Trouble),
}

/// Signalling connection with the agent of a transfer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) ways: Ways,
    pub(super) ice_servers: Vec<String>,
    words: mpsc::Receiver<Word>,
    _listening: JoinSet<()>,
}

/// Signals for establishing a channel.
#[derive(Debug)]
pub(super) struct Ways {
    transfer: Transfer,
    heard: mpsc::Receiver<(Kind, String)>,
    ears: Ears,
}

impl Line {
    /// Opens the signalling for a new attempt; older signals are discarded.
    pub(super) async fn anew(transfer: &Transfer) -> Result<Self, Trouble> {
        let before = transfer.signal("poll", None, Duration::ZERO).await?;
        Ok(Self::open(transfer, before.ice_servers.as_ref()))
    }

    /// Opens the signalling for a transfer that was just announced.
    pub(super) fn open(transfer: &Transfer, ice_servers: Option<&Value>) -> Self {
        let (ways, heard) = mpsc::channel(ROOM);
        let (words, said) = mpsc::channel(ROOM);
        let ears = Ears { ways, words };
        let mut listening = JoinSet::new();
        listening.spawn(listen(transfer.clone(), ears.clone()));
        Self {
            ways: Ways {
                transfer: transfer.clone(),
                heard,
                ears,
            },
            ice_servers: ice_servers.map(ice_server_urls).unwrap_or_default(),
            words: said,
            _listening: listening,
        }
    }

    /// Waits for the next status signal ([`Word`]).
    pub(super) async fn word(&mut self) -> Word {
        next(&mut self.words).await
    }

    /// Returns why a transfer through the hub was interrupted, if a reason arrives soon.
    pub(super) async fn why_cut(&mut self) -> Trouble {
        match timeout(REASON, self.word()).await {
            Ok(Word::Interrupted(why)) => Trouble::cut(why),
            Ok(Word::Failed(why)) => why,
            _ => Trouble::cut("the transfer through the hub was interrupted"),
        }
    }

    /// Runs `work`, and cancels it if the agent reports a permanent failure.
    pub(super) async fn unless_refused<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Ways, &[String]) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let Self {
            ways,
            ice_servers,
            words,
            ..
        } = self;
        let refused = async {
            loop {
                if let Word::Failed(why) = next(words).await {
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
async fn next(words: &mut mpsc::Receiver<Word>) -> Word {
    match words.recv().await {
        Some(word) => word,
        None => std::future::pending().await,
    }
}

impl Signalling for Ways {
    async fn send(&mut self, kind: Kind, payload: String) -> Result<(), ChannelError> {
        let said = self
            .transfer
            .signal(kind.as_str(), Some(&payload), Duration::ZERO);
        match said.await {
            Ok(said) => {
                self.ears.hear(said);
                Ok(())
            }
            Err(error) => Err(ChannelError::NoWay(error.to_string())),
        }
    }

    async fn next(&mut self) -> Option<(Kind, String)> {
        self.heard.recv().await
    }
}

/// Senders for the sorted signals, to [`Ways`] and [`Line`].
#[derive(Debug, Clone)]
struct Ears {
    ways: mpsc::Sender<(Kind, String)>,
    words: mpsc::Sender<Word>,
}

impl Ears {
    /// Sorts the agent's signals. Signals above the capacity are dropped; an honest agent sends fewer.
    fn hear(&self, said: Said) {
        for SaidSignal {
            signal_type,
            payload,
        } in said.signals
        {
            let Some(Value::String(text)) = payload else {
                continue;
            };
            if let Ok(kind) = signal_type.parse() {
                self.ways.try_send((kind, text)).ok();
            } else if let Some(word) = read(&signal_type, &text) {
                self.words.try_send(word).ok();
            }
        }
    }
}

fn read(kind: &str, text: &str) -> Option<Word> {
    #[derive(Deserialize)]
    struct Payload {
        #[serde(default)]
        received: u64,
        #[serde(default)]
        reason: String,
    }
    let payload: Payload = serde_json::from_str(text).ok()?;
    match kind {
        "prepared" => Some(Word::Prepared(payload.received)),
        "received" => Some(Word::Received),
        "interrupted" => Some(Word::Interrupted(output::clean(&payload.reason))),
        "failed" => Some(Word::Failed(Trouble::said(&payload.reason))),
        _ => None,
    }
}

/// Polls the agent's signals until the hub refuses.
async fn listen(transfer: Transfer, ears: Ears) {
    loop {
        match transfer.signal("poll", None, WAIT).await {
            Ok(said) => ears.hear(said),
            Err(error @ Error::Refused { .. }) if !error.is_passing() => {
                ears.words.send(Word::Failed(error.into())).await.ok();
                return;
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}
