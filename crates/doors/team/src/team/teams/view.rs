//! What one may see of teams: what is known of them, and the streams of their runs.

use std::sync::Arc;

use jackfield_core::{entry::Entry, hub::may_see, principal::Principal, tap::may_watch};
use jackfield_model::{AgentId, Failure};

use super::Teams;
use crate::team::{
    TeamRecord,
    event::{AgentStatus, TeamStatus},
    registry::Team,
    stage::{Run, Since, Viewing},
    tree::{Place, Tree},
};

/// What one may know of a team.
#[derive(Debug, Clone)]
pub struct TeamView {
    /// What is kept of it; without its tasks.
    pub record: TeamRecord,
    /// Whether its coordinator is there.
    pub online: bool,
    /// How it is doing.
    pub status: TeamStatus,
    /// Its run, if it has one, and the number of the last event in it.
    pub run: Option<(Arc<Run>, u64)>,
    /// The agents of its tree.
    pub agents: Vec<TeamAgent>,
    /// Its tree.
    pub tree: Tree,
}

/// An agent of a team's tree.
#[derive(Debug, Clone)]
pub struct TeamAgent {
    /// Where it sits.
    pub place: Place,
    /// Its name in the whole tree.
    pub route_key: Arc<str>,
    /// Whether it is attached.
    pub online: bool,
    /// How it is doing.
    pub status: AgentStatus,
}

impl Teams {
    /// A team that the principal may see.
    pub fn get(&self, principal: &Principal, id: &str) -> Result<TeamView, Failure> {
        self.seen_team(principal, id)
            .map(|(team, _)| self.view_of(&team))
    }

    /// The teams that the principal may see, by id.
    pub fn list(&self, principal: &Principal) -> Vec<TeamView> {
        let mut teams = self.registry.all();
        teams.retain(|team| self.seen_team(principal, team.id.as_str()).is_ok());
        teams.sort_by(|a, b| a.id.cmp(&b.id));
        teams.iter().map(|team| self.view_of(team)).collect()
    }

    /// Starts to view a team's stream. Whoever may watch the team sees all of it; whoever may only call it sees what
    /// came of their own calls.
    pub fn view(
        &self,
        principal: &Principal,
        id: &str,
        since: &Since,
    ) -> Result<(TeamView, Viewing), Failure> {
        let (team, entry) = self.seen_team(principal, id)?;
        let only = only_own(principal, &entry);
        let viewing = Viewing::new(team.stage.clone(), only, since);
        Ok((self.view_of(&team), viewing))
    }

    /// Starts to view one agent alone: what it does for anybody, or for whoever may only call it, for them.
    pub fn view_agent(
        &self,
        principal: &Principal,
        id: &str,
        since: &Since,
    ) -> Result<Viewing, Failure> {
        let entry = self.hub.agents().get(id);
        let entry = entry.filter(|entry| may_see(principal, entry));
        let entry = entry.ok_or_else(|| Failure::no_such_agent(id))?;
        // A team viewed so is its coordinator's stream without the others.
        let entry = entry.stands_for().unwrap_or(entry);
        let only = only_own(principal, &entry);
        let stage = self.registry.open_solo(&entry.id, self.hub.limits());
        let viewing = Viewing::new(stage, only, since);
        // Whoever forgets the agent closes the stage, but not one that is opened afterwards: that may be viewed by those
        // who may see the next agent of this id.
        let known = self.hub.agents().get(entry.id.as_str());
        if !known.is_some_and(|known| Arc::ptr_eq(&known, &entry)) {
            return Err(Failure::no_such_agent(id));
        }
        Ok(viewing)
    }

    pub(super) fn view_of(&self, team: &Team) -> TeamView {
        let tree = self.registry.tree(&team.id);
        let is_online = |agent: &AgentId| {
            let entry = self.hub.agents().get(agent.as_str());
            entry.is_some_and(|entry| entry.is_online())
        };
        let agents = tree.places().into_iter().map(|place| {
            let route_key = place.route_key();
            let online = is_online(&place.agent);
            let status = team.stage.member_status(&route_key);
            TeamAgent {
                status: status.unwrap_or(AgentStatus::at_rest(online)),
                online,
                route_key,
                place,
            }
        });
        let agents = agents.collect();
        TeamView {
            online: team.leader().is_some_and(|leader| is_online(&leader)),
            record: team.record(),
            status: team.stage.status(),
            run: team.stage.run(),
            agents,
            tree,
        }
    }
}

/// The principal, if it may see only what came of its own calls.
pub(super) fn only_own(principal: &Principal, entry: &Entry) -> Option<Principal> {
    let is_watcher = may_watch(principal, &entry.id, entry.owner());
    (!is_watcher).then(|| principal.clone())
}
