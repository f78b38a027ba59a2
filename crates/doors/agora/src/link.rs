//! The hub's way into a connection: a mailbox that the session empties when its bell rings.

use std::{
    any::Any,
    sync::{Arc, Weak},
};

use jackfield_core::{
    agent::{Closing, Link},
    call::{AgentHandle, Call},
    ready::ReadyHandle,
};
use jackfield_kit::{line::Signs, mailbox::Mailbox};
use jackfield_model::AgentId;
use tokio::sync::OwnedSemaphorePermit;

use crate::{DOOR, lane::Lane};

/// What is put into a connection's mailbox.
#[derive(Debug)]
pub(crate) enum Mail {
    /// Another door's call for this agent.
    Call(AgentHandle),
    /// A call was cancelled or failed.
    Cancel(Arc<Call>),
    /// Somebody starts to relay frames to this agent.
    Lane(Arc<Lane>),
    /// A frame of the hub for this agent: what became of something it sent.
    Frame(String),
    /// The answer to a message without a name; the next one is put together when this one is taken.
    Answer(String, OwnedSemaphorePermit),
}

/// The way into one connection.
#[derive(Debug)]
pub(crate) struct AgoraLink {
    pub(crate) id: AgentId,
    pub(crate) mailbox: Mailbox<Mail>,
    me: Weak<Self>,
    signs: Arc<Signs>,
}

impl AgoraLink {
    pub(crate) fn new(id: AgentId, rope: ReadyHandle, signs: Arc<Signs>) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            id,
            mailbox: Mailbox::new(rope),
            me: me.clone(),
            signs,
        })
    }

    /// The Agora connection behind a link, if it is one.
    pub(crate) fn behind(link: &dyn Link) -> Option<Arc<Self>> {
        let any: &dyn Any = link;
        any.downcast_ref::<Self>()?.me.upgrade()
    }
}

impl Link for AgoraLink {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        self.mailbox
            .post(Mail::Call(call))
            .map_err(|mail| match mail {
                Mail::Call(call) => call,
                Mail::Cancel(_) | Mail::Lane(_) | Mail::Frame(_) | Mail::Answer(..) => {
                    unreachable!("post gives back what it was given")
                }
            })
    }

    fn cancel(&self, call: &Arc<Call>) {
        // One that the peer never saw needs no cancel; kept, callers in a hurry could fill the mailbox with them.
        let is_it = |mail: &Mail| matches!(mail, Mail::Call(unseen) if unseen.call().id == call.id);
        if self.mailbox.take_back(is_it).is_none() {
            // Nor does a session that is gone.
            drop(self.mailbox.post(Mail::Cancel(call.clone())));
        }
    }

    fn close(&self, why: Closing) {
        self.mailbox.close(why);
    }

    fn alive(&self, _: &Call) -> bool {
        self.signs.are_fresh()
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
