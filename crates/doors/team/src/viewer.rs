//! WebSocket viewers of a team (`/ws/agent-team/{id}`) and of a single agent (`/ws/agent/{id}`). Unauthorized
//! callers are refused before the upgrade. An unknown team is reported after the upgrade, as the protocol
//! requires; so is a refused ticket, because web pages cannot read the answer to a handshake.

mod commands;
mod session;
mod snapshot;

use axum::{
    Extension, Router,
    extract::{FromRequestParts, State},
    response::Response,
    routing::get,
};
use http::request::Parts;
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{ApiError, ApiQuery, AuthenticatedCaller, PathId, invalid},
    auth::Ingress,
    server::RequestPeer,
    ticket::TICKET_PARAMETER,
    upgrade::Upgrade,
    ws_connection::{WsConnection, WsConnectionEnd, WsConnectionParts},
};
use jackfield_model::Failure;

use self::session::ViewerSession;
use crate::{DOOR, TeamDoor, team::feed::ReplayStart, translate::BoardForm, wire};

/// Builds the WebSocket routes.
pub(crate) fn router(door: TeamDoor) -> Router {
    Router::new()
        .route("/ws/agent-team/{id}", get(view_team))
        .route("/ws/agent/{id}", get(view_agent))
        .with_state(door)
}

/// Subject of a viewer.
#[derive(Debug, Clone)]
enum ViewedSubject {
    /// Team, with the form of its board.
    Team(String, BoardForm),
    /// Single agent.
    Agent(String),
}

/// The caller of a viewer's address, or why its ticket is refused.
struct ViewerCaller(Result<Principal, Failure>);

impl FromRequestParts<TeamDoor> for ViewerCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, door: &TeamDoor) -> Result<Self, ApiError> {
        if let Some(failure) = Ingress::of_request(parts).refused_ticket() {
            return Ok(Self(Err(failure)));
        }
        let caller = AuthenticatedCaller::from_request_parts(parts, door).await?;
        Ok(Self(Ok(caller.0)))
    }
}

async fn view_team(
    State(door): State<TeamDoor>,
    ViewerCaller(caller): ViewerCaller,
    PathId(id): PathId,
    mut params: ApiQuery,
    peer: Option<Extension<RequestPeer>>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let since = since(&mut params)?;
    let form = match params.one::<String>("tasks")?.as_deref() {
        None | Some("all") => BoardForm::All,
        Some("delta") => BoardForm::Added,
        Some(_) => return Err(invalid("query parameter tasks must be all or delta").into()),
    };
    params.finish()?;
    let subject = ViewedSubject::Team(id, form);
    open(door, caller, subject, since, peer, upgrade)
}

/// Opens the WebSocket of a single agent. The published client for the address ignores sequence numbers and
/// would show replayed events twice, so only `replay=true` sends past events.
async fn view_agent(
    State(door): State<TeamDoor>,
    ViewerCaller(caller): ViewerCaller,
    PathId(id): PathId,
    mut params: ApiQuery,
    peer: Option<Extension<RequestPeer>>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let since = match params.one("replay")? {
        Some(true) => ReplayStart::Tail,
        Some(false) | None => ReplayStart::Now,
    };
    params.finish()?;
    let subject = ViewedSubject::Agent(id);
    open(door, caller, subject, since, peer, upgrade)
}

/// Reads the start position ([`ReplayStart`]) of a team's viewer from the query parameters `after_sequence` (a number in
/// `team_run_id`) and `replay`.
pub(crate) fn since(params: &mut ApiQuery) -> Result<ReplayStart, Failure> {
    let run = params.one::<String>("team_run_id")?;
    let sequence = match params.one::<String>("after_sequence")? {
        None if run.is_some() => {
            let text = "says which run after_sequence counts in; give both";
            return Err(invalid(format!("query parameter team_run_id {text}")));
        }
        None => None,
        Some(digits) => Some(digits.parse().map_err(|_| {
            let text = format!("must be a whole number, not {digits:?}");
            invalid(format!("query parameter after_sequence {text}"))
        })?),
    };
    match (sequence, params.one("replay")?) {
        (Some(_), Some(false)) => Err(invalid(
            "query parameter after_sequence asks for what replay=false leaves out; give one of them",
        )),
        (Some(sequence), _) => Ok(ReplayStart::After(run, sequence)),
        (None, Some(false)) => Ok(ReplayStart::Now),
        (None, Some(true) | None) => Ok(ReplayStart::Tail),
    }
}

fn open(
    door: TeamDoor,
    caller: Result<Principal, Failure>,
    subject: ViewedSubject,
    since: ReplayStart,
    peer: Option<Extension<RequestPeer>>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    let principal = match caller {
        Ok(principal) => principal,
        Err(failure) => return Ok(refuse_ticket(&door, failure, peer, upgrade)),
    };
    let parts = line_parts(&door, &principal, peer)?;
    let tasks = door.tasks.clone();
    Ok(WsConnection::open(upgrade, &tasks, parts, move |line| {
        let mut session = ViewerSession::new(door, principal, subject, line);
        async move { session.run(since).await }
    }))
}

/// Accepts the connection, says why its ticket is refused, and closes.
fn refuse_ticket(
    door: &TeamDoor,
    failure: Failure,
    peer: Option<Extension<RequestPeer>>,
    upgrade: Upgrade,
) -> Response {
    door.teams.hub().metrics().refused(DOOR);
    let parts = unauthenticated_parts(door, peer.map(|Extension(peer)| peer));
    WsConnection::open(upgrade, &door.tasks, parts, |mut line| async move {
        let text = format!("{TICKET_PARAMETER}: {}", failure.text);
        line.queue(&wire::error(wire::code::UNAUTHORIZED, &text, None));
        let end = WsConnectionEnd::Close(wire::CLOSE_REFUSED, "ticket refused");
        line.close(end).await;
    })
}

/// Builds the parts for a [`WsConnection`] of the team door. Counts the connection for its owner, and fails if the
/// owner has too many.
pub(crate) fn line_parts(
    door: &TeamDoor,
    principal: &Principal,
    peer: Option<Extension<RequestPeer>>,
) -> Result<WsConnectionParts, Failure> {
    let mut peer = peer.map(|Extension(peer)| peer);
    if let Some(peer) = &mut peer {
        peer.account.move_to(&principal.owner)?;
    }
    Ok(unauthenticated_parts(door, peer))
}

/// Builds the parts of a connection that no frame authenticates: the caller was authenticated before, or is
/// refused.
fn unauthenticated_parts(door: &TeamDoor, peer: Option<RequestPeer>) -> WsConnectionParts {
    WsConnectionParts {
        hub: door.teams.hub().clone(),
        door: DOOR,
        stop: door.tasks.stop_token().clone(),
        peer,
        token: None,
        came: Ingress::Forwarded,
    }
}
