//! The queue from the hub to the session of one connection: mail in order, and an order to close, which takes
//! precedence over all mail. No function here waits or calls the hub, so a link may use a [`Mailbox`] under
//! the agent's lock.

use std::collections::VecDeque;

use jackfield_core::{agent::Closing, ready::ReadyHandle};
use parking_lot::Mutex;

/// Key of the [`Mailbox`] in the ready set of a connection. Every other source has a key of its own.
pub const MAILBOX: u32 = 0;

/// The mailbox of a connection. The session empties the mailbox when [`MAILBOX`] becomes ready.
#[derive(Debug)]
pub struct Mailbox<M> {
    ready_handle: ReadyHandle,
    /// `None` once the session is gone.
    contents: Mutex<Option<MailboxContents<M>>>,
}

#[derive(Debug)]
struct MailboxContents<M> {
    mail: VecDeque<M>,
    /// Order to close. Handled before all mail, because a peer that does not read receives no mail either.
    closing: Option<Closing>,
}

impl<M> Mailbox<M> {
    /// Creates an empty mailbox that notifies the session through `ready_handle`.
    pub fn new(ready_handle: ReadyHandle) -> Self {
        let contents = MailboxContents {
            mail: VecDeque::new(),
            closing: None,
        };
        Self {
            ready_handle,
            contents: Mutex::new(Some(contents)),
        }
    }

    /// Appends `mail`, or returns it as the error if the session is gone.
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
        self.ready_handle.notify();
        Ok(())
    }

    /// Orders the session to close the connection. The first reason counts.
    pub fn close(&self, why: Closing) {
        if let Some(contents) = self.contents.lock().as_mut() {
            contents.closing.get_or_insert(why);
        }
        self.ready_handle.notify();
    }

    /// Returns the reason for which the connection must close, if there is an order to close.
    pub fn closing(&self) -> Option<Closing> {
        self.contents.lock().as_ref()?.closing
    }

    /// Removes and returns the oldest mail. A session that does not take all mail must come back on its own:
    /// the mailbox notifies only once.
    pub fn take(&self) -> Option<M> {
        let mut contents = self.contents.lock();
        let queue = &mut contents.as_mut()?.mail;
        let mail = queue.pop_front();
        if queue.is_empty() {
            // Mail is rare: an idle connection keeps no buffer.
            *queue = VecDeque::new();
        }
        mail
    }

    /// Removes and returns the first unread mail that matches `is_it`.
    pub fn take_back(&self, is_it: impl Fn(&M) -> bool) -> Option<M> {
        let mut contents = self.contents.lock();
        let queue = &mut contents.as_mut()?.mail;
        queue.remove(queue.iter().position(is_it)?)
    }

    /// Closes the mailbox for good and returns the unread mail.
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
        let ready_set = ReadySet::new();
        let mailbox = Mailbox::new(ready_set.handle(0));
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
        let ready_set = ReadySet::new();
        let mailbox = Mailbox::<u8>::new(ready_set.handle(7));
        mailbox.close(Closing::Replaced);
        mailbox.close(Closing::Stopping);
        assert_eq!(mailbox.closing(), Some(Closing::Replaced));
        let mut keys = Vec::new();
        assert!(ready_set.take(&mut keys) && keys[0] == 7);
    }
}
