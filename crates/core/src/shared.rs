//! What every call needs of the hub without knowing the hub: limits, budget, taps, metrics, the table of open calls.

use std::{collections::HashMap, sync::Arc};

use jackfield_model::CallId;
use parking_lot::Mutex;
use rustc_hash::FxBuildHasher;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::{
    budget::Budget, call::Call, files::Files, limits::Limits, metrics::Metrics, tap::Taps,
    transfers::Transfers,
};

/// Shared by the hub and its calls. Call ids are ours, so that a fast hash is safe for them.
#[derive(Debug)]
pub struct Shared {
    /// The limits.
    pub limits: Limits,
    /// The memory of all pipes.
    pub budget: Arc<Budget>,
    /// The taps.
    pub taps: Arc<Taps>,
    /// The counters.
    pub metrics: Arc<Metrics>,
    /// The files that have a link.
    pub files: Arc<Files>,
    /// The transfers between agents and their callers.
    pub transfers: Transfers,
    pub(crate) calls: Mutex<HashMap<CallId, Arc<Call>, FxBuildHasher>>,
    /// Told of every call that has ended, after it was taken out of the table.
    pub(crate) ended: Notify,
    /// Those who read a reply.
    pub(crate) readers: TaskTracker,
}

impl Shared {
    pub(crate) fn new(limits: Limits) -> Self {
        let metrics = Arc::new(Metrics::default());
        Self {
            budget: Arc::new(Budget::new(limits.pipes_total.0)),
            taps: Arc::new(Taps::new(&limits, metrics.clone())),
            metrics,
            files: Arc::new(Files::new(&limits)),
            transfers: Transfers::default(),
            calls: Mutex::default(),
            ended: Notify::new(),
            readers: TaskTracker::new(),
            limits,
        }
    }
}
