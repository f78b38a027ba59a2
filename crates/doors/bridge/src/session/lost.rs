//! The remains of a lost connection, as long as its agent may reconnect.

use std::{sync::Arc, time::Duration};

use jackfield_core::entry::Entry;
use jackfield_kit::ws_connection::{REPLACED, WsConnectionEnd};
use jackfield_model::AgentId;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::{door::Bridge, lineage::Lineage};

/// Returns whether an agent may resume its work after the connection ended in this way. Yes, if the
/// connection was cut, seemed dead, was replaced by a newer one of the same agent, or ended because the hub
/// stops. No, if the agent closed normally, was sent away, or broke a rule, which it would do again.
pub(super) fn may_resume(leave: WsConnectionEnd) -> bool {
    match leave {
        WsConnectionEnd::Gone => true,
        WsConnectionEnd::Left => false,
        WsConnectionEnd::Close(code, _) => matches!(code, 1001 | 1011 | REPLACED),
    }
}

/// The remains of a lost connection. The hub keeps the calls that the agent worked on; [`Lineage`] keeps the
/// calls that the agent made.
#[derive(Debug)]
pub(super) struct LostConnection {
    pub(super) bridge: Arc<Bridge>,
    pub(super) id: AgentId,
    pub(super) entry: Arc<Entry>,
    /// Generation of the agent's entry after the connection was lost.
    pub(super) generation: u64,
    pub(super) lineage: Arc<Lineage>,
    pub(super) reader: u64,
    /// Cancelled when the token of the agent's owner stops working.
    pub(super) revoked: CancellationToken,
}

impl LostConnection {
    /// Waits for the agent to reconnect, up to `grace`.
    pub(super) async fn wait(self, grace: Duration) {
        let until = Instant::now() + grace;
        tokio::select! {
            () = self.lineage.superseded(self.reader) => {}
            () = sleep_until(until) => {}
            () = self.revoked.cancelled() => self.entry.give_up(self.generation),
            () = self.bridge.tasks.stop_token().cancelled() => {}
        }
        self.end();
    }

    /// Gives up waiting for the agent. Has no effect if the agent has reconnected.
    pub(super) fn end(&self) {
        let lineages = &self.bridge.lineages;
        let is_last = lineages.end(&self.id, &self.lineage, self.reader);
        if is_last && self.entry.link().is_none() {
            self.bridge.note_left(&self.id);
        }
    }
}
