//! `[[team]]`: a team that exists from the start of the hub.

use jackfield_model::AgentId;
use jackfield_team::team::{MemberKind, MemberSpec, TeamSpec};
use serde::{Deserialize, Serialize};

/// A team that exists from the start of the hub.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamConfig {
    /// Id of the team.
    pub id: AgentId,
    /// Display name; the id by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Purpose of the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Name of the member that receives calls of the team.
    pub coordinator: String,
    /// Members of the team.
    pub members: Vec<MemberConfig>,
}

/// A member of a team: an agent, or a nested team.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemberConfig {
    /// Name of the member in this team.
    pub name: String,
    /// Agent behind the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// Team behind the member.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<AgentId>,
}

impl TeamConfig {
    /// Returns the team. Fails if a member names neither an agent nor a team, or both.
    pub(crate) fn to_spec(&self) -> anyhow::Result<(AgentId, TeamSpec)> {
        let member = |member: &MemberConfig| {
            let of = match (&member.agent, &member.team) {
                (Some(agent), None) => MemberKind::Agent(agent.clone()),
                (None, Some(team)) => MemberKind::Team(team.clone()),
                _ => anyhow::bail!(
                    "member {} of [[team]] {} needs exactly one of agent and team",
                    member.name,
                    self.id
                ),
            };
            let name = member.name.as_str().into();
            Ok(MemberSpec { name, of })
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
