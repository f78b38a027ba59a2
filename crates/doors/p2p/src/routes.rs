//! `/v1/peers`: administrators list peers, keep connections with them, and block them. Errors are those of
//! the hub's own API. Only administrators may, because a peer may be anything that the hub's machine can
//! reach, and its agents become agents of this hub.

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
use jackfield_peer::{Multiaddr, PeerId, address, known::KnownPeers, node::Node};
use jackfield_registry::Registry;
use serde::Deserialize;
use utoipa::{IntoResponses, ToSchema, openapi::OpenApi};
use utoipa_axum::{router::OpenApiRouter, routes};

use self::view::PeersView;
pub(crate) use self::view::{ConnectionState, PeerView};
use crate::{DOOR, peers::PeerTracker, serve::HubHost};

/// Largest body: an address has some hundred characters.
const MAX_BODY: Size = Size::kib(64);

/// State of these routes.
#[derive(Debug, Clone)]
pub(crate) struct PeerRoutes {
    pub(crate) node: Node,
    pub(crate) known: KnownPeers,
    pub(crate) registry: Registry,
    pub(crate) peers: PeerTracker,
    pub(crate) host: HubHost,
    pub(crate) gatekeeper: Gatekeeper,
}

impl PeerRoutes {
    /// Blocks a peer everywhere, or unblocks it: its connections, and its entry in the registry.
    async fn block(&self, peer: PeerId, is_blocked: bool) -> Result<(), Failure> {
        let saving = self.known.block(peer, is_blocked)?;
        if is_blocked {
            self.registry.forget(&peer);
        }
        saving.await
    }

    /// Keeps a connection with a peer, and waits until the peer has shown its agents. Returns whether the peer
    /// was not kept before.
    pub(crate) async fn keep(
        &self,
        peer: PeerId,
        address: Multiaddr,
        even_if_away: bool,
    ) -> Result<bool, Failure> {
        let is_new = self.known.keep(peer, address, even_if_away).await?;
        self.peers.on_connected(peer);
        self.peers.looked_at(peer).await;
        Ok(is_new)
    }

    /// Stops keeping the connection with a peer. The registry forgets a peer that is not connected.
    pub(crate) async fn forget(&self, peer: PeerId) -> Result<(), Failure> {
        let was_listed = self.node.peer(peer).is_none() && self.registry.forget(&peer);
        match self.known.forget(peer).await {
            Err(failure) if was_listed && failure.reason == Reason::NotFound => {}
            forgotten => forgotten?,
        }
        self.peers.on_disconnected(peer, "it is kept no longer");
        Ok(())
    }
}

impl ApiState for PeerRoutes {
    fn hub(&self) -> &Hub {
        self.host.hub()
    }

    fn gatekeeper(&self) -> &Gatekeeper {
        &self.gatekeeper
    }
}

/// Returns the routes for the hub's peers, and their description.
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

/// A peer to keep a connection with.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct NewPeer {
    /// Multiaddr of the peer: a host, TCP or QUIC, optionally a relay, and `/p2p/` with the peer id at the
    /// end.
    #[schema(max_length = 1024, pattern = "^/.+/p2p/[1-9A-HJ-NP-Za-km-z]+$")]
    address: String,
    /// Keeps the peer even if it cannot be reached now; the hub dials it again and again.
    #[serde(default)]
    keep: bool,
}

/// Requires an administrator.
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
struct NamedPeer(PeerId);

