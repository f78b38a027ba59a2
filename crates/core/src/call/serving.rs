//! The agent's end of a call.

use std::sync::{Arc, atomic::Ordering};

use super::{Call, Life, asks::Opened};
use jackfield_model::{Answer, Ask, End, Event, Failure, Input, Json};

use crate::{
    gate::Gate,
    pipe::{Pipe, Pushed},
    tap::Sight,
};

/// The agent's end of a call. Dropping it without an end means that the agent is gone.
#[derive(Debug)]
pub struct Serving {
    call: Arc<Call>,
    turn: u64,
    armed: bool,
    is_turned_away: bool,
}

impl Serving {
    pub(super) fn new(call: Arc<Call>, turn: u64) -> Self {
        Self {
            call,
            turn,
            armed: true,
            is_turned_away: false,
        }
    }

    /// The call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Lets the connection's gate show that this reply is full.
    pub fn gated(&self, gate: Arc<Gate>) {
        self.call.reply.written_by(Some(gate), self.turn);
    }

    /// Says something to the caller. A caller that overran loses the call here and now; so does an agent whose ids are too
    /// long.
    pub fn push(&self, event: Event) -> Pushed {
        if let Err(failure) = event.check_id() {
            return self.refuse(failure);
        }
        let weight = event.weight();
        let seen = self.is_watched().then(|| event.clone());
        let push = |event| Some(self.call.reply.push_as(Some(self.turn), event));
        let pushed = self.observed(event, push).unwrap_or(Pushed::Ended);
        self.follow_up(pushed, weight, seen);
        pushed
    }

    /// Pushes an event, and tells those who observe the call.
    fn observed(&self, event: Event, push: impl FnOnce(Event) -> Option<Pushed>) -> Option<Pushed> {
        let Some(observers) = &self.call.observers else {
            return push(event);
        };
        let told = event.clone();
        observers.push(|| push(event), |observer| observer.event(&self.call, &told))
    }

    /// Says something to the caller, with the agent's own number of the frame, from 1 on and rising within a call. A frame
    /// that came before, as an agent repeats it when it resumes, is dropped; so is all that has no higher number.
    pub fn push_numbered(&self, event: Event, seq: u64) -> Pushed {
        if let Err(failure) = event.check_id() {
            return self.refuse(failure);
        }
        let weight = event.weight();
        let seen = self.is_watched().then(|| event.clone());
        let push = |event| self.call.reply.push_marked(Some(self.turn), event, seq);
        let Some(pushed) = self.observed(event, push) else {
            self.repeated();
            return Pushed::Room;
        };
        self.follow_up(pushed, weight, seen);
        pushed
    }

    /// Asks, which suspends the call until it is answered. An approval is the agent's owner's to give: the caller only
    /// hears that it is waited for, unless the owner said otherwise. An ask that is repeated, as after a resume, is
    /// the same ask. An agent that asks more than a call may have open, in number or in bytes, or under what can be no id,
    /// fails the call.
    pub fn ask(&self, ask: Ask) -> Pushed {
        self.open_ask(ask, None)
    }

    /// Asks like [`Serving::ask`], with the agent's own number of the frame. An agent that resumes repeats what it asked
    /// and nobody answered, with its old number: a hub that was restarted may know the frame but not the ask.
    pub fn ask_numbered(&self, ask: Ask, seq: u64) -> Pushed {
        self.open_ask(ask, Some(seq))
    }

    fn open_ask(&self, ask: Ask, seq: Option<u64>) -> Pushed {
        // Whoever may approve sees the ask through a tap, even where the caller only hears why it waits.
        let seen = Event::Ask(ask.clone());
        if let Err(failure) = seen.check_id() {
            return self.refuse(failure);
        }
        let weight = seen.weight();
        match self.call.open_ask(ask, self.turn, seq) {
            Opened::Pushed(pushed) => {
                self.follow_up(pushed, weight, Some(seen));
                pushed
            }
            Opened::Repeated => {
                self.repeated();
                Pushed::Room
            }
            Opened::Refused(failure) => self.refuse(failure),
        }
    }

    /// The agent said more than it may: its call fails, and it is told to stop.
    fn refuse(&self, failure: Failure) -> Pushed {
        if self.is_current() {
            self.call.finish(End::Failed(failure), true);
        }
        Pushed::Ended
    }

    /// Something came again: a sign of life, and nothing else.
    fn repeated(&self) {
        self.call.touch();
        self.call.shared.metrics.repeated_event();
    }

