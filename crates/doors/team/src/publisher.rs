//! WebSocket for publishing by outside runtimes. Each text frame corresponds to a request body, and is
//! answered like the request, in order.

use axum::{Extension, response::Response};
use jackfield_core::principal::Principal;
use jackfield_kit::{
    api::{ErrorView, Problem},
    line::{Leave, Line, Step},
    server::Peer,
    upgrade::Upgrade,
    ws::WsError,
};
use jackfield_model::{Failure, Reason};
use serde::Serialize;

use crate::{DOOR, TeamDoor, publish::publish_text, viewer::line_parts};

/// Answers the handshake. Refuses principals without access to the team before the upgrade.
pub(crate) fn open(
    door: TeamDoor,
    principal: Principal,
    team: String,
    peer: Option<Extension<Peer>>,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    door.teams.get(&principal, &team)?;
    let parts = line_parts(&door, &principal, peer)?;
    let tasks = door.tasks.clone();
    Ok(Line::open(upgrade, &tasks, parts, move |mut line| {
        line.known(principal.grant.revoked.clone());
        let mut publisher = Publisher {
            door,
            principal,
            team,
            line,
        };
        async move { publisher.run().await }
    }))
}

struct Publisher {
    door: TeamDoor,
    principal: Principal,
    team: String,
    line: Line,
}

impl Publisher {
    async fn run(&mut self) {
        let leave = loop {
            match self.line.next().await {
                Step::Text(text) => {
                    let published = publish_text(&self.door, &self.principal, &self.team, &text);
                    match published {
                        Ok(accepted) => self.say(&accepted),
                        Err(failure) => self.refuse(&failure),
                    }
                }
                Step::Binary => self.refuse(&Failure::new(
                    Reason::Unsupported,
                    "binary frames are not read here; send JSON in text frames",
                )),
                Step::Rang(_) | Step::Look => {}
                Step::Broken(error) => {
                    if matches!(error, WsError::TooLarge { .. }) {
                        let text = format!("{error}; the connection is closed");
                        self.refuse(&Failure::new(Reason::TooLarge, text));
                    }
                    break Leave::from(&error);
                }
                Step::Over(leave) => break leave,
            }
        };
        self.line.part(leave).await;
    }

    fn refuse(&mut self, failure: &Failure) {
        self.door.teams.hub().metrics().refused(DOOR);
        self.say(&ErrorView::from(failure));
    }

    fn say(&mut self, answer: &impl Serialize) {
        // Texts and numbers always serialize.
        let text = serde_json::to_string(answer).unwrap_or_default();
        self.line.queue(&text);
    }
}
