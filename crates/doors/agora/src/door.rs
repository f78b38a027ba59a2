//! The door of a hub: the state that its sessions share, and the connections of `/ws` that it takes.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::Uri;
use jackfield_core::hub::Hub;
use jackfield_kit::{
    auth::Gatekeeper,
    door::SocketProtocol,
    files::Files,
    tasks::Tasks,
    ws_connection::{WsConnection, WsConnectionEvent},
};
use jackfield_model::Failure;

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
