//! Callbacks: what a caller wants to be told when its task is over, and what followers want to be told of every change
//! before. The store keeps them in its outbox, from the transaction in which the task changes until a door has delivered
//! them; when a try is repeated, and when it is given up, is decided here, as a pure function.

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

/// How many due callbacks of one destination are listed at a time, so that a dead host does not fill the list. The courier
/// tries one of them at a time.
pub const PER_ORIGIN: usize = 4;
/// How long the first pause is at most; each further one may be twice as long.
pub const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// How long a pause is at most, even where the destination asks for a longer one: it shall not lose its callbacks by
/// one mistaken `Retry-After`.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);
/// After this time a callback is given up.
pub const GIVE_UP: Duration = Duration::from_secs(24 * 3600);
/// A loop that waits for callbacks looks at least this often: clocks are set, and laptops sleep.
const LOOK: Duration = Duration::from_secs(60);

/// Whom to tell, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Callback {
    /// Where.
    pub url: String,
    /// Which door composes it, and in what form.
    pub kind: String,
    /// What that door needs to know besides the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// The token of whoever asked for it: once that is revoked or expired, nobody is told any more. The hub fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<TokenId>,
}

impl Callback {
    /// Its destination: scheme, host and port, as far as a limit per destination must know them.
    pub fn origin(&self) -> String {
        let (scheme, rest) = self.url.split_once("://").unwrap_or(("", &self.url));
        let host = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        let host = host.rsplit('@').next().unwrap_or_default();
        format!("{scheme}://{host}").to_ascii_lowercase()
    }
}

/// Where a callback stands. One that was delivered is not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutboxState {
    /// It is tried until it is delivered.
    Pending,
    /// It was given up.
    Dead,
}

impl OutboxState {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Dead => "dead",
        }
    }

    /// Reads the name back.
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
    /// What it tells of, where the task's log does not say so: the item; of the end of a turn, what the agent said and
    /// then the end. Kept as long as the callback is.
    pub reply: Vec<LogItem>,
}

/// A callback that was not delivered yet. What it says is composed when it is tried, from the task and its log.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxRow {
    /// Its id, the same in every try: the `Idempotency-Key`.
    pub id: CallbackId,
    /// The task that it tells of.
    pub task: TaskId,
    /// Whom to tell, and how.
    pub callback: Callback,
    /// Where it stands.
    pub state: OutboxState,
    /// How often it was tried.
    pub attempts: u32,
    /// When it may be tried again; of a dead one, when it was given up.
    pub next_at: Timestamp,
    /// When that happened of which it tells, or since when it is sent again.
    pub created_at: Timestamp,
    /// Why the last try failed.
    pub last_error: Option<String>,
    /// Those in one lane are delivered one after the other, in the order of their ids; see [`Follower::lane`].
    pub lane: Option<String>,
    /// Where in the task's log the item stands that a follower is told of.
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

    /// What a task of which a turn has just ended puts into the outbox.
    pub fn of(task: &TaskRecord) -> Option<Self> {
        let callback = task.callback.clone()?;
        Some(Self::new(task.id, callback, task.updated_at))
    }

    /// What a follower of a task is told of the item at this position of its log, which was said at this time.
    pub fn to(follower: &Follower, task: TaskId, pos: u64, at: Timestamp) -> Self {
        Self {
            lane: Some(follower.lane(task)),
            pos: Some(pos),
            ..Self::new(task, follower.callback.clone(), at)
        }
    }

    /// The id of the follower that it is for; nothing for the callback of a task.
    pub fn follower(&self) -> Option<&str> {
        let (_, follower) = self.lane.as_deref()?.split_once('/')?;
        Some(follower)
    }

    /// What follows from a try that failed. `fraction` is drawn at random between 0 and 1, `retry_after` what the
    /// destination asked for.
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

/// How long to wait after the try that came after `before` others: at random up to 1 s, 2 s, 4 s … 15 min (full
/// jitter), and not less than the destination asked for, up to 15 min of that.
pub fn pause(before: u32, fraction: f64, retry_after: Option<Duration>) -> Duration {
    let most = FIRST_PAUSE
        .saturating_mul(1_u32.checked_shl(before).unwrap_or(u32::MAX))
        .min(LONGEST_PAUSE);
    let wanted = retry_after.unwrap_or_default().min(LONGEST_PAUSE);
    most.mul_f64(fraction.clamp(0.0, 1.0)).max(wanted)
}

/// What became of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// It was delivered.
    Delivered,
    /// It is tried again.
    Retry {
        /// When.
        at: Timestamp,
        /// Why it failed.
        error: String,
    },
    /// It is given up.
    Dead {
        /// Why.
        error: String,
    },
}

/// The hub's callbacks: for the door that delivers them, and for whoever asks what became of theirs.
#[derive(Debug, Clone)]
pub struct Callbacks {
    store: Arc<dyn Store>,
    tokens: Arc<Tokens>,
    woken: Arc<Notify>,
    /// When the loop last looked for those that are due.
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

    /// Those that may be tried now; see [`Store::due_callbacks`]. Those whose token was revoked or has expired are
    /// dropped instead.
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
                // As one that was delivered: nothing of it is kept.
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

    /// Waits until there may be another one to try: a task has ended, one is sent again, or a pause is over. For one
    /// loop per hub; it looks once before it waits. Cancel-safe.
    pub async fn wait(&self) -> Result<(), StoreError> {
        // From the last look on: what has become due since then was not found by it.
        let looked = *self.looked.lock();
        let next = self.store.next_callback(looked).await?;
        let pause = next.map_or(LOOK, |next| {
            Duration::try_from(next.duration_since(Timestamp::now())).unwrap_or_default()
        });
        tokio::select! {
            // First, so that a call that was heard is not heard again.
            biased;
            () = self.woken.notified() => {}
            () = tokio::time::sleep(pause.min(LOOK)) => {}
        }
        Ok(())
    }

    /// Strikes from a task whom tokens that were revoked or have expired wanted to be told. True if there was one.
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

    /// Writes down what became of a try.
    pub fn settle(&self, id: CallbackId, how: Settled) -> Receipt {
        let is_over = !matches!(how, Settled::Retry { .. });
        let receipt = self.store.settle_callback(id, how);
        if is_over {
            // The next of its lane is due. Whoever looks for it waits for the store to have this.
            self.wake();
        }
        receipt
    }

    /// What [`NewCallback::reply`] was: empty for a callback whose task's log tells.
    pub fn reply(&self, id: CallbackId) -> Receipt<Vec<LogItem>> {
        self.store.callback_reply(id)
    }

    /// Those of the principal's tasks that were not delivered, newest first.
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

    /// Sends what was given up of a task of the principal's again.
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

    /// Forgets what these followers of a task have not been told yet.
    pub(crate) fn forget(&self, task: TaskId, followers: &[Follower]) -> Vec<Receipt> {
        let lanes = followers.iter().map(|follower| follower.lane(task));
        lanes.map(|lane| self.store.drop_lane(task, lane)).collect()
    }

    /// A callback has become due.
    pub(crate) fn wake(&self) {
        self.woken.notify_one();
    }
}

#[cfg(test)]
mod tests;
