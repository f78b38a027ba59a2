//! The registry over HTTP, in the shapes of all generations of the original. Errors are `{"error": text}`; a
//! caller that a signature could authorise also gets a `challenge`.
//!
//! The hub itself is listed among the peers, and its agents among the results: a peer reaches them by a
//! handoff to the hub.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Extension, Path, Request, State},
    middleware,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use jackfield_core::{
    entry::AgentView,
    hub::Hub,
    principal::{Principal, Who},
    units::Size,
};
use jackfield_kit::{
    api::count_refused,
    auth::{Gatekeeper, Ingress, bearer},
    body,
    etag::matches_if_none_match,
    server::RequestPeer,
};
use jackfield_model::{AgentId, Failure, Reason};
use jackfield_peer::{
    PeerId,
    agent_id::agent_id,
    allowed::Allowed,
    origin::Origin,
    proof::Statement,
    wire::{
        MAX_CARD,
        registry::{self as wire, Heartbeat, Proof, Registration, find},
    },
};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    Claimant, PeerQuery, REFUSED, RegisteredPeer, Registry, address, describe,
    error::{RegistryError, json},
    find::SearchSubject,
    invalid, peer_id,
    query::Query,
};

/// The protocol under which refused requests are counted.
const PROTOCOL: &str = "p2p";

/// Most agents or tools found for a goal: a model reads them.
const FOUND_MAX: usize = 20;

/// The hub as a peer.
#[derive(Clone)]
pub struct HubPeer {
    /// Peer id of the hub.
    pub peer_id: String,
    /// Name of the hub among peers.
    pub name: String,
    /// Reads the addresses at which the hub is reached now.
    pub addresses: Arc<dyn Fn() -> Vec<String> + Send + Sync>,
    /// Reads the agents of the hub that allowed peers reach now.
    pub agents: Arc<dyn Fn() -> Vec<AgentView> + Send + Sync>,
}

impl std::fmt::Debug for HubPeer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Station")
            .field("peer_id", &self.peer_id)
            .finish_non_exhaustive()
    }
}

/// State of the registry's routes.
#[derive(Debug, Clone)]
pub struct RegistryService {
    /// The registry.
    pub registry: Registry,
    /// The hub, for its callers, limits and metrics.
    pub hub: Hub,
    /// Peers that may register themselves by their signature alone.
    pub allowed: Allowed,
    /// Authenticates callers.
    pub gatekeeper: Gatekeeper,
    /// The hub as a peer.
    pub hub_peer: HubPeer,
}

/// Returns the registry's routes and their description.
pub fn router(door: RegistryService) -> (Router, OpenApi) {
    let (router, api) = OpenApiRouter::new()
        .routes(routes!(register))
        .routes(routes!(challenge, remove))
        .routes(routes!(heartbeat))
        .routes(routes!(peers))
        .routes(routes!(agents))
        .routes(routes!(find_agents))
        .routes(routes!(find_tools))
        .split_for_parts();
    let router = router
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::map_response_with_state(
            (door.hub.clone(), PROTOCOL),
            count_refused,
        ))
        .with_state(door);
    (router, api)
}

async fn wrong_method(method: Method, uri: Uri) -> RegistryError {
    let text = format!("{} does not take {method}; see /openapi.json", uri.path());
    RegistryError {
        status: StatusCode::METHOD_NOT_ALLOWED,
        text,
        challenge: None,
    }
}

/// Authenticated sender of a registration.
enum Registrant {
    /// The peer itself, with the owner of a token if it needed one.
    Peer(Option<Principal>),
    Caller(Principal),
}

