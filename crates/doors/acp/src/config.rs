//! Configuration of the ACP door, and how the hub opens the door. The door has no settings.

use jackfield_kit::door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor};

use crate::door::{AcpDoor, router};

/// Configuration of the ACP door.
#[derive(Debug, Clone, Default)]
pub struct Config;

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let door = AcpDoor {
            hub: context.hub.clone(),
            gatekeeper: context.gatekeeper.clone(),
            files: context.files.clone(),
            tasks: context.tasks.clone(),
            version: context.version,
        };
        let mut opened = OpenedDoor::new(());
        // Clients of the protocol read no OpenAPI description.
        opened.routes = router(door);
        Ok(opened)
    }
}
