//! WebSocket for publishing by outside runtimes. Each text frame corresponds to a request body, and is
//! answered like the request, in order.

use axum::{Extension, response::Response};
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{ApiError, ApiErrorBody},
    server::RequestPeer,
    upgrade::Upgrade,
    ws::WsError,
    ws_connection::{WsConnection, WsConnectionEnd, WsConnectionEvent},
};
use jackfield_model::{Failure, Reason};
use serde::Serialize;

use crate::{DOOR, TeamDoor, publish::publish_text, viewer::line_parts};

/// Answers the handshake. Refuses principals without access to the team before the upgrade.
pub(crate) fn open(
    door: TeamDoor,
    principal: Principal,
    team: String,
    peer: Option<Extension<RequestPeer>>,
    upgrade: Upgrade,
) -> Result<Response, ApiError> {
    door.teams.get(&principal, &team)?;
    let parts = line_parts(&door, &principal, peer)?;
    let tasks = door.tasks.clone();
    Ok(WsConnection::open(
        upgrade,
        &tasks,
        parts,
        move |mut line| {
            line.set_authenticated(principal.grant.revoked.clone());
            let mut publisher = PublishSession {
                door,
                principal,
                team,
                line,
            };
            async move { publisher.run().await }
        },
    ))
}

struct PublishSession {
    door: TeamDoor,
    principal: Principal,
    team: String,
    line: WsConnection,
}

impl PublishSession {
    async fn run(&mut self) {
        let leave = loop {
            match self.line.next().await {
                WsConnectionEvent::Text(text) => {
                    let published = publish_text(&self.door, &self.principal, &self.team, &text);
                    match published {
                        Ok(accepted) => self.say(&accepted),
                        Err(failure) => self.refuse(&failure),
                    }
                }
                WsConnectionEvent::Binary => self.refuse(&Failure::new(
                    Reason::Unsupported,
                    "binary frames are not read here; send JSON in text frames",
                )),
                WsConnectionEvent::Rang(_) | WsConnectionEvent::Look => {}
                WsConnectionEvent::Broken(error) => {
                    if matches!(error, WsError::TooLarge { .. }) {
                        let text = format!("{error}; the connection is closed");
                        self.refuse(&Failure::new(Reason::TooLarge, text));
                    }
                    break WsConnectionEnd::from(&error);
                }
                WsConnectionEvent::Over(leave) => break leave,
            }
        };
        self.line.close(leave).await;
    }

    fn refuse(&mut self, failure: &Failure) {
        self.door.teams.hub().metrics().refused(DOOR);
        self.say(&ApiErrorBody::from(failure));
    }

    fn say(&mut self, answer: &impl Serialize) {
        // Texts and numbers always serialize.
        let text = serde_json::to_string(answer).unwrap_or_default();
        self.line.queue(&text);
    }
}
