//! Routes below `/v1/remotes` for adding, listing and removing remotes. Errors have the form of the hub's own
//! API, which contains these paths. Only administrators add remotes, because a remote may be any server that
//! the hub's machine can reach, and may receive any secret that the hub can read. Owners of a remote may also
//! see and remove the remote.

mod describe;
mod view;

use std::sync::Arc;

use axum::{
    Json, Router,
    extract::{FromRequestParts, Request, State},
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, StatusCode, header};
use jackfield_core::{
    agent::Share,
    hub::Hub,
    principal::{Principal, Who},
    units::{Size, Span},
};
use jackfield_kit::{
    api::{ApiError, ApiState, AuthenticatedCaller, PathId, wrong_method},
    auth::Gatekeeper,
    body,
    json::{self, StrictObject},
};
use jackfield_model::{AgentId, Failure, Reason};
use serde::Deserialize;
use utoipa::{ToSchema, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use self::{
    describe::{AddErrors, CommonErrors},
    view::{RemoteList, RemoteView},
};
use super::{
    remote::Remote,
    remotes::{AddRemote, Remotes},
    spec::{Auth, RemoteSpec},
};

/// Largest body; headers may have long names.
const MAX_BODY: Size = Size::kib(64);

#[derive(Debug, Clone)]
struct RemotesApi {
    hub: Hub,
    gatekeeper: Gatekeeper,
    remotes: Remotes,
}

impl ApiState for RemotesApi {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// Returns the routes for the remotes of a hub, with their [`OpenApi`] description.
pub fn remotes_router(hub: Hub, gatekeeper: Gatekeeper, remotes: Remotes) -> (Router, OpenApi) {
    let served = RemotesApi {
        hub,
        gatekeeper,
        remotes,
    };
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(show, remove))
        .routes(routes!(card))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .with_state(served);
    (router, api)
}

/// A remote A2A server to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewRemote {
    /// URL of the agent's card, or the address above the card.
    url: String,
    /// The agent's id on this hub; derived from the name on the card if absent.
    #[schema(value_type = Option<String>, nullable = false, pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    id: Option<AgentId>,
    /// Credentials that the hub sends to the server with each request.
    #[schema(value_type = Option<Auth>, nullable = false)]
    auth: Option<StrictObject<Auth>>,
    /// Timeout for a silent server during a call, such as `90s` or `10m`.
    #[schema(schema_with = describe::span)]
    timeout: Option<Span>,
    /// Sharing of the agent with others.
    #[schema(schema_with = describe::share)]
    share: Option<Share>,
    /// Adds the remote even if the server is unreachable now; the hub keeps retrying.
    #[serde(default)]
    keep: bool,
}

/// Remote in the path, if the caller may see the remote.
struct NamedRemote {
    by: Principal,
    remote: Arc<Remote>,
}

impl FromRequestParts<RemotesApi> for NamedRemote {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        served: &RemotesApi,
    ) -> Result<Self, ApiError> {
        let AuthenticatedCaller(principal) =
            AuthenticatedCaller::from_request_parts(parts, served).await?;
        let PathId(id) = PathId::from_request_parts(parts, served).await?;
        let remote = AgentId::parse(&id).ok();
        let remote = remote.and_then(|id| served.remotes.get(&id));
        match remote.filter(|remote| may_see(&principal, remote)) {
            Some(remote) => Ok(Self {
                by: principal,
                remote,
            }),
            None => Err(no_such_remote(&id).into()),
        }
    }
}

/// Returns true for administrators and for the owner of the remote, independent of the permission to call the
/// agent.
fn may_see(principal: &Principal, remote: &Remote) -> bool {
    let is_owner = principal.owner == remote.owner && principal.who == Who::Person;
    principal.is_admin() || is_owner
}

fn no_such_remote(id: &str) -> Failure {
    let id: String = id.chars().take(jackfield_model::id::MAX_NAME).collect();
    let text = format!("no remote {id:?} of yours");
    Failure::new(Reason::NotFound, text)
}

/// Lists your remote servers, ordered by id.
#[utoipa::path(
    get,
    path = "/v1/remotes",
    tag = "remotes",
    responses((status = 200, description = "The remotes", body = RemoteList), CommonErrors),
)]
async fn list(
    State(served): State<RemotesApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
) -> Json<RemoteList> {
    let all = served.remotes.list();
    let seen = all.iter().filter(|remote| may_see(&principal, remote));
    let remotes = seen.map(|remote| RemoteView::of(remote)).collect();
    Json(RemoteList { remotes })
}

/// Adds a remote server: the server becomes an agent of yours. The response comes after the first attempt to
/// reach the server. Only admins may add remotes.
#[utoipa::path(
    post,
    path = "/v1/remotes",
    tag = "remotes",
    request_body = NewRemote,
    responses((status = 201, description = "The remote; with `keep` it may be offline", body = RemoteView), AddErrors),
)]
async fn add(
    State(served): State<RemotesApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    request: Request,
) -> Result<(StatusCode, Json<RemoteView>), ApiError> {
    if !principal.is_admin() {
        let text = "only an admin may add remotes: the hub reaches them from its own network";
        return Err(Failure::new(Reason::Unauthorized, text).into());
    }
    let limits = served.hub.limits();
    let text = body::read(request.into_body(), MAX_BODY, limits.write_stuck).await?;
    let new: NewRemote = json::parse(&text, limits.json_depth)?;
    if new.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
        let text = "field \"timeout\" must be longer than nothing";
        return Err(Failure::new(Reason::Invalid, text).into());
    }
    let wanted = AddRemote {
        id: new.id,
        spec: RemoteSpec {
            url: new.url,
            auth: new.auth.map(|auth| auth.0).unwrap_or_default(),
            timeout: new.timeout,
            share: new.share,
        },
        keep: new.keep,
    };
    let remote = served.remotes.add(&principal, wanted).await?;
    Ok((StatusCode::CREATED, Json(RemoteView::of(&remote))))
}

/// Shows a remote server.
#[utoipa::path(
    get,
    path = "/v1/remotes/{id}",
    tag = "remotes",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 200, description = "The remote", body = RemoteView), CommonErrors, describe::RemoteNotFound),
)]
async fn show(named: NamedRemote) -> Json<RemoteView> {
    Json(RemoteView::of(&named.remote))
}

/// Removes a remote server and its agent.
#[utoipa::path(
    delete,
    path = "/v1/remotes/{id}",
    tag = "remotes",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 204, description = "It is forgotten"), CommonErrors, describe::RemoteNotFound, describe::RemoteConfigured),
)]
async fn remove(
    State(served): State<RemotesApi>,
    named: NamedRemote,
) -> Result<StatusCode, ApiError> {
    served.remotes.remove(&named.by, &named.remote).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the card of a remote server, byte for byte as last fetched.
#[utoipa::path(
    get,
    path = "/v1/remotes/{id}/card",
    tag = "remotes",
    params(("id" = String, Path, description = "The agent")),
    responses((status = 200, description = "The card", body = describe::ForeignCardSchema), CommonErrors, describe::RemoteNotFound),
)]
async fn card(named: NamedRemote) -> Result<Response, ApiError> {
    let Some(found) = named.remote.known().found else {
        let text = "the card was never fetched: the server could not be reached yet";
        return Err(Failure::new(Reason::NotFound, text).into());
    };
    let mut headers = HeaderMap::new();
    let json = header::HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    Ok((headers, found.raw.to_string()).into_response())
}
