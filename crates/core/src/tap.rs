//! [`Taps`]: observers of agents. An observer may miss events when it lags, and never blocks a call. Without observers, a tap costs one load. The lock of `watchers` is taken before that of an observer's pipe, and otherwise is a leaf.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use jackfield_model::{AgentId, CallId, End, Event, Message, Owner};
use jiff::Timestamp;
use parking_lot::RwLock;

use crate::{
    budget::Budget,
    entry::Entry,
    limits::Limits,
    metrics::Metrics,
    pipe::{Item, Levels, Pipe, Pushed},
    principal::Principal,
    ready::ReadySet,
};

/// Direction of a raw frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the peer to the hub.
    In,
    /// From the hub to the peer.
    Out,
}

/// Content of an observation.
#[derive(Debug, Clone)]
pub enum Sight {
    /// The agent came online through this door.
    Online(&'static str),
    /// The agent went offline.
    Offline,
    /// A call to the agent was opened.
    Started {
        /// Caller.
        caller: String,
        /// Door of the caller.
        door: &'static str,
        /// Message of the caller.
        message: Message,
    },
    /// An event of the agent.
    Event(Event),
    /// The end of a call.
    Ended(End),
    /// A message of the agent to another agent of its door, without a call of the hub.
    Relayed {
        /// Receiver.
        to: AgentId,
        /// Kind of the message, as the door names it.
        kind: &'static str,
        /// Text of the message.
        text: String,
    },
    /// A raw frame on the agent's connection.
    Frame(Direction, Arc<str>),
}

/// One observation.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Time of the observation.
    pub at: Timestamp,
    /// Observed agent.
    pub agent: AgentId,
    /// Call, if the observation belongs to one.
    pub call: Option<CallId>,
    /// Content.
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

/// Filter of an observer.
#[derive(Debug, Clone, Default)]
pub struct TapFilter {
    /// Agent to observe.
    pub agent: Option<AgentId>,
    /// Agents to observe.
    pub among: Option<Vec<AgentId>>,
    /// Whether raw frames are included.
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
        // An observer's pipe never paces a writer: what does not fit is missed.
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

    /// Whether there is any observer: the one check on the hot path.
    pub(crate) fn are_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed) > 0
    }

    /// Whether any observer wants raw frames.
    pub fn want_frames(&self) -> bool {
        self.raw.load(Ordering::Relaxed) > 0
    }

    /// Whether any observer watches this agent, for code that must copy an event before it knows whether the
    /// event is shown.
    pub(crate) fn are_on(&self, agent: &AgentId, owner: &Owner) -> bool {
        let wants = |watcher: &Arc<Watcher>| watcher.wants(agent, owner);
        self.are_watched() && self.watchers.read().iter().any(wants)
    }

    /// Shows something to the observers that may and want to see it. `sight` is called only if there is one.
    pub(crate) fn see(
        &self,
        agent: &AgentId,
        owner: &Owner,
        call: Option<CallId>,
        sight: impl FnOnce() -> Sight,
    ) {
        self.show(agent, call, sight, |watcher| watcher.wants(agent, owner));
    }

    /// Shows a raw frame on the connection of an agent.
    pub fn see_frame(&self, at: &Entry, direction: Direction, frame: impl FnOnce() -> Arc<str>) {
        let sight = || Sight::Frame(direction, frame());
        self.show(&at.id, None, sight, |watcher| {
            watcher.filter.raw && watcher.wants(&at.id, at.owner())
        });
    }

    /// Shows a message of one agent to another, once, to observers of either.
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
            // Observers of raw frames see this one as it is.
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

    /// Adds an observer.
    pub fn watch(self: &Arc<Self>, principal: Principal, filter: TapFilter) -> Watching {
        let ready_set = ReadySet::new();
        // Observers have a budget of their own: they must not make calls `busy`.
        let pipe = Pipe::new(self.levels, Arc::new(Budget::new(usize::MAX)));
        pipe.listen(ready_set.handle(0));
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
            ready_set,
            taps: Arc::downgrade(self),
            ready: Vec::new().into_iter(),
        }
    }
}

/// Handle of an observer. Dropping it stops the observation.
#[derive(Debug)]
pub struct Watching {
    watcher: Arc<Watcher>,
    ready_set: Arc<ReadySet>,
    taps: Weak<Taps>,
    ready: std::vec::IntoIter<Seen>,
}

impl Watching {
    /// Waits for the next observation. Cancel-safe.
    pub async fn next(&mut self) -> Seen {
        loop {
            if let Some(seen) = self.ready.next() {
                return seen;
            }
            self.ready_set.wait(&mut Vec::new()).await;
            let mut items = Vec::new();
            self.watcher.pipe.take(&mut items, 64 << 10);
            self.ready = items.into_iter();
        }
    }

    /// Returns how many observations were missed since the last call.
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
