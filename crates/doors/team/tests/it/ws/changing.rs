//! A team whose members are changed while it is viewed.

use jackfield_core::principal::Principal;
use jackfield_model::AgentId;
use jackfield_team::team::{MemberKind, TeamSpec};
use serde_json::json;

use crate::ws::harness::*;

fn change(hub: &TeamHub, id: &str, change: impl FnOnce(TeamSpec) -> TeamSpec) {
    let (local, id) = (Principal::local(), AgentId::parse(id).unwrap());
    drop(hub.teams.change(&local, &id, change).unwrap());
}

#[tokio::test]
async fn who_is_removed_while_it_asks_is_stopped_and_who_comes_is_told() {
    let hub = TeamHub::start().await;
    let (_boss, mut dev, _aide) = (
        hub.attach("a-boss"),
        hub.attach("a-dev"),
        hub.attach("a-aide"),
    );
    hub.team("web", &["boss=a-boss", "dev=a-dev"]);
    let mut viewer = hub.viewer("web").await;
    viewer.say("go", Some("dev")).await;
    let working = dev.next_call().await;
    ask(&working, "call_1");
    viewer.until("TOOL_APPROVAL_REQUESTED").await;
    change(&hub, "web", |mut spec| {
        spec.members[1].name = "aide".into();
        spec.members[1].of = MemberKind::Agent(AgentId::parse("a-aide").unwrap());
        spec
    });
    assert_eq!(dev.next_cancel().await, working.call().id);
    assert_eq!(viewer.until("ERROR").await["code"], "cancelled");
    let idle = viewer.until("TEAM_STATUS").await;
    assert_eq!(idle["new_status"], "idle");
    for (status, name, agent) in [
        ("shutdown_complete", "dev", "a-dev"),
        ("idle", "aide", "a-aide"),
    ] {
        let mut told = viewer.until("AGENT_STATUS").await;
        assert!(told["team_stream_event_envelope"]["sequence"].is_u64());
        told.as_object_mut()
            .unwrap()
            .remove("team_stream_event_envelope");
        let expected = json!({
            "new_status": status, "agent_name": name, "agent_id": agent,
            "member_route_key": name, "event_scope": "member_scoped",
        });
        assert_eq!(told, expected);
    }
    // Nothing waits any more, and the name is nobody's.
    let payload = json!({"invocation_id": "call_1", "agent_name": "dev"});
    viewer
        .send(json!({"type": "APPROVE_TOOL", "payload": payload}))
        .await;
    let refused = viewer.until("ERROR").await;
    assert_eq!(
        refused["message"],
        "team web has no member \"dev\"; it has boss, aide"
    );
}
