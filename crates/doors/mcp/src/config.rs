//! Opens the door. It has no settings of its own.

use jackfield_kit::door::{Context, Open, OpenError, Opened};

use crate::{Mcp, router};

/// The configuration of the door.
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
