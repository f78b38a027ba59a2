//! What is not there, what needs a token, and the description of all that is.

use jackfield_kit::testing::spec;
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::http::harness::{TeamHub, is_refused};

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_as_in_the_rest_of_the_api() {
    let hub = TeamHub::start().await;
    for path in [
        "/v1/teams/",
        "/v1/teams/x/nothing",
        "/v1/teams/x/tasks/y/z",
        "/v1/team",
    ] {
        is_refused(&hub.get(path).await, 404, "not_found", path);
    }
    for (method, path, allowed) in [
        (Method::PUT, "/v1/teams", "GET,HEAD,POST"),
        (Method::POST, "/v1/teams/x", "GET,HEAD,PATCH,DELETE"),
        (Method::DELETE, "/v1/teams/x/tasks", "GET,HEAD,POST"),
        (Method::GET, "/v1/teams/x/tasks/y", "PATCH"),
        (Method::PUT, "/v1/teams/x/events", "GET,HEAD,POST"),
        (Method::GET, "/v1/teams/x/messages", "POST"),
        (Method::GET, "/v1/teams/x/stop", "POST"),
        (Method::GET, "/v1/teams/x/decisions", "POST"),
    ] {
        let response = hub.ask(method.clone(), path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{path}");
        assert_eq!(response.headers()["allow"], allowed, "{path}");
        is_refused(&hub.send(hub.ask(method, path)).await, 405, "invalid", path);
    }
}

#[tokio::test]
async fn everything_needs_a_token_and_says_so_before_anything_else() {
    let hub = TeamHub::closed().await;
    let paths = hub.spec()["paths"].as_object().unwrap();
    let routes = paths
        .iter()
        .filter(|(path, _)| path.starts_with("/v1/teams"));
    let mut count = 0;
    for (path, item) in routes {
        for method in item.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace("{id}", "%FF").replace("{task}", "x");
            let request = hub.ask(method, &path).body("no JSON");
            is_refused(
                &hub.send(request).await,
                401,
                "unauthorized",
                "token create",
            );
            count += 1;
        }
    }
    assert_eq!(count, 13);
}

#[tokio::test]
async fn the_description_of_teams_is_part_of_the_hubs_own() {
    let hub = TeamHub::start().await;
    spec::references_lead_somewhere(hub.spec());
    for name in [
        "Team",
        "TeamMember",
        "TeamTask",
        "NewTeam",
        "TeamEnvelope",
        "Error",
    ] {
        assert!(
            hub.spec()["components"]["schemas"][name].is_object(),
            "{name}"
        );
    }
    let (_, metrics) = hub.post("/v1/teams", json!([])).await;
    assert_eq!(metrics["error"], "invalid");
    let text = hub
        .ask(Method::GET, "/metrics")
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let counted = text
        .lines()
        .find(|line| line.contains("refused") && line.contains("\"team\""));
    assert!(
        counted.is_some_and(|line| line.ends_with(" 1")),
        "{counted:?}"
    );
}
