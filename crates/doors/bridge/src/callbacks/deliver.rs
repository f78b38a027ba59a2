//! The loop that empties the outbox: one try at a time to each destination, a few in all. A try that a stop cuts off is
//! repeated after the next start, with the same `Idempotency-Key`.

use std::{collections::HashSet, sync::Arc, time::Duration};

use http::{HeaderMap, HeaderValue, StatusCode, header::CONTENT_TYPE};
use jackfield_core::{
    id::CallbackId,
    outbox::{OutboxRow, Settled},
};
use jackfield_kit::outbound::{Answer, OutboundError, origin_of};
use jiff::Timestamp;
use tokio::task::JoinSet;

use super::{KIND, Way, body, sign};
use crate::{
    bridge::Bridge,
    relay::{gather::Gathered, outcome::Outcome},
    secret,
};

/// How many callbacks are on their way at once, to different destinations.
const AT_ONCE: usize = 8;

/// How many are looked at: with some to each destination, enough to find others than those that are busy.
const LOOKED_AT: usize = 64;

/// How long to leave a store alone that failed.
const STORE_PAUSE: Duration = Duration::from_secs(5);

const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Why a try failed.
#[derive(Debug)]
struct Failed {
    why: String,
    retry_after: Option<Duration>,
    /// Trying again would not help.
    is_final: bool,
}

impl Failed {
    fn for_good(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            retry_after: None,
            is_final: true,
        }
    }

    fn for_now(why: impl Into<String>) -> Self {
        Self {
            is_final: false,
            ..Self::for_good(why)
        }
    }
}

/// Delivers callbacks until the hub stops.
pub(super) async fn run(bridge: Arc<Bridge>) {
    let stop = bridge.tasks.stop_token().clone();
    stop.run_until_cancelled(Deliveries::new(bridge).run())
        .await;
}

/// The callbacks that are on their way.
struct Deliveries {
    bridge: Arc<Bridge>,
    posting: JoinSet<(CallbackId, String)>,
    ids: HashSet<CallbackId>,
    origins: HashSet<String>,
}

impl Deliveries {
    fn new(bridge: Arc<Bridge>) -> Self {
        Self {
            bridge,
            posting: JoinSet::new(),
            ids: HashSet::new(),
            origins: HashSet::new(),
        }
    }

    async fn run(mut self) {
        let bridge = self.bridge.clone();
        let callbacks = bridge.hub.callbacks();
        loop {
            let looked = callbacks.due(LOOKED_AT).await.map(|due| self.send(due));
            let waited = tokio::select! {
                Some(posted) = self.posting.join_next(), if !self.posting.is_empty() => {
                    self.forget(posted);
                    Ok(())
                }
                waited = callbacks.wait() => waited,
            };
            if let Err(error) = looked.and(waited) {
                tracing::error!(%error, "the outbox could not be read");
                tokio::time::sleep(STORE_PAUSE).await;
            }
        }
    }

    /// Sends what may be sent now. The rest is found again when something has come back.
    fn send(&mut self, due: Vec<OutboxRow>) {
        for row in due.into_iter().filter(|row| row.callback.kind == KIND) {
            let origin = row.callback.origin();
            if self.posting.len() >= AT_ONCE {
                return;
            }
            if self.ids.contains(&row.id) || !self.origins.insert(origin.clone()) {
                continue;
            }
            self.ids.insert(row.id);
            let bridge = self.bridge.clone();
            self.posting.spawn(async move {
                let id = row.id;
                attempt(&bridge, row).await;
                (id, origin)
            });
        }
    }

    fn forget(&mut self, posted: Result<(CallbackId, String), tokio::task::JoinError>) {
        match posted {
            Ok((id, origin)) => {
                self.ids.remove(&id);
                self.origins.remove(&origin);
            }
            // Whose it was is not known: all may be tried again, which is what their ids are for.
            Err(error) => {
                tracing::error!(%error, "a delivery broke off");
                self.ids.clear();
                self.origins.clear();
            }
        }
    }
}

