//! Configuration of the MCP door, and how the hub opens the door. The door has no settings.

use jackfield_kit::{
    door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor},
    guard::BrowserHeaders,
};

use crate::{McpState, router, serve::SESSION};

/// Configuration of the MCP door.
#[derive(Debug, Clone, Default)]
pub struct Config;

impl DoorConfig for Config {
    type Handle = ();

    async fn open(self, context: &DoorContext) -> Result<OpenedDoor, DoorOpenError> {
        let mcp = McpState {
            hub: context.hub.clone(),
            gatekeeper: context.gatekeeper.clone(),
            files: context.files.clone(),
            version: context.version,
            stop: context.tasks.stop_token().clone(),
        };
        let opened = OpenedDoor {
            browser_headers: BrowserHeaders {
                accepted: vec!["mcp-method", "mcp-name", "mcp-protocol-version", SESSION],
                exposed: vec![SESSION],
            },
            ..OpenedDoor::new(())
        };
        Ok(opened.with_routes(router(mcp)))
    }
}
