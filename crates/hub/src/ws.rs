//! `/ws`, which two protocols share: `agent_id` in the query means bridge; else the first frame tells. A door does not know
//! another door, so this is decided here, and the line is handed over with nothing taken from it.

use std::{borrow::Cow, sync::Arc};

use axum::{
    Extension, Router,
    extract::{Query, State},
    response::Response,
    routing::get,
};
use http::HeaderMap;
use jackfield_agora::Agora;
use jackfield_bridge::Bridge;
use jackfield_core::hub::Hub;
use jackfield_kit::{
    auth::{Came, bearer},
    line::{Line, LineParts, Step},
    server::Peer,
    tasks::Tasks,
    upgrade::Upgrade,
};
use serde::{Deserialize, de::IgnoredAny};

/// The doors behind the one address.
#[derive(Debug, Clone)]
pub(crate) struct Doors {
    pub(crate) hub: Hub,
    pub(crate) tasks: Tasks,
    pub(crate) agora: Arc<Agora>,
    pub(crate) bridge: Arc<Bridge>,
}

/// The route.
pub(crate) fn router(doors: Doors) -> Router {
    Router::new().route("/ws", get(upgrade)).with_state(doors)
}

#[derive(Debug, Deserialize)]
struct Which {
    agent_id: Option<String>,
}

async fn upgrade(
    State(doors): State<Doors>,
    peer: Option<Extension<Peer>>,
    Query(which): Query<Which>,
    headers: HeaderMap,
    came: Came,
    upgrade: Upgrade,
) -> Response {
    let parts = LineParts {
        hub: doors.hub.clone(),
        // Until its first frame says otherwise.
        door: jackfield_agora::DOOR,
        stop: doors.tasks.stop_token().clone(),
        peer: peer.map(|Extension(peer)| peer),
        token: bearer(&headers).map(Box::from),
        came,
    };
    let tasks = doors.tasks.clone();
    Line::open(upgrade, &tasks, parts, move |line| {
        doors.hand_over(line, which.agent_id)
    })
}

impl Doors {
    /// Waits until it is clear whose a line is. Its session is a task of its own, so that an idle one does not carry what
    /// was needed to find out.
    async fn hand_over(self, mut line: Line, agent_id: Option<String>) {
        if agent_id.is_some() || is_of_bridge(line.peek().await) {
            self.tasks.spawn(self.bridge.run(line, agent_id));
        } else {
            self.tasks.spawn(self.agora.run(line));
        }
    }
}

/// Whether a connection begins as those of the bridge do. Everything else is Agora's, which has an answer to nonsense.
fn is_of_bridge(first: &Step) -> bool {
    /// As much of a first frame as tells the two apart.
    #[derive(Deserialize)]
    struct First<'a> {
        #[serde(rename = "type", borrow)]
        kind: Cow<'a, str>,
        agent_id: Option<IgnoredAny>,
        id: Option<IgnoredAny>,
    }
    let Step::Text(text) = first else {
        return false;
    };
    let first = serde_json::from_str::<First<'_>>(text);
    first.is_ok_and(|first| {
        first.kind == "register" && first.agent_id.is_some() && first.id.is_none()
    })
}
