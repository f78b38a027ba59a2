//! Who may come in, and what they are shown first.

use jackfield_team::team::board::{BoardStatus, NewDeliverable, NewTask, TaskChange};
use serde_json::{Value, json};

use crate::ws::harness::*;

#[tokio::test]
async fn a_team_that_is_not_there_is_said_and_closed_with_4004() {
    let hub = TeamHub::start().await;
    for (path, code, message) in [
        ("agent-team", "TEAM_NOT_FOUND", "Team 'x' not found"),
        ("agent", "AGENT_NOT_FOUND", "Agent 'x' not found"),
    ] {
        let mut viewer = hub.view(&format!("/ws/{path}/x")).await;
        let (frames, closed) = viewer.until_closed().await;
        let payload = json!({"code": code, "message": message});
        assert_eq!(frames, [json!({"type": "ERROR", "payload": payload})]);
        assert_eq!(closed, 4004);
    }
}

#[tokio::test]
async fn another_owners_team_looks_like_none() {
    let hub = TeamHub::start_with(false, Default::default()).await;
    let (_, ann) = hub.token("ann", &["agent:*"]).await;
    let (bob, _) = hub.token("bob", &["agent:*"]).await;
    let _boss = hub.attach_for(&ann, "a-boss");
    hub.team_for(&ann, "web", &["boss=a-boss"]);
    for path in ["/ws/agent-team/web", "/ws/agent/a-boss"] {
        let mut viewer = hub.view_as(&bob, path).await;
        let (frames, closed) = viewer.until_closed().await;
        assert_eq!((frames.len(), closed), (1, 4004), "{frames:?}");
        assert!(
            frames[0]["payload"]["code"]
                .as_str()
                .unwrap()
                .ends_with("_NOT_FOUND")
        );
    }
}

#[tokio::test]
async fn whoever_cannot_prove_who_they_are_is_refused_before_the_upgrade() {
    let hub = TeamHub::start_with(false, Default::default()).await;
    for path in ["/ws/agent-team/x", "/ws/agent/x", "/v1/teams/x/events"] {
        let refused = hub.try_view(path, None).await.unwrap_err();
        let (status, body) = refusal(&refused);
        assert_eq!((status, &body["error"]), (401, &json!("unauthorized")));
    }
}

#[tokio::test]
async fn a_query_that_makes_no_sense_is_refused_before_the_upgrade() {
    let hub = TeamHub::start().await;
    for (query, word) in [
        ("after_sequence=x", "after_sequence must be a whole number"),
        ("team_run_id=run_1", "give both"),
        ("after_sequence=-1", "after_sequence"),
        ("replay=maybe", "replay"),
        ("replay=false&after_sequence=3", "after_sequence"),
        ("tasks=some", "tasks"),
        ("after=3", "after"),
    ] {
        let path = format!("/ws/agent-team/x?{query}");
        let refused = hub.try_view(&path, None).await.unwrap_err();
        let (status, body) = refusal(&refused);
        assert_eq!(status, 400, "{query}");
        assert!(body["message"].as_str().unwrap().contains(word), "{body}");
    }
}

fn refusal(refused: &WsRefused) -> (u16, Value) {
    (refused.status, serde_json::from_str(&refused.body).unwrap())
}

#[tokio::test]
async fn a_viewer_is_first_shown_how_everything_stands_without_numbers() {
    let hub = TeamHub::start().await;
    let [_boss, _lead, mut head, _dba] = hub.nested();
    head.leave();
    let mut viewer = hub.view("/ws/agent-team/web").await;
    let connected = viewer.frame().await;
    let session = connected["payload"]["session_id"].as_str().unwrap();
    assert_eq!(session.len(), 36);
    assert_eq!(
        connected,
        json!({"type": "CONNECTED", "payload": {"team_id": "web", "session_id": session}})
    );
    assert_eq!(
        viewer.frame().await,
        json!({"type": "TEAM_STATUS", "payload": {"new_status": "idle", "event_scope": "team_scoped"}})
    );
    let member = |status: &str, name: &str, agent: &str, route: &str| {
        let mut payload = json!({
            "new_status": status, "agent_name": name, "agent_id": agent,
            "member_route_key": route, "event_scope": "member_scoped",
        });
        if route.contains('/') {
            payload["sub_team_node_name"] = json!("backend");
        }
        json!({"type": "AGENT_STATUS", "payload": payload})
    };
    for (status, name, agent, route) in [
        ("idle", "boss", "a-boss", "boss"),
        ("idle", "lead", "a-lead", "backend/lead"),
        ("uninitialized", "head", "a-head", "backend/db/head"),
        ("idle", "dba", "a-dba", "backend/db/core/dba"),
    ] {
        assert_eq!(viewer.frame().await, member(status, name, agent, route));
    }
}

