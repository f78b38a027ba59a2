//! The open questions of a [`Call`]: who may answer them, and the clocks that they stop.
//! [`AgentHandle`](super::AgentHandle) opens them, [`CallRegistry`](crate::hub::CallRegistry) answers them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak, atomic::Ordering},
};

use parking_lot::MutexGuard;
use tokio::time::Instant;

use super::Call;
use jackfield_model::{
    Answer, Ask, AskKind, Chunk, Event, Failure, Input, Owner, Reason, WaitingFor,
    id::{InvalidPeerId, check_peer_id},
};

use crate::{limits::Limits, pipe::Pushed, principal::Principal};

/// An approval that a call waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Id of the question.
    pub ask: String,
    /// Owner of the asking agent, who gives the approval.
    pub owner: Owner,
    /// Tool that needs the approval.
    pub tool: Option<String>,
}

/// The open questions of a call and the last answered ones; both bounded by `asks_per_call`, and in bytes.
#[derive(Debug, Default)]
pub(crate) struct CallAsks {
    open: HashMap<String, OpenQuestion>,
    /// Answered questions; answers are dropped once all of them together do not fit into a pipe.
    answered: VecDeque<(String, Option<Answer>)>,
}

impl CallAsks {
    fn is_answered(&self, id: &str) -> bool {
        self.answered.iter().any(|(answered, _)| answered == id)
    }

    /// Returns why a question that is not open cannot be answered.
    fn not_open(&self, id: &str) -> Failure {
        if self.is_answered(id) {
            Failure::new(Reason::Conflict, "the question was answered already")
        } else {
            Failure::new(Reason::NotFound, "no such question is open")
        }
    }

    /// Fails if one more question may not be open: open questions stay in memory beside the pipe until they
    /// are answered.
    fn check_room(&self, ask: &Ask, limits: &Limits) -> Result<(), Failure> {
        let (one, all, count) = (limits.ask, limits.asks_total, limits.asks_per_call);
        let weight = ask.weight();
        if weight > one.0 {
            let text = format!("the agent asked a question of more than {one}");
            return Err(Failure::new(Reason::TooLarge, text));
        }
        let text = if self.open.len() >= count {
            format!("the agent asked more than {count} questions at once")
        } else if weight + self.open_weight() > all.0 {
            format!("the agent asked questions of more than {all} at once")
        } else {
            return Ok(());
        };
        Err(Failure::new(Reason::RateLimited, text))
    }

    fn open_weight(&self) -> usize {
        self.open.values().map(|open| open.ask.weight()).sum()
    }

    fn remember(&mut self, id: String, answer: Answer, limits: &Limits) {
        let mut room = limits.pipe_full.0;
        self.answered.push_back((id, Some(answer)));
        if self.answered.len() > limits.asks_per_call {
            self.answered.pop_front();
        }
        for (_, answer) in self.answered.iter_mut().rev() {
            let weight = answer.as_ref().map_or(0, Answer::weight);
            if weight > room {
                *answer = None;
            }
            room = room.saturating_sub(weight);
        }
    }
}

/// Outcome of opening a question.
#[derive(Debug)]
pub(super) enum AskOutcome {
    /// Result of the push to the caller. The question is open if the push was accepted.
    Pushed(Pushed),
    /// A repeated question.
    Repeated,
    /// Too many open questions, a question that is too large, or an invalid id.
    Refused(Failure),
}

#[derive(Debug)]
struct OpenQuestion {
    ask: Ask,
    to_caller: bool,
    since: Instant,
    /// Calls whose clocks the question stops: its own call and the ancestors.
    stopped: Vec<Weak<Call>>,
}

