//! Routes of the door, and the state that the handlers share.

use std::sync::Arc;

use axum::{Router, extract::State, middleware, response::Response};
use http::{Method, StatusCode, Uri};
use jackfield_core::hub::Hub;
use jackfield_kit::{auth::Gatekeeper, outbound::Outbound};
use jackfield_model::AgentId;

use crate::{
    DOOR,
    card::{self, Cards},
    official::{self, RefusalMarker},
    seed::{self, SeedProblem},
};

/// Shared state of the door's handlers.
#[derive(Debug)]
pub struct A2aDoor {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) cards: Cards,
    /// Agent for messages that name no agent.
    pub(crate) default_agent: Option<AgentId>,
    /// HTTP client for push notifications; `None` disables push notifications.
    pub(crate) outbound: Option<Outbound>,
}

impl A2aDoor {
    /// Creates the door of a hub, without cards and without push notifications.
    pub fn new(hub: Hub, gatekeeper: Gatekeeper) -> Self {
        Self {
            hub,
            gatekeeper,
            cards: Cards::default(),
            default_agent: None,
            outbound: None,
        }
    }

    /// Sets the [`Cards`] of the door.
    pub fn with_cards(mut self, cards: Cards) -> Self {
        self.cards = cards;
        self
    }

    /// Sets the agent for messages that name no agent.
    pub fn with_default_agent(mut self, agent: Option<AgentId>) -> Self {
        self.default_agent = agent;
        self
    }

    /// Enables push notifications. The courier of the outbox must know the door as a composer.
    pub fn with_outbound(mut self, outbound: Outbound) -> Self {
        self.outbound = Some(outbound);
        self
    }
}

/// Path of a hub below which the door has its routes.
pub(crate) const PREFIX: &str = "/a2a";

/// Returns the routes of the door: below `/a2a`, and at the root the hub's own cards and keys.
pub fn router(a2a: impl Into<Arc<A2aDoor>>) -> Router {
    let a2a = a2a.into();
    let root = card::root_routes().merge(official::root_routes());
    router_at(PREFIX, a2a.clone()).merge(root.with_state(a2a))
}

/// Returns the routes of the door below `prefix`, which has no trailing slash. The door answers every path
/// below the prefix. With an empty prefix, the door answers only its own paths.
pub fn router_at(prefix: &str, a2a: impl Into<Arc<A2aDoor>>) -> Router {
    let a2a = a2a.into();
    let routes = seed::routes(prefix)
        .merge(card::routes(prefix))
        .merge(official::routes(prefix));
    routes
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            a2a.clone(),
            count_refused,
        ))
        .with_state(a2a)
}

async fn wrong_method(method: Method, uri: Uri) -> SeedProblem {
    SeedProblem::wrong_method(&method, uri.path())
}

async fn count_refused(State(a2a): State<Arc<A2aDoor>>, response: Response) -> Response {
    let by_status = matches!(
        response.status(),
        StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    // In JSON-RPC the HTTP status does not tell.
    let said = response.extensions().get::<RefusalMarker>();
    if said.map_or(by_status, |refused| refused.counts) {
        a2a.hub.metrics().refused(DOOR);
    }
    response
}
