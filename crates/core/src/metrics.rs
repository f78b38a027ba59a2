//! [`Metrics`]: the counters of the hub, in the format of Prometheus. Doors add their connections and bytes here too.

use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};

use crate::call::Life;

/// Labels of a finished call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    door: &'static str,
    agent_door: &'static str,
    life: &'static str,
    outcome: &'static str,
}

/// Labels of a door's metrics.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DoorLabels {
    door: &'static str,
}

/// Labels of the bytes on a door's sockets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TrafficLabels {
    door: &'static str,
    direction: &'static str,
}

/// Traffic of one door; a connection holds it, so that counting costs an addition and no look-up.
#[derive(Debug, Clone)]
pub struct Traffic {
    frames_in: Counter,
    frames_out: Counter,
    bytes_in: Counter,
    bytes_out: Counter,
}

impl Traffic {
    /// Counts received frames.
    pub fn came_in(&self, frames: u64, bytes: u64) {
        self.frames_in.inc_by(frames);
        self.bytes_in.inc_by(bytes);
    }

    /// Counts sent frames.
    pub fn went_out(&self, frames: u64, bytes: u64) {
        self.frames_out.inc_by(frames);
        self.bytes_out.inc_by(bytes);
    }
}

type Seconds = Family<DoorLabels, Histogram>;

/// The counters of a hub.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    calls: Family<CallLabels, Counter>,
    open_calls: Gauge,
    call_seconds: Seconds,
    first_event_seconds: Seconds,
    event_bytes: Counter,
    late_events: Counter,
    repeated_events: Counter,
    overruns: Counter,
    refused: Family<DoorLabels, Counter>,
    connections: Family<DoorLabels, Gauge>,
    agents_online: Gauge,
    frames: Family<TrafficLabels, Counter>,
    bytes: Family<TrafficLabels, Counter>,
    missed_by_taps: Counter,
    pipe_bytes: Gauge,
}

fn seconds() -> Histogram {
    Histogram::new([0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0])
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Mutex::new(Registry::with_prefix("jackfield")),
            calls: Family::default(),
            open_calls: Gauge::default(),
            call_seconds: Family::new_with_constructor(seconds),
            first_event_seconds: Family::new_with_constructor(seconds),
            event_bytes: Counter::default(),
            late_events: Counter::default(),
            repeated_events: Counter::default(),
            overruns: Counter::default(),
            refused: Family::default(),
            connections: Family::default(),
            agents_online: Gauge::default(),
            frames: Family::default(),
            bytes: Family::default(),
            missed_by_taps: Counter::default(),
            pipe_bytes: Gauge::default(),
        };
        let registry = metrics.registry.get_mut();
        registry.register(
            "calls",
            "Calls that ended, by the caller's and the agent's door and by outcome",
            metrics.calls.clone(),
        );
        registry.register(
            "calls_open",
            "Calls that are open now",
            metrics.open_calls.clone(),
        );
        registry.register(
            "call_seconds",
            "How long calls lasted",
            metrics.call_seconds.clone(),
        );
        registry.register(
            "call_first_event_seconds",
            "Until the first event of a reply",
            metrics.first_event_seconds.clone(),
        );
        registry.register(
            "event_bytes",
            "Bytes of events in replies",
            metrics.event_bytes.clone(),
        );
        registry.register(
            "events_late",
            "Events that came after the end of their call and were dropped",
            metrics.late_events.clone(),
        );
        registry.register(
            "events_repeated",
            "Events that a resuming agent sent again and that were dropped",
            metrics.repeated_events.clone(),
        );
        registry.register(
            "overruns",
            "Calls that ended because their reader did not keep up",
            metrics.overruns.clone(),
        );
        registry.register(
            "frames_refused",
            "Frames and requests that were refused as malformed",
            metrics.refused.clone(),
        );
        registry.register(
            "connections",
            "Open connections",
            metrics.connections.clone(),
        );
        registry.register(
            "agents_online",
            "Agents that are attached now",
            metrics.agents_online.clone(),
        );
        registry.register("frames", "Frames on sockets", metrics.frames.clone());
        registry.register("bytes", "Bytes of frames on sockets", metrics.bytes.clone());
        registry.register(
            "taps_missed",
            "Events that observers missed because they lagged",
            metrics.missed_by_taps.clone(),
        );
        registry.register(
            "pipe_bytes",
            "Memory leased by pipes",
            metrics.pipe_bytes.clone(),
        );
        metrics
    }
}

