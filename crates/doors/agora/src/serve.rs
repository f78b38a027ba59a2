//! The entry point for connections: starts a session for each [`WsConnection`].

use std::sync::Arc;

use jackfield_core::hub::Hub;
use jackfield_kit::{auth::Gatekeeper, files::Files, tasks::Tasks, ws_connection::WsConnection};

use crate::{DOOR, session::AgoraSession, wire};

/// State shared by the sessions of the door.
#[derive(Debug)]
pub struct Agora {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) tasks: Tasks,
    /// Files under links, since the protocol knows only links.
    pub(crate) files: Arc<Files>,
    pub(crate) wire_limits: wire::FrameLimits,
}

impl Agora {
    /// Creates the door of a hub. Work that outlives a session runs as part of `tasks`.
    pub fn new(hub: Hub, gatekeeper: Gatekeeper, tasks: Tasks, files: Arc<Files>) -> Arc<Self> {
        let limits = hub.limits();
        let wire_limits = wire::FrameLimits {
            max_depth: limits.json_depth,
            max_chunk: limits.chunk.0,
        };
        Arc::new(Self {
            hub,
            gatekeeper,
            tasks,
            files,
            wire_limits,
        })
    }

    /// Runs a connection with the Agora protocol until its end.
    pub fn run(
        self: &Arc<Self>,
        mut line: WsConnection,
    ) -> impl Future<Output = ()> + Send + use<> {
        line.count_for_door(DOOR);
        let mut session = AgoraSession::new(self.clone(), line);
        async move { session.run().await }
    }
}
