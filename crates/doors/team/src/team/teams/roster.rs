//! Effects of a changed team on its members: removed members stop working for the team, and viewers learn of
//! added and removed members. The protocol reports both only as statuses of the members.

use std::sync::Arc;

use jackfield_model::AgentId;

use super::Teams;
use crate::team::{
    event::{AgentStatus, EventBody, MemberEvent, StatusChange},
    registry::RegisteredTeam,
    tree::TreePosition,
};

/// Teams with the positions of all their agents.
pub(super) type MemberPositions = Vec<(Arc<RegisteredTeam>, Vec<TreePosition>)>;

impl Teams {
    /// Returns the positions in a team and in all enclosing teams.
    pub(super) fn rosters(&self, id: &AgentId) -> MemberPositions {
        let teams = &self.registry;
        let mut around = teams.all();
        around.retain(|team| team.id == *id || teams.contains(&team.id, id));
        let rosters = around.into_iter().map(|team| {
            let places = teams.tree(&team.id).positions();
            (team, places)
        });
        rosters.collect()
    }

    /// Compares `before` with the current members. Cancels calls of removed members, and reports added and
    /// removed members to viewers.
    pub(super) fn apply_roster_change(&self, before: MemberPositions) {
        for (team, before) in before {
            let now = self.registry.tree(&team.id).positions();
            let is_there = |route: &str, agent: &AgentId| {
                let mut places = now.iter();
                places.any(|place| place.agent == *agent && *place.route_key() == *route)
            };
            for call in team.feed.displaced_calls(is_there) {
                call.cancel();
            }
            for place in before.iter().filter(|place| !now.contains(place)) {
                team.feed.forget_member(&place.route_key());
                tell_status(&team, place, AgentStatus::ShutdownComplete);
            }
            for place in now.iter().filter(|place| !before.contains(place)) {
                let entry = self.hub.agents().get(place.agent.as_str());
                let is_online = entry.is_some_and(|entry| entry.is_online());
                tell_status(&team, place, AgentStatus::at_rest(is_online));
            }
        }
    }
}

/// Reports the status of a member to current and later viewers, if any.
fn tell_status(team: &RegisteredTeam, place: &TreePosition, new: AgentStatus) {
    if !team.feed.is_active() {
        return;
    }
    let status = StatusChange {
        new,
        old: None,
        tool: None,
        error: None,
    };
    let body = EventBody::Member {
        name: place.name.clone(),
        agent: place.agent.clone(),
        event: MemberEvent::Status(status),
    };
    team.feed.append_event(&place.path, Arc::new(body));
}
