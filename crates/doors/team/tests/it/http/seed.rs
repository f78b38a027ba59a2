//! The examples of the seed, published as they stand but for the ids of a team that is here.

use serde_json::{Value, json};

use crate::http::harness::TeamHub;

/// The innermost parts of §3.2, in the envelope of §3.1.
const TEAM: &str = r#"{
  "event_id": "uuid-string-1234",
  "timestamp": "2026-01-06T12:00:00Z",
  "team_id": "team-primary",
  "event_source_type": "TEAM",
  "data": {
    "new_status": "IDLE",
    "old_status": "STARTING",
    "error_message": null
  }
}"#;
const AGENT: &str = r#"{
  "event_id": "uuid-string-1235",
  "timestamp": "2026-01-06T12:00:00Z",
  "team_id": "team-primary",
  "event_source_type": "AGENT",
  "data": {
    "agent_name": "Researcher_1",
    "agent_event": {
      "event_id": "evt-5678",
      "timestamp": "...",
      "agent_id": "agent-uuid-001",
      "event_type": "segment_event",
      "data": {
        "type": "SEGMENT_CONTENT",
        "payload": { "delta": "Analysis " }
      }
    }
  }
}"#;
const SUB_TEAM: &str = r#"{
  "event_id": "uuid-string-1236",
  "timestamp": "2026-01-06T12:00:00Z",
  "team_id": "team-primary",
  "event_source_type": "SUB_TEAM",
  "data": {
    "sub_team_node_name": "backend_team",
    "sub_team_event": {
      "event_id": "uuid-string-1237",
      "timestamp": "2026-01-06T12:00:00Z",
      "team_id": "backend",
      "event_source_type": "TEAM",
      "data": { "new_status": "RUNNING" }
    }
  }
}"#;
const TASK_PLAN: &str = r#"{
  "event_id": "uuid-string-1238",
  "timestamp": "2026-01-06T12:00:00Z",
  "team_id": "team-primary",
  "event_source_type": "TASK_PLAN",
  "data": {
    "tasks": [{ "id": "t1", "description": "Research protocol" }]
  }
}"#;

#[tokio::test]
async fn the_examples_of_the_seed_are_taken_and_come_back_whole() {
    let hub = TeamHub::start().await;
    let [_researcher, _other] = hub.attach(["agent-uuid-001", "agent-uuid-002"]);
    hub.team("backend", &["lead=agent-uuid-002"]).await;
    hub.team(
        "team-primary",
        &["Researcher_1=agent-uuid-001", "backend_team=@backend"],
    )
    .await;
    let mut last = 0;
    for example in [TEAM, AGENT, SUB_TEAM, TASK_PLAN] {
        let example: Value = serde_json::from_str(example).unwrap();
        let (status, accepted) = hub.post("/v1/teams/team-primary/events", example).await;
        assert_eq!(status, 202, "{accepted}");
        last = accepted["last_sequence"].as_u64().unwrap();
    }
    assert_eq!(last, 4);
    let mut events = hub.events("team-primary").await;
    for (example, sequence) in [TEAM, AGENT, SUB_TEAM, TASK_PLAN].into_iter().zip(1..) {
        let mut wanted: Value = serde_json::from_str(example).unwrap();
        let told = events.next().await.unwrap().data;
        wanted["sequence"] = json!(sequence);
        wanted["team_run_id"] = told["team_run_id"].clone();
        assert_eq!(told, wanted);
    }
    let (_, team) = hub.get("/v1/teams/team-primary").await;
    assert_eq!(team["status"], "IDLE");
}