impl Metrics {
    /// Returns all metrics in the text format of Prometheus.
    pub fn render(&self) -> String {
        let mut text = String::new();
        // Writing into a String cannot fail.
        encode(&mut text, &self.registry.lock()).expect("a String takes any text");
        text
    }

    /// Adds an amount that a door measures, as `jackfield_NAME`. Once for each name.
    pub fn level(&self, name: &str, help: &str) -> Level {
        let gauge = Gauge::default();
        self.registry.lock().register(name, help, gauge.clone());
        Level(gauge)
    }

    /// Returns the counters of one door's traffic.
    pub fn traffic(&self, door: &'static str) -> Traffic {
        let frames = |direction| {
            self.frames
                .get_or_create_owned(&TrafficLabels { door, direction })
        };
        let bytes = |direction| {
            self.bytes
                .get_or_create_owned(&TrafficLabels { door, direction })
        };
        Traffic {
            frames_in: frames("in"),
            frames_out: frames("out"),
            bytes_in: bytes("in"),
            bytes_out: bytes("out"),
        }
    }

    /// Counts a connection until the guard is dropped.
    pub fn connection(&self, door: &'static str) -> Connected {
        let gauge = self.connections.get_or_create_owned(&DoorLabels { door });
        gauge.inc();
        Connected(gauge)
    }

    /// Counts a malformed frame or request.
    pub fn refused(&self, door: &'static str) {
        self.refused.get_or_create(&DoorLabels { door }).inc();
    }

    pub(crate) fn call_started(&self) {
        self.open_calls.inc();
    }

    pub(crate) fn call_ended(
        &self,
        door: &'static str,
        agent_door: &'static str,
        life: Life,
        outcome: &'static str,
        lasted: Duration,
    ) {
        let life = match life {
            Life::Live => "live",
            Life::Durable => "kept",
        };
        self.open_calls.dec();
        self.calls
            .get_or_create(&CallLabels {
                door,
                agent_door,
                life,
                outcome,
            })
            .inc();
        self.call_seconds
            .get_or_create(&DoorLabels { door })
            .observe(lasted.as_secs_f64());
    }

    pub(crate) fn first_event(&self, door: &'static str, after: Duration) {
        self.first_event_seconds
            .get_or_create(&DoorLabels { door })
            .observe(after.as_secs_f64());
    }

    pub(crate) fn event(&self, bytes: usize) {
        self.event_bytes.inc_by(bytes as u64);
    }

    /// Counts an event that was dropped because its call had ended.
    pub fn late_event(&self) {
        self.late_events.inc();
    }

    pub(crate) fn repeated_event(&self) {
        self.repeated_events.inc();
    }

    /// Counts a reader that was given up because it did not keep up.
    pub fn overrun(&self) {
        self.overruns.inc();
    }

    pub(crate) fn missed_by_tap(&self) {
        self.missed_by_taps.inc();
    }

    pub(crate) fn agent_online(&self, by: i64) {
        self.agents_online.inc_by(by);
    }

    pub(crate) fn pipe_bytes(&self, bytes: usize) {
        self.pipe_bytes
            .set(i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

/// An amount that a door measures: see [`Metrics::level`].
#[derive(Debug)]
pub struct Level(Gauge);

impl Level {
    /// Sets the amount.
    pub fn set(&self, amount: usize) {
        self.0.set(i64::try_from(amount).unwrap_or(i64::MAX));
    }
}

/// Guard of a counted connection.
#[derive(Debug)]
pub struct Connected(Gauge);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.dec();
    }
}
