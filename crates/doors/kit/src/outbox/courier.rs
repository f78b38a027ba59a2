//! The loop that delivers the outbox: one attempt at a time per destination and per lane, with a limit on the
//! total. An attempt cut off by a shutdown is repeated after the next start, with the same `Idempotency-Key`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_core::{
    hub::Hub,
    outbox::{OutboxRow, Settled},
};
use jiff::Timestamp;
use tokio::task::{Id, JoinError, JoinSet};

use super::{
    CallbackKey, CallbackPost, ComposeError, Composer,
    claims::{DeliveryClaim, DeliveryClaims},
    sign,
};
use crate::{
    outbound::{Outbound, OutboundError, PostResponse},
    tasks::Tasks,
};

/// Maximum number of simultaneous deliveries, to different destinations. Each destination that accepts and
/// never answers holds a slot for the whole timeout, so the limit must be well above a few.
pub(super) const AT_ONCE: usize = 64;

/// Number of due callbacks read at once: with several per destination, enough to find destinations that are
/// not busy.
const LOOKED_AT: usize = 256;

/// Pause after a failure of the store, and after a delivery that panicked.
const PAUSE: Duration = Duration::from_secs(5);

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Delivers the callbacks of all doors.
#[derive(Debug)]
pub struct Courier {
    hub: Hub,
    outbound: Outbound,
    key: CallbackKey,
    composers: HashMap<&'static str, Arc<dyn Composer>>,
}

impl Courier {
    /// Creates a courier without doors. Its [`Outbound`] client checks every URL again.
    pub fn new(hub: Hub, outbound: Outbound, key: CallbackKey) -> Self {
        Self {
            hub,
            outbound,
            key,
            composers: HashMap::new(),
        }
    }

    /// Adds the [`Composer`] of a door, whose callbacks are then delivered too.
    #[must_use]
    pub fn with(mut self, composer: Arc<dyn Composer>) -> Self {
        self.composers.insert(composer.kind(), composer);
        self
    }

    /// Starts delivering as one of `tasks`. A hub needs exactly one courier: two would post everything twice.
    pub fn start(self, tasks: &Tasks) {
        let stop = tasks.stop_token().clone();
        let deliveries = Deliveries {
            courier: Arc::new(self),
            posting: JoinSet::new(),
            claims: DeliveryClaims::default(),
        };
        tasks.spawn(async move { stop.run_until_cancelled(deliveries.run()).await });
    }

    /// Attempts one callback and records the result.
    async fn attempt(&self, row: OutboxRow) {
        let origin = row.callback.origin();
        let settled = self.deliver(&row).await;
        match &settled {
            Settled::Delivered => tracing::debug!(task = %row.task, origin, "callback delivered"),
            Settled::Retry { at, error } => {
                tracing::debug!(task = %row.task, origin, %at, error, "callback failed, trying again");
            }
            Settled::Dead { error } => {
                tracing::warn!(task = %row.task, origin, error, "callback given up; see `jackfield task resend`");
            }
        }
        if let Err(error) = self.hub.callbacks().settle(row.id, settled).await {
            tracing::error!(task = %row.task, %error, "what became of a callback could not be written");
            // The callback is still due. The pause keeps a broken disk from causing a flood of posts.
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn deliver(&self, row: &OutboxRow) -> Settled {
        let later = |why, retry_after| {
            row.after_failure(Timestamp::now(), rand::random(), retry_after, why)
        };
        let letters = match self.compose(row).await {
            Ok(letters) => letters,
            Err(ComposeError::ForGood(error)) => return Settled::Dead { error },
            Err(ComposeError::ForNow(why)) => return later(why, None),
        };
        for (place, letter) in letters.into_iter().enumerate() {
            let headers = self.headers(row, place, &letter);
            let posted = self.outbound.post(&row.callback.url, headers, letter.body);
            match posted.await {
                Ok(answer) if answer.status.is_success() => {}
                Ok(answer) => {
                    let PostResponse {
                        status,
                        retry_after,
                        ..
                    } = answer;
                    let why = format!("it answered {status}");
                    return match status {
                        StatusCode::GONE => Settled::Dead { error: why },
                        _ => later(why, retry_after),
                    };
                }
                Err(error) if error.is_refusal() => return dead(&error),
                Err(error) => return later(error.to_string(), None),
            }
        }
        Settled::Delivered
    }

    async fn compose(&self, row: &OutboxRow) -> Result<Vec<CallbackPost>, ComposeError> {
        let kind = row.callback.kind.as_str();
        match self.composers.get(kind) {
            Some(composer) => composer.compose(row).await,
            // A hub with more doors may have queued the callback, and may run again later.
            None => Err(ComposeError::temporary(format!(
                "this hub does not know callbacks of the kind {kind:?}"
            ))),
        }
    }

    /// Builds the headers of a letter. The first letter of a callback carries the callback's id, each further
    /// one appends its index.
    fn headers(&self, row: &OutboxRow, place: usize, letter: &CallbackPost) -> HeaderMap {
        let id = match place {
            0 => row.id.to_string(),
            place => format!("{}-{place}", row.id),
        };
        let signature = self
            .key
            .sign(Timestamp::now().as_second(), &id, &letter.body);
        let mut headers = letter.headers.clone();
        for (name, text) in [(IDEMPOTENCY_KEY, id), (sign::HEADER, signature)] {
            let value =
                HeaderValue::try_from(text).expect("an id and hex digits are visible ASCII");
            headers.insert(name, value);
        }
        headers
    }
}

/// Gives up a callback refused by the hub's own rules, which do not change.
fn dead(error: &OutboundError) -> Settled {
    Settled::Dead {
        error: error.to_string(),
    }
}

/// Deliveries in progress.
struct Deliveries {
    courier: Arc<Courier>,
    posting: JoinSet<()>,
    claims: DeliveryClaims,
}

impl Deliveries {
    async fn run(mut self) {
        let callbacks = self.courier.hub.callbacks().clone();
        loop {
            let looked = callbacks.due(LOOKED_AT).await.map(|due| self.send(due));
            // A delivered callback may have had a successor: then the outbox is read again at once.
            let waited = tokio::select! {
                Some(posted) = self.posting.join_next_with_id(), if !self.posting.is_empty() => {
                    self.forget(posted);
                    Ok(())
                }
                waited = callbacks.wait() => waited,
            };
            if let Err(error) = looked.and(waited) {
                tracing::error!(%error, "the outbox could not be read");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }

    /// Starts the deliveries that are possible now. The rest is found again when a delivery ends.
    fn send(&mut self, due: Vec<OutboxRow>) {
        for row in due {
            if self.posting.len() >= AT_ONCE {
                return;
            }
            let claim = DeliveryClaim::of(&row);
            if self.claims.allow(&claim) {
                let courier = self.courier.clone();
                let posting = self
                    .posting
                    .spawn(async move { courier.attempt(row).await });
                self.claims.take(posting.id(), claim);
            }
        }
    }

    fn forget(&mut self, posted: Result<(Id, ()), JoinError>) {
        match posted {
            Ok((id, ())) => drop(self.claims.release(id)),
            Err(error) => {
                tracing::error!(%error, "a delivery broke off");
                if let Some(claim) = self.claims.release(error.id()) {
                    // The callback is still due and would most likely panic again: hold its claim for a
                    // pause.
                    let pause = self.posting.spawn(tokio::time::sleep(PAUSE));
                    self.claims.take(pause.id(), claim);
                }
            }
        }
    }
}
