//! [`AgentHandle`], the agent's handle of a call. The connection of the agent holds it, or the job that works on
//! the call.

use std::sync::{Arc, atomic::Ordering};

use super::{Call, Life, asks::AskOutcome};
use jackfield_model::{Answer, Ask, End, Event, Failure, Input, Json};

use crate::{
    gate::Gate,
    pipe::{Pipe, Pushed},
    tap::Sight,
};

/// The agent's handle of a [`Call`]. Dropping the handle before the end fails the call: the agent is gone.
#[derive(Debug)]
pub struct AgentHandle {
    call: Arc<Call>,
    turn: u64,
    armed: bool,
    is_turned_away: bool,
}

impl AgentHandle {
    pub(super) fn new(call: Arc<Call>, turn: u64) -> Self {
        Self {
            call,
            turn,
            armed: true,
            is_turned_away: false,
        }
    }

    /// Returns the call.
    pub fn call(&self) -> &Arc<Call> {
        &self.call
    }

    /// Lets the connection's [`Gate`] show that the reply of this call is full.
    pub fn gated(&self, gate: Arc<Gate>) {
        self.call.reply.written_by(Some(gate), self.turn);
    }

    /// Sends an event to the caller. Fails the call if the caller's pipe is overrun, or an id in the event is
    /// too long.
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

    /// Pushes an event and reports it to the observers of the call.
    fn observed(&self, event: Event, push: impl FnOnce(Event) -> Option<Pushed>) -> Option<Pushed> {
        let Some(observers) = &self.call.observers else {
            return push(event);
        };
        let told = event.clone();
        observers.push(|| push(event), |observer| observer.event(&self.call, &told))
    }

    /// Sends an event to the caller, with the agent's own frame number, from 1 on and rising within the call.
    /// Frames whose number is not higher than all before are dropped: a resuming agent repeats them.
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

    /// Asks a question, which suspends the call until the answer. Approvals are for the agent's owner: the
    /// caller gets a status chunk instead, unless the owner allows callers to approve. A repeated question,
    /// as after a resume, is the same question. Fails the call if too many or too large questions are open,
    /// or the question's id is invalid.
    pub fn ask(&self, ask: Ask) -> Pushed {
        self.open_ask(ask, None)
    }

    /// Asks like [`AgentHandle::ask`], with the agent's own frame number. A resuming agent repeats unanswered
    /// questions with their old numbers: a restarted hub may know the frame but not the question.
    pub fn ask_numbered(&self, ask: Ask, seq: u64) -> Pushed {
        self.open_ask(ask, Some(seq))
    }

    fn open_ask(&self, ask: Ask, seq: Option<u64>) -> Pushed {
        // Principals that may approve see the question through a tap, even if the caller only gets a status
        // chunk.
        let seen = Event::Ask(ask.clone());
        if let Err(failure) = seen.check_id() {
            return self.refuse(failure);
        }
        let weight = seen.weight();
        match self.call.open_ask(ask, self.turn, seq) {
            AskOutcome::Pushed(pushed) => {
                self.follow_up(pushed, weight, Some(seen));
                pushed
            }
            AskOutcome::Repeated => {
                self.repeated();
                Pushed::Room
            }
            AskOutcome::Refused(failure) => self.refuse(failure),
        }
    }

    /// Fails the call and tells the agent to stop.
    fn refuse(&self, failure: Failure) -> Pushed {
        if self.is_current() {
            self.call.finish(End::Failed(failure), true);
        }
        Pushed::Ended
    }

    /// Counts a repeated frame, which is a sign of life and nothing else.
    fn repeated(&self) {
        self.call.touch();
        self.call.shared.metrics.repeated_event();
    }

    /// Handles the result of a push. Only accepted events are signs of life, are counted and are shown to
    /// taps.
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
                    call.trace(format_args!("first event of the reply"));
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

    /// Sends a keepalive: a sign of life, and a wake-up for readers, with nothing to read.
    pub fn pulse(&self) {
        if self.is_current() {
            self.call.touch();
            self.call.pulses.fetch_add(1, Ordering::Relaxed);
            self.call.reply.pulse();
        }
    }

    /// Returns the input that the caller sends after the message.
    pub fn input(&self) -> &Pipe<Input, ()> {
        &self.call.input
    }

    /// Returns the last answers that the agent was given, by question id. A resuming connection repeats them,
    /// since the previous connection may have been cut before they got through.
    pub fn answers(&self) -> Vec<(String, Answer)> {
        self.call.answers()
    }

    /// Stores the door-specific handle for finding the remote work after a restart of the hub, for agents
    /// that do not come back by themselves. The handle of a durable call is committed before later events, so
    /// that everything in the log can be resumed. Only the first handle counts. See [`Call::handle`] and
    /// [`AgentRegistry::resume_at`].
    ///
    /// [`AgentRegistry::resume_at`]: crate::hub::AgentRegistry::resume_at
    pub fn note(&self, handle: Json) {
        let is_new = self.is_current() && self.call.handle.set(handle).is_ok();
        if is_new && self.call.life == Life::Durable {
            // Wakes the recorder now: the next event may take long.
            self.call.reply.pulse();
        }
    }

    /// Ends the call as the agent says. Returns false if the call had ended already.
    pub fn finish(self, end: End) -> bool {
        self.finish_as(end, 0)
    }

    /// Ends the call as the agent says, with the agent's own frame number. Returns the handle if the frame is
    /// a repeated one, which ends nothing.
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

    /// Returns the call because the agent could not be reached and never saw it: the call waits for the
    /// agent, if its caller allows. Otherwise returns the handle.
    pub fn give_back(mut self) -> Result<(), Self> {
        if !self.is_current() || !self.call.entry.take_back(&self.call) {
            return Err(self);
        }
        self.armed = false;
        Ok(())
    }

    /// Marks the call as refused for lack of room: the call fails as `busy`, not as one whose agent has left.
    /// For a [`Link`](crate::agent::Link) that refuses the delivery.
    #[must_use]
    pub fn turn_away(mut self) -> Self {
        self.is_turned_away = true;
        self
    }

    /// Returns the failure of an undelivered call.
    pub(crate) fn undelivered(&self) -> Failure {
        if self.is_turned_away {
            Failure::agent_queue_full()
        } else {
            self.call.left()
        }
    }

    /// Whether the agent has no room for the call.
    pub(crate) fn is_turned_away(&self) -> bool {
        self.is_turned_away
    }

    /// Discards the handle of a call that the connection refused, so that the call can be delivered again.
    pub(crate) fn undo(mut self) {
        self.armed = false;
    }

    /// Whether a tap watches the agent: events are copied only then.
    fn is_watched(&self) -> bool {
        let call = &self.call;
        call.shared.taps.are_on(&call.target, call.entry.owner())
    }

    fn is_current(&self) -> bool {
        self.call.turn.load(Ordering::Acquire) == self.turn
    }
}

impl Drop for AgentHandle {
    fn drop(&mut self) {
        if self.armed && self.is_current() {
            self.call.finish(End::Failed(self.undelivered()), false);
        }
    }
}
