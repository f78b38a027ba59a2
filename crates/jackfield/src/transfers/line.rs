//! What the agent says about a transfer, as it comes: fetched from the hub all the time, and sorted. A signal that was
//! fetched is not lost, whoever stops listening meanwhile.

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

/// How long one request waits.
const WAIT: Duration = Duration::from_secs(20);
/// How long to wait after one that did not work.
const PAUSE: Duration = Duration::from_millis(500);
/// How long somebody may take to say why it was cut.
pub(super) const REASON: Duration = Duration::from_secs(1);
/// How much may wait to be read.
const ROOM: usize = 128;

/// What agents of ours say besides what leads to a channel.
#[derive(Debug)]
pub(super) enum Word {
    /// It expects the archive, and has so much of it.
    Prepared(u64),
    /// It has it, verified and unpacked.
    Received,
    /// It was cut off in the middle.
    Interrupted(String),
    /// There is no use in going on.
    Failed(Trouble),
}

/// The way to the agent of a transfer.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) ways: Ways,
    pub(super) ice_servers: Vec<String>,
    words: mpsc::Receiver<Word>,
    _listening: JoinSet<()>,
}

/// What leads to a channel.
#[derive(Debug)]
pub(super) struct Ways {
    transfer: Transfer,
    heard: mpsc::Receiver<(Kind, String)>,
    ears: Ears,
}

impl Line {
    /// For a new try: what was said before is forgotten.
    pub(super) async fn anew(transfer: &Transfer) -> Result<Self, Trouble> {
        let before = transfer.signal("poll", None, Duration::ZERO).await?;
        Ok(Self::open(transfer, before.ice_servers.as_ref()))
    }

    /// For a transfer that was announced just now.
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

    /// The next word.
    pub(super) async fn word(&mut self) -> Word {
        next(&mut self.words).await
    }

    /// Why an archive broke off on its way through the hub, if somebody says so soon.
    pub(super) async fn why_cut(&mut self) -> Trouble {
        match timeout(REASON, self.word()).await {
            Ok(Word::Interrupted(why)) => Trouble::cut(why),
            Ok(Word::Failed(why)) => why,
            _ => Trouble::cut("it broke off on its way through the hub"),
        }
    }

    /// Does something that is of no use any more if the agent says so.
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

/// The ears are there as long as the line is, so there is never an end.
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

/// Where signals go.
#[derive(Debug, Clone)]
struct Ears {
    ways: mpsc::Sender<(Kind, String)>,
    words: mpsc::Sender<Word>,
}

impl Ears {
    /// Sorts what the agent said. What does not fit is more than an honest agent says.
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

/// Fetches what the agent says until the hub says no.
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
