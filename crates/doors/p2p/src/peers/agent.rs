//! One attached agent of a tracked peer: its attachment to the hub, and the inbox of its calls.

use std::sync::Arc;

use jackfield_core::{
    hub::{Attached, Hub},
    inbox::Inbox,
    principal::Principal,
};
use jackfield_kit::files::Files;
use jackfield_model::{Failure, Owner};
use jackfield_peer::{PeerId, node::Node};
use parking_lot::RwLock;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    list::{PeerRoute, RemoteAgent},
    tracking::Tracking,
    work,
};
use crate::DOOR;

/// An attached agent of a peer. Dropping it detaches the agent.
#[derive(Debug)]
pub(super) struct PeerAgent {
    attached: Attached,
    way: Arc<RwLock<PeerRoute>>,
    over: CancellationToken,
}

impl PeerAgent {
    /// Attaches an agent. The returned future serves its calls until the agent is detached.
    pub(super) fn attach(
        hub: &Hub,
        files: &Arc<Files>,
        owner: &Owner,
        node: &Node,
        peer: PeerId,
        listed: RemoteAgent,
        tracking: &Tracking,
    ) -> Result<(Self, impl Future<Output = ()> + Send + 'static), Failure> {
        let principal = Principal::admin(owner.clone());
        let RemoteAgent { id, profile, way } = listed;
        let (entry, _) = hub.agents().reserve(&principal, &id, &profile, DOOR)?;
        // An open exchange is a sign of life, which the task of the call reports.
        let (inbox, mut calls) = Inbox::new(DOOR, hub.limits(), false);
        let over = tracking.over.child_token();
        let again = tracking.again.clone();
        let attached = hub.agents().attach_at(&entry, profile, inbox.clone())?;
        let way = Arc::new(RwLock::new(way));
        let (node, ways, ended) = (node.clone(), way.clone(), over.clone());
        let files = files.clone();
        let serving = async move {
            let mut working = JoinSet::new();
            loop {
                tokio::select! {
                    () = ended.cancelled() => return,
                    _ = inbox.closed() => return,
                    call = calls.recv() => match call {
                        Some(call) => {
                            let way = ways.read().clone();
                            let (node, again) = (node.clone(), again.clone());
                            let span = call.call().span().clone();
                            let work = work::carry_out(node, peer, way, call, files.clone(), again);
                            working.spawn(work.instrument(span));
                        }
                        None => return,
                    },
                    Some(_) = working.join_next() => {}
                }
            }
        };
        let agent = Self {
            attached,
            way,
            over,
        };
        Ok((agent, serving))
    }

    /// Updates the agent to what the peer reports now.
    pub(super) fn refresh(&mut self, hub: &Hub, listed: RemoteAgent) {
        // Not waited for: the next look saves the same again.
        drop(hub.agents().refresh(&self.attached, listed.profile));
        *self.way.write() = listed.way;
    }
}

impl Drop for PeerAgent {
    fn drop(&mut self) {
        self.over.cancel();
    }
}