impl Registrant {
    fn claim(&self) -> Claimant<'_> {
        match self {
            Self::Peer(None) => Claimant::Peer,
            Self::Peer(Some(principal)) => Claimant::PeerOf(principal),
            Self::Caller(principal) => Claimant::Caller(principal),
        }
    }

    /// Refuses a token that may not register an agent of this name.
    fn check_scope(&self, name: &str, peer: PeerId) -> Result<(), Failure> {
        let (Self::Peer(Some(principal)) | Self::Caller(principal)) = self else {
            return Ok(());
        };
        let id = agent_id(name, peer);
        let is_allowed = principal.is_admin()
            || id.is_some_and(|id| {
                let bare = id.as_str().split('@').next().unwrap_or_default();
                principal.may_register(&id)
                    || AgentId::parse(bare).is_ok_and(|bare| principal.may_register(&bare))
            });
        if is_allowed {
            return Ok(());
        }
        let text = format!(
            "this token may not register a peer named {name:?}: it needs a scope agent:PATTERN that covers the name"
        );
        Err(Failure::new(Reason::Unauthorized, text))
    }
}

impl RegistryService {
    async fn read(&self, body: Body) -> Result<bytes::Bytes, Failure> {
        body::read(body, Size(MAX_CARD), self.hub.limits().write_stuck).await
    }

    /// Authenticates the sender: the peer itself by its signature, if the operator allows it or a token comes
    /// along; else the caller by its token.
    fn speaker(
        &self,
        caller: Result<Principal, Failure>,
        peer: &PeerId,
        proof: Option<&Proof>,
        statement: &Statement<'_>,
    ) -> Result<Registrant, Failure> {
        let Some(proof) = proof else {
            let caller = caller?;
            if caller.who != Who::Person {
                let text = "the token of an agent registers no peers; sign with the peer's key";
                return Err(Failure::new(Reason::Unauthorized, text));
            }
            return Ok(Registrant::Caller(caller));
        };
        // A request over HTTP does not show the peer's connection or its origin.
        let is_allowed = self.allowed.includes(&peer.to_string(), Origin::Elsewhere);
        let caller = match is_allowed {
            true => None,
            false => Some(caller?),
        };
        let challenges = &self.registry.0.challenges;
        challenges.check(peer, proof, statement, Timestamp::now())?;
        Ok(Registrant::Peer(caller))
    }

    /// Converts a failure for an authenticated sender. Only such a sender learns that a peer is blocked.
    fn refused(&self, failure: Failure, peer: &PeerId) -> RegistryError {
        if self.registry.is_refused(peer) {
            return RegistryError {
                status: StatusCode::FORBIDDEN,
                text: REFUSED.to_owned(),
                challenge: None,
            };
        }
        self.unproven(failure, peer)
    }

    /// Converts a failure, and adds a challenge where a signature could help.
    fn unproven(&self, failure: Failure, peer: &PeerId) -> RegistryError {
        let challenge =
            (failure.reason == Reason::Unauthorized).then(|| self.registry.challenge(peer));
        RegistryError {
            challenge,
            ..failure.into()
        }
    }
}

