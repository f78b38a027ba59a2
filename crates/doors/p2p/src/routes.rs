//! `/v1/peers`: the routes by which administrators look at peers, keep connections with them, and refuse them. Errors are
//! those of the hub's own API, below whose paths these stand. A peer may be anything that the hub's machine can reach, and
//! its agents are agents of this hub: so nobody else may.

mod view;

use axum::{
    Json, Router,
    extract::{FromRequestParts, Request, State},
    middleware,
};
use http::StatusCode;
use jackfield_core::{hub::Hub, units::Size};
use jackfield_kit::{
    api::{
        ApiError, ApiState, AuthenticatedCaller, ErrorResponses, PathId, ResponseMap,
        count_refused, errors, invalid, wrong_method,
    },
    auth::Gatekeeper,
    body, json,
};
use jackfield_model::{Failure, Reason};
use jackfield_peer::{PeerId, address, known::KnownPeers, node::Node};
use jackfield_registry::Registry;
use serde::Deserialize;
use utoipa::{IntoResponses, ToSchema, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use self::view::{PeerView, PeersView};
use crate::{DOOR, peers::Peers, serve::Reception};

/// The largest body: an address has some hundred characters.
const MAX_BODY: Size = Size::kib(64);

/// What these routes need.
#[derive(Debug, Clone)]
pub(crate) struct PeerRoutes {
    pub(crate) node: Node,
    pub(crate) known: KnownPeers,
    pub(crate) registry: Registry,
    pub(crate) peers: Peers,
    pub(crate) reception: Reception,
    pub(crate) gatekeeper: Gatekeeper,
}

impl PeerRoutes {
    /// Blocks a peer everywhere, or unblocks it: its connections, and its entry in the registry.
    async fn block(&self, peer: PeerId, is_blocked: bool) -> Result<(), Failure> {
        let saving = self.known.block(peer, is_blocked)?;
        self.registry.refuse(peer, is_blocked);
        saving.await
    }
}

impl ApiState for PeerRoutes {
    fn hub(&self) -> &Hub {
        self.reception.hub()
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// The routes for the peers of a hub, and their description.
pub(crate) fn router(door: PeerRoutes) -> (Router, OpenApi) {
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(list, add))
        .routes(routes!(show, remove))
        .routes(routes!(block))
        .routes(routes!(unblock))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            (door.hub().clone(), DOOR),
            count_refused,
        ))
        .with_state(door);
    (router, api)
}

/// A peer that the hub shall keep a connection with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPeer {
    /// Its multiaddr: a host, TCP or QUIC, perhaps a relay, and `/p2p/` with its id at the end.
    #[schema(max_length = 1024, pattern = "^/.+/p2p/[1-9A-HJ-NP-Za-km-z]+$")]
    address: String,
    /// Keeps it even if it cannot be reached now; it is dialled again and again.
    #[serde(default)]
    keep: bool,
}

/// Whoever asks is an administrator.
struct Admin;

impl FromRequestParts<PeerRoutes> for Admin {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        door: &PeerRoutes,
    ) -> Result<Self, ApiError> {
        let AuthenticatedCaller(principal) =
            AuthenticatedCaller::from_request_parts(parts, door).await?;
        if principal.is_admin() {
            return Ok(Self);
        }
        let text = "only an admin may see and change the peers of this hub";
        Err(Failure::new(Reason::Unauthorized, text).into())
    }
}

/// The peer in the path, for an administrator.
struct Named(PeerId);

impl FromRequestParts<PeerRoutes> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut http::request::Parts,
        door: &PeerRoutes,
    ) -> Result<Self, ApiError> {
        Admin::from_request_parts(parts, door).await?;
        let PathId(id) = PathId::from_request_parts(parts, door).await?;
        let peer = id.parse();
        let peer = peer.map_err(|_| invalid("the path must name a peer id, such as 12D3KooW…"))?;
        Ok(Self(peer))
    }
}

struct NotThere;

impl IntoResponses for NotThere {
    fn responses() -> ResponseMap {
        errors("Error", &[("404", "No such peer: not_found")])
    }
}

struct InTheFile;

impl IntoResponses for InTheFile {
    fn responses() -> ResponseMap {
        let list = [("409", "It stands in the configuration file: conflict")];
        errors("Error", &list)
    }
}

struct TooMany;

impl IntoResponses for TooMany {
    fn responses() -> ResponseMap {
        errors("Error", &[("429", "There are as many as may be: busy")])
    }
}

