//! Opens the door, which has no settings of its own.

use jackfield_kit::door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor};

use crate::{Agora, wire};

/// The configuration of the door.
#[derive(Debug, Clone, Default)]
pub struct Config;

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let DoorContext {
            hub,
            gatekeeper,
            tasks,
            files,
            ..
        } = context.clone();
        Ok(OpenedDoor {
            socket: Some(Agora::new(hub, gatekeeper, tasks, files)),
            schemas: wire::schemas(),
            ..OpenedDoor::new(())
        })
    }
}
