//! The loop that empties the outbox: one try at a time to each destination and in each lane, a few in all. A try that
//! a stop cuts off is repeated after the next start, with the same `Idempotency-Key`.

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, StatusCode};
use jackfield_core::{
    hub::Hub,
    outbox::{OutboxRow, Settled},
};
use jiff::Timestamp;
use tokio::task::{Id, JoinError, JoinSet};

use super::{
    CallbackKey, Composer, Letter, Undelivered,
    claims::{Claim, Claims},
    sign,
};
use crate::{
    outbound::{Answer, Outbound, OutboundError},
    tasks::Tasks,
};

/// How many callbacks are on their way at once, to different destinations. Each that takes and says nothing holds a place
/// for its whole time limit, so that there must be many more than a few.
pub(super) const AT_ONCE: usize = 64;

/// How many are looked at: with some to each destination, enough to find others than those that are busy.
const LOOKED_AT: usize = 256;

/// How long to leave a store alone that failed, and a callback whose delivery broke off.
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
    /// A courier that knows no door yet. Its outbound client judges every URL once more.
    pub fn new(hub: Hub, outbound: Outbound, key: CallbackKey) -> Self {
        Self {
            hub,
            outbound,
            key,
            composers: HashMap::new(),
        }
    }

    /// Delivers what this door puts into the outbox too.
    #[must_use]
    pub fn with(mut self, composer: Arc<dyn Composer>) -> Self {
        self.composers.insert(composer.kind(), composer);
        self
    }

    /// Delivers as long as the tasks run, of which it is one. One courier per hub: two would post everything twice.
    pub fn start(self, tasks: &Tasks) {
        let stop = tasks.stop_token().clone();
        let deliveries = Deliveries {
            courier: Arc::new(self),
            posting: JoinSet::new(),
            claims: Claims::default(),
        };
        tasks.spawn(async move { stop.run_until_cancelled(deliveries.run()).await });
    }

    /// Tries one callback and writes down what became of it.
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
            // It is still due: not at once, so that a broken disk does not become a flood of posts.
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn deliver(&self, row: &OutboxRow) -> Settled {
        let later = |why, retry_after| {
            row.after_failure(Timestamp::now(), rand::random(), retry_after, why)
        };
        let letters = match self.compose(row).await {
            Ok(letters) => letters,
            Err(Undelivered::ForGood(error)) => return Settled::Dead { error },
            Err(Undelivered::ForNow(why)) => return later(why, None),
        };
        for (place, letter) in letters.into_iter().enumerate() {
            let headers = self.headers(row, place, &letter);
            let posted = self.outbound.post(&row.callback.url, headers, letter.body);
            match posted.await {
                Ok(answer) if answer.status.is_success() => {}
                Ok(answer) => {
                    let Answer {
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

    async fn compose(&self, row: &OutboxRow) -> Result<Vec<Letter>, Undelivered> {
        let kind = row.callback.kind.as_str();
        match self.composers.get(kind) {
            Some(composer) => composer.compose(row).await,
            // It may have been put there by a hub that had more doors, and may be found by one again.
            None => Err(Undelivered::for_now(format!(
                "this hub does not know callbacks of the kind {kind:?}"
            ))),
        }
    }

    /// The first letter of a callback bears its id, each further one its number besides.
    fn headers(&self, row: &OutboxRow, place: usize, letter: &Letter) -> HeaderMap {
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

/// What our own rules refuse stays refused.
fn dead(error: &OutboundError) -> Settled {
    Settled::Dead {
        error: error.to_string(),
    }
}

/// The callbacks that are on their way.
struct Deliveries {
    courier: Arc<Courier>,
    posting: JoinSet<()>,
    claims: Claims,
}

impl Deliveries {
    async fn run(mut self) {
        let callbacks = self.courier.hub.callbacks().clone();
        loop {
            let looked = callbacks.due(LOOKED_AT).await.map(|due| self.send(due));
            // What is delivered may have had another behind it: then the next look comes at once.
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

    /// Sends what may be sent now. The rest is found again when something has come back.
    fn send(&mut self, due: Vec<OutboxRow>) {
        for row in due {
            if self.posting.len() >= AT_ONCE {
                return;
            }
            let claim = Claim::of(&row);
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
                    // It is still due, and would most likely break off again: not at once.
                    let pause = self.posting.spawn(tokio::time::sleep(PAUSE));
                    self.claims.take(pause.id(), claim);
                }
            }
        }
    }
}
