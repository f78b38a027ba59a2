//! [`Shared`]: the state of a hub that every call needs without knowing the hub: limits, budget, taps, metrics, the table of open calls.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use jackfield_model::CallId;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::{
    budget::Budget, call::Call, limits::Limits, metrics::Metrics, observer::HubObservers, tap::Taps,
};

/// State that the hub shares with its calls. The hub makes the call ids, so that a fast hash is safe for
/// them.
#[derive(Debug)]
pub struct Shared {
    /// Limits of the hub.
    pub limits: Limits,
    /// Memory of all pipes.
    pub budget: Arc<Budget>,
    /// Observers of agents.
    pub taps: Arc<Taps>,
    /// Counters of the hub.
    pub metrics: Arc<Metrics>,
    /// Observers of the whole hub.
    pub(crate) observers: HubObservers,
    /// All open calls, by id. A leaf lock: nothing else is locked under it.
    pub(crate) open_calls: Mutex<HashMap<CallId, Arc<Call>, FxBuildHasher>>,
    /// Notified of every ended call, after its removal from the table.
    pub(crate) ended: Notify,
    /// Readers of replies; a stopping hub waits for them.
    pub(crate) readers: TaskTracker,
    is_stopping: AtomicBool,
}

impl Shared {
    pub(crate) fn new(limits: Limits) -> Self {
        let metrics = Arc::new(Metrics::default());
        Self {
            budget: Arc::new(Budget::new(limits.pipes_total.0)),
            taps: Arc::new(Taps::new(&limits, metrics.clone())),
            metrics,
            observers: HubObservers::default(),
            open_calls: Mutex::default(),
            ended: Notify::new(),
            readers: TaskTracker::new(),
            is_stopping: AtomicBool::new(false),
            limits,
        }
    }

    /// Whether the hub stops and takes nothing new.
    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    pub(crate) fn set_stopping(&self) {
        self.is_stopping.store(true, Ordering::Release);
    }
}
