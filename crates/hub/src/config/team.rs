//! `[[team]]`: a team that the hub has from its start.

use jackfield_model::AgentId;
use jackfield_team::team::{Member, MemberOf, TeamSpec};
use serde::{Deserialize, Serialize};

/// A team that the hub has from its start.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamConfig {
    /// Its id.
    pub id: AgentId,
    /// A name for people; the id without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The name of the member that calls of the team go to.
    pub coordinator: String,
    /// Its members.
    pub members: Vec<MemberConfig>,
}

/// A member of a team: an agent, or another team.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberConfig {
    /// Its name in this team.
    pub name: String,
    /// The agent that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The team that it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<AgentId>,
}

impl TeamConfig {
    /// The team, unless a member is neither an agent nor a team, or both.
    pub(crate) fn team(&self) -> anyhow::Result<(AgentId, TeamSpec)> {
        let member = |member: &MemberConfig| {
            let of = match (&member.agent, &member.team) {
                (Some(agent), None) => MemberOf::Agent(agent.clone()),
                (None, Some(team)) => MemberOf::Team(team.clone()),
                _ => anyhow::bail!(
                    "member {} of [[team]] {} needs one of agent and team",
                    member.name,
                    self.id
                ),
            };
            let name = member.name.as_str().into();
            Ok(Member { name, of })
        };
        let spec = TeamSpec {
            name: self.name.clone().unwrap_or_else(|| self.id.to_string()),
            description: self.description.clone(),
            coordinator: self.coordinator.as_str().into(),
            members: self.members.iter().map(member).collect::<Result<_, _>>()?,
        };
        Ok((self.id.clone(), spec))
    }
}
