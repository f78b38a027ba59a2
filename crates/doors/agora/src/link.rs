//! The hub's way into a connection: a mailbox that the session empties when its bell rings. Nothing here waits or
//! calls the hub.

use std::{
    any::Any,
    collections::VecDeque,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use jackfield_core::{
    agent::{Closing, Link},
    bell::Rope,
    call::{Call, Serving},
    id::AgentId,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{DOOR, lane::Lane};

/// A sign of life counts for the sweeper if it is not older than this: a little over one look.
const FRESH: Duration = Duration::from_millis(1500);

/// What is put into a connection's mailbox.
#[derive(Debug)]
pub(crate) enum Mail {
    /// Another door's call for this agent.
    Call(Serving),
    /// A call was cancelled or failed.
    Cancel(Arc<Call>),
    /// Somebody starts to relay frames to this agent.
    Lane(Arc<Lane>),
    /// A frame of the hub for this agent: what became of something it sent.
    Frame(String),
    /// The connection must end.
    Close(Closing),
}

/// The way into one connection.
#[derive(Debug)]
pub(crate) struct AgoraLink {
    pub(crate) id: AgentId,
    me: Weak<Self>,
    rope: Rope,
    /// Nothing once the session is gone.
    mail: Mutex<Option<VecDeque<Mail>>>,
    born: Instant,
    /// When the peer last sent anything, in ms after `born`.
    sign: AtomicU64,
}

impl AgoraLink {
    pub(crate) fn new(id: AgentId, rope: Rope) -> Arc<Self> {
        Arc::new_cyclic(|me| Self {
            id,
            me: me.clone(),
            rope,
            mail: Mutex::new(Some(VecDeque::new())),
            born: Instant::now(),
            sign: AtomicU64::new(0),
        })
    }

    /// The Agora connection behind a link, if it is one.
    pub(crate) fn behind(link: &dyn Link) -> Option<Arc<Self>> {
        let any: &dyn Any = link;
        any.downcast_ref::<Self>()?.me.upgrade()
    }

    /// Puts something into the mailbox; gives it back if the session is gone.
    pub(crate) fn post(&self, mail: Mail) -> Result<(), Mail> {
        {
            let mut slot = self.mail.lock();
            let Some(queue) = slot.as_mut() else {
                return Err(mail);
            };
            queue.push_back(mail);
            if queue.len() > 1 {
                return Ok(());
            }
        }
        self.rope.pull();
        Ok(())
    }

    /// Empties the mailbox.
    pub(crate) fn collect(&self) -> VecDeque<Mail> {
        self.mail
            .lock()
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Closes the mailbox for good and returns what was left in it.
    pub(crate) fn shut(&self) -> VecDeque<Mail> {
        self.mail.lock().take().unwrap_or_default()
    }

    /// Notes that the peer sent something.
    pub(crate) fn sign_of_life(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.born).as_millis();
        self.sign
            .store(u64::try_from(ms).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

impl Link for AgoraLink {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        self.post(Mail::Call(call)).map_err(|mail| match mail {
            Mail::Call(call) => call,
            Mail::Cancel(_) | Mail::Lane(_) | Mail::Frame(_) | Mail::Close(_) => {
                unreachable!("post gives back what it was given")
            }
        })
    }

    fn cancel(&self, call: &Arc<Call>) {
        // A session that is gone needs no cancel.
        drop(self.post(Mail::Cancel(call.clone())));
    }

    fn close(&self, why: Closing) {
        drop(self.post(Mail::Close(why)));
    }

    fn alive(&self, _: &Call) -> bool {
        let sign = Duration::from_millis(self.sign.load(Ordering::Relaxed));
        self.born.elapsed().saturating_sub(sign) <= FRESH
    }

    fn door(&self) -> &'static str {
        DOOR
    }

    fn takes_streamed_input(&self) -> bool {
        true
    }
}
