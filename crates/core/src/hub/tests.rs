//! The promises of docs/promises.md that the core keeps, one test each, against scripted agents and callers.
//! This file is the scaffold; no test sleeps for real, and the sweeper runs when a test lets a second pass.

mod a2a;
mod access;
mod asks;
mod away;
mod callbacks;
mod cancel;
mod chain;
mod clocks;
mod faults;
mod followers;
mod found_again;
mod grace;
mod ids;
mod inbox;
mod lives;
mod model;
mod numbers;
mod once;
mod order;
mod readers;
mod records;
mod refused;
mod replace;
mod reserve;
mod resolver;
mod restart;
mod resumable;
mod resume;
mod rights;
mod session;
mod slow_store;
mod snapshot;
mod stop;
mod stress;
mod taps;
mod tasks;
mod unread;

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::*;
use jackfield_model::{AgentId, Answer, CallId, End, Event, Message, Owner, RequestId, SessionId};

use crate::{
    agent::{Closing, Link, Profile, Settings, Share},
    call::{AgentHandle, Call, CallerHandle},
    entry::Entry,
    pipe::Pushed,
    principal::{Grant, Principal, Scopes, Who},
    store::{Receipt, TaskState, memory::MemoryStore},
    tap::{Sight, TapFilter, Watching},
    task::{Subscription, Task, TaskItem},
    units::{Size, Span},
};

/// An agent's connection: keeps what it is handed, and notes what it is told.
#[derive(Debug, Default)]
struct Line {
    mail: Mutex<Vec<AgentHandle>>,
    is_dead: AtomicBool,
    cancelled: Mutex<Vec<CallId>>,
    closed: Mutex<Vec<Closing>>,
    acked: Mutex<Vec<u64>>,
    /// For how many looks of the sweeper the line still shows signs of life.
    signs: AtomicI64,
    one_at_a_time: bool,
}

impl Line {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn one_at_a_time() -> Arc<Self> {
        Arc::new(Self {
            one_at_a_time: true,
            ..Self::default()
        })
    }

    /// The oldest call that was handed over and not taken yet.
    fn next(&self) -> AgentHandle {
        self.try_next().expect("a call was handed over")
    }

    fn try_next(&self) -> Option<AgentHandle> {
        let mut mail = self.mail.lock();
        (!mail.is_empty()).then(|| mail.remove(0))
    }

    /// What was handed over and not taken yet.
    fn texts(&self) -> Vec<String> {
        self.mail
            .lock()
            .iter()
            .map(|serving| serving.call().message.joined_text())
            .collect()
    }

    fn cancelled(&self) -> Vec<CallId> {
        self.cancelled.lock().clone()
    }

    /// The numbers up to which the agent was told that what it sent is kept.
    fn acked(&self) -> Vec<u64> {
        self.acked.lock().clone()
    }

    fn closed(&self) -> Vec<Closing> {
        self.closed.lock().clone()
    }
}

impl Link for Line {
    fn deliver(&self, call: AgentHandle) -> Result<(), AgentHandle> {
        if self.is_dead.load(Ordering::Acquire) {
            return Err(call);
        }
        self.mail.lock().push(call);
        Ok(())
    }

    fn cancel(&self, call: &Arc<Call>) {
        self.cancelled.lock().push(call.id);
    }

    fn close(&self, why: Closing) {
        self.closed.lock().push(why);
    }

    fn alive(&self, _: &Call) -> bool {
        self.signs.fetch_sub(1, Ordering::AcqRel) > 0
    }

    fn acked(&self, _: &Arc<Call>, seq: u64) {
        self.acked.lock().push(seq);
    }

    fn door(&self) -> &'static str {
        "agora"
    }

    fn one_call_per_session(&self) -> bool {
        self.one_at_a_time
    }
}

async fn hub() -> Hub {
    hub_with(|_| ()).await
}

async fn hub_with(change: impl FnOnce(&mut Limits)) -> Hub {
    hub_on(Arc::new(MemoryStore::default()), change).await
}

