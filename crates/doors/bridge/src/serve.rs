//! The way in for agents: a WebSocket becomes a line and a session.

use std::sync::Arc;

use axum::response::Response;
use jackfield_kit::{
    line::{Line, LineParts},
    socket::Hangup,
    upgrade::Upgrade,
    ws::WsConfig,
};

use crate::{DOOR, bridge::Bridge, session::Session};

impl Bridge {
    /// Answers a WebSocket handshake and runs the agent's session. `agent_id` is the id in the URL, which `register`
    /// must repeat.
    pub fn take(
        self: &Arc<Self>,
        upgrade: Upgrade,
        hangup: Option<Hangup>,
        agent_id: Option<String>,
    ) -> Response {
        let bridge = self.clone();
        let config = WsConfig {
            max_message: self.hub.limits().frame_before_register.0,
            ..WsConfig::default()
        };
        let parts = LineParts {
            hub: self.hub.clone(),
            traffic: self.traffic.clone(),
            connected: self.hub.metrics().connection(DOOR),
            stop: self.tasks.stop_token().clone(),
            hangup,
        };
        upgrade.run(&self.tasks, config, move |ws| async move {
            let line = Line::new(ws, parts);
            Session::new(bridge, line, agent_id).run(None).await;
        })
    }
}