/// Registers a peer, or replaces its registration. Without a token, the peer's signature is required. A token
/// changes neither registrations that a peer signed nor those of other owners.
#[utoipa::path(
    post,
    path = "/register",
    tag = "registry",
    request_body = describe::RegistrationBody,
    responses(
        (status = 200, description = "It can be found", body = describe::RegisteredBody),
        (status = 400, description = "The body is malformed, or has no address that others can reach", body = describe::ErrorBody),
        (status = 401, description = "A token with a scope `agent:PATTERN` that covers the name, or the peer's signature, is needed", body = describe::ErrorBody),
        (status = 403, description = "The hub refuses this peer", body = describe::ErrorBody),
        (status = 413, description = "The body is too large", body = describe::ErrorBody),
        (status = 429, description = "The owner of the token holds as many places as it may", body = describe::ErrorBody),
    ),
)]
async fn register(
    State(door): State<RegistryService>,
    sender: Option<Extension<RequestPeer>>,
    came: Ingress,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RegistryError> {
    let mut new = Registration::read(&door.read(body).await?)?;
    let peer = peer_id(&new.peer_id)?;
    if new.peer_id == door.hub_peer.peer_id {
        let text =
            "field \"peer_id\" is the hub's own, which lists itself; give the id of another peer";
        return Err(invalid(text).into());
    }
    let statement = Statement::Register {
        name: new.agent_name.as_deref().unwrap_or_default(),
        addresses: &new.addresses,
    };
    let caller = door.gatekeeper.admit(bearer(&headers), &came);
    let speaker = door.speaker(caller, &peer, new.proof.as_ref(), &statement);
    let speaker = speaker.map_err(|failure| door.unproven(failure, &peer))?;
    let card_name = new.card.as_ref().map(|card| card.name.as_str());
    if let Some(name) = new.agent_name.as_deref().or(card_name) {
        let checked = speaker.check_scope(name, peer);
        checked.map_err(|failure| door.refused(failure, &peer))?;
    }
    // Taken from the connection, since anybody can forge a header.
    if let Some(sender) = sender {
        address::place(&mut new.addresses, sender.addr.ip());
    }
    let registered = door.registry.register(&new, speaker.claim());
    let registered = registered.map_err(|failure| door.refused(failure, &peer))?;
    tracing::info!(%peer, name = registered.name, "peer registered");
    // Without a subscriber the event is dropped.
    drop(door.registry.0.registered.send(peer));
    Ok(told(&registered))
}

fn told(registered: &RegisteredPeer) -> Response {
    let answer = wire::RegisteredReply {
        peer_id: registered.peer.to_string(),
        expires_at: Some(registered.expires_at.to_string()),
    };
    json(StatusCode::OK, answer.to_json())
}

/// Returns a challenge for a peer to sign.
#[utoipa::path(
    get,
    path = "/register/{peer}",
    tag = "registry",
    params(("peer" = String, Path, description = "The peer")),
    responses(
        (status = 200, description = "The challenge", body = describe::ChallengeBody),
        (status = 400, description = "This is no peer id", body = describe::ErrorBody),
        (status = 403, description = "The hub refuses this peer, as whoever has a token is told", body = describe::ErrorBody),
    ),
)]
async fn challenge(
    State(door): State<RegistryService>,
    Path(peer): Path<String>,
    came: Ingress,
    headers: HeaderMap,
) -> Result<Response, RegistryError> {
    let peer = peer_id(&peer)?;
    // Other callers learn it after they have signed.
    if door.registry.is_refused(&peer) && door.gatekeeper.admit(bearer(&headers), &came).is_ok() {
        let failure = Failure::new(Reason::Unauthorized, REFUSED);
        return Err(door.refused(failure, &peer));
    }
    #[derive(Serialize)]
    struct Body {
        peer_id: String,
        challenge: String,
    }
    let body = Body {
        peer_id: peer.to_string(),
        challenge: door.registry.challenge(&peer).to_string(),
    };
    // Texts always serialize.
    let body = serde_json::to_string(&body).unwrap_or_default();
    Ok(json(StatusCode::OK, body))
}

