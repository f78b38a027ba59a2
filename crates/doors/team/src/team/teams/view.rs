//! Views of teams for principals: descriptions, and readers of event feeds.

use std::sync::Arc;

use jackfield_core::{entry::Entry, hub::may_see, principal::Principal, tap::may_watch};
use jackfield_model::{AgentId, Failure};

use super::Teams;
use crate::team::{
    TeamRecord,
    event::{AgentStatus, TeamStatus},
    feed::{FeedReader, ReplayStart, TeamRun},
    registry::RegisteredTeam,
    tree::{TeamTree, TreePosition},
};

/// Description and state of a team, for a principal with access.
#[derive(Debug, Clone)]
pub struct TeamView {
    /// Record of the team, without tasks.
    pub record: TeamRecord,
    /// Whether the coordinator is connected.
    pub online: bool,
    /// Status of the team.
    pub status: TeamStatus,
    /// Current run, if any, and the number of its last event.
    pub run: Option<(Arc<TeamRun>, u64)>,
    /// Agents of the team's tree.
    pub agents: Vec<TeamAgent>,
    /// Tree of the team.
    pub tree: TeamTree,
}

/// Agent of a team's tree.
#[derive(Debug, Clone)]
pub struct TeamAgent {
    /// Position in the tree.
    pub place: TreePosition,
    /// Route key, unique in the tree.
    pub route_key: Arc<str>,
    /// Whether the agent is connected.
    pub online: bool,
    /// Status of the agent.
    pub status: AgentStatus,
}

impl Teams {
    /// Returns a team visible to the principal.
    pub fn get(&self, principal: &Principal, id: &str) -> Result<TeamView, Failure> {
        self.visible_team(principal, id)
            .map(|(team, _)| self.view_of(&team))
    }

    /// Returns the teams visible to the principal, sorted by id.
    pub fn list(&self, principal: &Principal) -> Vec<TeamView> {
        let mut teams = self.registry.all();
        teams.retain(|team| self.visible_team(principal, team.id.as_str()).is_ok());
        teams.sort_by(|a, b| a.id.cmp(&b.id));
        teams.iter().map(|team| self.view_of(team)).collect()
    }

    /// Returns a [`FeedReader`] of a team's event feed. Principals that may watch the team see all events. Other
    /// principals see the events of their own calls.
    pub fn view(
        &self,
        principal: &Principal,
        id: &str,
        since: &ReplayStart,
    ) -> Result<(TeamView, FeedReader), Failure> {
        let (team, entry) = self.visible_team(principal, id)?;
        let only = restricted_to_own(principal, &entry);
        let viewing = FeedReader::new(team.feed.clone(), only, since);
        Ok((self.view_of(&team), viewing))
    }

    /// Returns a [`FeedReader`] of a single agent. Principals that may watch the agent see all events. Other principals
    /// see the events of their own calls.
    pub fn view_agent(
        &self,
        principal: &Principal,
        id: &str,
        since: &ReplayStart,
    ) -> Result<FeedReader, Failure> {
        let entry = self.hub.agents().get(id);
        let entry = entry.filter(|entry| may_see(principal, entry));
        let entry = entry.ok_or_else(|| Failure::no_such_agent(id))?;
        // Viewing a team as an agent shows only the coordinator.
        let entry = entry.stands_for().unwrap_or(entry);
        let only = restricted_to_own(principal, &entry);
        let feed = self.registry.open_agent_feed(&entry.id);
        let viewing = FeedReader::new(feed, only, since);
        // Removing an agent closes the agent's feed, but not a feed opened after the removal. Principals with
        // access to the next agent of the same id could view a feed opened too late, so check again.
        let known = self.hub.agents().get(entry.id.as_str());
        if !known.is_some_and(|known| Arc::ptr_eq(&known, &entry)) {
            return Err(Failure::no_such_agent(id));
        }
        Ok(viewing)
    }

    pub(super) fn view_of(&self, team: &RegisteredTeam) -> TeamView {
        let tree = self.registry.tree(&team.id);
        let is_online = |agent: &AgentId| {
            let entry = self.hub.agents().get(agent.as_str());
            entry.is_some_and(|entry| entry.is_online())
        };
        let agents = tree.positions().into_iter().map(|place| {
            let route_key = place.route_key();
            let online = is_online(&place.agent);
            let status = team.feed.member_status(&route_key);
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
            status: team.feed.status(),
            run: team.feed.run(),
            agents,
            tree,
        }
    }
}

/// Returns the principal if its view is limited to events of its own calls.
pub(super) fn restricted_to_own(principal: &Principal, entry: &Entry) -> Option<Principal> {
    let is_watcher = may_watch(principal, &entry.id, entry.owner());
    (!is_watcher).then(|| principal.clone())
}
