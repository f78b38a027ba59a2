//! Opens the door.

use jackfield_kit::door::{ConfigError, Context, Open, OpenError, Opened};
use jackfield_model::AgentId;

use crate::{TeamDoor, Teams, router, team::TeamSpec};

/// The configuration of the door.
#[derive(Debug)]
pub struct Config {
    /// The teams of the hub. They are opened with it, since its open calls may belong to teams.
    pub teams: Teams,
    /// The teams that the hub has from its start (`[[team]]`), of the owner `local`.
    pub declared: Vec<(AgentId, TeamSpec)>,
}

impl Open for Config {
    type Handle = ();

    async fn open(self, context: &Context) -> Result<Opened, OpenError> {
        let declared = self.teams.declare(self.declared).await;
        declared.map_err(|failure| ConfigError(format!("[[team]]: {}", failure.text)))?;
        let door = TeamDoor {
            teams: self.teams,
            gatekeeper: context.gatekeeper.clone(),
            tasks: context.tasks.clone(),
        };
        Ok(Opened::new(()).with_routes(router(door)))
    }
}
