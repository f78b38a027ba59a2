//! Teams declared in the configuration file. The hub creates the teams at its start, before any agent
//! connects: members may still be unknown, and count as offline.

use jackfield_core::principal::Principal;
use jackfield_model::{AgentId, Failure, Reason};

use super::Teams;
use crate::team::{MemberKind, TeamSpec};

impl Teams {
    /// Creates the declared teams, or changes existing teams to match. Registers all teams before checking
    /// any, so the order of declarations does not matter. From then on, only the configuration changes the
    /// teams.
    pub async fn declare(&self, teams: Vec<(AgentId, TeamSpec)>) -> Result<(), Failure> {
        let operator = Principal::local();
        let mut saved = Vec::new();
        for (id, spec) in &teams {
            let known = self.registry.get(id.as_str());
            let entry = self.hub.agents().get(id.as_str());
            saved.push(match (known, entry) {
                (Some(team), Some(entry)) => self.set_team(&team, &entry, spec.clone(), true),
                (None, Some(_)) => {
                    let text =
                        format!("team {id}: an agent of this id is known; choose another id");
                    return Err(Failure::new(Reason::Conflict, text));
                }
                (_, None) => self.add_team(&operator, id, spec.clone())?.1,
            });
        }
        for (id, spec) in &teams {
            let check = self.check_declaration(spec);
            check
                .and_then(|()| self.registry.check(id, spec))
                .map_err(|failure| {
                    Failure::new(failure.reason, format!("team {id}: {}", failure.text))
                })?;
            self.registry.declare(id);
        }
        for saved in saved {
            saved.await.map_err(|error| {
                Failure::new(
                    Reason::Internal,
                    format!("teams could not be kept: {error}"),
                )
            })?;
        }
        Ok(())
    }

    fn check_declaration(&self, spec: &TeamSpec) -> Result<(), Failure> {
        for (at, member) in spec.members.iter().enumerate() {
            let text = match &member.of {
                MemberKind::Agent(id) if self.registry.get(id.as_str()).is_some() => {
                    format!("field \"members[{at}].agent\": {id} is a team; write \"team\" instead")
                }
                MemberKind::Team(id) if self.registry.get(id.as_str()).is_none() => {
                    format!("field \"members[{at}].team\": no team {id} is known here")
                }
                MemberKind::Agent(_) | MemberKind::Team(_) => continue,
            };
            return Err(Failure::new(Reason::Invalid, text));
        }
        Ok(())
    }
}
