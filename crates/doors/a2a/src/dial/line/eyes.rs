//! Those who observe what a remote is told and says, as `jackfield watch --raw` does. They see bodies, never headers: these
//! hold the credentials.

use std::sync::Arc;

use jackfield_core::{entry::Entry, hub::Hub, tap::Direction};

/// Whoever observes an agent; nobody by default.
#[derive(Debug, Clone, Default)]
pub(in crate::dial) struct Eyes(Option<(Hub, Arc<Entry>)>);

impl Eyes {
    /// Those who observe this agent.
    pub(in crate::dial) fn of(hub: Hub, entry: Arc<Entry>) -> Self {
        Self(Some((hub, entry)))
    }

    /// Shows a body, or an event of a stream.
    pub(super) fn see(&self, direction: Direction, body: &[u8]) {
        let Some((hub, entry)) = &self.0 else { return };
        let taps = hub.taps();
        if taps.want_frames() && !body.is_empty() {
            taps.see_frame(entry, direction, || String::from_utf8_lossy(body).into());
        }
    }
}
