//! `/ws`, the WebSocket address that protocols share. The URL of a connection determines the protocol, else
//! the first frame does. Doors do not know each other, so [`SharedWebSocket`] decides, and passes the connection on
//! unread.

use std::sync::Arc;

use axum::{Extension, Router, extract::State, response::Response, routing::get};
use http::{HeaderMap, Uri};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::ApiError,
    auth::{Ingress, bearer},
    door::SocketProtocol,
    server::RequestPeer,
    tasks::Tasks,
    upgrade::Upgrade,
    ws_connection::{WsConnection, WsConnectionParts},
};
use jackfield_model::Failure;

/// Protocols behind `/ws`.
#[derive(Debug, Clone)]
pub(crate) struct SharedWebSocket {
    pub(crate) hub: Hub,
    pub(crate) tasks: Tasks,
    /// Protocols in the order in which they may claim a connection. The last protocol accepts all remaining
    /// connections.
    pub(crate) protocols: Arc<[Arc<dyn SocketProtocol>]>,
}

/// Returns the route `/ws`.
pub(crate) fn router(sockets: SharedWebSocket) -> Router {
    Router::new().route("/ws", get(upgrade)).with_state(sockets)
}

async fn upgrade(
    State(sockets): State<SharedWebSocket>,
    peer: Option<Extension<RequestPeer>>,
    url: Uri,
    headers: HeaderMap,
    came: Ingress,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let by_url = sockets.by_url(&url)?;
    let parts = WsConnectionParts {
        hub: sockets.hub.clone(),
        // Provisional, until the URL or the first frame determines the protocol.
        door: sockets.protocols.last().map_or("", |last| last.door()),
        stop: sockets.tasks.stop_token().clone(),
        peer: peer.map(|Extension(peer)| peer),
        token: bearer(&headers).map(Box::from),
        came,
    };
    let tasks = sockets.tasks.clone();
    Ok(WsConnection::open(upgrade, &tasks, parts, move |line| {
        sockets.start_session(line, url, by_url)
    }))
}

impl SharedWebSocket {
    /// Returns the protocol that claims `url`, if any.
    fn by_url(&self, url: &Uri) -> Result<Option<Arc<dyn SocketProtocol>>, Failure> {
        for protocol in &*self.protocols {
            if protocol.claims_url(url)? {
                return Ok(Some(protocol.clone()));
            }
        }
        Ok(None)
    }

    /// Waits until the protocol of a connection is known, and starts the session. The session runs in a
    /// separate task, so that idle sessions do not hold the memory of this detection.
    async fn start_session(
        self,
        mut line: WsConnection,
        url: Uri,
        by_url: Option<Arc<dyn SocketProtocol>>,
    ) {
        let protocol = match by_url {
            Some(protocol) => Some(protocol),
            None => {
                let first = line.peek().await;
                let mut protocols = self.protocols.iter();
                let found = protocols.find(|protocol| protocol.claims_first(first));
                found.cloned()
            }
        };
        if let Some(protocol) = protocol {
            self.tasks.spawn(protocol.run(line, &url));
        }
    }
}
