//! One agent of a peer while the peer is here: its place on the hub, and the mailbox of its calls.

use std::sync::Arc;

use jackfield_core::{
    agent::{Closing, Link},
    call::{Call, Serving},
    failure::Failure,
    hub::{Attached, Hub},
    id::Owner,
    principal::Principal,
};
use libp2p::PeerId;
use parking_lot::RwLock;
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use super::{
    list::{Listed, Way},
    visit::Visit,
    work,
};
use crate::{DOOR, node::Node};

/// One agent of a peer. Dropping it means that the agent is gone.
#[derive(Debug)]
pub(super) struct Guest {
    attached: Attached,
    way: Arc<RwLock<Way>>,
    over: CancellationToken,
}

/// The way to an agent of a peer.
#[derive(Debug)]
struct Mailbox {
    calls: mpsc::Sender<Serving>,
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
        let (entry, _) = hub.reserve(&principal, &id, &profile, DOOR)?;
        let pending = hub.limits().pending_per_agent.clamp(1, 1 << 12);
        let (calls, mut mail) = mpsc::channel(4 * pending);
        let over = visit.over.child_token();
        let again = visit.again.clone();
        let link = Arc::new(Mailbox {
            calls,
            over: over.clone(),
        });
        let attached = hub.attach_at(&entry, profile, link)?;
        let way = Arc::new(RwLock::new(way));
        let (node, ways, ended) = (node.clone(), way.clone(), over.clone());
        let serving = async move {
            let mut working = JoinSet::new();
            loop {
                tokio::select! {
                    () = ended.cancelled() => return,
                    call = mail.recv() => match call {
                        Some(call) => {
                            let way = ways.read().clone();
                            let (node, again) = (node.clone(), again.clone());
                            working.spawn(work::carry_out(node, peer, way, call, again));
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
        drop(hub.refresh(&self.attached, listed.profile));
        *self.way.write() = listed.way;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.over.cancel();
    }
}

impl Link for Mailbox {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        self.calls.try_send(call).map_err(|error| match error {
            TrySendError::Full(call) | TrySendError::Closed(call) => call,
        })
    }

    fn cancel(&self, _: &Arc<Call>) {
        // Whoever works on it hears the end of its input, which every end of a call brings.
    }

    fn close(&self, _: Closing) {
        self.over.cancel();
    }

    fn alive(&self, _: &Call) -> bool {
        // An open exchange is a sign of life, which whoever works on a call notes.
        false
    }

    fn door(&self) -> &'static str {
        DOOR
    }
}
