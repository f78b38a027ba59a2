//! A hub with teams, and agents whose part the test plays.

use std::{ops::Deref, time::Duration};

use jackfield_core::{
    agent::{Closing, Link, Profile},
    call::{AgentHandle, Call, CallerHandle},
    hub::{Attached, Request, Wanted},
    principal::{Grant, Scopes},
    store::memory::MemoryStore,
};
use jackfield_model::{CallId, End, Event, Message, Owner};
use parking_lot::Mutex;

use super::super::*;

/// A hub with teams.
#[derive(Debug)]
pub(super) struct Rig {
    pub(super) teams: Teams,
}

impl Deref for Rig {
    type Target = Hub;

    fn deref(&self) -> &Hub {
        self.teams.hub()
    }
}

/// An agent's connection: keeps what it is handed, and notes what it is told.
#[derive(Debug, Default)]
pub(super) struct Line {
    mail: Mutex<Vec<AgentHandle>>,
    cancelled: Mutex<Vec<CallId>>,
}

impl Line {
    pub(super) fn new() -> Arc<Self> {
        Arc::default()
    }

    /// The oldest call that was handed over and not taken yet.
    pub(super) fn next(&self) -> AgentHandle {
        self.try_next().expect("a call was handed over")
    }

    pub(super) fn try_next(&self) -> Option<AgentHandle> {
        let mut mail = self.mail.lock();
        (!mail.is_empty()).then(|| mail.remove(0))
    }

    /// What was handed over and not taken yet.
    pub(super) fn texts(&self) -> Vec<String> {
        let mail = self.mail.lock();
        let texts = mail
            .iter()
            .map(|serving| serving.call().message.joined_text());
        texts.collect()
    }

    pub(super) fn cancelled(&self) -> Vec<CallId> {
        self.cancelled.lock().clone()
    }
}

impl Link for Line {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        self.mail.lock().push(call);
        Ok(())
    }

    fn cancel(&self, call: &Arc<Call>) {
        self.cancelled.lock().push(call.id);
    }

    fn close(&self, _: Closing) {}

    fn alive(&self, _: &Call) -> bool {
        false
    }

    fn door(&self) -> &'static str {
        "agora"
    }
}

pub(super) async fn hub() -> Rig {
    hub_with(|_| ()).await
}

pub(super) async fn hub_with(change: impl FnOnce(&mut TeamLimits)) -> Rig {
    hub_on(Arc::new(MemoryStore::default()), change).await
}

pub(super) async fn hub_on(store: Arc<dyn Store>, change: impl FnOnce(&mut TeamLimits)) -> Rig {
    let (hub, mut limits) = (Limits::default(), TeamLimits::default());
    change(&mut limits);
    let files = Arc::new(Files::new(&hub));
    let teams = Teams::open_with(store, hub, limits, files).await.unwrap();
    Rig { teams }
}

pub(super) fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

pub(super) fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

pub(super) fn scoped(name: &str, scopes: &[&str]) -> Principal {
    let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
    Principal {
        owner: owner(name),
        who: Who::Person,
        grant: Arc::new(Grant {
            scopes,
            ..Grant::default()
        }),
    }
}

/// Somebody who may register any agent and has no other scope.
pub(super) fn person(name: &str) -> Principal {
    scoped(name, &["agent:*"])
}

pub(super) fn ann() -> Principal {
    person("ann")
}

pub(super) fn bob() -> Principal {
    person("bob")
}

pub(super) fn attach_as(
    hub: &Hub,
    principal: &Principal,
    name: &str,
    line: &Arc<Line>,
    resumes: bool,
) -> Result<Attached, Failure> {
    let profile = Profile::default();
    hub.agents()
        .attach(principal, &id(name), profile, line.clone(), resumes)
}

/// Attaches ann's agent through a line of its own.
pub(super) fn agent(hub: &Hub, name: &str) -> (Attached, Arc<Line>) {
    let line = Line::new();
    let attached = attach_as(hub, &ann(), name, &line, false).unwrap();
    (attached, line)
}

/// Ann's request.
pub(super) fn to(name: &str, text: &str) -> Request {
    Request::new(ann(), "own", id(name), Message::text(text))
}

/// What is there to read.
pub(super) fn read(asking: &CallerHandle) -> (Vec<Event>, Option<End>) {
    let mut events = Vec::new();
    let end = asking.take(&mut events, usize::MAX);
    (events, end)
}

pub(super) fn reason<T: std::fmt::Debug>(result: Result<T, Failure>) -> Reason {
    result.unwrap_err().reason
}

/// Waits until no other task can run. The clock must be paused: it moves on, here by a millisecond, only when all
/// tasks wait for something.
pub(super) async fn until_idle() {
    // Panics if the clock is not paused.
    tokio::time::advance(Duration::ZERO).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Nothing is left of any call.
pub(super) fn assert_nothing_is_open(hub: &Hub) {
    for view in hub
        .agents()
        .discover(&Principal::local(), &Wanted::default())
    {
        let entry = hub.agents().get(view.id.as_str()).unwrap();
        assert!(entry.is_idle(), "left at {}: {entry:?}", entry.id);
    }
    let text = hub.metrics().render();
    assert!(text.contains("\njackfield_calls_open 0\n"), "{text}");
}
