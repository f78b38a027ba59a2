//! What the hub puts into a connection: mail in order, and that the connection must end, which is seen before all
//! mail. Nothing here waits or calls the hub, so that a link may use it under the agent's lock.

use std::collections::VecDeque;

use jackfield_core::{agent::Closing, ready::ReadyHandle};
use parking_lot::Mutex;

/// The key with which mailboxes ring on a line; all else that rings there has a key of its own.
pub const MAILBOX: u32 = 0;

/// A connection's mailbox. The session empties it when its bell rings.
#[derive(Debug)]
pub struct Mailbox<M> {
    rope: ReadyHandle,
    /// Nothing once the session is gone.
    contents: Mutex<Option<Contents<M>>>,
}

#[derive(Debug)]
struct Contents<M> {
    mail: VecDeque<M>,
    /// Seen before all mail, since a peer that does not read gets no mail either.
    closing: Option<Closing>,
}

impl<M> Mailbox<M> {
    /// An empty mailbox that rings this rope.
    pub fn new(rope: ReadyHandle) -> Self {
        let contents = Contents {
            mail: VecDeque::new(),
            closing: None,
        };
        Self {
            rope,
            contents: Mutex::new(Some(contents)),
        }
    }

    /// Puts something in; gives it back if the session is gone.
    pub fn post(&self, mail: M) -> Result<(), M> {
        {
            let mut contents = self.contents.lock();
            let Some(contents) = contents.as_mut() else {
                return Err(mail);
            };
            contents.mail.push_back(mail);
            if contents.mail.len() > 1 {
                return Ok(());
            }
        }
        self.rope.notify();
        Ok(())
    }

    /// Says that the connection must end; the first reason counts.
    pub fn close(&self, why: Closing) {
        if let Some(contents) = self.contents.lock().as_mut() {
            contents.closing.get_or_insert(why);
        }
        self.rope.notify();
    }

    /// Why the connection must end, if it must.
    pub fn closing(&self) -> Option<Closing> {
        self.contents.lock().as_ref()?.closing
    }

    /// Takes the oldest piece. Whoever does not take all comes back by itself: there is no second ring.
    pub fn take(&self) -> Option<M> {
        let mut contents = self.contents.lock();
        let queue = &mut contents.as_mut()?.mail;
        let mail = queue.pop_front();
        if queue.is_empty() {
            // Mail is rare: an idle connection keeps no buffer for it.
            *queue = VecDeque::new();
        }
        mail
    }

    /// Takes back the first piece that fits, which the session has not seen yet.
    pub fn take_back(&self, is_it: impl Fn(&M) -> bool) -> Option<M> {
        let mut contents = self.contents.lock();
        let queue = &mut contents.as_mut()?.mail;
        queue.remove(queue.iter().position(is_it)?)
    }

    /// Closes the mailbox for good and returns what was left in it.
    pub fn shut(&self) -> VecDeque<M> {
        self.contents
            .lock()
            .take()
            .map(|contents| contents.mail)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use jackfield_core::ready::ReadySet;

    use super::*;

    #[test]
    fn mail_comes_in_order_and_a_shut_box_gives_it_back() {
        let bell = ReadySet::new();
        let mailbox = Mailbox::new(bell.handle(0));
        assert_eq!(
            (mailbox.post(1), mailbox.post(2), mailbox.post(3)),
            (Ok(()), Ok(()), Ok(()))
        );
        assert_eq!(mailbox.take_back(|mail| *mail == 2), Some(2));
        assert_eq!(mailbox.take(), Some(1));
        assert_eq!(mailbox.shut(), [3]);
        assert_eq!(mailbox.post(4), Err(4));
        assert_eq!(mailbox.take(), None);
    }

    #[test]
    fn the_first_reason_to_close_counts_and_rings() {
        let bell = ReadySet::new();
        let mailbox = Mailbox::<u8>::new(bell.handle(7));
        mailbox.close(Closing::Replaced);
        mailbox.close(Closing::Stopping);
        assert_eq!(mailbox.closing(), Some(Closing::Replaced));
        let mut keys = Vec::new();
        assert!(bell.take(&mut keys) && keys[0] == 7);
    }
}
