//! The entry point for agents: starts a session for each [`WsConnection`].

use std::sync::Arc;

use jackfield_kit::ws_connection::WsConnection;

use crate::{DOOR, bridge::Bridge, session::BridgeAgentSession};

impl Bridge {
    /// Runs a connection of an agent until its end. `agent_id` is the id in the URL, which `register` must
    /// repeat.
    pub fn run(
        self: &Arc<Self>,
        mut line: WsConnection,
        agent_id: Option<String>,
    ) -> impl Future<Output = ()> + Send + use<> {
        line.count_for_door(DOOR);
        let mut session = BridgeAgentSession::new(self.clone(), line, agent_id);
        async move { session.run().await }
    }
}
