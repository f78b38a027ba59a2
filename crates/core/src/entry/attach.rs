//! How connections of an [`Entry`] come and go: the newest wins, a late close is harmless, and open calls
//! wait for an agent that may resume them. [`AgentRegistry`](crate::hub::AgentRegistry) calls it.

use std::sync::{Arc, atomic::Ordering};

use jiff::Timestamp;
use tokio::time::Instant;

use super::{Entry, state::Undelivered};
use jackfield_model::{End, Failure, Reason};

use crate::{
    agent::{Closing, Keep, Link, Profile},
    call::AgentHandle,
    resume::AttachMode,
    tap::Sight,
};

/// Outcome of [`Entry::take`].
#[derive(Debug)]
pub(crate) struct AttachOutcome {
    pub(crate) adopted: Vec<AgentHandle>,
    /// Whether the connection resumes the open calls, even if there are none.
    pub(crate) resumes: bool,
    pub(crate) changed: bool,
}

impl Entry {
    /// Takes a new connection. The newest wins: the old connection is closed, and its open calls fail unless
    /// the new one resumes.
    pub(crate) fn take(
        &self,
        link: &Arc<dyn Link>,
        profile: Profile,
        mode: AttachMode,
    ) -> Result<AttachOutcome, Failure> {
        let now = Instant::now();
        let mut lost = Vec::new();
        let mut undelivered = Undelivered::default();
        let (taken, old, sight) = {
            let mut state = self.state.lock();
            if self.is_retired() {
                return Err(self.removed());
            }
            let resumes = mode.resumes(state.resume);
            let is_away = matches!(mode, AttachMode::Away);
            // A resuming program is the one that was there: no two programs fight for the id.
            if !resumes || is_away {
                state.check_hold(now, self.shared.limits.replacements_per_minute)?;
            }
            let resume = mode.token(state.resume);
            let changed =
                state.profile != profile || state.door != link.door() || state.resume != resume;
            self.generation.fetch_add(1, Ordering::AcqRel);
            let was_online = state.takes_calls();
            let old = state.link.replace(link.clone());
            state.is_away = is_away;
            state.finds_again = is_away;
            if was_online && !resumes {
                state.replaced.push_back(now);
            }
            if was_online == is_away {
                state.changed_at = Timestamp::now();
                let change = if is_away { -1 } else { 1 };
                self.shared.metrics.agent_online(change);
            }
            state.door = link.door();
            state.profile = profile;
            state.grace = None;
            state.is_resumable = resume.is_some();
            state.resume = resume;
            let mut adopted = Vec::new();
            for call in state.open.values().filter(|call| call.is_sent()) {
                if resumes {
                    adopted.push(call.serve());
                } else {
                    lost.push(call.clone());
                }
            }
            // Oldest first.
            adopted.sort_by_key(|serving| serving.call().id);
            state.regroup(link, &mut undelivered);
            for call in std::mem::take(&mut state.waiting) {
                state.dispatch(&call, &mut undelivered);
            }
            let taken = AttachOutcome {
                adopted,
                resumes,
                changed,
            };
            let sight = match (was_online, is_away) {
                (_, false) => Some(Sight::Online(link.door())),
                (true, true) => Some(Sight::Offline),
                (false, true) => None,
            };
            (taken, old, sight)
        };
        let is_replaced = old.is_some();
        if let Some(old) = old {
            old.close(Closing::Replaced);
        }
        drop(undelivered);
        for call in lost {
            let failure = match is_replaced {
                true => Failure::agent_replaced(),
                false => call.lost(),
            };
            call.finish(End::Failed(failure), false);
        }
        if let Some(sight) = sight {
            self.show(sight);
        }
        Ok(taken)
    }

    /// Returns the failure of an attach to an agent that was just forgotten.
    pub(crate) fn removed(&self) -> Failure {
        let text = format!("agent {} was removed just now; register again", self.id);
        Failure::new(Reason::Conflict, text)
    }

    /// Sets whether open calls wait for the agent when this connection is gone.
    pub(crate) fn set_resumable(&self, link: &Arc<dyn Link>, resumable: bool) {
        let mut state = self.state.lock();
        if state.is_held_by(link) {
            state.is_resumable = resumable;
        }
    }

    /// Whether a reconnecting agent may resume its calls, also after a restart of the hub; `is_found` if the
    /// agent's door finds the work again by itself.
    pub(crate) fn may_be_resumed(&self, is_found: bool) -> bool {
        let state = self.state.lock();
        let is_logged = state.settings.store == Keep::Full;
        is_logged && (is_found || state.grace.is_some() || state.is_resumable)
    }

    /// Whether a durable call to the agent survives a lost connection or a restart of the hub: the connection
    /// said that it resumes, or the door finds the work again. An alias answers for its agent.
    pub fn can_resume(&self) -> bool {
        match self.stands_for() {
            Some(agent) => agent.can_go_on(),
            None => self.can_go_on(),
        }
    }

    fn can_go_on(&self) -> bool {
        let finds_again = self.state.lock().finds_again;
        self.may_be_resumed(finds_again)
    }

