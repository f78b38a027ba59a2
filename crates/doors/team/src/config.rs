//! Opens the door.

use jackfield_core::team::TeamSpec;
use jackfield_kit::door::{ConfigError, Context, Open, OpenError, Opened};
use jackfield_model::AgentId;

use crate::{TeamDoor, router};

/// The configuration of the door.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The teams that the hub has from its start (`[[team]]`), of the owner `local`.
    pub teams: Vec<(AgentId, TeamSpec)>,
}

impl Open for Config {
    type Handle = ();

    async fn open(self, context: &Context) -> Result<Opened, OpenError> {
        let declared = context.hub.declare_teams(self.teams).await;
        declared.map_err(|failure| ConfigError(format!("[[team]]: {}", failure.text)))?;
        let door = TeamDoor {
            hub: context.hub.clone(),
            gatekeeper: context.gatekeeper.clone(),
            tasks: context.tasks.clone(),
        };
        Ok(Opened::new(()).with_routes(router(door)))
    }
}
