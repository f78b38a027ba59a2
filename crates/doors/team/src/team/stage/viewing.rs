//! One viewer of a stage: what it may see, and how far it has come. Dropping it stops viewing.

use std::sync::Arc;

use jackfield_core::{
    principal::Principal,
    ready::{ReadyHandle, ReadySet},
};

use super::{Pending, Run, Stage, Told, ring::Missed};
use crate::team::event::AgentStatus;

/// Where a viewer begins.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Since {
    /// With all that is retained.
    #[default]
    Tail,
    /// After this event of this run, or of the current one; with all that is retained of any later run. A number that
    /// the current run has not come to is one of another, so all of it is.
    After(Option<String>, u64),
    /// With what comes from now on.
    Now,
}

/// What a viewer sees.
#[derive(Debug, Clone)]
pub enum Seen {
    /// An event.
    Event(Arc<Told>),
    /// These are gone: the viewer was too slow, or away for too long.
    Missed(Missed),
}

/// Names one viewer among all of the hub's, as long as it views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewerId(u64);

/// A viewer.
#[derive(Debug)]
pub struct Viewing {
    stage: Arc<Stage>,
    key: u64,
    /// Whose events it sees, if not all.
    only: Option<Principal>,
    bell: Option<Arc<ReadySet>>,
    ready: std::vec::IntoIter<Seen>,
}

/// How much is moved at once for viewers that handle one event at a time.
const BATCH: usize = 256 << 10;

impl Viewing {
    pub(crate) fn new(stage: Arc<Stage>, only: Option<Principal>, since: &Since) -> Self {
        let key = stage.theatre.new_viewer();
        {
            let mut state = stage.state.lock();
            let current = state.run.clone();
            match since {
                Since::Now => state.ring.add(key, None),
                Since::Tail => state.ring.add(key, Some(&|_| false)),
                Since::After(None, sequence) if *sequence > state.sequence => {
                    state.ring.add(key, Some(&|_| false));
                }
                Since::After(run, sequence) => {
                    let current_id = current.as_ref().map(|run| run.id.clone());
                    let run: Option<&str> = run.as_deref().or(current_id.as_deref());
                    let is_read =
                        |told: &Told| Some(&*told.run.id) == run && told.sequence <= *sequence;
                    state.ring.add(key, Some(&is_read));
                    // Of a run that is over and forgotten nothing can be told any more.
                    let same = current.filter(|current| Some(&*current.id) == run);
                    if let Some(current) = same {
                        let read = (*sequence).min(state.sequence);
                        state.ring.had_read(key, current, read);
                    }
                }
            }
        }
        Self {
            stage,
            key,
            only,
            bell: None,
            ready: Vec::new().into_iter(),
        }
    }

    /// The id of this viewer. [`Teams::say`](crate::Teams::say) takes it, so that the other viewers see what this one says.
    pub fn id(&self) -> ViewerId {
        ViewerId(self.key)
    }

    /// Who is rung when there is something to read, or when the stage is closed.
    pub fn listen(&self, rope: ReadyHandle) {
        self.stage.state.lock().ring.listen(self.key, rope);
    }

    /// Whether the team was removed.
    pub fn is_closed(&self) -> bool {
        self.stage.state.lock().is_closed
    }

    /// Moves on by about `max` bytes. If there is more, the rope is pulled again.
    pub fn take(&mut self, max: usize, seen: &mut Vec<Seen>) {
        let mut state = self.stage.state.lock();
        let at = seen.len();
        let (only, id) = (self.only.as_ref(), self.id());
        let missed = state.ring.read(self.key, max, |told| {
            let is_own = told.body.is_said_by(id);
            if !is_own && only.is_none_or(|principal| told.is_of(principal)) {
                seen.push(Seen::Event(told.clone()));
            }
        });
        if let Some(missed) = missed {
            seen.insert(at, Seen::Missed(missed));
        }
    }

    /// What comes next; nothing once the team was removed. Cancel-safe.
    pub async fn next(&mut self) -> Option<Seen> {
        loop {
            if let Some(seen) = self.ready.next() {
                return Some(seen);
            }
            let bell = self.bell.get_or_insert_with(|| {
                let bell = ReadySet::new();
                self.stage
                    .state
                    .lock()
                    .ring
                    .listen(self.key, bell.handle(0));
                bell
            });
            let mut seen = Vec::new();
            if self.stage.state.lock().is_closed {
                self.take(usize::MAX, &mut seen);
                if seen.is_empty() {
                    return None;
                }
            } else {
                let bell = bell.clone();
                bell.wait(&mut Vec::new()).await;
                self.take(BATCH, &mut seen);
            }
            self.ready = seen.into_iter();
        }
    }

    /// The run, if there is one, with the number of its last event.
    pub fn run(&self) -> Option<(Arc<Run>, u64)> {
        self.stage.run()
    }

    /// What a member is doing, as far as it did anything in this run.
    pub fn member_status(&self, route: &str) -> Option<AgentStatus> {
        self.stage.state.lock().standing.member(route)
    }

    /// The questions that wait for a viewer.
    pub fn pending(&self) -> Vec<Pending> {
        let state = self.stage.state.lock();
        let is_seen = |pending: &&Pending| {
            let only = self.only.as_ref();
            only.is_none_or(|principal| pending.caller.is(principal))
        };
        let pending = state.standing.pending().iter();
        pending.filter(is_seen).cloned().collect()
    }
}

impl Drop for Viewing {
    fn drop(&mut self) {
        self.stage.state.lock().ring.remove(self.key);
    }
}
