//! What is left of a connection that was lost, as long as its agent may come back.

use std::{sync::Arc, time::Duration};

use jackfield_core::entry::Entry;
use jackfield_kit::line::{Leave, REPLACED};
use jackfield_model::AgentId;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{bridge::Bridge, lineage::Lineage};

/// Whether an agent whose connection ends like this may come back to what it did: if it was cut off, seemed dead, had to
/// make room for a connection of its own, or the hub stops. Not if it said goodbye or was told to stay away, nor if it broke a
/// rule, which it would do again.
pub(super) fn may_come_back(leave: Leave) -> bool {
    match leave {
        Leave::Gone => true,
        Leave::Left => false,
        Leave::Close(code, _) => matches!(code, 1001 | 1011 | REPLACED),
    }
}

/// What is left of a connection that was lost. The hub keeps the calls that the agent worked on; here are those that it
/// made.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) bridge: Arc<Bridge>,
    pub(super) id: AgentId,
    pub(super) entry: Arc<Entry>,
    /// The agent's generation after the connection was lost.
    pub(super) generation: u64,
    pub(super) lineage: Arc<Lineage>,
    pub(super) reader: u64,
    /// Fires when the token by which the agent proved its owner stops working.
    pub(super) revoked: CancellationToken,
}

impl Left {
    /// Waits for the agent to come back, but no longer than this.
    pub(super) async fn wait(self, grace: Duration) {
        let until = Instant::now() + grace;
        tokio::select! {
            () = self.lineage.moved_on(self.reader) => {}
            () = sleep_until(until) => {}
            () = self.revoked.cancelled() => self.entry.give_up(self.generation),
            () = self.bridge.tasks.stop_token().cancelled() => {}
        }
        self.end();
    }

    /// Nobody comes back; nothing happens if somebody did.
    pub(super) fn end(&self) {
        let lineages = &self.bridge.lineages;
        let is_last = lineages.end(&self.id, &self.lineage, self.reader);
        if is_last && self.entry.link().is_none() {
            self.bridge.note_left(&self.id);
        }
    }
}