async fn hub_on(store: Arc<dyn Store>, change: impl FnOnce(&mut Limits)) -> Hub {
    let mut limits = Limits::default();
    change(&mut limits);
    Hub::open(store, limits).await.unwrap()
}

fn id(text: &str) -> AgentId {
    AgentId::parse(text).unwrap()
}

fn owner(name: &str) -> Owner {
    Owner::parse(name).unwrap()
}

fn scoped(name: &str, scopes: &[&str]) -> Principal {
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
fn person(name: &str) -> Principal {
    scoped(name, &["agent:*"])
}

fn ann() -> Principal {
    person("ann")
}

fn bob() -> Principal {
    person("bob")
}

/// Attaches ann's agent.
fn attach(hub: &Hub, name: &str, line: &Arc<Line>) -> Attached {
    attach_as(hub, &ann(), name, line, false).unwrap()
}

fn resume(hub: &Hub, name: &str, line: &Arc<Line>) -> Attached {
    attach_as(hub, &ann(), name, line, true).unwrap()
}

fn attach_as(
    hub: &Hub,
    principal: &Principal,
    name: &str,
    line: &Arc<Line>,
    resumes: bool,
) -> Result<Attached, Failure> {
    hub.agents().attach(
        principal,
        &id(name),
        Profile::default(),
        line.clone(),
        resumes,
    )
}

/// Attaches ann's agent through a line of its own.
fn agent(hub: &Hub, name: &str) -> (Attached, Arc<Line>) {
    let line = Line::new();
    (attach(hub, name, &line), line)
}

/// Ann's request.
fn to(name: &str, text: &str) -> Request {
    Request::new(ann(), "own", id(name), Message::text(text))
}

fn in_session(session: &str, request: Request) -> Request {
    Request {
        session: Some(SessionId::parse(session).unwrap()),
        ..request
    }
}

fn with_id(request_id: &str, request: Request) -> Request {
    Request {
        request: Some(RequestId::parse(request_id).unwrap()),
        ..request
    }
}

/// What is there to read.
fn read(asking: &CallerHandle) -> (Vec<Event>, Option<End>) {
    let mut events = Vec::new();
    let end = asking.take(&mut events, usize::MAX);
    (events, end)
}

/// Why the call behind it failed.
fn failure(asking: &CallerHandle) -> Reason {
    match read(asking).1 {
        Some(End::Failed(failure)) => failure.reason,
        other => panic!("it has not failed: {other:?}"),
    }
}

fn reason<T: std::fmt::Debug>(result: Result<T, Failure>) -> Reason {
    result.unwrap_err().reason
}

/// Waits until no other task can run. The clock must be paused: it moves on, here by a millisecond, only when all
/// tasks wait for something.
async fn until_idle() {
    // Panics if the clock is not paused.
    tokio::time::advance(Duration::ZERO).await;
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Lets time pass, with the sweeper's look every second.
async fn pass(hub: &Hub, seconds: u64) {
    for _ in 0..seconds {
        tokio::time::advance(Duration::from_secs(1)).await;
        hub.sweep(Instant::now());
    }
    until_idle().await;
}

/// Everything there is to read until the task's turn is over.
async fn read_on(mut reader: Subscription) -> Vec<TaskItem> {
    let mut items = Vec::new();
    while let Some(item) = reader.next().await.unwrap() {
        items.push(item);
    }
    items
}

fn state(task: &Task) -> TaskState {
    task.record().state
}

/// A number out of the hub's metrics.
fn metric(hub: &Hub, name: &str) -> u64 {
    let text = hub.metrics().render();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name))
        .unwrap_or_else(|| panic!("no {name} in {text}"));
    line.trim().parse().unwrap()
}

/// Nothing is left of any call.
fn assert_nothing_is_open(hub: &Hub) {
    assert_eq!(hub.shared().open_calls.lock().len(), 0, "open in the hub");
    for entry in hub.agents().all() {
        assert!(entry.is_idle(), "left at {}: {entry:?}", entry.id);
    }
    assert_eq!(metric(hub, "jackfield_calls_open"), 0);
}
