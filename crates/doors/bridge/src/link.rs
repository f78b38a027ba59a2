//! The hub's way into an agent's connection: a mailbox that the session empties when its bell rings.

use std::{
    any::Any,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

use jackfield_core::{
    agent::{Closing, Link},
    call::{AgentHandle, Call},
    ready::ReadyHandle,
};
use jackfield_kit::{line::Signs, mailbox::Mailbox};
use jackfield_model::{AgentId, Failure, Reason};

use crate::DOOR;

/// Signals of others that may wait for an agent that does not read, in bytes: several of the largest. Judged before the
/// next one, so that one always fits.
const WAITING_MAX: usize = 1 << 20;

/// What is put into a connection's mailbox.
#[derive(Debug)]
pub(crate) enum Mail {
    /// A call for this agent.
    Call(AgentHandle),
    /// A call was cancelled or failed.
    Cancel(Arc<Call>),
    /// Up to this frame a kept call is written down.
    Ack(Arc<Call>, u64),
    /// A frame as it is: a signal of somebody else, or something that is repeated after a cut.
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
    /// How many bytes of frames are in the mailbox.
    waiting: AtomicUsize,
    me: Weak<Self>,
    signs: Arc<Signs>,
}

impl BridgeLink {
    pub(crate) fn new(
        id: AgentId,
        extensions: Extensions,
        rope: ReadyHandle,
        signs: Arc<Signs>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            id,
            extensions,
            mailbox: Mailbox::new(rope),
            waiting: AtomicUsize::new(0),
            me: me.clone(),
            signs,
        })
    }

    /// The bridge connection behind a link, if it is one.
    pub(crate) fn behind(link: &dyn Link) -> Option<Arc<Self>> {
        let any: &dyn Any = link;
        any.downcast_ref::<Self>()?.me.upgrade()
    }

    /// Puts a frame of somebody else into the mailbox. Refused if the session is gone, or if too many wait already because
    /// the agent does not read.
    pub(crate) fn post_frame(&self, frame: String) -> Result<(), Failure> {
        let size = frame.len();
        if self.waiting.fetch_add(size, Ordering::AcqRel) >= WAITING_MAX {
            self.waiting.fetch_sub(size, Ordering::AcqRel);
            let text = "the agent does not read what it is sent; try again later";
            return Err(Failure::new(Reason::Busy, text));
        }
        let posted = self.mailbox.post(Mail::Frame(frame));
        posted.map_err(|_| Failure::agent_left())
    }

    /// The oldest piece of mail.
    pub(crate) fn take(&self) -> Option<Mail> {
        let mail = self.mailbox.take()?;
        if let Mail::Frame(frame) = &mail {
            self.waiting.fetch_sub(frame.len(), Ordering::AcqRel);
        }
        Some(mail)
    }
}

impl Link for BridgeLink {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
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
        // The newest says it all, so that they do not pile up before an agent that does not read.
        let is_older = |mail: &Mail| matches!(mail, Mail::Ack(known, _) if known.id == call.id);
        drop(self.mailbox.take_back(is_older));
        // A session that is gone hears of it when it comes back.
        drop(self.mailbox.post(Mail::Ack(call.clone(), seq)));
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

    fn one_call_per_session(&self) -> bool {
        !self.extensions.meta
    }
}
