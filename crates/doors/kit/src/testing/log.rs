//! [`CapturedLog`]: what a test's code logs, as text, to prove that secrets are not in it.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, set_default},
};

/// All fields of the spans and events that are logged on this thread, at every level.
#[derive(Debug, Clone)]
pub struct CapturedLog {
    targets: &'static str,
    text: Arc<Mutex<String>>,
}

impl CapturedLog {
    /// Captures until the guard is dropped. Only what modules log whose path begins with `targets`.
    pub fn start(targets: &'static str) -> (Self, DefaultGuard) {
        let log = Self {
            targets,
            text: Arc::default(),
        };
        let guard = set_default(log.clone());
        (log, guard)
    }

    /// Returns what was logged until now, as `field=value` pairs.
    pub fn text(&self) -> String {
        self.text.lock().clone()
    }
}

impl Visit for CapturedLog {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        *self.text.lock() += &format!("{field}={value:?} ");
    }
}

impl Subscriber for CapturedLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(self.targets)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
