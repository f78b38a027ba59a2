//! The hub's [`Link`] to an agent's connection: a [`Mailbox`] that the session empties when notified.

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
use jackfield_kit::{mailbox::Mailbox, ws_connection::PeerLiveness};
use jackfield_model::{AgentId, Failure, Reason};

use crate::DOOR;

/// Maximum number of bytes of waiting signals for an agent that does not read: several of the largest.
/// Checked before the next one is added, so that one always fits.
const WAITING_MAX: usize = 1 << 20;

/// One item in the [`Mailbox`] of a connection.
#[derive(Debug)]
pub(crate) enum BridgeMail {
    /// A call for the agent ([`Serving`]).
    Call(AgentHandle),
    /// A call was cancelled or failed.
    Cancel(Arc<Call>),
    /// The log has stored the frames of a durable call up to this number.
    Ack(Arc<Call>, u64),
    /// A ready-made frame: a signal of a different party, or a frame repeated after a disconnect.
    Frame(String),
}

/// Extensions announced by an agent and confirmed by the hub.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extensions {
    pub(crate) resume: bool,
    pub(crate) artifacts: bool,
    pub(crate) input: bool,
    pub(crate) meta: bool,
}

/// The link to one bridge connection.
#[derive(Debug)]
pub(crate) struct BridgeLink {
    pub(crate) id: AgentId,
    pub(crate) extensions: Extensions,
    pub(crate) mailbox: Mailbox<BridgeMail>,
    /// Bytes of frames in the mailbox.
    waiting: AtomicUsize,
    me: Weak<Self>,
    signs: Arc<PeerLiveness>,
}

impl BridgeLink {
    pub(crate) fn new(
        id: AgentId,
        extensions: Extensions,
        ready_handle: ReadyHandle,
        signs: Arc<PeerLiveness>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            id,
            extensions,
            mailbox: Mailbox::new(ready_handle),
            waiting: AtomicUsize::new(0),
            me: me.clone(),
            signs,
        })
    }

    /// Returns the bridge connection behind a link, or `None` for a link of a different door.
    pub(crate) fn behind(link: &dyn Link) -> Option<Arc<Self>> {
        let any: &dyn Any = link;
        any.downcast_ref::<Self>()?.me.upgrade()
    }

    /// Posts a frame of a different party. Fails if the session is gone, or if too many bytes wait because
    /// the agent does not read.
    pub(crate) fn post_frame(&self, frame: String) -> Result<(), Failure> {
        let size = frame.len();
        if self.waiting.fetch_add(size, Ordering::AcqRel) >= WAITING_MAX {
            self.waiting.fetch_sub(size, Ordering::AcqRel);
            let text = "the agent does not read what it is sent; try again later";
            return Err(Failure::new(Reason::Busy, text));
        }
        let posted = self.mailbox.post(BridgeMail::Frame(frame));
        posted.map_err(|_| Failure::agent_left())
    }

    /// Removes and returns the oldest mail.
    pub(crate) fn take(&self) -> Option<BridgeMail> {
        let mail = self.mailbox.take()?;
        if let BridgeMail::Frame(frame) = &mail {
            self.waiting.fetch_sub(frame.len(), Ordering::AcqRel);
        }
        Some(mail)
    }
}

impl Link for BridgeLink {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        self.mailbox
            .post(BridgeMail::Call(call))
            .map_err(|mail| match mail {
                BridgeMail::Call(call) => call,
                BridgeMail::Cancel(_) | BridgeMail::Ack(..) | BridgeMail::Frame(_) => {
                    unreachable!("post gives back what it was given")
                }
            })
    }

    fn cancel(&self, call: &Arc<Call>) {
        // A call that the agent never saw needs no cancel, nor does a session that is gone.
        let is_it = |mail: &BridgeMail| matches!(mail, BridgeMail::Call(unseen) if unseen.call().id == call.id);
        if self.mailbox.take_back(is_it).is_none() {
            drop(self.mailbox.post(BridgeMail::Cancel(call.clone())));
        }
    }

    fn close(&self, why: Closing) {
        self.mailbox.close(why);
    }

    fn acked(&self, call: &Arc<Call>, seq: u64) {
        // The newest acknowledgement replaces older ones, so that they do not pile up for an agent that does
        // not read.
        let is_older =
            |mail: &BridgeMail| matches!(mail, BridgeMail::Ack(known, _) if known.id == call.id);
        drop(self.mailbox.take_back(is_older));
        // A session that is gone learns the number when the agent reconnects.
        drop(self.mailbox.post(BridgeMail::Ack(call.clone(), seq)));
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

    fn one_call_per_session(&self) -> bool {
        !self.extensions.meta
    }
}
