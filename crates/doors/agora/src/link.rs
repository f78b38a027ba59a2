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
}

#[derive(Debug, Default)]
struct Mailbox {
    mail: VecDeque<Mail>,
    /// The connection must end. Seen before all mail, since a peer that does not read gets no mail either.
    closing: Option<Closing>,
}

/// The way into one connection.
#[derive(Debug)]
pub(crate) struct AgoraLink {
    pub(crate) id: AgentId,
    me: Weak<Self>,
    rope: Rope,
    /// Nothing once the session is gone.
    mailbox: Mutex<Option<Mailbox>>,
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
            mailbox: Mutex::new(Some(Mailbox::default())),
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
            let mut mailbox = self.mailbox.lock();
            let Some(mailbox) = mailbox.as_mut() else {
                return Err(mail);
            };
            mailbox.mail.push_back(mail);
            if mailbox.mail.len() > 1 {
                return Ok(());
            }
        }
        self.rope.pull();
        Ok(())
    }

    /// Why the connection must end, if it must.
    pub(crate) fn closing(&self) -> Option<Closing> {
        self.mailbox.lock().as_ref()?.closing
    }

    /// Takes the oldest piece of mail. Whoever does not take all comes back by itself: there is no second ring.
    pub(crate) fn next_mail(&self) -> Option<Mail> {
        let mut mailbox = self.mailbox.lock();
        let queue = &mut mailbox.as_mut()?.mail;
        let mail = queue.pop_front();
        if queue.is_empty() {
            // Mail is rare: an idle connection keeps no buffer for it.
            *queue = VecDeque::new();
        }
        mail
    }

    /// Closes the mailbox for good and returns what was left in it.
    pub(crate) fn shut(&self) -> VecDeque<Mail> {
        let mailbox = self.mailbox.lock().take();
        mailbox.unwrap_or_default().mail
    }

    /// Notes that the peer sent something.
    pub(crate) fn sign_of_life(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.born).as_millis();
        self.sign
            .store(u64::try_from(ms).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Takes a call back that the peer has not seen yet.
    fn take_back(&self, call: &Call) -> Option<Mail> {
        let mut mailbox = self.mailbox.lock();
        let queue = &mut mailbox.as_mut()?.mail;
        let is_it = |mail: &Mail| matches!(mail, Mail::Call(unseen) if unseen.call().id == call.id);
        queue.remove(queue.iter().position(is_it)?)
    }
}

impl Link for AgoraLink {
    fn deliver(&self, call: Serving) -> Result<(), Serving> {
        self.post(Mail::Call(call)).map_err(|mail| match mail {
            Mail::Call(call) => call,
            Mail::Cancel(_) | Mail::Lane(_) | Mail::Frame(_) => {
                unreachable!("post gives back what it was given")
            }
        })
    }

    fn cancel(&self, call: &Arc<Call>) {
        // One that the peer never saw needs no cancel; kept, callers in a hurry could fill the mailbox with them.
        if self.take_back(call).is_none() {
            // Nor does a session that is gone.
            drop(self.post(Mail::Cancel(call.clone())));
        }
    }

    fn close(&self, why: Closing) {
        if let Some(mailbox) = self.mailbox.lock().as_mut() {
            mailbox.closing.get_or_insert(why);
        }
        self.rope.pull();
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
