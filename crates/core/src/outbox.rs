//! [`Callbacks`]: notifications about the end of a task, for its caller, and about every change of a task, for its [`Follower`]s. The store keeps them in its outbox, from the transaction that changes the task until a door has delivered them. A pure function decides about retries and giving up.

mod follower;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

pub use self::follower::Follower;
pub(crate) use self::follower::add;
use jackfield_model::{CallbackId, Failure, Json, Reason, TaskId, TokenId};

use crate::{
    principal::Principal,
    store::{CallbackFilter, LogItem, Receipt, Store, StoreError, TaskRecord},
    task::{no_such_task, store_failure},
    token::Tokens,
};

/// Largest number of due callbacks that are listed per destination, so that a dead host does not fill the
/// list. The courier tries one of them at a time.
pub const PER_ORIGIN: usize = 4;
/// Longest first pause; each further pause may be twice as long.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause, even if the destination asks for more: one mistaken `Retry-After` must not lose callbacks.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// Age at which a callback is given up.
pub const GIVE_UP: Duration = Duration::from_secs(24 * 3600);
/// Longest time between two looks at the due callbacks: clocks are set, and laptops sleep.
const LOOK: Duration = Duration::from_secs(60);

/// Destination and form of a callback.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Callback {
    /// URL of the destination.
    pub url: String,
    /// Door and form of the callback's content.
    pub kind: String,
    /// Door-specific data besides the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// Token that asked for the callback: nothing is sent once the token is revoked or expired. The hub fills
    /// it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
}

impl Callback {
    /// Returns the destination for limits per destination: scheme, host and port.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}").to_ascii_lowercase()
    }
}

/// State of a callback. Delivered callbacks are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CallbackState))]
#[serde(rename_all = "snake_case")]
pub enum OutboxState {
    /// Tried until delivered.
    Pending,
    /// Given up.
    Dead,
}

impl OutboxState {
    /// Returns the name of the state.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Dead => "dead",
        }
    }

    /// Reads a state from its [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Pending, Self::Dead]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

/// A callback on its way into the outbox.
#[derive(Debug, Clone, PartialEq)]
pub struct NewCallback {
    /// The callback.
    pub row: OutboxRow,
    /// Reported content, for tasks whose log is not kept: the item, or at the end of a turn the agent's reply
    /// and the end. Kept as long as the callback.
    pub reply: Vec<LogItem>,
}

/// An undelivered callback. Its content is composed for each attempt, from the task and its log.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    /// Id of the callback, the same in every attempt: the `Idempotency-Key`.
    pub id: CallbackId,
    /// Reported task.
    pub task: TaskId,
    /// Destination and form.
    pub callback: Callback,
    /// State of the callback.
    pub state: OutboxState,
    /// Number of attempts.
    pub attempts: u32,
    /// Time of the next attempt; for a dead callback, the time at which it was given up.
    pub next_at: Timestamp,
    /// Time of the reported event, or of the last resend.
    pub created_at: Timestamp,
    /// Error of the last attempt.
    pub last_error: Option<String>,
    /// Lane of the callback. Callbacks of one lane are delivered one after the other, in the order of their
    /// ids; see [`Follower::lane`].
    pub lane: Option<String>,
    /// Position of the reported item in the task's log, for a follower.
    pub pos: Option<u64>,
}

impl OutboxRow {
    fn new(task: TaskId, callback: Callback, at: Timestamp) -> Self {
        Self {
            id: CallbackId::new(),
            task,
            callback,
            state: OutboxState::Pending,
            attempts: 0,
            next_at: at,
            created_at: at,
            last_error: None,
            lane: None,
            pos: None,
        }
    }

    /// Returns the callback of a task whose turn has just ended.
    pub fn of(task: &TaskRecord) -> Option<Self> {
        let callback = task.callback.clone()?;
        Some(Self::new(task.id, callback, task.updated_at))
    }

    /// Returns the callback that reports the log item at this position and time to a follower.
    pub fn to(follower: &Follower, task: TaskId, pos: u64, at: Timestamp) -> Self {
        Self {
            lane: Some(follower.lane(task)),
            pos: Some(pos),
            ..Self::new(task, follower.callback.clone(), at)
        }
    }

    /// Returns the id of the follower; `None` for the callback of a task.
    pub fn follower(&self) -> Option<&str> {
        self.lane.as_deref()?.splitn(3, '/').nth(2)
    }

    /// Returns what follows from a failed attempt. `fraction` is random between 0 and 1, `retry_after` the
    /// wish of the destination.
    pub fn after_failure(
        &self,
        now: Timestamp,
        fraction: f64,
        retry_after: Option<Duration>,
        error: String,
    ) -> Settled {
        let pause = pause(self.attempts, fraction, retry_after);
        let at = now.saturating_add(pause).unwrap_or(Timestamp::MAX);
        let last = self
            .created_at
            .saturating_add(GIVE_UP)
            .unwrap_or(Timestamp::MAX);
        if at > last {
            Settled::Dead { error }
        } else {
            Settled::Retry { at, error }
        }
    }
}

/// Returns the pause after an attempt that followed `before` others: random up to 1 s, 2 s, 4 s … 15 min
/// (full jitter), and not less than the destination asks for, up to 15 min.
pub fn pause(before: u32, fraction: f64, retry_after: Option<Duration>) -> Duration {
    let most = FIRST_PAUSE
        .saturating_mul(1_u32.checked_shl(before).unwrap_or(u32::MAX))
        .min(LONGEST_PAUSE);
    let wanted = retry_after.unwrap_or_default().min(LONGEST_PAUSE);
    most.mul_f64(fraction.clamp(0.0, 1.0)).max(wanted)
}

