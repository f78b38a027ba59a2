//! The Agora door at the level of raw frames: a real hub on a free port, another author's WebSocket
//! client.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod across;
mod bad_input;
mod judges;
mod page;
mod relay;
mod seed;

use jackfield_core::{
    principal::Principal,
    tap::{Sight, TapFilter, Watching},
};
use jackfield_model::AgentId;
use jackfield_testkit::{SOON, TestHub};

/// Watches an agent's presence.
fn watch(hub: &TestHub, id: &str) -> Watching {
    let filter = TapFilter {
        agent: Some(AgentId::parse(id).unwrap()),
        ..TapFilter::default()
    };
    hub.hub().taps().watch(Principal::local(), filter)
}

/// Waits until the hub reports the agent as offline.
async fn until_offline(watching: &mut Watching) {
    let offline = async { while !matches!(watching.next().await.sight, Sight::Offline) {} };
    tokio::time::timeout(SOON, offline)
        .await
        .expect("the agent did not leave in time");
}
