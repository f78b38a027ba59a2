//! The right to a call: checked when the call is made, and again when its agent gets it. Between the two a call may wait
//! for long, even over a restart; meanwhile its token may be revoked or expire, or its agent be shared no more.

use std::sync::Arc;

use super::{Hub, Request, may_call_if_shared, teams::team_may_call_if_shared};
use jackfield_model::{Failure, Reason};

use crate::{
    agent::Share,
    entry::Entry,
    principal::Principal,
    store::TaskRecord,
    team::{KeptSeat, teams::Team},
};

/// By what a call may reach its agent.
#[derive(Debug)]
pub(crate) struct Right {
    /// The place of the agent, or of the team, that was called.
    addressed: Arc<Entry>,
    /// The team that was called, if it is one.
    team: Option<Arc<Team>>,
    /// The teams through which a member may be reached by name, each with its place.
    through: Vec<(Arc<Team>, Arc<Entry>)>,
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
        let shared = |entry: &Entry| {
            if std::ptr::eq(entry, served) {
                share.clone()
            } else {
                entry.share()
            }
        };
        let may_call = |entry: &Entry| {
            !entry.is_retired() && may_call_if_shared(principal, entry, || shared(entry))
        };
        let addressed = &*self.addressed;
        let through = |(team, place): &(Arc<Team>, Arc<Entry>)| {
            let team = team.record();
            may_call(place) && team_may_call_if_shared(&team, addressed, || shared(addressed))
        };
        if !may_call(addressed) && !self.through.iter().any(through) {
            return Err(Failure::no_such_agent(addressed.id.as_str()));
        }
        if let Some(team) = &self.team
            && !team_may_call_if_shared(&team.record(), served, || share.clone())
        {
            return Err(Failure::agent_offline());
        }
        Ok(())
    }
}

impl Hub {
    /// The right by which a request reaches the agent or team that it addresses. `seats` are those that its task had
    /// before a restart.
    pub(super) fn right_to(
        &self,
        addressed: &Arc<Entry>,
        request: &Request,
        seats: &[KeptSeat],
    ) -> Right {
        let teams = &self.0.teams;
        let named = request.through.iter().map(|through| &through.stage.of);
        let seats = seats.iter().filter(|seat| seat.member.is_some());
        let through = named.chain(seats.map(|seat| &seat.team));
        let through = through.filter_map(|id| {
            let place = self.0.agents.read().get(id).cloned();
            teams.get(id.as_str()).zip(place)
        });
        Right {
            through: through.collect(),
            team: teams.get(addressed.id.as_str()),
            addressed: addressed.clone(),
        }
    }

    /// Who sent the last message of a task, with the rights that they have now.
    pub(crate) fn sender_of(&self, record: &TaskRecord) -> Option<Principal> {
        let grant = record.token.map(|token| self.tokens().grant(token));
        Principal::restored(&record.principal, grant)
    }
}
