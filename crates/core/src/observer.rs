//! The extension points for others: [`CallObserver`] follows single calls, [`HubObserver`] all calls and agents of a hub.
//!
//! A [`Resolver`](crate::resolver::Resolver) attaches a [`CallObserver`] when a call is opened; calls without observers
//! pay one check of an `Option`. A [`HubObserver`] is attached by [`Hub::observe`](crate::hub::Hub::observe).

use std::sync::Arc;

use jackfield_model::{AgentId, Answer, Ask, End, Event};
use parking_lot::{Mutex, RwLock};
use tokio::time::Instant;

use crate::{call::Call, pipe::Pushed};

/// Observes one call from its start to its end.
///
/// Guarantees of the hub:
///
/// - **Order.** [`opened`](Self::opened) comes first, before the agent can reply. Events and questions come
///   in the order of the reply. [`ended`](Self::ended) comes once, after all of them, and nothing follows.
/// - **Accepted events only.** Refused events (the call has ended, the frame was repeated, the reader was
///   overrun) are not reported.
/// - **One at a time.** All methods run under the call's own observer lock, which is held while an event is
///   put into the reply. Several observers of one call are told in the order in which they were attached.
/// - **Synchronously.** The methods run on the thread that pushes the event, asks, answers or ends the call.
///
/// An implementation must not wait, block on I/O, push into the call, answer or end it, or call the hub. It
/// may take locks of its own, as long as no code pushes into a call, answers or ends one while holding them.
pub trait CallObserver: Send + std::fmt::Debug {
    /// Reports the start of the call, or its continuation after a restart of the hub: [`Call::has_reply`]
    /// then says whether the agent has replied before. Runs under the agent's lock. Questions that were open
    /// before a restart follow by [`asked`](Self::asked).
    fn opened(&mut self, call: &Arc<Call>);

    /// Reports an accepted event of the agent. Questions are reported by [`asked`](Self::asked) instead.
    fn event(&mut self, call: &Call, event: &Event);

    /// Reports a question of the agent, whoever may answer it. Runs under the lock of the call's questions,
    /// before the first answer: an implementation does not read the call's questions.
    fn asked(&mut self, call: &Arc<Call>, ask: &Ask);

    /// Reports an answer. Only the first answer to a question is reported; questions that are open when the
    /// call ends have none.
    fn answered(&mut self, call: &Call, ask: &str, answer: &Answer);

    /// Reports the end of the call. Nothing follows.
    fn ended(&mut self, call: &Call, end: &End);
}

/// The observers of a call, under the lock that orders their reports.
#[derive(Debug)]
pub(crate) struct Observers(Mutex<Vec<Box<dyn CallObserver>>>);

impl Observers {
    /// Returns `None` if there are no observers.
    pub(crate) fn new(observers: Vec<Box<dyn CallObserver>>) -> Option<Box<Self>> {
        (!observers.is_empty()).then(|| Box::new(Self(Mutex::new(observers))))
    }

    /// Reports to all observers.
    pub(crate) fn tell(&self, tell: impl FnMut(&mut dyn CallObserver)) {
        each(&mut self.0.lock(), tell);
    }

    /// Runs `push`, and reports to all observers if it was accepted, with nothing in between.
    pub(crate) fn push(
        &self,
        push: impl FnOnce() -> Option<Pushed>,
        tell: impl FnMut(&mut dyn CallObserver),
    ) -> Option<Pushed> {
        let mut observers = self.0.lock();
        let pushed = push();
        if matches!(pushed, Some(Pushed::Room | Pushed::Full)) {
            each(&mut observers, tell);
        }
        pushed
    }
}

fn each(observers: &mut [Box<dyn CallObserver>], mut tell: impl FnMut(&mut dyn CallObserver)) {
    for observer in observers {
        tell(&mut **observer);
    }
}

/// Observes all calls and agents of a hub, from [`Hub::observe`](crate::hub::Hub::observe) on.
///
/// The methods may be called under locks of the hub. An implementation must not wait, block on I/O, or use the hub
/// or the call other than to read the call's fields. It may take locks of its own, and hand writes to the store.
pub trait HubObserver: Send + Sync + std::fmt::Debug {
    /// Reports the end of a call before any reader of the reply sees the end.
    fn ending(&self, _call: &Call, _end: &End) {}

    /// Reports that an agent is forgotten, right before the store forgets the agent and the records about it.
    fn forgotten(&self, _agent: &AgentId) {}

    /// Called every second.
    fn sweep(&self, _now: Instant) {}
}

/// The observers of a hub. A leaf lock: observers are told after its release.
#[derive(Debug, Default)]
pub(crate) struct HubObservers(RwLock<Arc<[Arc<dyn HubObserver>]>>);

impl HubObservers {
    pub(crate) fn add(&self, observer: Arc<dyn HubObserver>) {
        let mut all = self.0.write();
        *all = all.iter().cloned().chain([observer]).collect();
    }

    /// Reports to all observers, in the order in which they were added.
    pub(crate) fn tell(&self, tell: impl Fn(&dyn HubObserver)) {
        let all = self.0.read().clone();
        for observer in &*all {
            tell(&**observer);
        }
    }
}
