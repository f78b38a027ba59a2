//! Opens the door, which has no settings of its own.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Uri;
use jackfield_kit::{
    door::{DoorConfig, DoorContext, DoorOpenError, OpenedDoor, SocketProtocol},
    ws_connection::{WsConnection, WsConnectionEvent},
};
use jackfield_model::Failure;

use crate::{Agora, DOOR};

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
            ..OpenedDoor::new(())
        })
    }
}

impl SocketProtocol for Agora {
    fn door(&self) -> &'static str {
        DOOR
    }

    fn claims_url(&self, _: &Uri) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Claims every connection that no other protocol claims, because Agora defines an answer to invalid
    /// frames.
    fn claims_first(&self, _: &WsConnectionEvent) -> bool {
        true
    }

    fn run(self: Arc<Self>, line: WsConnection, _: &Uri) -> BoxFuture<'static, ()> {
        Box::pin(Self::run(&self, line))
    }
}
