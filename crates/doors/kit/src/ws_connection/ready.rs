//! The sources of a connection that are ready and not yet served.

use std::{
    collections::VecDeque,
    task::{Context, Poll},
};

use jackfield_core::ready::ReadySet;

use crate::mailbox::MAILBOX;

/// Key of the end of a connection: the hub stops, or the peer's token is revoked.
pub(super) const END: u32 = u32::MAX;

/// Keys that are ready and not yet served.
#[derive(Debug)]
pub(super) struct ReadyKeys {
    keys: VecDeque<u32>,
    mail: MailboxPhase,
    /// Whether the end of the connection must be checked: `END` became ready, or the end was never checked.
    pub(super) end: bool,
}

/// Progress of the session with its mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MailboxPhase {
    /// The mailbox is empty.
    Quiet,
    /// The mailbox has mail that the session does not know about.
    Rang,
    /// The session is taking mail: all of it, unless the socket becomes busy.
    BeingTaken,
}

impl ReadyKeys {
    pub(super) fn new() -> Self {
        Self {
            keys: VecDeque::new(),
            mail: MailboxPhase::Quiet,
            end: true,
        }
    }

    /// Collects the keys that became ready since the last call. If there are none, registers the task to be
    /// woken by the next one.
    pub(super) fn poll_ready(&mut self, ready_set: &ReadySet, cx: &mut Context<'_>) -> Poll<()> {
        ready_set.poll_each(cx, |key| match key {
            MAILBOX => self.mail = MailboxPhase::Rang,
            END => self.end = true,
            key => self.keys.push_back(key),
        })
    }

    /// Returns whether a source is ready that does not wait for the socket: mail, or the end of the
    /// connection.
    pub(super) fn is_urgent(&self) -> bool {
        self.end || self.mail == MailboxPhase::Rang
    }

    /// Returns whether ready sources wait until the socket is no longer busy.
    pub(super) fn has_waiting(&self) -> bool {
        !self.keys.is_empty()
    }

    /// Returns the key to serve next. A busy socket serves only the mailbox, and only once per notification,
    /// because the mail may be an order to close the connection. The remaining mail then queues behind the
    /// other keys.
    pub(super) fn next(&mut self, is_busy: bool) -> Option<u32> {
        if self.mail == MailboxPhase::BeingTaken {
            self.mail = MailboxPhase::Quiet;
            if is_busy {
                self.keys.push_back(MAILBOX);
            }
        }
        let key = match self.mail {
            MailboxPhase::Rang => MAILBOX,
            _ if is_busy => return None,
            _ => self.keys.pop_front()?,
        };
        if key == MAILBOX {
            self.mail = MailboxPhase::BeingTaken;
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, task::Waker};

    use super::*;

    fn rung(keys: &[u32]) -> (ReadyKeys, Arc<ReadySet>) {
        let (mut rung, ready_set) = (ReadyKeys::new(), ReadySet::new());
        rung.end = false;
        keys.iter().for_each(|key| ready_set.handle(*key).notify());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(rung.poll_ready(&ready_set, &mut cx).is_ready());
        assert!(rung.poll_ready(&ready_set, &mut cx).is_pending());
        (rung, ready_set)
    }

    #[test]
    fn the_mailbox_comes_first_and_the_others_in_order() {
        let (mut rung, _bell) = rung(&[7, 5, MAILBOX, 6]);
        assert!(rung.is_urgent());
        let order: Vec<_> = std::iter::from_fn(|| rung.next(false)).collect();
        assert_eq!(order, [MAILBOX, 7, 5, 6]);
    }

    #[test]
    fn a_busy_socket_hears_of_mail_once_and_again_when_there_is_room() {
        let (mut rung, _bell) = rung(&[MAILBOX, 5]);
        assert_eq!(rung.next(true), Some(MAILBOX));
        assert_eq!(rung.next(true), None);
        assert!(!rung.is_urgent() && rung.has_waiting());
        let order: Vec<_> = std::iter::from_fn(|| rung.next(false)).collect();
        assert_eq!(order, [5, MAILBOX]);
    }

    #[test]
    fn mail_that_made_the_socket_busy_is_not_forgotten() {
        let (mut rung, _bell) = rung(&[MAILBOX]);
        assert_eq!(rung.next(false), Some(MAILBOX));
        assert_eq!(rung.next(true), None);
        assert_eq!(rung.next(false), Some(MAILBOX));
        assert_eq!(rung.next(false), None);
    }

    #[test]
    fn the_end_is_heard_and_is_nobodys_key() {
        let (mut rung, _bell) = rung(&[END]);
        assert!(rung.end && rung.is_urgent());
        assert_eq!(rung.next(false), None);
    }
}
