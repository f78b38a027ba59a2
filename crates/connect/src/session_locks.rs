//! One message per conversation at a time. Later messages wait, because an agent has one memory of a
//! conversation.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

/// Locks of the conversations in progress.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionLocks {
    open: Arc<Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>>,
}

/// Exclusive right to work on a conversation of [`SessionLocks`], released on drop.
#[derive(Debug)]
pub(crate) struct SessionLock {
    turns: SessionLocks,
    session: String,
    held: Option<OwnedMutexGuard<()>>,
}

impl SessionLocks {
    /// Returns the lock if the conversation is idle.
    pub(crate) fn try_lock(&self, session: &str) -> Option<SessionLock> {
        let held = self.of(session).try_lock_owned().ok()?;
        Some(self.taken(session, held))
    }

    /// Waits for the lock, first come, first served.
    pub(crate) async fn lock(&self, session: &str) -> SessionLock {
        let held = self.of(session).lock_owned().await;
        self.taken(session, held)
    }

    fn of(&self, session: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut open = self.open.lock();
        open.entry(session.to_owned()).or_default().clone()
    }

    fn taken(&self, session: &str, held: OwnedMutexGuard<()>) -> SessionLock {
        SessionLock {
            turns: self.clone(),
            session: session.to_owned(),
            held: Some(held),
        }
    }
}

impl Drop for SessionLock {
    fn drop(&mut self) {
        drop(self.held.take());
        let mut open = self.turns.open.lock();
        // Waiters hold a reference too.
        if open
            .get(&self.session)
            .is_some_and(|turn| Arc::strong_count(turn) == 1)
        {
            open.remove(&self.session);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_second_message_of_a_conversation_waits_and_others_do_not() {
        let turns = SessionLocks::default();
        let first = turns.try_lock("a").unwrap();
        assert!(turns.try_lock("a").is_none());
        let other = turns.try_lock("b").unwrap();
        let mut second = Box::pin(turns.lock("a"));
        assert!(second.as_mut().now_or_never().is_none());
        drop(first);
        let second = second.now_or_never().unwrap();
        drop((second, other));
        assert!(turns.open.lock().is_empty(), "nothing is left behind");
    }
}
