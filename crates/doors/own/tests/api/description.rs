//! Health, metrics, what is not there, and the description of all that is.

use std::collections::HashSet;

use jackfield_core::limits::Limits;
use jackfield_kit::testing::spec;
use jackfield_store::SqliteStore;
use reqwest::{Method, StatusCode};
use rusqlite::Connection;
use serde_json::json;

use crate::harness::OwnHub;

#[tokio::test]
async fn a_hub_that_cannot_write_is_not_ready_until_it_can_and_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(dir.path()).unwrap();
    let hub = OwnHub::start_on(store, true, Limits::default()).await;
    assert_eq!(hub.get("/readyz").await.0, StatusCode::OK);

    // Another program breaks the database: it can still be read, and not be written.
    let other = Connection::open(dir.path().join("jackfield.db")).unwrap();
    other
        .execute_batch("ALTER TABLE records RENAME TO lost")
        .unwrap();
    let (status, answer) = hub.get("/readyz").await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("internal"))
    );
    let message = answer["message"].as_str().unwrap();
    assert!(message.contains("no such table: records"), "{message}");
    assert_eq!(hub.get("/healthz").await.0, StatusCode::OK);

    other
        .execute_batch("ALTER TABLE lost RENAME TO records")
        .unwrap();
    assert_eq!(hub.get("/readyz").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_hub_that_stops_is_not_ready_and_lets_its_readers_go() {
    let hub = OwnHub::start().await;
    let (status, ready) = hub.get("/readyz").await;
    assert_eq!(
        (status, ready),
        (
            StatusCode::OK,
            json!({"status": "ready", "version": "1.2.3"})
        )
    );
    let mut amy = hub.attach("amy");
    let mut watch = hub
        .stream(hub.ask(Method::GET, "/v1/events?agent=bob"))
        .await;
    let mut kept = hub.call("amy", json!({"text": "go", "keep": true})).await;
    kept.expect("call").await;
    let _serving = amy.next_call().await;
    hub.hub.stop(std::time::Duration::ZERO).await;
    let (status, answer) = hub.get("/readyz").await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("stopping"))
    );
    let (status, answer) = hub.post("/v1/agents/amy/calls", json!({"text": "x"})).await;
    assert_eq!(
        (status, &answer["error"]),
        (StatusCode::BAD_GATEWAY, &json!("stopping"))
    );
    hub.tasks.stop_token().cancel();
    for stream in [&mut watch, &mut kept] {
        let last = stream.rest().await.pop().unwrap();
        assert_eq!(
            (last.event.as_str(), &last.data["error"]),
            ("failed", &json!("stopping"))
        );
    }
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused_in_json() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    for path in [
        "/v1",
        "/v1/",
        "/v1/nothing",
        "/v1/agents/",
        "/v1/agents/x/y/z",
        "/v1/calls/x/nothing",
    ] {
        for method in [Method::GET, Method::POST, Method::DELETE] {
            let (status, answer) = hub.json(method, path, None).await;
            assert_eq!(
                (status, &answer["error"]),
                (StatusCode::NOT_FOUND, &json!("not_found")),
                "{path}"
            );
        }
    }
    for (method, path, allowed) in [
        (Method::PUT, "/v1/agents", "GET,HEAD"),
        (Method::POST, "/v1/agents/x", "GET,HEAD,PATCH,DELETE"),
        (Method::DELETE, "/v1/agents/x/calls", "POST,GET,HEAD"),
        (Method::DELETE, "/v1/calls/x/cancel", "POST"),
        (Method::PATCH, "/v1/tokens", "GET,HEAD,POST"),
        (Method::POST, "/healthz", "GET,HEAD"),
        (Method::POST, "/openapi.json", "GET,HEAD"),
    ] {
        let response = hub.ask(method.clone(), path).send().await.unwrap();
        assert_eq!(response.headers()["allow"], allowed, "{path}");
        let (status, _) = hub.checked(&method, path, response).await;
        assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
    }
    let response = hub.ask(Method::GET, "/v1/agents/%FF").send().await.unwrap();
    assert_eq!(
        response.status(),
        StatusCode::UNAUTHORIZED,
        "who asks comes first"
    );
}

#[tokio::test]
async fn metrics_are_in_the_format_of_prometheus() {
    let hub = OwnHub::start().await;
    let _amy = hub.attach("amy");
    let response = hub.ask(Method::GET, "/metrics").send().await.unwrap();
    let kind = response.headers()["content-type"]
        .to_str()
        .unwrap()
        .to_owned();
    assert!(kind.starts_with("application/openmetrics-text"), "{kind}");
    let text = response.text().await.unwrap();
    assert!(text.contains("jackfield_agents_online 1") && text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn the_description_lists_every_route_and_every_reference_leads_somewhere() {
    let hub = OwnHub::start().await;
    let spec = hub.client.spec();
    assert!(spec["openapi"].as_str().unwrap().starts_with("3."));
    assert_eq!(spec["info"]["version"], "1.2.3");
    let mut routes = Vec::new();
    let mut ids = HashSet::new();
    for (path, item) in spec["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            routes.push(format!("{} {path}", method.to_uppercase()));
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id), "{id} is there twice");
            let responses = operation["responses"].as_object().unwrap();
            let is_open =
                ["/healthz", "/invite/{ticket}", "/v1/files/{id}/{name}"].contains(&path.as_str());
            assert_ne!(is_open, responses.contains_key("401"), "{method} {path}");
            // What is described exists: nothing answers 405, or 404 for want of a route.
            let method = method.to_uppercase().parse().unwrap();
            if path != "/v1/events" {
                let (status, answer) = hub.json_or_text(method, &path.replace("{id}", "x")).await;
                assert_ne!(status, StatusCode::METHOD_NOT_ALLOWED, "{path}");
                assert!(!answer.contains("there is nothing at"), "{path}");
            }
        }
    }
    routes.sort();
    let mut wanted = [
        "GET /v1/agents",
        "GET /v1/agents/{id}",
        "PATCH /v1/agents/{id}",
        "DELETE /v1/agents/{id}",
        "GET /v1/agents/{id}/calls",
        "POST /v1/agents/{id}/calls",
        "GET /v1/calls",
        "GET /v1/calls/{id}",
        "GET /v1/calls/{id}/events",
        "POST /v1/calls/{id}/cancel",
        "POST /v1/calls/{id}/answer",
        "POST /v1/calls/{id}/messages",
        "POST /v1/calls/{id}/resend",
        "GET /v1/callbacks",
        "GET /v1/events",
        "GET /v1/files/{id}/{name}",
        "GET /v1/tokens",
        "POST /v1/tokens",
        "DELETE /v1/tokens/{id}",
        "POST /v1/tickets",
        "POST /v1/invites",
        "GET /invite/{ticket}",
        "GET /v1/whoami",
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
        "GET /openapi.json",
    ];
    wanted.sort_unstable();
    assert_eq!(routes, wanted);
    spec::references_lead_somewhere(spec);
}

impl OwnHub {
    async fn json_or_text(&self, method: Method, path: &str) -> (StatusCode, String) {
        let response = self.ask(method, path).send().await.unwrap();
        (response.status(), response.text().await.unwrap())
    }
}
