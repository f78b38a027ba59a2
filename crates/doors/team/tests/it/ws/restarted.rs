//! A hub that was restarted while a team worked: viewers see, stop and decide what goes on, in a new run.

use std::sync::Arc;

use jackfield_core::{
    agent::Settings, limits::Limits, principal::Principal, store::memory::MemoryStore,
};
use jackfield_model::{AgentId, Event};
use serde_json::json;

use crate::ws::harness::*;

/// A hub on which `web/dba`, two teams down, works for a viewer and has asked something; and the one that comes after it.
async fn restarted() -> (TeamHub, TeamHub) {
    let store = Arc::new(MemoryStore::default());
    let before = TeamHub::start_on(store.clone(), true, Limits::default()).await;
    let [_boss, _lead, _head, mut dba] = before.nested();
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    let (local, id) = (Principal::local(), AgentId::parse("a-dba").unwrap());
    let set = before
        .hub
        .agents()
        .change(&local, &id, None, Some(settings));
    set.unwrap().1.await.unwrap();
    let mut viewer = before.viewer("web").await;
    viewer.say("go", Some("dba")).await;
    let working = dba.next_call().await;
    working.push_numbered(Event::text("half a line"), 1);
    ask(&working, "call_1");
    viewer.until("TOOL_APPROVAL_REQUESTED").await;
    let task = working.call().task.unwrap();
    // The question is on disk when the task says that it waits for an answer.
    let task = before.hub.tasks().find(&local, task).await.unwrap();
    let mut rows = task.subscribe(None);
    while task.record().state != jackfield_core::store::TaskState::InputRequired {
        soon(rows.next()).await.unwrap();
    }
    let after = TeamHub::start_on(store, true, Limits::default()).await;
    (before, after)
}

#[tokio::test]
async fn what_goes_on_is_shown_again_and_can_be_stopped() {
    let (_before, hub) = restarted().await;
    let mut viewer = hub.view("/ws/agent-team/web").await;
    assert_eq!(
        viewer.until("TEAM_STATUS").await["new_status"],
        "processing"
    );
    let asked = viewer.until("TOOL_APPROVAL_REQUESTED").await;
    assert_eq!(
        (&asked["invocation_id"], &asked["member_route_key"]),
        (&json!("call_1"), &json!("backend/db/core/dba"))
    );
    assert_eq!(
        asked["team_stream_event_envelope"]["team_run_id"],
        asked["approval_token"]["teamRunId"]
    );
    viewer
        .send(json!({"type": "STOP_GENERATION", "payload": {"target_member_name": "dba"}}))
        .await;
    let stopped = viewer.until("ERROR").await;
    assert_eq!(
        (&stopped["code"], &stopped["agent_name"]),
        (&json!("cancelled"), &json!("dba"))
    );
    viewer.until_idle().await;
}

#[tokio::test]
async fn what_was_asked_before_is_in_the_snapshot_and_can_be_decided() {
    let (_before, hub) = restarted().await;
    let mut viewer = hub.view("/ws/agent-team/web?replay=false").await;
    let asked = viewer.until("TOOL_APPROVAL_REQUESTED").await;
    let payload = json!({"approval_token": asked["approval_token"]});
    viewer
        .send(json!({"type": "APPROVE_TOOL", "payload": payload}))
        .await;
    let approved = viewer.until("TOOL_APPROVED").await;
    assert_eq!(approved["invocation_id"], "call_1");
}