#[tokio::test]
async fn the_snapshot_has_the_board_and_what_goes_on() {
    let hub = TeamHub::start().await;
    let local = jackfield_core::principal::Principal::local();
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let new = |name: &str| NewTask {
        name: name.to_owned(),
        assignee: "boss".to_owned(),
        description: "Do it".to_owned(),
        dependencies: Vec::new(),
    };
    let added = hub
        .teams
        .add_tasks(&local, "web", vec![new("scan"), new("fix")], None);
    added.unwrap();
    let change = TaskChange {
        status: Some(BoardStatus::Completed),
        deliverables: vec![NewDeliverable {
            file_path: "a.md".to_owned(),
            summary: "notes".to_owned(),
        }],
        ..TaskChange::default()
    };
    let changed = hub.teams.change_task(&local, "web", "scan", change, None);
    changed.unwrap();
    let mut first = hub.view("/ws/agent-team/web?replay=false").await;
    first.say("go", None).await;
    let working = boss.next_call().await;
    working.push(jackfield_model::Event::text("well"));

    let mut viewer = hub.view("/ws/agent-team/web?replay=false").await;
    viewer.until("CONNECTED").await;
    assert_eq!(
        viewer.until("TEAM_STATUS").await["new_status"],
        "processing"
    );
    let status = viewer.until("AGENT_STATUS").await;
    assert_eq!(status["new_status"], "analyzing_llm_response");
    assert!(status["old_status"].is_null());
    let all = viewer.until("TASK_PLAN_EVENT").await;
    assert_eq!(
        (&all["event_type"], &all["team_id"]),
        (&json!("TASKS_CREATED"), &json!("web"))
    );
    let tasks = all["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[0]["task_id"], "task_0001");
    assert_eq!(tasks[0]["file_deliverables"][0]["file_path"], "a.md");
    let done = viewer.until("TASK_PLAN_EVENT").await;
    assert_eq!(
        (&done["event_type"], &done["new_status"], &done["task_id"]),
        (
            &json!("TASK_STATUS_UPDATED"),
            &json!("completed"),
            &json!("task_0001")
        )
    );
    assert!(all["team_stream_event_envelope"].is_null());
    assert!(done["team_stream_event_envelope"].is_null());
}

#[tokio::test]
async fn what_is_not_understood_is_answered_and_the_connection_stays() {
    let hub = TeamHub::start().await;
    let mut boss = hub.attach("a-boss");
    hub.team("web", &["boss=a-boss"]);
    let mut viewer = hub.viewer("web").await;
    for (text, code) in [
        ("{", "INVALID_MESSAGE"),
        ("[]", "INVALID_MESSAGE"),
        (r#"{"type":"SING"}"#, "UNKNOWN_MESSAGE_TYPE"),
        (r#"{"type":"SEND_MESSAGE"}"#, "INVALID_MESSAGE"),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":5}}"#,
            "INVALID_MESSAGE",
        ),
        (
            r#"{"type":"SEND_MESSAGE","payload":{"content":" "}}"#,
            "INVALID_MESSAGE",
        ),
        (
            r#"{"type":"APPROVE_TOOL","payload":{}}"#,
            "APPROVAL_TOKEN_REQUIRED",
        ),
        (
            r#"{"type":"DENY_TOOL","payload":{"approval_token":{"teamRunId":1}}}"#,
            "INVALID_APPROVAL_TOKEN",
        ),
    ] {
        viewer.send_text(text).await;
        assert_eq!(viewer.error().await, code, "{text}");
    }
    viewer.send_binary(&[1, 2, 3]).await;
    assert_eq!(viewer.error().await, "INVALID_MESSAGE");
    viewer.say("still here", None).await;
    assert_eq!(
        boss.next_call().await.call().message.joined_text(),
        "still here"
    );
}
