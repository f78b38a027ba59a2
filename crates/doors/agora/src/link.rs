//! The hub's [`Link`] to an Agora connection: a [`Mailbox`] that the session empties when notified.

use std::{
    any::Any,
    sync::{Arc, Weak},
};

use jackfield_core::{
    agent::{Closing, Link},
    call::{AgentHandle, Call},
    ready::ReadyHandle,
};
use jackfield_kit::{mailbox::Mailbox, ws_connection::PeerLiveness};
use jackfield_model::AgentId;
use tokio::sync::OwnedSemaphorePermit;

use crate::{DOOR, route::RelayRoute};

/// One item in the mailbox of a connection.
#[derive(Debug)]
pub(crate) enum AgoraMail {
    /// A call from a different door for the agent.
    Call(AgentHandle),
    /// A call was cancelled or failed.
    Cancel(Arc<Call>),
    /// A new route of frames from a different Agora agent to this one.
    Lane(Arc<RelayRoute>),
    /// A frame of the hub for the agent: the result of an earlier frame.
    Frame(String),
    /// The answer to a message without an id. The permit delays the next answer until this one is taken.
    Answer(String, OwnedSemaphorePermit),
}

/// The link to one Agora connection.
#[derive(Debug)]
pub(crate) struct AgoraLink {
    pub(crate) id: AgentId,
    pub(crate) mailbox: Mailbox<AgoraMail>,
    me: Weak<Self>,
    signs: Arc<PeerLiveness>,
}

impl AgoraLink {
    pub(crate) fn new(
        id: AgentId,
        ready_handle: ReadyHandle,
        signs: Arc<PeerLiveness>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            id,
            mailbox: Mailbox::new(ready_handle),
            me: me.clone(),
            signs,
        })
    }

    /// Returns the Agora connection behind a link, or `None` for a link of a different door.
    pub(crate) fn behind(link: &dyn Link) -> Option<Arc<Self>> {
        let any: &dyn Any = link;
        any.downcast_ref::<Self>()?.me.upgrade()
    }
}

impl Link for AgoraLink {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        self.mailbox
            .post(AgoraMail::Call(call))
            .map_err(|mail| match mail {
                AgoraMail::Call(call) => call,
                AgoraMail::Cancel(_)
                | AgoraMail::Lane(_)
                | AgoraMail::Frame(_)
                | AgoraMail::Answer(..) => {
                    unreachable!("post gives back what it was given")
                }
            })
    }

    fn cancel(&self, call: &Arc<Call>) {
        // A call that the agent never saw needs no cancel. Leaving it in the mailbox would let impatient
        // callers fill the mailbox.
        let is_it = |mail: &AgoraMail| matches!(mail, AgoraMail::Call(unseen) if unseen.call().id == call.id);
        if self.mailbox.take_back(is_it).is_none() {
            // Neither does a session that is gone.
            drop(self.mailbox.post(AgoraMail::Cancel(call.clone())));
        }
    }

    fn close(&self, why: Closing) {
        self.mailbox.close(why);
    }

    fn alive(&self, _: &Call) -> bool {
        self.signs.is_recent()
    }

    fn is_silent(&self) -> bool {
        self.signs.is_silent()
    }

    fn door(&self) -> &'static str {
        DOOR
    }

    fn takes_streamed_input(&self) -> bool {
        true
    }
}
