//! The open questions of a call: who may answer them, and the clocks they stop.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Weak, atomic::Ordering},
};

use tokio::time::Instant;

use super::Call;
use crate::{
    event::{Answer, Ask, AskKind, Chunk, Event, Input},
    failure::{Failure, Reason},
    pipe::Pushed,
    principal::Principal,
};

/// The open questions of a call, and the ids of the answered ones.
#[derive(Debug, Default)]
pub(crate) struct Asks {
    open: HashMap<String, Open>,
    answered: HashSet<String>,
}

#[derive(Debug)]
struct Open {
    ask: Ask,
    to_caller: bool,
    since: Instant,
    /// The calls whose clocks it stops: its own and those that wait for it.
    stopped: Vec<Weak<Call>>,
}

impl Open {
    /// Lets the clocks run again that this ask stopped; those and no others, whichever of the calls have ended.
    fn close(self) {
        for call in self.stopped.iter().filter_map(Weak::upgrade) {
            call.suspended.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Call {
    /// Opens an ask and tells the caller, both or neither. Nothing for an id that was used before.
    pub(super) fn open_ask(self: &Arc<Self>, ask: Ask, turn: u64) -> Option<Pushed> {
        let to_caller = match ask.kind {
            AskKind::Input => true,
            AskKind::Approval => self.entry.settings().approvals_to_caller,
        };
        let event = if to_caller {
            Event::Ask(ask.clone())
        } else {
            let what = ask.tool_name.as_deref().unwrap_or("a step");
            Event::Chunk(Chunk::status(format!(
                "waiting for the owner of {} to approve {what}",
                self.target
            )))
        };
        let mut asks = self.asks.lock();
        if self.is_ended() {
            return Some(Pushed::Ended);
        }
        if asks.answered.contains(&ask.id) || asks.open.contains_key(&ask.id) {
            return None;
        }
        // Under the lock, so that an answer that comes at once finds the ask.
        let pushed = self.reply.push_as(Some(turn), event);
        if matches!(pushed, Pushed::Room | Pushed::Full) {
            let open = Open {
                to_caller,
                since: Instant::now(),
                stopped: self.suspend(),
                ask,
            };
            self.clock.lock().ask_since.get_or_insert(open.since);
            asks.open.insert(open.ask.id.clone(), open);
        }
        Some(pushed)
    }

    /// Answers an ask; the first answer wins.
    pub(crate) fn answer(
        self: &Arc<Self>,
        principal: &Principal,
        ask_id: &str,
        answer: Answer,
    ) -> Result<(), Failure> {
        let mut asks = self.asks.lock();
        let Some(open) = asks.open.get(ask_id) else {
            return Err(if asks.answered.contains(ask_id) {
                Failure::new(Reason::Conflict, "the question was answered already")
            } else {
                Failure::new(Reason::NotFound, "no such question is open")
            });
        };
        let as_caller = open.to_caller && principal.may_act_for(&self.principal.key());
        let as_owner = open.ask.kind == AskKind::Approval
            && principal.may_act_for(self.entry.owner().as_str());
        if !as_caller && !as_owner {
            return Err(Failure::new(Reason::NotFound, "no such question is open"));
        }
        if open.ask.kind == AskKind::Approval && answer.approved.is_none() {
            return Err(Failure::new(
                Reason::Invalid,
                "field \"approved\" must be true or false for an approval",
            ));
        }
        let answered = asks.open.remove(ask_id);
        asks.answered.insert(ask_id.to_owned());
        // The oldest that is left decides when nobody answers any more.
        self.clock.lock().ask_since = asks.open.values().map(|open| open.since).min();
        drop(asks);
        if let Some(open) = answered {
            open.close();
        }
        self.hand_in(Input::Answer(ask_id.to_owned(), answer));
        Ok(())
    }

    /// Whether it waits for an answer that the caller may give.
    pub(crate) fn waits_for_caller(&self) -> bool {
        self.asks.lock().open.values().any(|open| open.to_caller)
    }

    /// The asks that this principal may answer.
    pub fn open_asks(&self, principal: &Principal) -> Vec<Ask> {
        let as_caller = principal.may_act_for(&self.principal.key());
        let as_owner = principal.may_act_for(self.entry.owner().as_str());
        let may = |open: &Open| {
            (open.to_caller && as_caller) || (open.ask.kind == AskKind::Approval && as_owner)
        };
        self.asks
            .lock()
            .open
            .values()
            .filter(|open| may(open))
            .map(|open| open.ask.clone())
            .collect()
    }

    pub(super) fn close_asks(&self) {
        let open = std::mem::take(&mut self.asks.lock().open);
        for open in open.into_values() {
            open.close();
        }
    }

    /// An ask stops the clocks of its call and of all known ancestors; one that has ended waits for nobody.
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
