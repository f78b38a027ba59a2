//! Routes for adding, listing and removing the remotes of all protocols, and for discovering them at an address. Only administrators
//! add remotes, because a remote may be any address that the hub's machine can reach, and may receive any secret
//! that the hub can read. Owners of a remote may also see and remove the remote.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json, Router,
    extract::{Request, State},
};
use http::StatusCode;
use jackfield_core::{
    hub::Hub,
    principal::{Principal, Who},
    units::Size,
};
use jackfield_model::{AgentId, Failure, Reason};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use utoipa::{IntoResponses, ToSchema, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{AddedRemote, DialError, DialTarget, Dialler, Discovery, RemoteView, choose};
use crate::{
    api::{
        ApiError, ApiState, AuthenticatedCaller, ErrorResponses, PathId, ResponseMap, errors,
        wrong_method,
    },
    auth::Gatekeeper,
    body, json,
};

/// Largest body; headers may have long names.
const MAX_BODY: Size = Size::kib(64);

#[derive(Debug, Clone)]
struct RemotesApi {
    hub: Hub,
    gatekeeper: Gatekeeper,
    diallers: Arc<[Arc<dyn Dialler>]>,
}

impl ApiState for RemotesApi {
    fn hub(&self) -> &Hub {
        &self.hub
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// Returns the routes for the remotes of all `diallers`, with their [`OpenApi`] description.
pub fn router(
    hub: Hub,
    gatekeeper: Gatekeeper,
    diallers: impl Into<Arc<[Arc<dyn Dialler>]>>,
) -> (Router, OpenApi) {
    let served = RemotesApi {
        hub,
        gatekeeper,
        diallers: diallers.into(),
    };
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(show, remove))
        .routes(routes!(discover))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .with_state(served);
    (router, api)
}

/// A remote to add. Further fields are settings of its protocol, which refuses unknown ones.
#[derive(Debug, Deserialize, ToSchema)]
struct NewRemote {
    /// Address of the remote, in the form of its protocol: a URL, or a multiaddr. `address` is the same field.
    #[serde(alias = "address")]
    url: String,
    /// The agent's id on this hub, for protocols whose remotes are one agent; derived from its name if absent.
    #[schema(value_type = Option<String>, nullable = false, pattern = "^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$")]
    id: Option<AgentId>,
    /// Protocol to dial by, where the address does not tell.
    #[schema(nullable = false)]
    protocol: Option<String>,
    /// Adds the remote even if it is unreachable now; the hub keeps retrying.
    #[serde(default)]
    keep: bool,
    #[serde(flatten)]
    settings: BTreeMap<String, Value>,
}

/// An address to search for remotes. Further fields are settings of the protocol, with which the remotes would be
/// added.
#[derive(Debug, Deserialize, ToSchema)]
struct DiscoverRemotes {
    /// Address to ask: a server, or anything that `POST /v1/remotes` takes. `address` is the same field.
    #[serde(alias = "address")]
    url: String,
    /// Protocol to dial by, where the address does not tell.
    #[schema(nullable = false)]
    protocol: Option<String>,
    #[serde(flatten)]
    settings: BTreeMap<String, Value>,
}

/// Remotes of a hub.
#[derive(Debug, Serialize, ToSchema)]
struct RemoteList {
    /// Remotes, ordered by id.
    remotes: Vec<RemoteView>,
}

struct AddErrors;

impl IntoResponses for AddErrors {
    fn responses() -> ResponseMap {
        let list = [
            ("404", "Its protocol is not enabled: not_found"),
            (
                "409",
                "The id is in use, or the remote is blocked: conflict",
            ),
            ("413", "The body is too large: too_large"),
            ("429", "There are as many as may be: busy"),
            ("502", "The remote cannot be reached: offline, stopping"),
        ];
        errors("Error", &list)
    }
}

struct DiscoverErrors;

impl IntoResponses for DiscoverErrors {
    fn responses() -> ResponseMap {
        let list = [
            ("404", "Its protocol is not enabled: not_found"),
            ("413", "The body is too large: too_large"),
            (
                "502",
                "Nothing that can be added was found; the message names what was tried: offline",
            ),
        ];
        errors("Error", &list)
    }
}

struct RemoteNotFound;

impl IntoResponses for RemoteNotFound {
    fn responses() -> ResponseMap {
        errors(
            "Error",
            &[("404", "No such remote, or none of yours: not_found")],
        )
    }
}

struct RemoteNotRemoved;

impl IntoResponses for RemoteNotRemoved {
    fn responses() -> ResponseMap {
        let list = [(
            "409",
            "It stands in the configuration file, or the address is that of several: conflict",
        )];
        errors("Error", &list)
    }
}

impl RemotesApi {
    /// Returns the dialler of a target: of the named protocol, else the first that claims the address.
    fn dialler(&self, target: &DialTarget) -> Result<&Arc<dyn Dialler>, DialError> {
        let protocols: Vec<_> = self.diallers.iter().map(|it| it.protocol()).collect();
        let chosen = choose(&protocols, target)?.door();
        let mut diallers = self.diallers.iter();
        let dialler = diallers.find(|it| it.protocol().door() == chosen);
        Ok(dialler.expect("the protocol is that of a dialler"))
    }

    /// Finds a remote that the caller may see, by its id or address.
    fn find(&self, principal: &Principal, name: &str) -> Option<(&Arc<dyn Dialler>, RemoteView)> {
        self.diallers.iter().find_map(|dialler| {
            let remote = dialler.find(name)?;
            may_see(principal, &remote).then_some((dialler, remote))
        })
    }
}

/// Returns true for administrators and for the owner of the remote, independent of the permission to call its
/// agents.
fn may_see(principal: &Principal, remote: &RemoteView) -> bool {
    let is_owner = remote.owner.as_ref() == Some(&principal.owner) && principal.who == Who::Person;
    principal.is_admin() || is_owner
}

fn no_such_remote(id: &str) -> Failure {
    let id: String = id.chars().take(jackfield_model::id::MAX_NAME).collect();
    let text = format!("no remote {id:?} of yours");
    Failure::new(Reason::NotFound, text)
}

impl From<DialError> for ApiError {
    fn from(error: DialError) -> Self {
        Self::from(error.failure).with_field(error.field)
    }
}

/// Lists your remotes, ordered by id.
#[utoipa::path(
    get,
    path = "/v1/remotes",
    tag = "remotes",
    responses((status = 200, description = "The remotes", body = RemoteList), ErrorResponses),
)]
async fn list(
    State(served): State<RemotesApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
) -> Json<RemoteList> {
    let all = served.diallers.iter().flat_map(|dialler| dialler.list());
    let mut remotes: Vec<_> = all.filter(|remote| may_see(&principal, remote)).collect();
    remotes.sort_by(|one, other| one.id.cmp(&other.id));
    Json(RemoteList { remotes })
}