/// Result of a delivery attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Delivered.
    Delivered,
    /// Tried again.
    Retry {
        /// Time of the next attempt.
        at: Timestamp,
        /// Error of the attempt.
        error: String,
    },
    /// Given up.
    Dead {
        /// Error of the last attempt.
        error: String,
    },
}

/// The callbacks of a hub: for the door that delivers them, and for principals that list or resend theirs.
#[derive(Debug, Clone)]
pub struct Callbacks {
    store: Arc<dyn Store>,
    tokens: Arc<Tokens>,
    woken: Arc<Notify>,
    /// Time of the loop's last look at the due callbacks.
    looked: Arc<Mutex<Timestamp>>,
}

impl Callbacks {
    pub(crate) fn new(store: Arc<dyn Store>, tokens: Arc<Tokens>) -> Self {
        Self {
            store,
            tokens,
            woken: Arc::default(),
            looked: Arc::new(Mutex::new(Timestamp::MIN)),
        }
    }

    /// Lists the callbacks that may be tried now; see [`Store::due_callbacks`]. Callbacks of revoked or
    /// expired tokens are dropped instead.
    pub async fn due(&self, limit: usize) -> Result<Vec<OutboxRow>, StoreError> {
        loop {
            let now = Timestamp::now();
            *self.looked.lock() = now;
            let mut due = self.store.due_callbacks(now, limit).await?;
            let unwanted: Vec<_> = due
                .extract_if(.., |row| !self.is_wanted(&row.callback))
                .collect();
            if unwanted.is_empty() {
                return Ok(due);
            }
            for row in unwanted {
                // Settled as delivered: nothing of it is kept.
                self.store
                    .settle_callback(row.id, Settled::Delivered)
                    .await?;
            }
        }
    }

    /// Whether the token that asked for a callback still works.
    pub(crate) fn is_wanted(&self, callback: &Callback) -> bool {
        self.tokens.still_allows(callback.token)
    }

    /// Waits until a callback may be due: a task has ended, a callback is sent again, or a pause is over. For
    /// one loop per hub, which calls [`Callbacks::due`] before it waits. Cancel-safe.
    pub async fn wait(&self) -> Result<(), StoreError> {
        // Since the last look: callbacks that became due since then were not found by it.
        let looked = *self.looked.lock();
        let next = self.store.next_callback(looked).await?;
        let pause = next.map_or(LOOK, |next| {
            Duration::try_from(next.duration_since(Timestamp::now())).unwrap_or_default()
        });
        tokio::select! {
            // First, so that a wake-up is not consumed twice.
            biased;
            () = self.woken.notified() => {}
            () = tokio::time::sleep(pause.min(LOOK)) => {}
        }
        Ok(())
    }

    /// Removes the callback and the followers of a task that revoked or expired tokens asked for. Returns
    /// true if there were any.
    pub(crate) fn strike_unwanted(&self, record: &mut TaskRecord) -> bool {
        let count = record.followers.len();
        record
            .followers
            .retain(|follower| self.is_wanted(&follower.callback));
        let struck = record
            .callback
            .take_if(|callback| !self.is_wanted(callback));
        struck.is_some() || record.followers.len() < count
    }

    /// Writes the result of a delivery attempt.
    pub fn settle(&self, id: CallbackId, how: Settled) -> Receipt {
        let is_over = !matches!(how, Settled::Retry { .. });
        let receipt = self.store.settle_callback(id, how);
        if is_over {
            // The next callback of the lane is due. A look for it waits for this write.
            self.wake();
        }
        receipt
    }

    /// Returns the callback's [`NewCallback::reply`]: empty if the task's log is kept.
    pub fn reply(&self, id: CallbackId) -> Receipt<Vec<LogItem>> {
        self.store.callback_reply(id)
    }

    /// Lists undelivered callbacks of tasks of `principal`, newest first.
    pub async fn list(
        &self,
        principal: &Principal,
        dead_only: bool,
        limit: usize,
    ) -> Result<Vec<OutboxRow>, Failure> {
        let filter = CallbackFilter {
            whose: principal.reach(),
            dead_only,
            limit,
        };
        let rows = self.store.list_callbacks(filter).await;
        rows.map_err(|error| store_failure(&error))
    }

    /// Sends the dead callbacks of a task of `principal` again.
    pub async fn resend(&self, principal: &Principal, task: TaskId) -> Result<(), Failure> {
        let record = self.store.find_task(task).await;
        let record = record.map_err(|error| store_failure(&error))?;
        if !record.is_some_and(|record| principal.may_act_for(&record.principal)) {
            return Err(no_such_task());
        }
        let found = self.store.resend_callbacks(task).await;
        if !found.map_err(|error| store_failure(&error))? {
            let text = format!("task {task} has no callback that was given up");
            return Err(Failure::new(Reason::Conflict, text));
        }
        self.wake();
        Ok(())
    }

    /// Forgets the undelivered callbacks of these followers of a task.
    pub(crate) fn forget(&self, task: TaskId, followers: &[Follower]) -> Vec<Receipt> {
        let lanes = followers.iter().map(|follower| follower.lane(task));
        lanes.map(|lane| self.store.drop_lane(task, lane)).collect()
    }

    /// Wakes the delivering loop: a callback is due.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }
}

#[cfg(test)]
mod tests;