    /// Whether open calls wait for the agent to reconnect.
    pub fn is_awaited(&self) -> bool {
        self.state.lock().grace.is_some()
    }

    /// Removes a closed connection; does nothing if a newer one has taken over. With `resumable`, open calls
    /// wait for the grace period.
    pub(crate) fn leave(&self, link: &Arc<dyn Link>, resumable: bool) -> bool {
        let was_online;
        let lost = {
            let mut state = self.state.lock();
            if !state.is_held_by(link) {
                return false;
            }
            was_online = state.takes_calls();
            state.link = None;
            state.is_away = false;
            state.finds_again = false;
            state.is_resumable = false;
            self.generation.fetch_add(1, Ordering::AcqRel);
            if was_online {
                state.changed_at = Timestamp::now();
                self.shared.metrics.agent_online(-1);
            }
            if resumable {
                state.grace = Some(Instant::now() + self.shared.limits.resume_grace.0);
                // The connection may drop its handles without ending the calls.
                for call in state.open.values().filter(|call| call.is_sent()) {
                    call.next_turn();
                }
                Vec::new()
            } else {
                state.lose()
            }
        };
        for call in lost {
            call.finish(End::Failed(call.lost()), false);
        }
        if was_online {
            self.show(Sight::Offline);
        }
        true
    }

    /// Sets whether the connection cannot reach its agent for now. Meanwhile the connection keeps its calls,
    /// but the agent counts as offline, and other calls wait or are refused. Ending the absence sends the
    /// waiting calls.
    pub(crate) fn set_away(&self, link: &Arc<dyn Link>, is_away: bool) {
        let mut undelivered = Undelivered::default();
        {
            let mut state = self.state.lock();
            if !state.is_held_by(link) {
                return;
            }
            let has_changed = std::mem::replace(&mut state.is_away, is_away) != is_away;
            if has_changed {
                state.changed_at = Timestamp::now();
                let change = if is_away { -1 } else { 1 };
                self.shared.metrics.agent_online(change);
                self.show(match is_away {
                    true => Sight::Offline,
                    false => Sight::Online(link.door()),
                });
            }
            if !is_away {
                for call in std::mem::take(&mut state.waiting) {
                    state.dispatch(&call, &mut undelivered);
                }
            }
        }
        drop(undelivered);
    }

    fn show(&self, sight: Sight) {
        let taps = &self.shared.taps;
        taps.see(&self.id, &self.owner, None, || sight);
    }

    /// Forgets the agent: closes its connection and fails its calls.
    pub(crate) fn retire(&self) {
        let (link, was_online, lost) = {
            let mut state = self.state.lock();
            // It may have been forgotten before.
            self.retired.set(()).ok();
            state.grace = None;
            self.generation.fetch_add(1, Ordering::AcqRel);
            let lost: Vec<_> = state.open.values().cloned().collect();
            let was_online = state.takes_calls();
            state.is_away = false;
            (state.link.take(), was_online, lost)
        };
        if let Some(link) = link {
            link.close(Closing::Revoked);
        }
        if was_online {
            self.shared.metrics.agent_online(-1);
            self.show(Sight::Offline);
        }
        for call in lost {
            call.finish(End::Failed(call.lost()), false);
        }
    }

    /// Forgets the agent if it is evictable: offline, without calls, shares and settings. Returns false
    /// otherwise.
    pub(crate) fn retire_evictable(&self) -> bool {
        let state = self.state.lock();
        let is_evictable = state.is_evictable();
        if is_evictable {
            // It may have been forgotten before.
            self.retired.set(()).ok();
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        is_evictable
    }

    /// Notes that the hub itself reaches the agent.
    pub(crate) fn set_reserved(&self) {
        self.is_reserved.store(true, Ordering::Relaxed);
    }

    /// Returns since when the agent is evictable; ties are ordered by the time of registration. `None` for
    /// agents that the hub itself reaches: they would not come back.
    pub(crate) fn evictable_since(&self) -> Option<(Timestamp, Timestamp)> {
        let state = self.state.lock();
        let is_evictable = !self.is_reserved.load(Ordering::Relaxed) && state.is_evictable();
        is_evictable.then_some((state.changed_at, self.registered_at))
    }

    /// Ends the grace period of an agent that did not reconnect in time.
    pub(crate) fn end_grace(&self, now: Instant) {
        self.end_grace_if(|until| now >= until);
    }

    /// Ends the grace period of an agent that cannot reconnect, for example because its token was revoked,
    /// unless the agent reconnected after `generation`.
    pub fn give_up(&self, generation: u64) {
        self.end_grace_if(|_| self.generation() == generation);
    }

    fn end_grace_if(&self, is_over: impl FnOnce(Instant) -> bool) {
        let lost = {
            let mut state = self.state.lock();
            if !state.grace.is_some_and(is_over) {
                return;
            }
            state.grace = None;
            state.lose()
        };
        for call in lost {
            call.finish(End::Failed(call.lost()), false);
        }
    }
}
