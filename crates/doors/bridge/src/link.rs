//! The hub's way into an agent's connection: a mailbox that the session empties when its bell rings.

use std::{
    any::Any,
    sync::{Arc, Weak},
};

use jackfield_core::{
    agent::{Closing, Link},
    bell::Rope,
    call::{Call, Serving},
    id::AgentId,
};
use jackfield_kit::{line::Signs, mailbox::Mailbox};

use crate::DOOR;

/// What is put into a connection's mailbox.
#[derive(Debug)]
pub(crate) enum Mail {
    /// A call for this agent.
    Call(Serving),
    /// A call was cancelled or failed.
    Cancel(Arc<Call>),
    /// Up to this frame a kept call is written down.
    Ack(Arc<Call>, u64),
    /// A frame of the hub: a signal of another agent, or what became of something it sent.
    Frame(String),
}

/// The extensions that an agent announced and the hub confirmed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    pub(crate) resume: bool,
    pub(crate) artifacts: bool,
    pub(crate) input: bool,
    pub(crate) meta: bool,
}

/// The way into one connection.
#[derive(Debug)]
pub(crate) struct BridgeLink {
    pub(crate) id: AgentId,
    pub(crate) extensions: Extensions,
    pub(crate) mailbox: Mailbox<Mail>,
    me: Weak<Self>,
    signs: Arc<Signs>,
}

impl BridgeLink {
    pub(crate) fn new(
        id: AgentId,
        extensions: Extensions,
        rope: Rope,
        signs: Arc<Signs>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            id,
            extensions,
            mailbox: Mailbox::new(rope),
            me: me.clone(),
            signs,
        })
    }

    /// The bridge connection behind a link, if it is one.
    pub(crate) fn behind(link: &dyn Link) -> Option<Arc<Self>> {
        let any: &dyn Any = link;
        any.downcast_ref::<Self>()?.me.upgrade()
    }

    /// Puts a frame into the mailbox; false if the session is gone.
    pub(crate) fn post_frame(&self, frame: String) -> bool {
        self.mailbox.post(Mail::Frame(frame)).is_ok()
    }
}

impl Link for BridgeLink {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        self.mailbox
            .post(Mail::Call(call))
            .map_err(|mail| match mail {
                Mail::Call(call) => call,
                Mail::Cancel(_) | Mail::Ack(..) | Mail::Frame(_) => {
                    unreachable!("post gives back what it was given")
                }
            })
    }

    fn cancel(&self, call: &Arc<Call>) {
        // One that the agent never saw needs no cancel, nor does a session that is gone.
        let is_it = |mail: &Mail| matches!(mail, Mail::Call(unseen) if unseen.call().id == call.id);
        if self.mailbox.take_back(is_it).is_none() {
            drop(self.mailbox.post(Mail::Cancel(call.clone())));
        }
    }

    fn close(&self, why: Closing) {
        self.mailbox.close(why);
    }

    fn acked(&self, call: &Arc<Call>, seq: u64) {
        // A session that is gone hears of it when it comes back.
        drop(self.mailbox.post(Mail::Ack(call.clone(), seq)));
    }

    fn alive(&self, _: &Call) -> bool {
        self.signs.are_fresh()
    }

    fn door(&self) -> &'static str {
        DOOR
    }

    fn one_call_per_session(&self) -> bool {
        !self.extensions.meta
    }
}