/// Adds a remote, whose agents are agents of this hub from then on. The response comes after the first attempt
/// to reach the remote. Only admins may add remotes.
#[utoipa::path(
    post,
    path = "/v1/remotes",
    tag = "remotes",
    request_body = NewRemote,
    responses(
        (status = 200, description = "It was added before, and is dialled by this address now", body = RemoteView),
        (status = 201, description = "The remote; with `keep` it may be offline", body = RemoteView),
        ErrorResponses,
        AddErrors,
    ),
)]
async fn add(
    State(served): State<RemotesApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    request: Request,
) -> Result<(StatusCode, Json<RemoteView>), ApiError> {
    let new: NewRemote = read(&served, &principal, request).await?;
    let target = DialTarget {
        id: new.id,
        address: new.url,
        protocol: new.protocol,
        settings: new.settings.into_iter().collect(),
    };
    let dialler = served.dialler(&target)?;
    let AddedRemote { remote, is_new } = dialler.add(&principal, target, new.keep).await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(remote)))
}

/// Lists the remotes that an address leads to, and adds none. A server may have several agents, each with an
/// address of its own: Agno AgentOS, LangGraph, Google ADK, another hub, or a server with a catalog. Only admins may
/// look for remotes.
#[utoipa::path(
    post,
    path = "/v1/discover",
    tag = "remotes",
    request_body = DiscoverRemotes,
    responses(
        (status = 200, description = "The remotes at the address", body = Discovery),
        ErrorResponses,
        DiscoverErrors,
    ),
)]
async fn discover(
    State(served): State<RemotesApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    request: Request,
) -> Result<Json<Discovery>, ApiError> {
    let wanted: DiscoverRemotes = read(&served, &principal, request).await?;
    let target = DialTarget {
        id: None,
        address: wanted.url,
        protocol: wanted.protocol,
        settings: wanted.settings.into_iter().collect(),
    };
    let found = served.dialler(&target)?.discover(target).await?;
    Ok(Json(found))
}

/// Reads the body of a request that makes the hub dial.
async fn read<T: DeserializeOwned>(
    served: &RemotesApi,
    principal: &Principal,
    request: Request,
) -> Result<T, ApiError> {
    if !principal.is_admin() {
        let text = "only an admin may add remotes: the hub reaches them from its own network";
        return Err(Failure::new(Reason::Unauthorized, text).into());
    }
    let limits = served.hub.limits();
    let text = body::read(request.into_body(), MAX_BODY, limits.write_stuck).await?;
    Ok(json::parse(&text, limits.json_depth)?)
}

/// Shows a remote.
#[utoipa::path(
    get,
    path = "/v1/remotes/{id}",
    tag = "remotes",
    params(("id" = String, Path, description = "The remote, by its id or address")),
    responses((status = 200, description = "The remote", body = RemoteView), ErrorResponses, RemoteNotFound),
)]
async fn show(
    State(served): State<RemotesApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<Json<RemoteView>, ApiError> {
    match served.find(&principal, &id) {
        Some((_, remote)) => Ok(Json(remote)),
        None => Err(no_such_remote(&id).into()),
    }
}

/// Removes a remote and its agents.
#[utoipa::path(
    delete,
    path = "/v1/remotes/{id}",
    tag = "remotes",
    params(("id" = String, Path, description = "The remote, by its id or address")),
    responses((status = 204, description = "It is forgotten"), ErrorResponses, RemoteNotFound, RemoteNotRemoved),
)]
async fn remove(
    State(served): State<RemotesApi>,
    AuthenticatedCaller(principal): AuthenticatedCaller,
    PathId(id): PathId,
) -> Result<StatusCode, ApiError> {
    let found = served.find(&principal, &id).map(|(dialler, _)| dialler);
    let dialler = match found {
        Some(dialler) => dialler,
        // The door knows best what is wrong with an address of its own.
        None if principal.is_admin() => {
            let claims = |it: &&Arc<dyn Dialler>| it.protocol().claims(&id);
            let dialler = served.diallers.iter().find(claims);
            dialler.ok_or_else(|| no_such_remote(&id))?
        }
        None => return Err(no_such_remote(&id).into()),
    };
    dialler.remove(&principal, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