    /// What follows from a push. Only what is in is a sign of life, is counted and is seen by observers.
    fn follow_up(&self, pushed: Pushed, weight: usize, seen: Option<Event>) {
        let call = &*self.call;
        match pushed {
            Pushed::Room | Pushed::Full => {
                call.touch();
                if !call.answered.load(Ordering::Relaxed)
                    && !call.answered.swap(true, Ordering::Relaxed)
                {
                    let after = call.made.elapsed();
                    call.shared.metrics.first_event(call.door, after);
                }
                call.shared.metrics.event(weight);
                if let Some(event) = seen {
                    let owner = call.entry.owner();
                    let taps = &call.shared.taps;
                    taps.see(&call.target, owner, Some(call.id), || Sight::Event(event));
                }
            }
            Pushed::Ended => call.shared.metrics.late_event(),
            Pushed::Overrun => self.call.overrun(),
        }
    }

    /// The agent says that it is alive: a sign of life, and a reader that wants to know is woken with nothing to read.
    pub fn pulse(&self) {
        if self.is_current() {
            self.call.touch();
            self.call.pulses.fetch_add(1, Ordering::Relaxed);
            self.call.reply.pulse();
        }
    }

    /// The caller's further input.
    pub fn input(&self) -> &Pipe<Input, ()> {
        &self.call.input
    }

    /// The last answers that the agent was given, by the ids of their questions: a connection that goes on with the call
    /// repeats them, since the one before may have been cut before they got through.
    pub fn answers(&self) -> Vec<(String, Answer)> {
        self.call.answers()
    }

    /// By this the agent's door finds the work again after a restart of the hub, where agents do not come back by
    /// themselves. A kept call's is written down before what is said from now on, so that whatever is in the log can be
    /// gone on with. Only the first one counts. See [`Call::handle`] and [`Hub::come_back_at`].
    ///
    /// [`Hub::come_back_at`]: crate::hub::Hub::come_back_at
    pub fn note(&self, handle: Json) {
        let is_new = self.is_current() && self.call.handle.set(handle).is_ok();
        if is_new && self.call.life == Life::Kept {
            // Whoever reads it is told now: it may take long until something is said.
            self.call.reply.pulse();
        }
    }

    /// Ends the call as the agent says. False if it had ended already.
    pub fn finish(self, end: End) -> bool {
        self.finish_as(end, 0)
    }

    /// Ends the call as the agent says, with the agent's own number of the frame. Gives itself back if that is a frame
    /// that came before: then it is none that ends the call.
    pub fn finish_numbered(self, end: End, seq: u64) -> Result<bool, Self> {
        if self.is_current() && !self.call.is_ended() && seq <= self.call.received() {
            self.repeated();
            return Err(self);
        }
        Ok(self.finish_as(end, seq))
    }

    fn finish_as(mut self, end: End, seq: u64) -> bool {
        self.armed = false;
        self.is_current() && self.call.finish_numbered(end, false, seq)
    }

    /// The agent could not be reached, so that it never saw the call: the call waits for it, if its caller wants that. Gives
    /// itself back if not.
    pub fn give_back(mut self) -> Result<(), Self> {
        if !self.is_current() || !self.call.entry.take_back(&self.call) {
            return Err(self);
        }
        self.armed = false;
        Ok(())
    }

    /// The agent is there and has no room for the call: it fails `busy`, not as one whose agent has left. For a
    /// [`Link`](crate::agent::Link) that gives it back.
    #[must_use]
    pub fn turn_away(mut self) -> Self {
        self.is_turned_away = true;
        self
    }

    /// Why the call fails if nobody takes it.
    pub(crate) fn undelivered(&self) -> Failure {
        if self.is_turned_away {
            Failure::agent_full()
        } else {
            self.call.left()
        }
    }

    /// Whether the agent has no room for it.
    pub(crate) fn is_turned_away(&self) -> bool {
        self.is_turned_away
    }

    /// The connection could not take it, so that the agent never saw the call: it may be handed over again.
    pub(crate) fn undo(mut self) {
        self.armed = false;
    }

    /// Whether anybody watches what the agent says: it is copied only then.
    fn is_watched(&self) -> bool {
        let call = &self.call;
        call.shared.taps.are_on(&call.target, call.entry.owner())
    }

    fn is_current(&self) -> bool {
        self.call.turn.load(Ordering::Acquire) == self.turn
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if self.armed && self.is_current() {
            self.call.finish(End::Failed(self.undelivered()), false);
        }
    }
}
