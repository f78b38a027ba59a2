//! [`Resolver`] of the hub: the id of a team stands for its coordinator.

use std::sync::Arc;

use jackfield_core::{
    entry::Entry,
    hub::{Access, AgentRegistry, Request, may_call},
    principal::Principal,
    resolver::{DeliveryRight, Forgetting, Resolution, Resolver, Unresolved},
};
use jackfield_model::{AgentId, Failure, Reason};
use tokio::time::Instant;

use super::{placement::TeamRequestHint, team_may_call_if_shared};
use crate::{
    DOOR,
    team::registry::{RegisteredTeam, TeamRegistry},
};

impl Resolver for TeamRegistry {
    fn name(&self) -> &'static str {
        DOOR
    }

    fn opened(&self, agents: &AgentRegistry) {
        self.measure(agents.metrics());
        for team in self.all() {
            self.follow_coordinator(agents, &team);
        }
    }

    fn admits(&self, request: &Request, addressed: &Entry) -> bool {
        let said = TeamRequestHint::of(request);
        match said.and_then(|said| said.through.as_ref()) {
            Some(through) => self.reaches(through, addressed),
            None => may_call(&request.principal, addressed),
        }
    }

    fn resolve(
        &self,
        agents: &AgentRegistry,
        unresolved: &Unresolved<'_>,
    ) -> Result<Resolution, Failure> {
        self.place(agents, unresolved)
    }

    fn members(
        &self,
        agents: &AgentRegistry,
        principal: &Principal,
        id: &str,
    ) -> Result<Vec<AgentId>, Failure> {
        let (team, _) = self.seen(agents, principal, id)?;
        let places = self.tree(&team.id).positions();
        let mut members: Vec<_> = places.into_iter().map(|place| place.agent).collect();
        members.push(team.id.clone());
        Ok(members)
    }

    fn check_claim(&self, id: &AgentId) -> Result<(), Failure> {
        if self.get(id.as_str()).is_none() {
            return Ok(());
        }
        let text = format!("id {id} belongs to a team; choose another id");
        Err(Failure::new(Reason::Conflict, text))
    }

    /// Connects a new agent with the teams that have the agent as coordinator.
    fn introduced(&self, agents: &AgentRegistry, agent: &AgentId) {
        for team in self.all() {
            if team.leader().as_ref() == Some(agent) {
                self.follow_coordinator(agents, &team);
            }
        }
    }

    fn check_forget(&self, id: &AgentId, why: Forgetting) -> Result<(), Failure> {
        let is_team = self.get(id.as_str()).is_some();
        let conflict = |text| Err(Failure::new(Reason::Conflict, text));
        match why {
            Forgetting::Unused if is_team || self.have_member(id) => {
                conflict(format!("{id} is a team, or a member of one"))
            }
            Forgetting::Unused => Ok(()),
            Forgetting::Wanted => {
                self.check_declared(id)?;
                let parents = if is_team {
                    self.parents(id)
                } else {
                    Vec::new()
                };
                match parents.first() {
                    None => Ok(()),
                    Some((parent, _)) => conflict(format!(
                        "team {id} is a member of team {}; change or remove that one first",
                        parent.id
                    )),
                }
            }
        }
    }

    fn forgotten(&self, id: &AgentId) {
        self.remove(id);
    }

    fn sweep(&self, now: Instant) {
        self.on_sweep(now);
    }

    fn stopping(&self) {
        for feed in self.feeds() {
            feed.stop();
        }
    }
}

/// Rights of a call granted by teams, beyond the rights of its caller.
#[derive(Debug)]
pub(super) struct TeamDeliveryRight {
    /// Called team, if any.
    pub(super) team: Option<Arc<RegisteredTeam>>,
    /// Teams whose members may be called by name, each with its entry.
    pub(super) through: Vec<(Arc<RegisteredTeam>, Arc<Entry>)>,
}

impl DeliveryRight for TeamDeliveryRight {
    fn admits(&self, addressed: &Entry, access: &Access<'_>) -> bool {
        self.through.iter().any(|(team, place)| {
            let share = || access.share_of(addressed);
            access.may_call(place) && team_may_call_if_shared(&team.record(), addressed, share)
        })
    }

    fn check_served(&self, access: &Access<'_>) -> Result<(), Failure> {
        let (team, served) = (self.team.as_ref(), access.served());
        let may = |team: &Arc<RegisteredTeam>| {
            team_may_call_if_shared(&team.record(), served, || access.share_of(served))
        };
        if team.is_some_and(|team| !may(team)) {
            return Err(Failure::agent_offline());
        }
        Ok(())
    }
}
