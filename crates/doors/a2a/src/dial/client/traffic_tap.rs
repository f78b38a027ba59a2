//! Observers of the traffic with a remote, as used by `jackfield watch --raw`. Observers see bodies, never
//! headers, because headers contain the credentials.

use std::sync::Arc;

use jackfield_core::{entry::Entry, hub::Hub, tap::Direction};

/// Observers of an agent; none by default.
#[derive(Debug, Clone, Default)]
pub(in crate::dial) struct TrafficTap(Option<(Hub, Arc<Entry>)>);

impl TrafficTap {
    /// Creates the handle for the observers of an agent.
    pub(in crate::dial) fn of(hub: Hub, entry: Arc<Entry>) -> Self {
        Self(Some((hub, entry)))
    }

    /// Reports a body, or an event of a stream.
    pub(super) fn report(&self, direction: Direction, body: &[u8]) {
        let Some((hub, entry)) = &self.0 else { return };
        let taps = hub.taps();
        if taps.want_frames() && !body.is_empty() {
            taps.see_frame(entry, direction, || String::from_utf8_lossy(body).into());
        }
    }
}
