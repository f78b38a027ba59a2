//! Context ids that a remote server assigned to the hub's conversations.

use std::collections::HashMap;

use jackfield_model::SessionId;
use parking_lot::Mutex;

/// Largest number of remembered conversations. The least recently used conversation is evicted for a new
/// conversation.
const MOST: usize = 4096;
/// Longest context id, in bytes. Servers use UUIDs; a longer id is not remembered.
const LONGEST: usize = 1024;

/// Context ids of a remote's conversations.
#[derive(Debug, Default)]
pub(super) struct ContextIds(Mutex<ContextTable>);

#[derive(Debug, Default)]
struct ContextTable {
    known: HashMap<SessionId, RememberedContext>,
    /// Counter of uses, for finding the least recently used entry.
    now: u64,
}

#[derive(Debug)]
struct RememberedContext {
    name: String,
    used: u64,
}

impl ContextIds {
    /// Returns the context id of a conversation.
    pub(super) fn get(&self, session: &SessionId) -> Option<String> {
        let mut inner = self.0.lock();
        inner.now += 1;
        let now = inner.now;
        let context = inner.known.get_mut(session)?;
        context.used = now;
        Some(context.name.clone())
    }

    /// Remembers the context id of a conversation.
    pub(super) fn put(&self, session: &SessionId, name: String) {
        if name.is_empty() || name.len() > LONGEST {
            return;
        }
        let mut inner = self.0.lock();
        inner.now += 1;
        let used = inner.now;
        if inner.known.len() >= MOST && !inner.known.contains_key(session) {
            let quiet = inner.known.iter().min_by_key(|(_, context)| context.used);
            if let Some(session) = quiet.map(|(session, _)| session.clone()) {
                inner.known.remove(&session);
            }
        }
        inner
            .known
            .insert(session.clone(), RememberedContext { name, used });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(number: usize) -> SessionId {
        SessionId::parse(&format!("s{number}")).unwrap()
    }

    #[test]
    fn the_conversation_that_was_quiet_for_longest_is_forgotten_first() {
        let contexts = ContextIds::default();
        for number in 0..MOST {
            contexts.put(&session(number), format!("c{number}"));
        }
        assert_eq!(contexts.get(&session(0)).as_deref(), Some("c0"));
        contexts.put(&session(MOST), "new".to_owned());
        assert_eq!(contexts.get(&session(1)), None);
        assert_eq!(contexts.get(&session(0)).as_deref(), Some("c0"));
        contexts.put(&session(0), "changed".to_owned());
        assert_eq!(contexts.get(&session(0)).as_deref(), Some("changed"));
        assert_eq!(contexts.get(&session(MOST)).as_deref(), Some("new"));
    }

    #[test]
    fn a_name_without_measure_is_not_remembered() {
        let contexts = ContextIds::default();
        contexts.put(&session(0), "x".repeat(LONGEST + 1));
        assert_eq!(contexts.get(&session(0)), None);
    }
}
