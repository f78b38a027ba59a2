//! Teams that are made, seen, changed and forgotten.

use jackfield_core::agent::Share;
use reqwest::Method;
use serde_json::{Value, json};

use crate::http::harness::{TeamHub, is_refused, team};

#[tokio::test]
async fn a_team_is_made_and_shown_with_all_agents_of_its_tree() {
    let hub = TeamHub::start().await;
    let [mut _a, mut b, _c] = hub.nested().await;
    b.leave();
    let (status, shown) = hub.get("/v1/teams/all").await;
    assert_eq!(status, 200);
    assert_eq!(shown["id"], "all");
    assert_eq!(shown["name"], "all", "without a name it is the id");
    assert_eq!(shown["owner"], "local");
    assert_eq!(shown["coordinator"], "lead");
    let members = json!([{"name": "lead", "agent": "a"}, {"name": "backend", "team": "back"}]);
    assert_eq!(shown["members"], members);
    assert_eq!(shown["online"], true);
    assert_eq!(shown["status"], "IDLE");
    assert!(shown.get("description").is_none() && shown.get("run").is_none());
    assert_eq!(
        shown["agents"],
        json!([
            {"route_key": "lead", "name": "lead", "agent": "a", "online": true, "status": "idle"},
            {"route_key": "backend/chief", "name": "chief", "agent": "b", "online": false, "status": "uninitialized"},
            {"route_key": "backend/store/dba", "name": "dba", "agent": "c", "online": true, "status": "idle"},
        ])
    );
    let (_, list) = hub.get("/v1/teams").await;
    let ids: Vec<&Value> = list["teams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|team| &team["id"])
        .collect();
    assert_eq!(ids, ["all", "back", "db"]);
    assert_eq!(list["teams"][0], shown);
}

#[tokio::test]
async fn names_and_coordinator_may_be_left_out_and_a_member_that_is_a_team_is_one() {
    let hub = TeamHub::start().await;
    let [_a, _b] = hub.attach(["a", "b"]);
    let inner = json!({"id": "inner", "members": [{"agent": "b"}]});
    let (status, made) = hub.post("/v1/teams", inner).await;
    assert_eq!((status, &made["coordinator"]), (201, &json!("b")));
    let outer = json!({"id": "outer", "members": [{"agent": "inner"}, {"agent": "a"}]});
    let (status, made) = hub.post("/v1/teams", outer).await;
    assert_eq!(status, 201, "{made}");
    let members = json!([{"name": "inner", "team": "inner"}, {"name": "a", "agent": "a"}]);
    assert_eq!(made["members"], members);
    assert_eq!(made["coordinator"], "a", "the first agent");
    let change = json!({"members": [{"agent": "a"}, {"name": "x", "agent": "inner"}]});
    let (status, changed) = hub.patch("/v1/teams/outer", change).await;
    assert_eq!(status, 200, "{changed}");
    assert_eq!(changed["members"][1], json!({"name": "x", "team": "inner"}));
    let headless = json!({"id": "headless", "members": [{"team": "inner"}]});
    let (status, refused) = hub.post("/v1/teams", headless).await;
    assert_eq!(status, 400);
    let text = refused["message"].as_str().unwrap();
    assert!(text.contains("\"members\" needs an agent"), "{text}");
}

#[tokio::test]
async fn a_team_is_an_agent_of_the_hub() {
    let hub = TeamHub::start().await;
    let [_a] = hub.attach(["a"]);
    let mut body = team("t", &["lead=a"]);
    body["name"] = json!("The Team");
    body["description"] = json!("does it");
    assert_eq!(hub.post("/v1/teams", body).await.0, 201);
    let (status, agent) = hub.get("/v1/agents/t").await;
    assert_eq!(status, 200);
    assert_eq!(
        (&agent["name"], &agent["description"], &agent["door"]),
        (&json!("The Team"), &json!("does it"), &json!("team"))
    );
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name() {
    let hub = TeamHub::start().await;
    let [_a, _b] = hub.attach(["a", "b"]);
    let mut body = team("t", &["lead=a"]);
    body["description"] = json!("does it");
    let (_, made) = hub.post("/v1/teams", body).await;
    let (status, changed) = hub.patch("/v1/teams/t", json!({"name": "T"})).await;
    assert_eq!(status, 200);
    assert_eq!(
        (&changed["name"], &changed["description"]),
        (&json!("T"), &json!("does it"))
    );
    assert_eq!(changed["members"], made["members"]);
    assert_eq!(changed["created_at"], made["created_at"]);
    let members = json!([{"name": "lead", "agent": "a"}, {"name": "chief", "agent": "b"}]);
    let change = json!({"members": members, "coordinator": "chief", "description": "", "name": ""});
    let (_, changed) = hub.patch("/v1/teams/t", change).await;
    assert_eq!(changed["coordinator"], "chief");
    assert_eq!(changed["members"], members);
    assert_eq!(changed["name"], "t");
    assert!(changed.get("description").is_none());
    assert_eq!(hub.get("/v1/teams/t").await.1, changed);
}

#[tokio::test]
async fn a_change_that_is_refused_changes_nothing() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    let before = hub.get("/v1/teams/db").await;
    for (change, word) in [
        (json!({}), "changes nothing"),
        (json!({"id": "other"}), "\"id\""),
        (json!({"members": []}), "\"members\""),
        (json!({"coordinator": "nobody"}), "\"coordinator\""),
        (json!({"name": 5}), "\"name\""),
        (
            json!({"members": [{"name": "dba", "agent": "nobody"}]}),
            "members[0].agent",
        ),
        // It would contain itself, two levels down.
        (
            json!({"members": [{"name": "dba", "agent": "c"}, {"name": "x", "team": "all"}]}),
            "members[1].team",
        ),
        (
            json!({"members": [{"name": "dba", "agent": "c"}, {"name": "x", "team": "db"}]}),
            "members[1].team",
        ),
    ] {
        is_refused(
            &hub.patch("/v1/teams/db", change).await,
            400,
            "invalid",
            word,
        );
    }
    assert_eq!(hub.get("/v1/teams/db").await, before);
}

#[tokio::test]
async fn a_team_that_is_a_member_of_another_is_not_forgotten() {
    let hub = TeamHub::start().await;
    let _agents = hub.nested().await;
    for path in ["/v1/teams/back", "/v1/agents/back"] {
        is_refused(&hub.delete(path).await, 409, "conflict", "team all");
    }
    for path in ["/v1/teams/all", "/v1/teams/back"] {
        assert_eq!(hub.delete(path).await, (204, Value::Null));
        is_refused(&hub.get(path).await, 404, "not_found", "team");
    }
    is_refused(&hub.delete("/v1/teams/all").await, 404, "not_found", "all");
    is_refused(&hub.get("/v1/agents/all").await, 404, "not_found", "all");
    assert_eq!(hub.get("/v1/agents/a").await.0, 200, "its members stay");
}

#[tokio::test]
async fn foreign_teams_look_like_unknown_ones_until_they_are_shared() {
    let hub = TeamHub::closed().await;
    let (ann, her) = hub.token("ann", &["agent:*"]).await;
    let (bob, _) = hub.token("bob", &[]).await;
    let _a = hub.attach_for(&her, "a");
    let (status, _) = hub
        .send_as(&ann, Method::POST, "/v1/teams", team("t", &["lead=a"]))
        .await;
    assert_eq!(status, 201);
    let (_, list) = hub
        .send_as(&bob, Method::GET, "/v1/teams", Value::Null)
        .await;
    assert_eq!(list, json!({"teams": []}));
    for (method, path, body) in [
        (Method::GET, "", Value::Null),
        (Method::PATCH, "", json!({"name": "mine"})),
        (Method::DELETE, "", Value::Null),
        (Method::GET, "/tasks", Value::Null),
        (Method::POST, "/tasks", json!({"tasks": []})),
        (Method::PATCH, "/tasks/x", json!({"status": "failed"})),
        (Method::POST, "/events", json!([])),
        (Method::POST, "/messages", json!({"content": "hi"})),
        (Method::POST, "/stop", Value::Null),
        (
            Method::POST,
            "/decisions",
            json!({"invocation_id": "i", "approve": true}),
        ),
    ] {
        let mut answers = Vec::new();
        for team in ["t", "nothing", "no%20id"] {
            let path = format!("/v1/teams/{team}{path}");
            let answer = hub.send_as(&bob, method.clone(), &path, body.clone()).await;
            is_refused(&answer, 404, "not_found", "team");
            let text = answer.1["message"].as_str().unwrap();
            answers.push(text.replace("nothing", "t").replace("no id", "t"));
        }
        assert!(
            answers.windows(2).all(|pair| pair[0] == pair[1]),
            "{answers:?}"
        );
    }
    let is_taken = hub
        .send_as(&bob, Method::POST, "/v1/teams", team("t", &["x=a"]))
        .await;
    is_refused(&is_taken, 409, "conflict", "another id");
    let id = jackfield_model::AgentId::parse("t").unwrap();
    let shared = hub
        .hub
        .agents()
        .change(&her, &id, Some(Share::Everyone), None);
    shared.unwrap().1.await.unwrap();
    let (status, seen) = hub
        .send_as(&bob, Method::GET, "/v1/teams/t", Value::Null)
        .await;
    assert_eq!((status, &seen["owner"]), (200, &json!("ann")));
    for (method, body) in [
        (Method::PATCH, json!({"name": "mine"})),
        (Method::DELETE, Value::Null),
    ] {
        let answer = hub.send_as(&bob, method, "/v1/teams/t", body).await;
        is_refused(&answer, 401, "unauthorized", "owner");
    }
    let board = hub
        .send_as(&bob, Method::GET, "/v1/teams/t/tasks", Value::Null)
        .await;
    is_refused(&board, 401, "unauthorized", "members");
}