struct NotAdded;

impl IntoResponses for NotAdded {
    fn responses() -> ResponseMap {
        let list = [
            ("409", "The peer is blocked: conflict"),
            ("413", "The body is too large: too_large"),
            ("502", "The peer cannot be reached: offline"),
        ];
        errors("Error", &list)
    }
}

/// Lists the peers that are connected, kept or blocked. Only admins may.
#[utoipa::path(
    get,
    path = "/v1/peers",
    tag = "peers",
    responses((status = 200, description = "The peers", body = PeersView), ErrorResponses),
)]
async fn list(State(door): State<PeerRoutes>, _: Admin) -> Json<PeersView> {
    Json(PeersView::of(&door))
}

/// Keeps a connection with a peer: its agents are agents of this hub as long as it is there. Answers when it was tried
/// once, and has shown its agents. That it is called does not mean that it may call. Only admins may.
#[utoipa::path(
    post,
    path = "/v1/peers",
    tag = "peers",
    request_body = NewPeer,
    responses(
        (status = 200, description = "It was kept before, and is dialled by this address now", body = PeerView),
        (status = 201, description = "It is kept; with `keep` it may be offline", body = PeerView),
        ErrorResponses,
        NotAdded,
        TooMany,
    ),
)]
async fn add(
    State(door): State<PeerRoutes>,
    _: Admin,
    request: Request,
) -> Result<(StatusCode, Json<PeerView>), ApiError> {
    let limits = door.hub().limits();
    let text = body::read(request.into_body(), MAX_BODY, limits.write_stuck).await?;
    let new: NewPeer = json::parse(&text, limits.json_depth)?;
    let (peer, address) = address::way_to_peer(&new.address)
        .map_err(|why| invalid(format!("field \"address\" {why}")))?;
    let is_new = door.known.keep(peer, address, new.keep).await?;
    door.peers.meet(peer);
    door.peers.looked_at(peer).await;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(PeerView::known(&door, peer))))
}

/// Shows a peer that is connected, kept or blocked. Only admins may.
#[utoipa::path(
    get,
    path = "/v1/peers/{peer}",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 200, description = "The peer", body = PeerView), ErrorResponses, NotThere),
)]
async fn show(
    State(door): State<PeerRoutes>,
    Named(peer): Named,
) -> Result<Json<PeerView>, ApiError> {
    let Some(view) = PeerView::of(&door, peer) else {
        let text = format!("peer {peer} is neither connected nor kept nor blocked");
        return Err(Failure::new(Reason::NotFound, text).into());
    };
    Ok(Json(view))
}

/// Keeps the connection with a peer no longer, and ends it: its agents are offline. Only admins may.
#[utoipa::path(
    delete,
    path = "/v1/peers/{peer}",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 204, description = "It is forgotten"), ErrorResponses, NotThere, InTheFile),
)]
async fn remove(
    State(door): State<PeerRoutes>,
    Named(peer): Named,
) -> Result<StatusCode, ApiError> {
    // Of a peer that is gone, what the registry has is forgotten too.
    let was_listed = door.node.peer(peer).is_none() && door.registry.forget(&peer);
    match door.known.forget(peer).await {
        Err(failure) if was_listed && failure.reason == Reason::NotFound => {}
        forgotten => forgotten?,
    }
    door.peers.part(peer, "it is kept no longer");
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses a peer from now on, and ends its connections. One that is kept is dialled no more until it is unblocked. Only
/// admins may.
#[utoipa::path(
    post,
    path = "/v1/peers/{peer}/block",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 200, description = "The peer", body = PeerView), ErrorResponses, TooMany),
)]
async fn block(
    State(door): State<PeerRoutes>,
    Named(peer): Named,
) -> Result<Json<PeerView>, ApiError> {
    door.block(peer, true).await?;
    door.peers.part(peer, "it is blocked");
    Ok(Json(PeerView::known(&door, peer)))
}

/// Lets a peer in again. Only admins may.
#[utoipa::path(
    post,
    path = "/v1/peers/{peer}/unblock",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 200, description = "The peer", body = PeerView), ErrorResponses),
)]
async fn unblock(
    State(door): State<PeerRoutes>,
    Named(peer): Named,
) -> Result<Json<PeerView>, ApiError> {
    door.block(peer, false).await?;
    Ok(Json(PeerView::known(&door, peer)))
}
