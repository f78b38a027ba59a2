//! One agent of a peer while the peer is here: its place on the hub, and the inbox of its calls.

use std::sync::Arc;

use jackfield_core::{
    hub::{Attached, Hub},
    inbox::Inbox,
    principal::Principal,
};
use jackfield_model::{Failure, Owner};
use jackfield_peer::{PeerId, node::Node};
use parking_lot::RwLock;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{
    list::{Listed, Way},
    visit::Visit,
    work,
};
use crate::DOOR;

/// One agent of a peer. Dropping it means that the agent is gone.
#[derive(Debug)]
pub(super) struct Guest {
    attached: Attached,
    way: Arc<RwLock<Way>>,
    over: CancellationToken,
}

impl Guest {
    /// Attaches an agent. The future serves its calls until it is over.
    pub(super) fn seat(
        hub: &Hub,
        owner: &Owner,
        node: &Node,
        peer: PeerId,
        listed: Listed,
        visit: &Visit,
    ) -> Result<(Self, impl Future<Output = ()> + Send + 'static), Failure> {
        let principal = Principal::admin(owner.clone());
        let Listed { id, profile, way } = listed;
        let (entry, _) = hub.agents().reserve(&principal, &id, &profile, DOOR)?;
        // An open exchange is a sign of life, which whoever works on a call notes.
        let (inbox, mut calls) = Inbox::new(DOOR, hub.limits(), false);
        let over = visit.over.child_token();
        let again = visit.again.clone();
        let attached = hub.agents().attach_at(&entry, profile, inbox.clone())?;
        let way = Arc::new(RwLock::new(way));
        let (node, ways, ended) = (node.clone(), way.clone(), over.clone());
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
                            let work = work::carry_out(node, peer, way, call, again);
                            working.spawn(work.instrument(span));
                        }
                        None => return,
                    },
                    Some(_) = working.join_next() => {}
                }
            }
        };
        let guest = Self {
            attached,
            way,
            over,
        };
        Ok((guest, serving))
    }

    /// Takes what the peer says of the agent now.
    pub(super) fn refresh(&mut self, hub: &Hub, listed: Listed) {
        // Nobody waits for it: the next look says the same again.
        drop(hub.agents().refresh(&self.attached, listed.profile));
        *self.way.write() = listed.way;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.over.cancel();
    }
}
