//! Configuration of the team door, and how the hub opens the door.

use jackfield_kit::door::{ConfigError, DoorConfig, DoorContext, DoorOpenError, OpenedDoor};
use jackfield_model::AgentId;

use crate::{TeamDoor, Teams, router, schemas::schemas, team::TeamSpec};

/// Configuration of the team door.
#[derive(Debug)]
pub struct Config {
    /// Teams of the hub. [`Teams::open`] runs before the doors open because unfinished calls of the hub may
    /// belong to teams.
    pub teams: Teams,
    /// Teams declared in the configuration file (`[[team]]`). Their owner is `local`.
    pub declared: Vec<(AgentId, TeamSpec)>,
}

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let declared = self.teams.declare(self.declared).await;
        declared.map_err(|failure| ConfigError(format!("[[team]]: {}", failure.text)))?;
        let door = TeamDoor {
            teams: self.teams,
            gatekeeper: context.gatekeeper.clone(),
            tasks: context.tasks.clone(),
        };
        Ok(OpenedDoor {
            schemas: schemas(),
            ..OpenedDoor::new(()).with_routes(router(door))
        })
    }
}
