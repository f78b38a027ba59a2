//! Traffic counters of one connection. Frames are counted locally and added to the shared metrics of the door
//! once per batch, so that the shared counters are not touched for each frame.

use jackfield_core::metrics::{Connected, Metrics, Traffic};

/// Counters of one connection.
#[derive(Debug)]
pub(super) struct TrafficCounters {
    door: &'static str,
    traffic: Traffic,
    _connected: Connected,
    /// Frames and bytes received, not yet added to the shared metrics. `went_out` holds the same for sent
    /// frames.
    came_in: (u64, u64),
    went_out: (u64, u64),
}

impl TrafficCounters {
    pub(super) fn new(metrics: &Metrics, door: &'static str) -> Self {
        Self {
            door,
            traffic: metrics.traffic(door),
            _connected: metrics.connection(door),
            came_in: (0, 0),
            went_out: (0, 0),
        }
    }

    /// Counts for a different door from now on, including the traffic not yet added.
    pub(super) fn move_to(&mut self, metrics: &Metrics, door: &'static str) {
        if self.door != door {
            self.door = door;
            self.traffic = metrics.traffic(door);
            self._connected = metrics.connection(door);
        }
    }

    pub(super) fn came_in(&mut self, bytes: usize) {
        self.came_in.0 += 1;
        self.came_in.1 += bytes as u64;
    }

    pub(super) fn went_out(&mut self, frames: usize, bytes: usize) {
        self.went_out.0 += frames as u64;
        self.went_out.1 += bytes as u64;
    }

    pub(super) fn write_down(&mut self) {
        if let (frames @ 1.., bytes) = std::mem::take(&mut self.came_in) {
            self.traffic.came_in(frames, bytes);
        }
        if let (frames @ 1.., bytes) = std::mem::take(&mut self.went_out) {
            self.traffic.went_out(frames, bytes);
        }
    }
}

impl Drop for TrafficCounters {
    /// Adds the last frames to the shared metrics.
    fn drop(&mut self) {
        self.write_down();
    }
}
