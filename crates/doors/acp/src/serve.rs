//! `GET /acp/{agent}`: authenticates the handshake of an editor, finds the agent, and opens the connection. An editor without
//! the right, or with an unknown agent, is refused before the upgrade.

use axum::{
    Extension,
    extract::State,
    response::{IntoResponse as _, Response},
};
use http::HeaderMap;
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{Actor, ApiError, PathId},
    auth::Ingress,
    server::RequestPeer,
    similar::with_suggestions,
    upgrade::Upgrade,
    ws_connection::{WsConnection, WsConnectionParts},
};
use jackfield_model::{AgentId, Failure};

use crate::{DOOR, connection::Caller, door::AcpDoor, session};

/// Opens the WebSocket of an editor.
pub(crate) async fn open(
    State(door): State<AcpDoor>,
    Actor(principal): Actor,
    PathId(agent): PathId,
    headers: HeaderMap,
    peer: Option<Extension<RequestPeer>>,
    upgrade: Upgrade,
) -> Response {
    let opened = caller(&door, principal, &agent, &headers).and_then(|caller| {
        let parts = connection_parts(&door, &caller.principal, peer)?;
        Ok((caller, parts))
    });
    match opened {
        Ok((caller, parts)) => {
            let tasks = door.tasks.clone();
            WsConnection::open(upgrade, &tasks, parts, |line| {
                session::run(door, caller, line)
            })
        }
        Err(failure) => ApiError::from(failure).into_response(),
    }
}

/// Finds the agent, and the origin of the calls to it.
fn caller(
    door: &AcpDoor,
    principal: Principal,
    agent: &str,
    headers: &HeaderMap,
) -> Result<Caller, Failure> {
    let found = AgentId::parse(agent)
        .map_err(|_| Failure::no_such_agent(agent))
        .and_then(|id| door.hub.agents().find(&principal, id.as_str()).map(|_| id));
    let agent = found.map_err(|failure| with_suggestions(failure, agent, &door.hub, &principal))?;
    Caller::new(principal, agent, headers)
}

/// Builds the parts for a [`WsConnection`]. Counts the connection for its owner, and fails if the owner has too many.
fn connection_parts(
    door: &AcpDoor,
    principal: &Principal,
    peer: Option<Extension<RequestPeer>>,
) -> Result<WsConnectionParts, Failure> {
    let mut peer = peer.map(|Extension(peer)| peer);
    if let Some(peer) = &mut peer {
        peer.account.move_to(&principal.owner)?;
    }
    Ok(WsConnectionParts {
        hub: door.hub.clone(),
        door: DOOR,
        stop: door.tasks.stop_token().clone(),
        peer,
        // The caller was authenticated before.
        token: None,
        came: Ingress::Forwarded,
    })
}
