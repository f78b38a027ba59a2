//! Observers: they see what goes on, may miss some of it when they lag, and never block anybody. When nobody watches,
//! they cost one load.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use jackfield_model::{AgentId, CallId, End, Event, Message, Owner};
use jiff::Timestamp;
use parking_lot::RwLock;

use crate::{
    bell::Bell,
    budget::Budget,
    entry::Entry,
    limits::Limits,
    metrics::Metrics,
    pipe::{Item, Levels, Pipe, Pushed},
    principal::Principal,
};

/// Which way a raw frame went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the peer to the hub.
    In,
    /// From the hub to the peer.
    Out,
}

/// What an observer sees.
#[derive(Debug, Clone)]
pub enum Sight {
    /// The agent came online through this door.
    Online(&'static str),
    /// The agent went offline.
    Offline,
    /// Somebody calls the agent.
    Started {
        /// Who.
        caller: String,
        /// Through which door.
        door: &'static str,
        /// What they say.
        message: Message,
    },
    /// The agent says something.
    Event(Event),
    /// The call is over.
    Ended(End),
    /// The agent says something to another one of its door, without a call of the hub in between.
    Relayed {
        /// To whom.
        to: AgentId,
        /// The door's name for it.
        kind: &'static str,
        /// The words of it.
        text: String,
    },
    /// A frame on the agent's connection, as it is.
    Frame(Direction, Arc<str>),
}

/// One thing that was seen.
#[derive(Debug, Clone)]
pub struct Seen {
    /// When.
    pub at: Timestamp,
    /// At which agent.
    pub agent: AgentId,
    /// In which call.
    pub call: Option<CallId>,
    /// What.
    pub sight: Sight,
}

impl Item for Seen {
    fn weight(&self) -> usize {
        128 + match &self.sight {
            Sight::Event(event) => event.weight(),
            Sight::Started { message, .. } => message.weight(),
            Sight::Relayed { text, .. } => text.len(),
            Sight::Frame(_, text) => text.len(),
            Sight::Ended(end) => end.weight(),
            Sight::Online(_) | Sight::Offline => 0,
        }
    }

    fn merge(&mut self, next: Self) -> Option<Self> {
        Some(next)
    }
}

/// What an observer wants to see.
#[derive(Debug, Clone, Default)]
pub struct TapFilter {
    /// Only this agent.
    pub agent: Option<AgentId>,
    /// Only these agents.
    pub among: Option<Vec<AgentId>>,
    /// Raw frames too.
    pub raw: bool,
}

#[derive(Debug)]
struct Watcher {
    principal: Principal,
    filter: TapFilter,
    pipe: Pipe<Seen, ()>,
    missed: AtomicU64,
}

impl Watcher {
    fn wants(&self, agent: &AgentId, owner: &Owner) -> bool {
        let TapFilter {
            agent: one, among, ..
        } = &self.filter;
        one.as_ref().is_none_or(|wanted| wanted == agent)
            && among.as_ref().is_none_or(|wanted| wanted.contains(agent))
            && may_watch(&self.principal, agent, owner)
    }
}

/// Whether a principal may watch an agent: its owner, the agent itself, a token with the scope, an admin.
pub fn may_watch(principal: &Principal, agent: &AgentId, owner: &Owner) -> bool {
    principal.is_admin()
        || principal.sees_all_of(agent, owner)
        || principal
            .grant
            .scopes
            .watch
            .iter()
            .any(|pattern| pattern.matches(agent.as_str()))
}

/// All observers of a hub.
#[derive(Debug)]
pub struct Taps {
    watched: AtomicUsize,
    raw: AtomicUsize,
    watchers: RwLock<Vec<Arc<Watcher>>>,
    levels: Levels,
    metrics: Arc<Metrics>,
}

impl Taps {
    pub(crate) fn new(limits: &Limits, metrics: Arc<Metrics>) -> Self {
        let tap = limits.tap.0;
        // An observer's pipe never paces anybody: what does not fit is missed.
        let levels = Levels {
            full: tap,
            low: tap / 2,
            overrun: tap,
        };
        Self {
            watched: AtomicUsize::new(0),
            raw: AtomicUsize::new(0),
            watchers: RwLock::default(),
            levels,
            metrics,
        }
    }

