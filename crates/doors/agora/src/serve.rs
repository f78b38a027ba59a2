//! The way in: `GET /ws` becomes a WebSocket and a session.

use std::sync::Arc;

use axum::{Extension, Router, extract::State, response::Response, routing::get};
use http::HeaderMap;
use jackfield_core::{hub::Hub, metrics::Traffic};
use jackfield_kit::{
    auth::{Gatekeeper, bearer},
    server::Peer,
    socket::Hangup,
    tasks::Tasks,
    upgrade::Upgrade,
    ws::WsConfig,
};

use crate::{DOOR, session::Session};

/// What the sessions of this door share.
#[derive(Debug)]
pub struct Agora {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) tasks: Tasks,
    pub(crate) traffic: Traffic,
    pub(crate) wire_limits: jackfield_wire::agora::Limits,
}

impl Agora {
    /// The door of a hub. Its sessions are among `tasks`.
    pub fn new(hub: Hub, gatekeeper: Gatekeeper, tasks: Tasks) -> Arc<Self> {
        let traffic = hub.metrics().traffic(DOOR);
        let limits = hub.limits();
        let wire_limits = jackfield_wire::agora::Limits {
            max_depth: limits.json_depth,
            max_chunk: limits.chunk.0,
        };
        Arc::new(Self {
            hub,
            gatekeeper,
            tasks,
            traffic,
            wire_limits,
        })
    }
}

/// The door's routes.
pub fn router(agora: Arc<Agora>) -> Router {
    Router::new().route("/ws", get(upgrade)).with_state(agora)
}

async fn upgrade(
    State(agora): State<Arc<Agora>>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Response {
    let tasks = agora.tasks.clone();
    let config = WsConfig {
        max_message: agora.hub.limits().frame_before_register.0,
        ..WsConfig::default()
    };
    let token = bearer(&headers).map(Box::from);
    // Without our own server below (a test of somebody else's), a hang-up shows only when we read.
    let hangup: Option<Hangup> = peer.map(|Extension(peer)| peer.hangup);
    upgrade.run(&tasks, config, move |ws| {
        let mut session = Session::new(agora, ws, hangup, token);
        async move { session.run().await }
    })
}
