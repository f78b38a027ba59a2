//! The route `/v1/remotes/{id}/card`, and the description of what remote A2A servers add to the routes of all
//! remotes (`jackfield_kit::dial::routes`). Errors have the form of the hub's own API, which contains the path.

pub(super) mod describe;
mod view;

use axum::{
    Router,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, header};
use jackfield_core::{
    hub::Hub,
    principal::{Principal, Who},
};
use jackfield_kit::{
    api::{ApiError, ApiState, AuthenticatedCaller, ErrorResponses, PathId, wrong_method},
    auth::Gatekeeper,
};
use jackfield_model::{AgentId, Failure, Reason};
use utoipa::{OpenApi as _, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) use self::view::RemoteDetails;
use super::{remote::Remote, remotes::Remotes, settings::RemoteSettings};

#[derive(Debug, Clone)]
struct CardApi {
    hub: Hub,
    gatekeeper: Gatekeeper,
    remotes: Remotes,
}

impl ApiState for CardApi {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// Schemas of the settings and details of remote A2A servers.
#[derive(utoipa::OpenApi)]
#[openapi(components(schemas(RemoteSettings, RemoteDetails)))]
struct Schemas;

/// Returns the route for the cards of remotes, with its [`OpenApi`] description.
pub fn cards_router(hub: Hub, gatekeeper: Gatekeeper, remotes: Remotes) -> (Router, OpenApi) {
    let served = CardApi {
        hub,
        gatekeeper,
        remotes,
    };
    let (router, api) = OpenApiRouter::with_openapi(Schemas::openapi())
        .routes(routes!(card))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .with_state(served);
    (router, api)
}

/// Returns true for administrators and for the owner of the remote, independent of the permission to call the
/// agent.
fn may_see(principal: &Principal, remote: &Remote) -> bool {
    let is_owner = principal.owner == remote.owner && principal.who == Who::Person;
    principal.is_admin() || is_owner
}

/// Returns the card of a remote A2A server, byte for byte as last fetched.
#[utoipa::path(
    get,
    path = "/v1/remotes/{id}/card",
    tag = "remotes",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 200, description = "The card", body = describe::ForeignCardSchema), ErrorResponses, describe::RemoteNotFound),
)]
async fn card(
    State(served): State<CardApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<Response, ApiError> {
    let remote = AgentId::parse(&id).ok();
    let remote = remote.and_then(|id| served.remotes.get(&id));
    let Some(remote) = remote.filter(|remote| may_see(&principal, remote)) else {
        let id: String = id.chars().take(jackfield_model::id::MAX_NAME).collect();
        let text = format!("no A2A server {id:?} of yours");
        return Err(Failure::new(Reason::NotFound, text).into());
    };
    let Some(found) = remote.known().found else {
        let text = "the card was never fetched: the server could not be reached yet";
        return Err(Failure::new(Reason::NotFound, text).into());
    };
    let mut headers = HeaderMap::new();
    let json = header::HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    Ok((headers, found.raw.to_string()).into_response())
}
