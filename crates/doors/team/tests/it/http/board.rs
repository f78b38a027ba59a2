//! The board of a team: what may be put on it, who may, and that changes are events.

use jackfield_team::TeamLimits;
use reqwest::Method;
use serde_json::{Value, json};

use crate::http::harness::{TeamHub, is_refused, team};

const TASKS: &str = "/v1/teams/all/tasks";

fn task(name: &str, dependencies: &[&str]) -> Value {
    json!({"task_name": name, "assignee_name": "lead", "dependencies": dependencies})
}

#[tokio::test]
async fn tasks_are_added_and_changed_and_each_change_is_an_event() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    assert_eq!(hub.get(TASKS).await, (200, json!({"tasks": []})));
    let new = json!({"tasks": [
        {"task_name": "build", "assignee_name": "backend/chief", "description": "Build it", "dependencies": ["plan"]},
        {"task_name": "plan", "assignee_name": "backend"},
    ]});
    let (status, added) = hub.post(TASKS, new).await;
    assert_eq!(status, 201);
    let build = json!({
        "id": "task_0001", "task_id": "task_0001", "task_name": "build", "assignee_name": "backend/chief",
        "description": "Build it", "dependencies": ["task_0002"], "status": "not_started", "file_deliverables": [],
    });
    assert_eq!(added["tasks"][0], build);
    assert_eq!(hub.get(TASKS).await, (200, added));
    // Only what is new is said of the second time.
    let (_, third) = hub
        .post(TASKS, json!({"tasks": [task("third", &["task_0001"])]}))
        .await;
    assert_eq!(third["tasks"].as_array().unwrap().len(), 1);
    let change = json!({
        "status": "completed", "agent_name": "backend/store/dba",
        "deliverables": [{"file_path": "a.md", "summary": "notes"}],
    });
    let (status, plan) = hub.patch(&format!("{TASKS}/plan"), change).await;
    assert_eq!((status, &plan["status"]), (200, &json!("completed")));
    let given = &plan["file_deliverables"][0];
    assert_eq!(
        (
            &given["file_path"],
            &given["summary"],
            &given["author_agent_name"]
        ),
        (&json!("a.md"), &json!("notes"), &json!("backend/store/dba"))
    );
    let time = given["timestamp"].as_str().unwrap();
    assert!(time.ends_with('Z') && time.len() == 24, "{time}");
    let path = format!("{TASKS}/task_0001");
    let change = json!({"dependencies": [], "assignee_name": "lead", "description": "Build"});
    let (_, build) = hub.patch(&path, change).await;
    assert_eq!(
        (&build["dependencies"], &build["description"]),
        (&json!([]), &json!("Build"))
    );

    let mut events = hub.events("all").await;
    let mut said = Vec::new();
    for sequence in 1..=4 {
        let envelope = events.next().await.unwrap().data;
        assert_eq!(envelope["sequence"], sequence);
        assert_eq!(envelope["event_source_type"], "TASK_PLAN");
        said.push(envelope["data"].clone());
    }
    let names = |data: &Value| -> Vec<String> {
        let tasks = data["tasks"].as_array().unwrap().iter();
        tasks
            .map(|task| task["task_name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(&said[0]), ["build", "plan"]);
    assert_eq!(names(&said[1]), ["third"]);
    assert_eq!(
        said[2],
        json!({
            "team_id": "all", "task_id": "task_0002", "new_status": "completed",
            "agent_name": "backend/store/dba", "deliverables": plan["file_deliverables"],
        })
    );
    assert_eq!(names(&said[3]), ["build"]);
}

#[tokio::test]
async fn bad_tasks_are_refused_by_field_and_change_nothing() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let first = json!({"tasks": [task("one", &[]), task("two", &["one"])]});
    assert_eq!(hub.post(TASKS, first).await.0, 201);
    let before = hub.get(TASKS).await;
    for (body, word) in [
        (json!({"tasks": []}), "\"tasks\""),
        (json!({}), "tasks"),
        (json!({"tasks": [task("", &[])]}), "tasks[0].task_name"),
        (
            json!({"tasks": [task("new", &[]), task("one", &[])]}),
            "tasks[1].task_name",
        ),
        (
            json!({"tasks": [task("new", &[]), task("new", &[])]}),
            "tasks[1].task_name",
        ),
        (
            json!({"tasks": [task("new", &["one", "nothing"])]}),
            "tasks[0].dependencies[1]",
        ),
        (
            json!({"tasks": [task("x", &["y"]), task("y", &["x"])]}),
            "dependencies",
        ),
        (
            json!({"tasks": [task("x", &["x"])]}),
            "tasks[0].dependencies",
        ),
        (
            json!({"tasks": [{"task_name": "new", "assignee_name": "nobody"}]}),
            "tasks[0].assignee_name",
        ),
        (json!({"tasks": [{"task_name": "new"}]}), "tasks[0]"),
        (json!({"tasks": [["new", "lead"]]}), "tasks[0]"),
        (
            json!({"tasks": [{"task_name": "new", "assignee_name": "lead", "status": "queued"}]}),
            "tasks[0].status",
        ),
        (
            json!({"tasks": [task("new", &[])], "agent_name": "nobody"}),
            "\"agent_name\"",
        ),
    ] {
        is_refused(&hub.post(TASKS, body).await, 400, "invalid", word);
    }
    for (change, word) in [
        (json!({}), "changes nothing"),
        (json!({"agent_name": "lead"}), "changes nothing"),
        (json!({"status": "done"}), "\"status\""),
        (
            json!({"status": "failed", "agent_name": "nobody"}),
            "\"agent_name\"",
        ),
        (json!({"dependencies": ["two"]}), "\"dependencies"),
        (json!({"dependencies": ["nothing"]}), "\"dependencies[0]\""),
        (json!({"assignee_name": "nobody"}), "\"assignee_name\""),
        (
            json!({"deliverables": [{"file_path": ""}]}),
            "deliverables[0].file_path",
        ),
        (
            json!({"deliverables": [{"summary": "x"}]}),
            "deliverables[0]",
        ),
        (json!({"task_name": "other"}), "task_name"),
    ] {
        let answer = hub.patch(&format!("{TASKS}/one"), change).await;
        is_refused(&answer, 400, "invalid", word);
    }
    assert_eq!(hub.get(TASKS).await, before);
    assert_eq!(hub.sequence("all").await, 1, "nothing was told of them");
}

#[tokio::test]
async fn a_task_of_another_team_is_not_found() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let foreign = json!({"tasks": [{"task_name": "secret", "assignee_name": "dba"}]});
    assert_eq!(hub.post("/v1/teams/db/tasks", foreign).await.0, 201);
    for task in ["secret", "task_0001", "..%2Fdb"] {
        let answer = hub
            .patch(&format!("{TASKS}/{task}"), json!({"status": "failed"}))
            .await;
        is_refused(&answer, 404, "not_found", "no task");
    }
    let answer = hub
        .post(TASKS, json!({"tasks": [task("new", &["secret"])]}))
        .await;
    is_refused(&answer, 400, "invalid", "tasks[0].dependencies[0]");
    let (_, board) = hub.get("/v1/teams/db/tasks").await;
    assert_eq!(board["tasks"][0]["status"], "not_started");
}

