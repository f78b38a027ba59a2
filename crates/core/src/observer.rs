//! The seam for whoever follows single calls: [`CallObserver`]. A [`Resolver`](crate::resolver::Resolver) attaches
//! observers when a call is opened; most calls have none, and pay for that with one check of an `Option`.

use std::sync::Arc;

use jackfield_model::{Answer, Ask, End, Event};
use parking_lot::Mutex;

use crate::{call::Call, pipe::Pushed};

/// Observes one call from its start to its end.
///
/// What the hub guarantees:
///
/// - **Order.** [`opened`](Self::opened) comes first, before anybody can answer the call. Events and questions come in the
///   order in which they stand in the reply. [`ended`](Self::ended) comes once, after all of them, and nothing follows it.
/// - **Accepted events only.** An event that was refused (the call has ended, the frame came before, the reader was
///   overrun) is not reported.
/// - **One at a time.** All methods run under the call's own observer lock, which is held while an event is put into the
///   reply. Several observers of one call are told in the order in which they were attached.
/// - **Synchronously.** The methods run on the thread that pushes the event, asks, answers or ends the call.
///
/// What an implementation must not do: wait, block on I/O, push into the call, answer or end it, or call the hub. It may take
/// locks of its own, as long as nobody pushes into a call, answers or ends one while holding them.
pub trait CallObserver: Send + std::fmt::Debug {
    /// The call begins, or goes on after a restart of the hub: then [`Call::has_reply`] says whether its agent has
    /// answered before. Runs under the agent's lock. Questions that were open before a restart follow by
    /// [`asked`](Self::asked).
    fn opened(&mut self, call: &Arc<Call>);

    /// The agent said something, and it is in the reply. Questions are reported by [`asked`](Self::asked) instead.
    fn event(&mut self, call: &Call, event: &Event);

    /// The agent asks something, whoever may answer it. Runs under the lock of the call's questions, before anybody can
    /// answer: an implementation does not read the call's questions.
    fn asked(&mut self, call: &Arc<Call>, ask: &Ask);

    /// A question was answered. Only the first answer is reported; questions that are open when the call ends have none.
    fn answered(&mut self, call: &Call, ask: &str, answer: &Answer);

    /// The call has ended, and nothing comes any more.
    fn ended(&mut self, call: &Call, end: &End);
}

/// The observers of a call, under the lock that orders what they are told.
#[derive(Debug)]
pub(crate) struct Observers(Mutex<Vec<Box<dyn CallObserver>>>);

impl Observers {
    /// Nothing if there are none.
    pub(crate) fn new(observers: Vec<Box<dyn CallObserver>>) -> Option<Box<Self>> {
        (!observers.is_empty()).then(|| Box::new(Self(Mutex::new(observers))))
    }

    /// Tells all of them.
    pub(crate) fn tell(&self, tell: impl FnMut(&mut dyn CallObserver)) {
        each(&mut self.0.lock(), tell);
    }

    /// Tells all of them what `push` puts into the reply, if that is accepted, with nothing in between.
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
