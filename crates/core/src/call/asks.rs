//! The open questions of a call: who may answer them, and the clocks they stop.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
};

use tokio::time::Instant;

use super::Call;
use crate::{
    event::{Answer, Ask, AskKind, Chunk, Event, Input},
    failure::{Failure, Reason},
    principal::Principal,
    tap::Sight,
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
}

impl Call {
    /// Opens an ask and returns what the caller is told. Nothing for an id that was used before.
    pub(crate) fn open_ask(self: &Arc<Self>, ask: Ask) -> Option<Event> {
        let to_caller = match ask.kind {
            AskKind::Input => true,
            AskKind::Approval => self.entry.settings().approvals_to_caller,
        };
        {
            let mut asks = self.asks.lock();
            if self.is_ended() || asks.answered.contains(&ask.id) || asks.open.contains_key(&ask.id)
            {
                return None;
            }
            asks.open.insert(
                ask.id.clone(),
                Open {
                    ask: ask.clone(),
                    to_caller,
                },
            );
            self.clock.lock().ask_since.get_or_insert_with(Instant::now);
            self.suspend(1);
        }
        if to_caller {
            return Some(Event::Ask(ask));
        }
        // Whoever may approve sees it through a tap; the caller only learns why it waits.
        if self.shared.taps.are_watched() {
            self.shared.taps.see(
                &self.target,
                self.entry.owner(),
                Some(self.id),
                Sight::Event(Event::Ask(ask.clone())),
            );
        }
        let what = ask.tool_name.as_deref().unwrap_or("a step");
        Some(Event::Chunk(Chunk::status(format!(
            "waiting for the owner of {} to approve {what}",
            self.target
        ))))
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
        asks.open.remove(ask_id);
        asks.answered.insert(ask_id.to_owned());
        if asks.open.is_empty() {
            self.clock.lock().ask_since = None;
        }
        drop(asks);
        self.suspend(-1);
        self.touch();
        self.input.push(Input::Answer(ask_id.to_owned(), answer));
        Ok(())
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

    pub(super) fn close_asks(self: &Arc<Self>) {
        let open = std::mem::take(&mut self.asks.lock().open).len();
        for _ in 0..open {
            self.suspend(-1);
        }
    }

    /// An ask stops the clocks of its call and of all known ancestors.
    fn suspend(self: &Arc<Self>, by: i8) {
        let mut call = Some(self.clone());
        while let Some(this) = call {
            if by > 0 {
                this.suspended.fetch_add(1, Ordering::AcqRel);
            } else {
                this.suspended.fetch_sub(1, Ordering::AcqRel);
            }
            call = this.parent();
        }
    }
}
