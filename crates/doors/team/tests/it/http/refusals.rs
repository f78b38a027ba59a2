//! Teams that are refused: by field, and nothing is left of them.

use reqwest::Method;
use serde_json::{Value, json};

use crate::http::harness::{TeamHub, is_refused, team};

#[tokio::test]
async fn a_team_that_contradicts_itself_is_refused_by_field() {
    let hub = TeamHub::start().await;
    let [_a, _b] = hub.attach(["a", "b"]);
    hub.team("t", &["lead=a"]).await;
    let with = |field: &str, value: Value| {
        let mut body = team("new", &["lead=a", "other=b"]);
        body[field] = value;
        body
    };
    let members = |list: &[&str]| team("new", list);
    let many: Vec<String> = (0..65).map(|at| format!("m{at}=a")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (body, word) in [
        (members(&["lead=a", "x=nobody"]), "members[1].agent"),
        (members(&["lead=a", "x=@nobody"]), "members[1].team"),
        (members(&["lead=a", "x=@b"]), "members[1].team"),
        (members(&["lead=a", "x=@new"]), "members[1].team"),
        (members(&["lead=new"]), "coordinator"),
        (members(&["lead=a", "lead=b"]), "members[1].name"),
        (members(&["a/b=a"]), "members[0].name"),
        (members(&["a\\b=a"]), "members[0].name"),
        (members(&[" a=a"]), "members[0].name"),
        (members(&["=a"]), "members[0].name"),
        (members(&["a\nb=a"]), "members[0].name"),
        (members(&["lead=@t"]), "coordinator"),
        (members(&many), "1 to 64"),
        (
            with("coordinator", json!("nobody")),
            "\"coordinator\": \"nobody\"",
        ),
        (with("coordinator", json!(5)), "coordinator"),
        (with("members", json!([])), "members"),
        (with("members", json!({})), "members"),
        (with("members", json!([{"name": "lead"}])), "members[0]"),
        (
            with(
                "members",
                json!([{"name": "lead", "agent": "a", "team": "t"}]),
            ),
            "members[0]",
        ),
        (with("members", json!([{"agent": "a"}])), "coordinator"),
        (with("members", json!([["lead", "a"]])), "members[0]"),
        (
            with("members", json!([{"name": "lead", "agent": "no id"}])),
            "members[0].agent",
        ),
        (
            with(
                "members",
                json!([{"name": "lead", "agent": "a", "role": "x"}]),
            ),
            "members[0].role",
        ),
        (with("id", json!("no id")), "\"id\""),
        (with("id", Value::Null), "\"id\""),
        (with("name", json!("x".repeat(20_000))), "\"name\""),
        (
            with("description", json!("x".repeat(20_000))),
            "\"description\"",
        ),
        (with("descripton", json!("x")), "descripton"),
        (json!([]), "the body"),
        (json!({}), "field \"id\" is required"),
    ] {
        is_refused(&hub.post("/v1/teams", body).await, 400, "invalid", word);
    }
    is_refused(&hub.get("/v1/teams/new").await, 404, "not_found", "new");
    is_refused(&hub.get("/v1/agents/new").await, 404, "not_found", "new");
    for (id, what) in [("a", "an agent"), ("t", "a team")] {
        let answer = hub.post("/v1/teams", team(id, &["lead=b"])).await;
        is_refused(&answer, 409, "conflict", what);
    }
}

#[tokio::test]
async fn sixty_four_members_are_not_too_many() {
    let hub = TeamHub::start().await;
    let [_a] = hub.attach(["a"]);
    let many: Vec<String> = (0..64).map(|at| format!("m{at}=a")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let made = hub.team("t", &many).await;
    assert_eq!(made["agents"].as_array().unwrap().len(), 64);
}

#[tokio::test]
async fn teams_go_sixteen_deep_and_no_deeper() {
    let hub = TeamHub::start().await;
    let [_a] = hub.attach(["a"]);
    hub.team("t1", &["lead=a"]).await;
    for depth in 2..=16 {
        let below = format!("below=@t{}", depth - 1);
        hub.team(&format!("t{depth}"), &["lead=a", &below]).await;
    }
    let (_, deepest) = hub.get("/v1/teams/t16").await;
    assert_eq!(deepest["agents"].as_array().unwrap().len(), 16);
    let answer = hub
        .post("/v1/teams", team("t17", &["lead=a", "below=@t16"]))
        .await;
    is_refused(&answer, 400, "invalid", "17 deep");
    // Nor from below.
    hub.team("t0", &["lead=a"]).await;
    let members = json!([{"name": "lead", "agent": "a"}, {"name": "below", "team": "t0"}]);
    let answer = hub.patch("/v1/teams/t1", json!({"members": members})).await;
    is_refused(&answer, 400, "invalid", "17 deep");
}

#[tokio::test]
async fn agents_of_others_are_no_members_until_they_are_shared() {
    let hub = TeamHub::closed().await;
    let (ann, her) = hub.token("ann", &["agent:*"]).await;
    let (_, him) = hub.token("bob", &["agent:*"]).await;
    let _a = hub.attach_for(&her, "a");
    let b = hub.attach_for(&him, "b");
    let make = || {
        hub.send_as(
            &ann,
            Method::POST,
            "/v1/teams",
            team("t", &["lead=a", "x=b"]),
        )
    };
    let foreign = make().await;
    is_refused(&foreign, 400, "invalid", "members[1].agent");
    let unknown = team("t", &["lead=a", "x=nobody"]);
    let (_, unknown) = hub.send_as(&ann, Method::POST, "/v1/teams", unknown).await;
    let text = |answer: &Value| answer["message"].as_str().unwrap().replace("nobody", "b");
    assert_eq!(
        text(&unknown),
        text(&foreign.1),
        "foreign and unknown look the same"
    );
    let share = jackfield_core::agent::Share::Everyone;
    hub.hub
        .agents()
        .change(&him, &b.entry().id, Some(share), None)
        .unwrap()
        .1
        .await
        .unwrap();
    assert_eq!(make().await.0, 201);
}

#[tokio::test]
async fn only_who_may_register_an_id_makes_a_team_of_it_or_acts_as_it() {
    let hub = TeamHub::closed().await;
    let (ann, her) = hub.token("ann", &["agent:a", "agent:t"]).await;
    let _a = hub.attach_for(&her, "a");
    let body = team("t", &["lead=a"]);
    let (status, _) = hub.send_as(&ann, Method::POST, "/v1/teams", body).await;
    assert_eq!(status, 201);
    let (bob, _) = hub.token("bob", &["agent:*"]).await;
    let (poor, _) = hub.token("ann", &[]).await;
    let body = team("more", &["lead=a"]);
    let answer = hub.send_as(&poor, Method::POST, "/v1/teams", body).await;
    is_refused(&answer, 401, "unauthorized", "more");
    let show = |token, agent| {
        let request = hub.ask(Method::GET, "/v1/teams/t").bearer_auth(token);
        hub.send(request.header("Jackfield-Agent", agent))
    };
    assert_eq!(show(&ann, "a").await.0, 200);
    for (token, agent, status, error) in [
        (&ann, "nobody", 401, "unauthorized"),
        (&bob, "a", 401, "unauthorized"),
        (&poor, "a", 401, "unauthorized"),
        (&ann, "no id", 400, "invalid"),
    ] {
        let answer = show(token, agent).await;
        is_refused(&answer, status, error, "header Jackfield-Agent");
    }
}
