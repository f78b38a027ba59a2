//! The task board on the wire.

use jackfield_core::principal::Principal;
use jackfield_team::team::board::{BoardStatus, NewTask, TaskChange};
use serde_json::{Value, json};

use crate::ws::harness::*;

fn add(hub: &TeamHub, team: &str, name: &str) {
    let new = NewTask {
        name: name.to_owned(),
        assignee: hub
            .teams
            .get(&Principal::local(), team)
            .unwrap()
            .record
            .spec
            .coordinator
            .to_string(),
        description: "Scan it".to_owned(),
        dependencies: Vec::new(),
    };
    let added = hub
        .teams
        .add_tasks(&Principal::local(), team, vec![new], None);
    added.unwrap();
}

fn set(hub: &TeamHub, team: &str, task: &str, status: BoardStatus) {
    let change = TaskChange {
        status: Some(status),
        ..TaskChange::default()
    };
    let changed = hub
        .teams
        .change_task(&Principal::local(), team, task, change, None);
    changed.unwrap();
}

fn ids(plan: &Value) -> Vec<&str> {
    let tasks = plan["tasks"].as_array().unwrap().iter();
    tasks
        .map(|task| task["task_id"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn a_viewer_gets_the_whole_board_and_one_that_asks_so_what_was_added() {
    let hub = TeamHub::start().await;
    let _boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut whole = hub.viewer("web").await;
    let mut delta = hub.view("/ws/agent-team/web?tasks=delta").await;
    add(&hub, "web", "scan");
    set(&hub, "web", "scan", BoardStatus::InProgress);
    add(&hub, "web", "fix");
    set(&hub, "web", "fix", BoardStatus::Queued);

    let plan = whole.until("TASK_PLAN_EVENT").await;
    let stamp = &plan["team_stream_event_envelope"];
    assert_eq!(
        plan,
        json!({
            "event_type": "TASKS_CREATED", "team_id": "web",
            "tasks": [{
                "id": "task_0001", "task_name": "scan", "task_id": "task_0001",
                "assignee_name": "boss", "description": "Scan it", "dependencies": [],
                "file_deliverables": [], "status": "not_started",
            }],
            "event_scope": "team_scoped", "team_stream_event_envelope": stamp,
        })
    );
    assert_eq!(stamp["event_type"], "TASK_PLAN:TASKS_CREATED");
    let moved = whole.until("TASK_PLAN_EVENT").await;
    assert_eq!(
        (
            &moved["event_type"],
            &moved["new_status"],
            &moved["agent_name"]
        ),
        (
            &json!("TASK_STATUS_UPDATED"),
            &json!("in_progress"),
            &json!("boss")
        )
    );
    assert_eq!(moved["team_stream_event_envelope"]["sequence"], 2);
    let plan = whole.until("TASK_PLAN_EVENT").await;
    assert_eq!(ids(&plan), ["task_0001", "task_0002"]);
    assert_eq!(plan["team_stream_event_envelope"]["sequence"], 3);
    // The client has just forgotten how far the first one was.
    let again = whole.until("TASK_PLAN_EVENT").await;
    assert_eq!(
        (&again["task_id"], &again["new_status"]),
        (&json!("task_0001"), &json!("in_progress"))
    );
    assert!(again["team_stream_event_envelope"].is_null());
    let moved = whole.until("TASK_PLAN_EVENT").await;
    assert_eq!(moved["team_stream_event_envelope"]["sequence"], 4);

    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(delta.until("TASK_PLAN_EVENT").await);
    }
    assert_eq!(
        (ids(&seen[0]), ids(&seen[2])),
        (vec!["task_0001"], vec!["task_0002"])
    );
    for (number, plan) in (1..).zip(&seen) {
        assert_eq!(plan["team_stream_event_envelope"]["sequence"], number);
    }
}

#[tokio::test]
async fn the_board_of_a_team_below_is_shown_as_its_own() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested();
    let mut viewer = hub.viewer("web").await;
    add(&hub, "back", "scan");
    let plan = viewer.until("TASK_PLAN_EVENT").await;
    assert_eq!(
        (&plan["team_id"], &plan["sub_team_node_name"]),
        (&json!("back"), &json!("backend"))
    );
    assert_eq!(
        plan["team_stream_event_envelope"]["event_type"],
        "SUB_TEAM:TASK_PLAN"
    );
}