#[tokio::test]
async fn a_task_is_found_by_a_name_of_any_letters() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let odd = json!({"tasks": [task("read/write & more", &[])]});
    assert_eq!(hub.post(TASKS, odd).await.0, 201);
    let path = format!("{TASKS}/read%2Fwrite%20%26%20more");
    let (status, task) = hub.patch(&path, json!({"status": "queued"})).await;
    assert_eq!((status, &task["status"]), (200, &json!("queued")));
}

#[tokio::test]
async fn a_full_board_takes_no_more() {
    let limits = TeamLimits {
        tasks: 2,
        ..TeamLimits::default()
    };
    let hub = TeamHub::start_limited(limits).await;
    let _agents = hub.nested().await;
    let three = json!({"tasks": [task("a", &[]), task("b", &[]), task("c", &[])]});
    is_refused(&hub.post(TASKS, three).await, 429, "busy", "2 tasks");
    assert_eq!(hub.get(TASKS).await.1, json!({"tasks": []}));
}

#[tokio::test]
async fn members_of_other_owners_work_on_the_board_in_their_own_name() {
    let hub = TeamHub::closed().await;
    let (ann, her) = hub.token("ann", &["agent:*"]).await;
    let (bob, him) = hub.token("bob", &["agent:*"]).await;
    let (_a, b) = (hub.attach_for(&her, "a"), hub.attach_for(&him, "b"));
    let share = jackfield_core::agent::Share::Everyone;
    hub.hub
        .agents()
        .change(&him, &b.entry().id, Some(share), None)
        .unwrap()
        .1
        .await
        .unwrap();
    let body = team("all", &["lead=a", "dev=b"]);
    assert_eq!(
        hub.send_as(&ann, Method::POST, "/v1/teams", body).await.0,
        201
    );
    let new = |by: Value| json!({"tasks": [task("one", &[])], "agent_name": by});
    is_refused(
        &hub.send_as(&bob, Method::POST, TASKS, new(json!("dev")))
            .await,
        404,
        "not_found",
        "team",
    );
    let as_lead = hub
        .post_as_agent((&bob, "b"), TASKS, new(json!("lead")))
        .await;
    is_refused(&as_lead, 401, "unauthorized", "\"agent_name\"");
    assert_eq!(
        hub.post_as_agent((&bob, "b"), TASKS, new(Value::Null))
            .await
            .0,
        201
    );
    let change = json!({"status": "completed", "deliverables": [{"file_path": "x"}]});
    let request = hub
        .ask(Method::PATCH, &format!("{TASKS}/one"))
        .bearer_auth(&bob);
    let (_, task) = hub
        .send(request.header("Jackfield-Agent", "b").json(&change))
        .await;
    assert_eq!(task["file_deliverables"][0]["author_agent_name"], "dev");
}