/// Tries one callback and writes down what became of it.
async fn attempt(bridge: &Bridge, row: OutboxRow) {
    let origin = row.callback.origin();
    let settled = match post(bridge, &row).await {
        Ok(()) => Settled::Delivered,
        Err(failed) if failed.is_final => Settled::Dead { error: failed.why },
        Err(Failed {
            why, retry_after, ..
        }) => row.after_failure(Timestamp::now(), rand::random(), retry_after, why),
    };
    match &settled {
        Settled::Delivered => tracing::debug!(task = %row.task, origin, "callback delivered"),
        Settled::Retry { at, error } => {
            tracing::debug!(task = %row.task, origin, %at, error, "callback failed, trying again");
        }
        Settled::Dead { error } => {
            tracing::warn!(task = %row.task, origin, error, "callback given up; see `jackfield task resend`");
        }
    }
    if let Err(error) = bridge.hub.callbacks().settle(row.id, settled).await {
        tracing::error!(task = %row.task, %error, "what became of a callback could not be written");
        // It is still due: not at once, so that a broken disk does not become a flood of posts.
        tokio::time::sleep(STORE_PAUSE).await;
    }
}

async fn post(bridge: &Bridge, row: &OutboxRow) -> Result<(), Failed> {
    let way = bridge.callbacks.0.as_ref();
    let way = way.ok_or_else(|| Failed::for_now("this hub calls nobody back any more"))?;
    let body = compose(bridge, row).await?;
    let headers = headers(bridge, way, row, &body)?;
    let answer = way.outbound.post(&row.callback.url, headers, body).await;
    judge(answer)
}

/// What the callback says, out of the task and its log, or what was kept of that for the callback alone.
async fn compose(bridge: &Bridge, row: &OutboxRow) -> Result<Vec<u8>, Failed> {
    // The row was committed with the end; who recorded it may not have heard of that yet.
    let tasks = bridge.hub.tasks();
    let task = tasks.find_stored(&bridge.platform, row.task).await;
    let task = task.map_err(|failure| Failed::for_now(failure.to_string()))?;
    let max = bridge.hub.limits().message.0;
    let reply = bridge.hub.callbacks().reply(row.id).await;
    let gathered = match reply {
        Ok(reply) if reply.is_empty() => Gathered::of(&task, max).await,
        reply => reply.map(|reply| Gathered::from_items(reply, max)),
    };
    let gathered = gathered.map_err(|error| Failed::for_now(error.to_string()))?;
    let record = task.record();
    let outcome = Outcome::of(&record, gathered);
    let (data, links) = (row.callback.data.as_ref(), bridge.hub.files());
    let body = body::body_from(&record, data, &outcome, links);
    body.map_err(|error| Failed::for_good(error.to_string()))
}

fn headers(bridge: &Bridge, way: &Way, row: &OutboxRow, body: &[u8]) -> Result<HeaderMap, Failed> {
    let value = |text: &str| {
        HeaderValue::from_str(text).map_err(|error| Failed::for_good(error.to_string()))
    };
    let id = row.id.to_string();
    let signature = sign::sign(&way.key, Timestamp::now().as_second(), &id, body);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(IDEMPOTENCY_KEY, value(&id)?);
    headers.insert(sign::HEADER, value(&signature)?);
    let url = way.outbound.check(&row.callback.url);
    let url = url.map_err(|error| Failed::for_good(error.to_string()))?;
    if way.trusted.contains(&origin_of(&url))
        && let Some(secret) = bridge.secrets.newest()
    {
        let mut value = value(secret.expose())?;
        value.set_sensitive(true);
        headers.insert(secret::HEADER, value);
    }
    Ok(headers)
}

/// Whether somebody took it. What is refused by our own rules, or gone by the destination's, stays so.
fn judge(answer: Result<Answer, OutboundError>) -> Result<(), Failed> {
    match answer {
        Ok(answer) if answer.status.is_success() => Ok(()),
        Ok(answer) => Err(Failed {
            why: format!("it answered {}", answer.status),
            retry_after: answer.retry_after,
            is_final: answer.status == StatusCode::GONE,
        }),
        Err(error) if error.is_refusal() => Err(Failed::for_good(error.to_string())),
        Err(error) => Err(Failed::for_now(error.to_string())),
    }
}
