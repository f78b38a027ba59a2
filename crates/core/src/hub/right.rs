//! The right to a call, checked when the call is opened and again at its delivery. Between the two a call may
//! wait for long, even over a restart; meanwhile its token may be revoked or expire, or its agent be
//! unshared.

use std::sync::Arc;

use jackfield_model::{Failure, Reason};

use crate::{
    agent::Share, entry::Entry, principal::Principal, resolver::DeliveryRight, tap::may_watch,
};

/// The right of a call to reach its agent.
#[derive(Debug)]
pub(crate) struct Right {
    /// Entry of the called id.
    pub(super) addressed: Arc<Entry>,
    /// Right that the resolver grants besides.
    pub(super) extra: Option<Box<dyn DeliveryRight>>,
}

/// A principal and the agent that it wants to reach, for a check under the lock of the agent's [`Entry`].
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    principal: &'a Principal,
    served: &'a Entry,
    share: &'a Share,
}

impl Access<'_> {
    /// Returns the agent that is to get the call.
    pub fn served(&self) -> &Entry {
        self.served
    }

    /// Returns the share of an agent. Takes no lock of the agent that is to get the call.
    pub fn share_of(&self, entry: &Entry) -> Share {
        if std::ptr::eq(entry, self.served) {
            self.share.clone()
        } else {
            entry.share()
        }
    }

    /// Whether the caller may call an agent that was not forgotten meanwhile.
    pub fn may_call(&self, entry: &Entry) -> bool {
        !entry.is_retired() && may_call_if_shared(self.principal, entry, || self.share_of(entry))
    }
}

impl Right {
    /// Fails if `principal` may not reach the agent `served` any more, given its `share`. Takes no lock of
    /// `served`, so that it can be called under that lock.
    pub(crate) fn check(
        &self,
        principal: &Principal,
        served: &Entry,
        share: &Share,
    ) -> Result<(), Failure> {
        if principal.grant.is_over() {
            let text = "the token of this call was revoked or has expired before the agent got the message; call again with a valid token";
            return Err(Failure::new(Reason::Unauthorized, text));
        }
        let access = Access {
            principal,
            served,
            share,
        };
        let (addressed, extra) = (&*self.addressed, self.extra.as_ref());
        let is_admitted = || extra.is_some_and(|extra| extra.admits(addressed, &access));
        if !access.may_call(addressed) && !is_admitted() {
            return Err(Failure::no_such_agent(addressed.id.as_str()));
        }
        extra.map_or(Ok(()), |extra| extra.check_served(&access))
    }
}

/// Whether `principal` may call an agent: its owner, owners that it is shared with, tokens whose scopes match, and admins.
pub fn may_call(principal: &Principal, entry: &Entry) -> bool {
    may_call_if_shared(principal, entry, || entry.share())
}

/// Whether `principal` may call an agent with this share; `share` is read only if it matters.
fn may_call_if_shared(principal: &Principal, entry: &Entry, share: impl FnOnce() -> Share) -> bool {
    principal.is_admin()
        || principal.owner == *entry.owner()
        || principal
            .grant
            .scopes
            .call
            .iter()
            .any(|pattern| pattern.matches(entry.id.as_str()))
        || match share() {
            Share::Nobody => false,
            Share::With(owners) => owners.contains(&principal.owner),
            Share::Everyone => true,
        }
}

/// Whether lists show an agent to `principal`: if `principal` may call or watch the agent.
pub fn may_see(principal: &Principal, entry: &Entry) -> bool {
    may_call(principal, entry) || may_watch(principal, &entry.id, entry.owner())
}
