//! The routes of the door, and what their handlers share.

use std::sync::Arc;

use axum::{Router, extract::State, middleware, response::Response};
use http::{Method, StatusCode, Uri};
use jackfield_core::hub::Hub;
use jackfield_kit::{auth::Gatekeeper, outbound::Outbound};
use jackfield_model::AgentId;

use crate::{
    DOOR,
    card::{self, Cards},
    official::{self, Refused},
    seed::{self, Problem},
};

/// What the handlers of this door share.
#[derive(Debug)]
pub struct A2a {
    pub(crate) hub: Hub,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) cards: Cards,
    /// Whom messages are for that name nobody.
    pub(crate) default_agent: Option<AgentId>,
    /// The way to those who are notified of tasks; nobody is if there is none.
    pub(crate) outbound: Option<Outbound>,
}

impl A2a {
    /// The door of a hub that shows no cards, since it does not know its address, and notifies nobody.
    pub fn new(hub: Hub, gatekeeper: Gatekeeper) -> Self {
        Self {
            hub,
            gatekeeper,
            cards: Cards::default(),
            default_agent: None,
            outbound: None,
        }
    }

    /// Shows cards.
    pub fn with_cards(mut self, cards: Cards) -> Self {
        self.cards = cards;
        self
    }

    /// Gives messages that name nobody to this agent.
    pub fn with_default_agent(mut self, agent: Option<AgentId>) -> Self {
        self.default_agent = agent;
        self
    }

    /// Notifies callers of their tasks, if whoever empties the outbox knows this door.
    pub fn with_outbound(mut self, outbound: Outbound) -> Self {
        self.outbound = Some(outbound);
        self
    }
}

/// The routes of the door: below `/a2a`, and at the root the hub's own cards and its keys.
pub fn router(a2a: impl Into<Arc<A2a>>) -> Router {
    let a2a = a2a.into();
    let root = card::root_routes().merge(official::root_routes());
    router_at("/a2a", a2a.clone()).merge(root.with_state(a2a))
}

/// The routes of the door below a prefix, which has no slash at its end. All that is below it is the door's, except below
/// nothing at all: then only the paths that it knows are.
pub fn router_at(prefix: &str, a2a: impl Into<Arc<A2a>>) -> Router {
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

async fn wrong_method(method: Method, uri: Uri) -> Problem {
    Problem::wrong_method(&method, uri.path())
}

async fn count_refused(State(a2a): State<Arc<A2a>>, response: Response) -> Response {
    let by_status = matches!(
        response.status(),
        StatusCode::BAD_REQUEST
            | StatusCode::PAYLOAD_TOO_LARGE
            | StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
    // In JSON-RPC the status says nothing.
    let said = response.extensions().get::<Refused>();
    if said.map_or(by_status, |refused| refused.counts) {
        a2a.hub.metrics().refused(DOOR);
    }
    response
}