impl OpenQuestion {
    /// Restarts exactly the clocks that this question stopped, whichever of the calls have ended.
    fn close(self) {
        for call in self.stopped.iter().filter_map(Weak::upgrade) {
            call.suspended.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Call {
    /// Opens a question and tells the caller, both or neither.
    pub(super) fn open_ask(self: &Arc<Self>, ask: Ask, turn: u64, seq: Option<u64>) -> AskOutcome {
        let to_caller = match ask.kind {
            AskKind::Input => true,
            AskKind::Approval => self.entry.settings().approvals_to_caller,
        };
        let event = if to_caller {
            Event::Ask(ask.clone())
        } else {
            let what = ask.tool_name.as_deref().unwrap_or("a step");
            let text = format!("waiting for the owner of {} to approve {what}", self.target);
            Event::Chunk(Chunk {
                waiting_for: Some(WaitingFor::Owner),
                ..Chunk::status(text)
            })
        };
        let mut asks = self.asks.lock();
        if self.is_ended() || self.turn.load(Ordering::Acquire) != turn {
            return AskOutcome::Pushed(Pushed::Ended);
        }
        // People type the id, and the hub remembers it after the answer.
        if check_peer_id(&ask.id).is_err() {
            let text = format!("the agent asked under an id that cannot be one: {InvalidPeerId}");
            let reason = Reason::Agent("internal_error".to_owned());
            return AskOutcome::Refused(Failure::new(reason, text));
        }
        if asks.open.contains_key(&ask.id) || asks.is_answered(&ask.id) {
            return AskOutcome::Repeated;
        }
        if let Err(failure) = asks.check_room(&ask, &self.shared.limits) {
            return AskOutcome::Refused(failure);
        }
        let push = || match seq {
            None => Some(self.reply.push_as(Some(turn), event)),
            Some(seq) => {
                let pushed = self.reply.push_marked(Some(turn), event, seq);
                // The caller was told before the restart; only the question itself was lost.
                pushed.or(self.is_resumed.then_some(Pushed::Room))
            }
        };
        // Under the lock, so that an immediate answer finds the question.
        let pushed = match &self.observers {
            None => push(),
            Some(observers) => observers.push(push, |observer| observer.asked(self, &ask)),
        };
        let Some(pushed) = pushed else {
            return AskOutcome::Repeated;
        };
        if matches!(pushed, Pushed::Room | Pushed::Full) {
            self.insert_ask(&mut asks, ask, to_caller);
        }
        AskOutcome::Pushed(pushed)
    }

    fn insert_ask(self: &Arc<Self>, asks: &mut CallAsks, ask: Ask, to_caller: bool) {
        let open = OpenQuestion {
            to_caller,
            since: Instant::now(),
            stopped: self.suspend(),
            ask,
        };
        self.clock.lock().ask_since.get_or_insert(open.since);
        self.trace(format_args!("question {} opened", open.ask.id));
        asks.open.insert(open.ask.id.clone(), open);
    }

    /// Restores the questions and answers of before a restart, as far as the caller saw them.
    pub(super) fn restore_asks(self: &Arc<Self>, open: Vec<Ask>, answers: Vec<(String, Answer)>) {
        let limits = &self.shared.limits;
        let mut asks = self.asks.lock();
        for (id, answer) in answers {
            asks.remember(id, answer, limits);
        }
        for ask in open {
            if asks.check_room(&ask, limits).is_ok() {
                self.insert_ask(&mut asks, ask, true);
            }
        }
    }

    /// Returns the last answers.
    pub(super) fn answers(&self) -> Vec<(String, Answer)> {
        let asks = self.asks.lock();
        let answers = asks.answered.iter().cloned();
        answers
            .filter_map(|(id, answer)| Some((id, answer?)))
            .collect()
    }

    /// Answers a question; the first answer wins. A question for words needs words.
    pub(crate) fn answer(
        self: &Arc<Self>,
        principal: &Principal,
        ask_id: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let asks = self.asks.lock();
        let kind = self.asked_of(principal, &asks, ask_id)?;
        let has_words = answer.content.is_some() || !answer.parts.is_empty();
        if kind == AskKind::Input && !has_words {
            return Err(Failure::new(
                Reason::Invalid,
                "field \"content\" is needed: the agent asks for words, not for an approval",
            ));
        }
        self.take_answer(asks, ask_id, answer)
    }

    /// Answers a question with yes or no, for principals that cannot send words.
    pub(crate) fn decide(
        self: &Arc<Self>,
        principal: &Principal,
        ask_id: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let asks = self.asks.lock();
        self.asked_of(principal, &asks, ask_id)?;
        self.take_answer(asks, ask_id, answer)
    }

    /// Returns the kind of a question that `principal` may answer.
    fn asked_of(
        &self,
        principal: &Principal,
        asks: &CallAsks,
        ask_id: &str,
    ) -> Result<AskKind, Failure> {
        let Some(open) = asks.open.get(ask_id) else {
            return Err(asks.not_open(ask_id));
        };
        let as_caller = open.to_caller && principal.may_act_for(&self.principal.key());
        let as_owner = open.ask.kind == AskKind::Approval
            && principal.decides_for(&self.entry.id, self.entry.owner());
        if !as_caller && !as_owner {
            return Err(self.not_asked(principal, open));
        }
        Ok(open.ask.kind)
    }

    /// Returns why `principal` may not answer an open question. The caller learns who may; for others the
    /// question does not exist.
    fn not_asked(&self, principal: &Principal, open: &OpenQuestion) -> Failure {
        if open.ask.kind == AskKind::Approval && principal.may_act_for(&self.principal.key()) {
            let (owner, agent) = (self.entry.owner(), &self.target);
            let text = format!("{owner} decides this: an approval is for the owner of {agent}");
            return Failure::new(Reason::Unauthorized, text);
        }
        Failure::new(Reason::NotFound, "no such question is open")
    }

    /// Answers an approval for a principal whose right the hub has checked.
    pub(crate) fn answer_approval(
        self: &Arc<Self>,
        ask_id: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let asks = self.asks.lock();
        match asks.open.get(ask_id) {
            Some(open) if open.ask.kind == AskKind::Approval => {
                self.take_answer(asks, ask_id, answer)
            }
            Some(_) => Err(Failure::new(Reason::NotFound, "no such question is open")),
            None => Err(asks.not_open(ask_id)),
        }
    }

    fn take_answer(
        self: &Arc<Self>,
        mut asks: MutexGuard<'_, CallAsks>,
        ask_id: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let Some(open) = asks.open.get(ask_id) else {
            return Err(asks.not_open(ask_id));
        };
        if open.ask.kind == AskKind::Approval && answer.approved.is_none() {
            return Err(Failure::new(
                Reason::Invalid,
                "field \"approved\" must be true or false for an approval",
            ));
        }
        self.trace(format_args!("question {ask_id} answered"));
        let answered = asks.open.remove(ask_id);
        asks.remember(ask_id.to_owned(), answer.clone(), &self.shared.limits);
        // The oldest open question decides when the wait times out.
        self.clock.lock().ask_since = asks.open.values().map(|open| open.since).min();
        drop(asks);
        if let Some(open) = answered {
            open.close();
        }
        if let Some(observers) = &self.observers {
            observers.tell(|observer| observer.answered(self, ask_id, &answer));
        }
        self.hand_in(Input::Answer(ask_id.to_owned(), answer));
        Ok(())
    }

    /// Whether the call waits for an answer that the caller may give.
    pub(crate) fn waits_for_caller(&self) -> bool {
        self.asks.lock().open.values().any(|open| open.to_caller)
    }

    /// Lists the questions that `principal` may answer.
    pub fn open_asks(&self, principal: &Principal) -> Vec<Ask> {
        let as_caller = principal.may_act_for(&self.principal.key());
        let as_owner = principal.decides_for(&self.entry.id, self.entry.owner());
        self.asks_that(|open| {
            (open.to_caller && as_caller) || (open.ask.kind == AskKind::Approval && as_owner)
        })
    }

    /// Lists the approvals that `principal` gives as the agent's owner, whoever calls.
    pub fn decisions(&self, principal: &Principal) -> Vec<Ask> {
        if !principal.decides_for(&self.entry.id, self.entry.owner()) {
            return Vec::new();
        }
        self.asks_that(|open| open.ask.kind == AskKind::Approval)
    }

    /// Lists the open questions that match `wanted`, oldest first.
    fn asks_that(&self, wanted: impl Fn(&OpenQuestion) -> bool) -> Vec<Ask> {
        let asks = self.asks.lock();
        let mut open: Vec<_> = asks.open.values().filter(|open| wanted(open)).collect();
        open.sort_by(|one, other| (one.since, &one.ask.id).cmp(&(other.since, &other.ask.id)));
        open.into_iter().map(|open| open.ask.clone()).collect()
    }

    /// Lists all open questions, whoever may answer them, oldest first.
    pub(crate) fn all_open_asks(&self) -> Vec<Ask> {
        self.asks_that(|_| true)
    }

    /// Lists the approvals that the call waits for, whoever may give them.
    pub fn approvals(&self) -> Vec<Approval> {
        let asks = self.asks.lock();
        let open = asks.open.values().map(|open| &open.ask);
        let mut approvals: Vec<_> = open
            .filter(|ask| ask.kind == AskKind::Approval)
            .map(|ask| Approval {
                ask: ask.id.clone(),
                owner: self.entry.owner().clone(),
                tool: ask.tool_name.clone(),
            })
            .collect();
        approvals.sort_by(|one, other| one.ask.cmp(&other.ask));
        approvals
    }

    pub(super) fn close_asks(&self) {
        let open = std::mem::take(&mut self.asks.lock().open);
        for open in open.into_values() {
            open.close();
        }
    }

    /// Stops the clocks of this call and of all known open ancestors.
    fn suspend(self: &Arc<Self>) -> Vec<Weak<Call>> {
        let mut stopped = Vec::new();
        let mut call = Some(self.clone());
        while let Some(this) = call {
            this.suspended.fetch_add(1, Ordering::AcqRel);
            stopped.push(Arc::downgrade(&this));
            call = this.parent().filter(|parent| !parent.is_ended());
        }
        stopped
    }
}
