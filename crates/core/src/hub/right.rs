//! The right to a call: checked when the call is made, and again when its agent gets it. Between the two a call may wait
//! for long, even over a restart; meanwhile its token may be revoked or expire, or its agent be shared no more.

use std::sync::Arc;

use super::{Hub, may_call_if_shared};
use jackfield_model::{Failure, Reason};

use crate::{
    agent::Share, entry::Entry, principal::Principal, resolver::DeliveryRight, store::TaskRecord,
};

/// By what a call may reach its agent.
#[derive(Debug)]
pub(crate) struct Right {
    /// The place of the id that was called.
    pub(super) addressed: Arc<Entry>,
    /// What the resolver knows besides.
    pub(super) extra: Option<Box<dyn DeliveryRight>>,
}

/// Who wants to reach which agent, for a check under the agent's lock.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    principal: &'a Principal,
    served: &'a Entry,
    share: &'a Share,
}

impl Access<'_> {
    /// The agent that is to get the call.
    pub fn served(&self) -> &Entry {
        self.served
    }

    /// With whom an agent is shared. Takes no lock of the agent that is to get the call.
    pub fn share_of(&self, entry: &Entry) -> Share {
        if std::ptr::eq(entry, self.served) {
            self.share.clone()
        } else {
            entry.share()
        }
    }

    /// Whether the caller may call an agent, which was not forgotten meanwhile.
    pub fn may_call(&self, entry: &Entry) -> bool {
        !entry.is_retired() && may_call_if_shared(self.principal, entry, || self.share_of(entry))
    }
}

impl Right {
    /// Fails if the principal may not reach the agent `served` any more, which is shared like this. Takes no lock of
    /// `served`, so that it can be asked under it.
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

impl Hub {
    /// Who sent the last message of a task, with the rights that they have now.
    pub(crate) fn sender_of(&self, record: &TaskRecord) -> Option<Principal> {
        let grant = record.token.map(|token| self.tokens().grant(token));
        Principal::restored(&record.principal, grant)
    }
}
