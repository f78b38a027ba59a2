//! What rang on a line and was not yet served.

use std::{
    collections::VecDeque,
    task::{Context, Poll},
};

use jackfield_core::ready::ReadySet;

use crate::mailbox::MAILBOX;

/// The key under which the end of a line rings: its hub stops, or its peer's token was revoked.
pub(super) const END: u32 = u32::MAX;

/// What rang and was not yet served.
#[derive(Debug)]
pub(super) struct Rung {
    keys: VecDeque<u32>,
    mail: Mail,
    /// Whether the end rang, or was never looked for.
    pub(super) end: bool,
}

/// How far the session is with its mailbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mail {
    /// Nothing was put into it.
    Quiet,
    /// The session does not know yet that there is something.
    Rang,
    /// The session takes its mail, all of it unless the socket gets busy.
    BeingTaken,
}

impl Rung {
    pub(super) fn new() -> Self {
        Self {
            keys: VecDeque::new(),
            mail: Mail::Quiet,
            end: true,
        }
    }

    /// Hears what rang since the last time, or lets the reader be woken by the next ring.
    pub(super) fn hear(&mut self, bell: &ReadySet, cx: &mut Context<'_>) -> Poll<()> {
        bell.poll_each(cx, |key| match key {
            MAILBOX => self.mail = Mail::Rang,
            END => self.end = true,
            key => self.keys.push_back(key),
        })
    }

    /// Whether something rang that does not wait for the socket.
    pub(super) fn is_urgent(&self) -> bool {
        self.end || self.mail == Mail::Rang
    }

    /// Whether somebody waits for a socket that is not busy any more.
    pub(super) fn waits(&self) -> bool {
        !self.keys.is_empty()
    }

    /// What is to be served next. For a busy socket that is only the mailbox, and that once per ring: it may say that
    /// the connection must end. What is left in it then has its turn like everybody else.
    pub(super) fn next(&mut self, is_busy: bool) -> Option<u32> {
        if self.mail == Mail::BeingTaken {
            self.mail = Mail::Quiet;
            if is_busy {
                self.keys.push_back(MAILBOX);
            }
        }
        let key = match self.mail {
            Mail::Rang => MAILBOX,
            _ if is_busy => return None,
            _ => self.keys.pop_front()?,
        };
        if key == MAILBOX {
            self.mail = Mail::BeingTaken;
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, task::Waker};

    use super::*;

    fn rung(keys: &[u32]) -> (Rung, Arc<ReadySet>) {
        let (mut rung, bell) = (Rung::new(), ReadySet::new());
        rung.end = false;
        keys.iter().for_each(|key| bell.handle(*key).notify());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(rung.hear(&bell, &mut cx).is_ready());
        assert!(rung.hear(&bell, &mut cx).is_pending());
        (rung, bell)
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
        assert!(!rung.is_urgent() && rung.waits());
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
