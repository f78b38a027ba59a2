//! Configuration of the MCP door, and how the hub opens the door. The door has no settings.

use jackfield_kit::door::{Context, Open, OpenError, Opened};

use crate::{Mcp, router};

/// Configuration of the MCP door.
#[derive(Debug, Clone, Default)]
pub struct Config;

impl Open for Config {
    type Handle = ();

    async fn open(self, context: &Context) -> Result<Opened, OpenError> {
        let mcp = Mcp {
            hub: context.hub.clone(),
            gatekeeper: context.gatekeeper.clone(),
            version: context.version,
            stop: context.tasks.stop_token().clone(),
        };
        Ok(Opened::new(()).with_routes(router(mcp)))
    }
}