impl FromRequestParts<PeerRoutes> for NamedPeer {
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

struct UnknownPeer;

impl IntoResponses for UnknownPeer {
    fn responses() -> ResponseMap {
        errors("Error", &[("404", "No such peer: not_found")])
    }
}

struct ConfiguredPeer;

impl IntoResponses for ConfiguredPeer {
    fn responses() -> ResponseMap {
        let list = [("409", "It stands in the configuration file: conflict")];
        errors("Error", &list)
    }
}

struct TooManyPeers;

impl IntoResponses for TooManyPeers {
    fn responses() -> ResponseMap {
        errors("Error", &[("429", "There are as many as may be: busy")])
    }
}

struct PeerNotAdded;

impl IntoResponses for PeerNotAdded {
    fn responses() -> ResponseMap {
        let list = [
            ("409", "The peer is blocked: conflict"),
            ("413", "The body is too large: too_large"),
            ("502", "The peer cannot be reached: offline"),
        ];
        errors("Error", &list)
    }
}

/// Lists the peers that are connected, kept or blocked. For administrators only.
#[utoipa::path(
    get,
    path = "/v1/peers",
    tag = "peers",
    responses((status = 200, description = "The peers", body = PeersView), ErrorResponses),
)]
async fn list(State(door): State<PeerRoutes>, _: Admin) -> Json<PeersView> {
    Json(PeersView::of(&door))
}

/// Keeps a connection with a peer, whose agents are agents of this hub while it is connected. Answers after
/// one attempt to connect and after the peer has shown its agents. A kept peer can be called, but may not
/// call by that. For administrators only.
#[utoipa::path(
    post,
    path = "/v1/peers",
    tag = "peers",
    request_body = NewPeer,
    responses(
        (status = 200, description = "It was kept before, and is dialled by this address now", body = PeerView),
        (status = 201, description = "It is kept; with `keep` it may be offline", body = PeerView),
        ErrorResponses,
        PeerNotAdded,
        TooManyPeers,
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
    let is_new = door.keep(peer, address, new.keep).await?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok((status, Json(PeerView::known(&door, peer))))
}

/// Shows a peer that is connected, kept or blocked. For administrators only.
#[utoipa::path(
    get,
    path = "/v1/peers/{peer}",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 200, description = "The peer", body = PeerView), ErrorResponses, UnknownPeer),
)]
async fn show(
    State(door): State<PeerRoutes>,
    NamedPeer(peer): NamedPeer,
) -> Result<Json<PeerView>, ApiError> {
    let Some(view) = PeerView::of(&door, peer) else {
        let text = format!("peer {peer} is neither connected nor kept nor blocked");
        return Err(Failure::new(Reason::NotFound, text).into());
    };
    Ok(Json(view))
}

/// Stops keeping the connection with a peer and closes it, so that its agents are offline. For administrators
/// only.
#[utoipa::path(
    delete,
    path = "/v1/peers/{peer}",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 204, description = "It is forgotten"), ErrorResponses, UnknownPeer, ConfiguredPeer),
)]
async fn remove(
    State(door): State<PeerRoutes>,
    NamedPeer(peer): NamedPeer,
) -> Result<StatusCode, ApiError> {
    door.forget(peer).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Blocks a peer and closes its connections. A kept peer is not dialled until it is unblocked. For
/// administrators only.
#[utoipa::path(
    post,
    path = "/v1/peers/{peer}/block",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 200, description = "The peer", body = PeerView), ErrorResponses, TooManyPeers),
)]
async fn block(
    State(door): State<PeerRoutes>,
    NamedPeer(peer): NamedPeer,
) -> Result<Json<PeerView>, ApiError> {
    door.block(peer, true).await?;
    door.peers.on_disconnected(peer, "it is blocked");
    Ok(Json(PeerView::known(&door, peer)))
}

/// Unblocks a peer. For administrators only.
#[utoipa::path(
    post,
    path = "/v1/peers/{peer}/unblock",
    tag = "peers",
    params(("peer" = String, Path, description = "The peer's id")),
    responses((status = 200, description = "The peer", body = PeerView), ErrorResponses),
)]
async fn unblock(
    State(door): State<PeerRoutes>,
    NamedPeer(peer): NamedPeer,
) -> Result<Json<PeerView>, ApiError> {
    door.block(peer, false).await?;
    Ok(Json(PeerView::known(&door, peer)))
}