    /// Whether anybody watches: the one check on the hot path as long as nobody does.
    pub(crate) fn are_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed) > 0
    }

    /// Whether anybody wants raw frames.
    pub fn want_frames(&self) -> bool {
        self.raw.load(Ordering::Relaxed) > 0
    }

    /// Whether anybody watches this agent: for those who have to copy what can be seen before they know whether it is.
    pub(crate) fn are_on(&self, agent: &AgentId, owner: &Owner) -> bool {
        let wants = |watcher: &Arc<Watcher>| watcher.wants(agent, owner);
        self.are_watched() && self.watchers.read().iter().any(wants)
    }

    /// Shows something to whoever may and wants to see it. It is made only if there is one.
    pub(crate) fn see(
        &self,
        agent: &AgentId,
        owner: &Owner,
        call: Option<CallId>,
        sight: impl FnOnce() -> Sight,
    ) {
        self.show(agent, call, sight, |watcher| watcher.wants(agent, owner));
    }

    /// Shows a frame on the connection of an agent, as it is.
    pub fn see_frame(&self, at: &Entry, direction: Direction, frame: impl FnOnce() -> Arc<str>) {
        let sight = || Sight::Frame(direction, frame());
        self.show(&at.id, None, sight, |watcher| {
            watcher.filter.raw && watcher.wants(&at.id, at.owner())
        });
    }

    /// Shows what one agent says to another, once, to whoever watches either of them.
    pub fn see_relayed(
        &self,
        from: &Entry,
        to: &Entry,
        kind: &'static str,
        words: impl FnOnce() -> String,
    ) {
        let sight = || Sight::Relayed {
            to: to.id.clone(),
            kind,
            text: words(),
        };
        self.show(&from.id, None, sight, |watcher| {
            // Whoever wants raw frames sees this one as it is.
            !watcher.filter.raw
                && [from, to]
                    .into_iter()
                    .any(|entry| watcher.wants(&entry.id, entry.owner()))
        });
    }

    fn show(
        &self,
        agent: &AgentId,
        call: Option<CallId>,
        sight: impl FnOnce() -> Sight,
        wanted: impl Fn(&Watcher) -> bool,
    ) {
        if !self.are_watched() {
            return;
        }
        let watchers = self.watchers.read();
        let mut wanting = watchers.iter().filter(|watcher| wanted(watcher)).peekable();
        if wanting.peek().is_none() {
            return;
        }
        let seen = Seen {
            at: Timestamp::now(),
            agent: agent.clone(),
            call,
            sight: sight(),
        };
        for watcher in wanting {
            if watcher.pipe.push(seen.clone()) == Pushed::Overrun {
                watcher.missed.fetch_add(1, Ordering::Relaxed);
                self.metrics.missed_by_tap();
            }
        }
    }

    /// Starts to watch.
    pub fn watch(self: &Arc<Self>, principal: Principal, filter: TapFilter) -> Watching {
        let bell = Bell::new();
        // Observers have a budget of their own: they must not make calls `busy`.
        let pipe = Pipe::new(self.levels, Arc::new(Budget::new(usize::MAX)));
        pipe.listen(bell.rope(0));
        let watcher = Arc::new(Watcher {
            principal,
            filter,
            pipe,
            missed: AtomicU64::new(0),
        });
        self.watchers.write().push(watcher.clone());
        self.watched.fetch_add(1, Ordering::Relaxed);
        self.raw
            .fetch_add(usize::from(watcher.filter.raw), Ordering::Relaxed);
        Watching {
            watcher,
            bell,
            taps: Arc::downgrade(self),
            ready: Vec::new().into_iter(),
        }
    }
}

/// An observer's end. Dropping it stops watching.
#[derive(Debug)]
pub struct Watching {
    watcher: Arc<Watcher>,
    bell: Arc<Bell>,
    taps: Weak<Taps>,
    ready: std::vec::IntoIter<Seen>,
}

impl Watching {
    /// The next thing to see. Cancel-safe.
    pub async fn next(&mut self) -> Seen {
        loop {
            if let Some(seen) = self.ready.next() {
                return seen;
            }
            self.bell.wait(&mut Vec::new()).await;
            let mut items = Vec::new();
            self.watcher.pipe.take(&mut items, 64 << 10);
            self.ready = items.into_iter();
        }
    }

    /// How much was missed since this was last asked.
    pub fn missed(&self) -> u64 {
        self.watcher.missed.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(taps) = self.taps.upgrade() {
            taps.watchers
                .write()
                .retain(|watcher| !Arc::ptr_eq(watcher, &self.watcher));
            taps.watched.fetch_sub(1, Ordering::Relaxed);
            taps.raw
                .fetch_sub(usize::from(self.watcher.filter.raw), Ordering::Relaxed);
        }
    }
}
