//! Teams through a whole hub: a scripted copy of the published web client watches and controls them, their members are
//! raw bridge and Agora agents, and callers of every door call them. The door's own tests are in its crate.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cuts;
mod doors;
mod flat;
mod members;
mod nested;
mod rules;
mod scenario;

use jackfield_testkit::{TestHub, WebClient};
use serde_json::{Value, json};

use crate::team::members::MemberAgent;

/// Creates a team; the first member is the coordinator.
async fn make_team(hub: &TestHub, id: &str, members: Value) {
    let coordinator = &members[0]["name"];
    let body = json!({"id": id, "coordinator": coordinator, "members": members});
    let (status, answer) = hub.web().post("/v1/teams", body).await;
    assert_eq!(status, 201, "{answer}");
}

/// A hub with a team `duo` of `lead` and `dev`, and a client that watches the team.
async fn duo() -> (TestHub, MemberAgent, MemberAgent, WebClient) {
    let hub = TestHub::start().await;
    let (lead, dev, user) = duo_of(&hub).await;
    (hub, lead, dev, user)
}

/// The same on this hub.
async fn duo_of(hub: &TestHub) -> (MemberAgent, MemberAgent, WebClient) {
    let lead = MemberAgent::join(hub, "agent-lead").await;
    let dev = MemberAgent::join(hub, "agent-dev").await;
    let members =
        json!([{"name": "lead", "agent": "agent-lead"}, {"name": "dev", "agent": "agent-dev"}]);
    make_team(hub, "duo", members).await;
    let user = WebClient::open(hub.addr(), "duo", &["lead", "dev"]).await;
    (lead, dev, user)
}
