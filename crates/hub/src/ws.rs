//! `/ws`, the WebSocket address that protocols share. The URL of a connection tells its protocol, else its first frame does. A
//! door does not know another door, so this is decided here, and the door gets the connection with nothing read from it.

use std::sync::Arc;

use axum::{Extension, Router, extract::State, response::Response, routing::get};
use http::{HeaderMap, Uri};
use jackfield_core::hub::Hub;
use jackfield_kit::{
    api::Problem,
    auth::{Came, bearer},
    door::Socket,
    line::{Line, LineParts},
    server::Peer,
    tasks::Tasks,
    upgrade::Upgrade,
};
use jackfield_model::Failure;

/// The protocols behind the one address.
#[derive(Debug, Clone)]
pub(crate) struct Sockets {
    pub(crate) hub: Hub,
    pub(crate) tasks: Tasks,
    /// Asked in this order. The last one takes what no other wants.
    pub(crate) protocols: Arc<[Arc<dyn Socket>]>,
}

/// The route.
pub(crate) fn router(sockets: Sockets) -> Router {
    Router::new().route("/ws", get(upgrade)).with_state(sockets)
}

async fn upgrade(
    State(sockets): State<Sockets>,
    peer: Option<Extension<Peer>>,
    url: Uri,
    headers: HeaderMap,
    came: Came,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let by_url = sockets.by_url(&url)?;
    let parts = LineParts {
        hub: sockets.hub.clone(),
        // Until its URL or its first frame says otherwise.
        door: sockets.protocols.last().map_or("", |last| last.door()),
        stop: sockets.tasks.stop_token().clone(),
        peer: peer.map(|Extension(peer)| peer),
        token: bearer(&headers).map(Box::from),
        came,
    };
    let tasks = sockets.tasks.clone();
    Ok(Line::open(upgrade, &tasks, parts, move |line| {
        sockets.hand_over(line, url, by_url)
    }))
}

impl Sockets {
    /// The protocol that a connection to this URL speaks, if the URL tells.
    fn by_url(&self, url: &Uri) -> Result<Option<Arc<dyn Socket>>, Failure> {
        for protocol in &*self.protocols {
            if protocol.claims_url(url)? {
                return Ok(Some(protocol.clone()));
            }
        }
        Ok(None)
    }

    /// Waits until the protocol of a connection is known. Its session is a task of its own, so that an idle one does not hold
    /// what was needed to find out.
    async fn hand_over(self, mut line: Line, url: Uri, by_url: Option<Arc<dyn Socket>>) {
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