/// Removes the registration of a peer. Without a token, the body is a heartbeat with the peer's signature.
#[utoipa::path(
    delete,
    path = "/register/{peer}",
    tag = "registry",
    params(("peer" = String, Path, description = "The peer")),
    request_body = Option<describe::HeartbeatBody>,
    responses(
        (status = 204, description = "It is forgotten"),
        (status = 400, description = "The body is malformed", body = describe::ErrorBody),
        (status = 401, description = "A token or the peer's signature is needed", body = describe::ErrorBody),
        (status = 403, description = "The hub refuses this peer", body = describe::ErrorBody),
        (status = 404, description = "No such peer is registered", body = describe::ErrorBody),
        (status = 413, description = "The body is too large", body = describe::ErrorBody),
    ),
)]
async fn remove(
    State(door): State<RegistryService>,
    Path(peer): Path<String>,
    came: Ingress,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RegistryError> {
    let peer = peer_id(&peer)?;
    let body = door.read(body).await?;
    let proof = if body.is_empty() {
        None
    } else {
        let word = Heartbeat::read(&body)?;
        if peer_id(&word.peer_id)? != peer {
            return Err(invalid("field \"peer_id\" is of another peer than the path").into());
        }
        word.proof
    };
    let caller = door.gatekeeper.admit(bearer(&headers), &came);
    let speaker = door.speaker(caller, &peer, proof.as_ref(), &Statement::Remove);
    let speaker = speaker.map_err(|failure| door.unproven(failure, &peer))?;
    let removed = door.registry.remove(&peer, speaker.claim());
    removed.map_err(|failure| door.refused(failure, &peer))?;
    tracing::info!(%peer, "peer removed from the registry");
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Extends the registration of a peer.
#[utoipa::path(
    post,
    path = "/heartbeat",
    tag = "registry",
    request_body = describe::HeartbeatBody,
    responses(
        (status = 200, description = "It can be found for longer", body = describe::RegisteredBody),
        (status = 400, description = "The body is malformed", body = describe::ErrorBody),
        (status = 401, description = "A token or the peer's signature is needed", body = describe::ErrorBody),
        (status = 403, description = "The hub refuses this peer", body = describe::ErrorBody),
        (status = 404, description = "No such peer is registered", body = describe::ErrorBody),
        (status = 413, description = "The body is too large", body = describe::ErrorBody),
    ),
)]
async fn heartbeat(
    State(door): State<RegistryService>,
    came: Ingress,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RegistryError> {
    let word = Heartbeat::read(&door.read(body).await?)?;
    let peer = peer_id(&word.peer_id)?;
    let ttl = word.ttl.map(Duration::from_secs);
    let caller = door.gatekeeper.admit(bearer(&headers), &came);
    let speaker = door.speaker(caller, &peer, word.proof.as_ref(), &Statement::Renew);
    let speaker = speaker.map_err(|failure| door.unproven(failure, &peer))?;
    let renewed = door.registry.renew(&peer, ttl, speaker.claim());
    let renewed = renewed.map_err(|failure| door.refused(failure, &peer))?;
    Ok(told(&renewed))
}

/// Lists peers: all, those with a skill, those that match words, or the one with a name, which may also be
/// asked for as `?NAME`.
#[utoipa::path(
    get,
    path = "/peers",
    tag = "registry",
    params(
        ("agent_name" = Option<String>, Query, description = "With this name; who had it first comes first"),
        ("skill" = Option<String>, Query, description = "With this skill"),
        ("q" = Option<String>, Query, description = "With any of these words"),
        ("format" = Option<String>, Query, description = "`list` for a bare list"),
        ("limit" = Option<usize>, Query, description = "At most so many; 100 if left out, 1000 at most"),
        ("offset" = Option<usize>, Query, description = "After so many"),
    ),
    responses(
        (status = 200, description = "The peers", body = describe::PeersBody),
        (status = 304, description = "The same as before, by If-None-Match"),
        (status = 400, description = "The query is malformed", body = describe::ErrorBody),
        (status = 401, description = "A token is needed", body = describe::ErrorBody),
        (status = 404, description = "Nobody has this name", body = describe::ErrorBody),
    ),
)]
async fn peers(
    State(door): State<RegistryService>,
    came: Ingress,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, RegistryError> {
    let principal = door.gatekeeper.admit(bearer(&headers), &came)?;
    let query = Query::of(request).await?;
    let agents = door.agents(&principal);
    let own = door.own_entry(&agents).filter(|own| {
        let subject = SearchSubject {
            name: own.agent_name.as_deref().unwrap_or_default(),
            skills: own.capabilities.iter().map(String::as_str).collect(),
            texts: agents
                .iter()
                .filter_map(|view| view.profile.description.as_deref())
                .collect(),
        };
        query.sought.score(&subject).is_some()
    });
    let registered = door.registry.find(&query.sought);
    let registered = registered.iter().map(RegisteredPeer::entry);
    let found = query.page(own.into_iter().chain(registered).collect());
    let body = match &query.sought.name {
        _ if query.is_list => wire::write_list(&found),
        None => wire::write_peers(&found),
        Some(_) => wire::write_one(&found)
            .ok_or_else(|| Failure::new(Reason::NotFound, "no peer of this name is registered"))?,
    };
    Ok(tagged(&headers, body))
}

/// Lists agents: peers, and agents of the hub that peers reach.
#[utoipa::path(
    get,
    path = "/agents",
    tag = "registry",
    params(
        ("agent_name" = Option<String>, Query, description = "With this name"),
        ("skill" = Option<String>, Query, description = "With this skill"),
        ("q" = Option<String>, Query, description = "With any of these words"),
        ("limit" = Option<usize>, Query, description = "At most so many; 100 if left out, 1000 at most"),
        ("offset" = Option<usize>, Query, description = "After so many"),
    ),
    responses(
        (status = 200, description = "The agents", body = Vec<describe::FoundAgentBody>),
        (status = 304, description = "The same as before, by If-None-Match"),
        (status = 400, description = "The query is malformed", body = describe::ErrorBody),
        (status = 401, description = "A token is needed", body = describe::ErrorBody),
    ),
)]
async fn agents(
    State(door): State<RegistryService>,
    came: Ingress,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, RegistryError> {
    let principal = door.gatekeeper.admit(bearer(&headers), &came)?;
    let query = Query::of(request).await?;
    let found = query.page(door.found_agents(&principal, &query.sought));
    Ok(tagged(&headers, find::write_agents(&found)))
}

/// Finds agents for a goal, the best first.
#[utoipa::path(
    post,
    path = "/agents/find",
    tag = "registry",
    request_body = describe::GoalBody,
    responses(
        (status = 200, description = "The agents", body = Vec<describe::FoundAgentBody>),
        (status = 400, description = "The body is malformed", body = describe::ErrorBody),
        (status = 401, description = "A token is needed", body = describe::ErrorBody),
        (status = 413, description = "The body is too large", body = describe::ErrorBody),
    ),
)]
async fn find_agents(
    State(door): State<RegistryService>,
    came: Ingress,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RegistryError> {
    let principal = door.gatekeeper.admit(bearer(&headers), &came)?;
    let goal = find::read_goal(&door.read(body).await?)?;
    let mut found = door.found_agents(&principal, &PeerQuery::goal(&goal));
    found.truncate(FOUND_MAX);
    Ok(json(StatusCode::OK, find::write_agents(&found)))
}

/// Finds skills for a goal, the best first.
#[utoipa::path(
    post,
    path = "/tools/find",
    tag = "registry",
    request_body = describe::GoalBody,
    responses(
        (status = 200, description = "The skills", body = Vec<describe::FoundToolBody>),
        (status = 400, description = "The body is malformed", body = describe::ErrorBody),
        (status = 401, description = "A token is needed", body = describe::ErrorBody),
        (status = 413, description = "The body is too large", body = describe::ErrorBody),
    ),
)]
async fn find_tools(
    State(door): State<RegistryService>,
    came: Ingress,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, RegistryError> {
    let principal = door.gatekeeper.admit(bearer(&headers), &came)?;
    let goal = find::read_goal(&door.read(body).await?)?;
    let mut found = door.found_tools(&principal, &PeerQuery::goal(&goal));
    found.truncate(FOUND_MAX);
    Ok(json(StatusCode::OK, find::write_tools(&found)))
}

/// Returns the body with an ETag, or 304 if the client has it already.
fn tagged(headers: &HeaderMap, body: String) -> Response {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    let Ok(tag) = HeaderValue::try_from(format!("\"{:016x}\"", hasher.finish())) else {
        return json(StatusCode::OK, body);
    };
    let mut response = if matches_if_none_match(headers, &tag) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        json(StatusCode::OK, body)
    };
    response.headers_mut().insert(header::ETAG, tag);
    response
}
