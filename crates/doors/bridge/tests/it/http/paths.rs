//! Paths and methods: what is not there is 404 for the platform, preflights are answered, and `/health` is for all.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::http::harness::{BridgeHub, taken_apart};

#[tokio::test]
async fn with_the_secret_an_unknown_path_or_method_is_404() {
    let hub = BridgeHub::start().await;
    for (method, path) in [
        (Method::GET, "/api/relay"),
        (Method::PUT, "/api/relay"),
        (Method::POST, "/api/relay/events"),
        (Method::POST, "/api/agents/amy/status"),
        (Method::GET, "/api/agents/amy"),
        (Method::GET, "/api/rtc-signal/amy"),
        (Method::GET, "/api/rtc-signal"),
        (Method::DELETE, "/api/cancel"),
        (Method::GET, "/api"),
        (Method::GET, "/api/"),
        (Method::POST, "/api/a2a/call/more"),
    ] {
        let response = hub.platform(method.clone(), path).send().await.unwrap();
        let (status, answer) = taken_apart(response).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{method} {path}");
        assert_eq!(answer["error"], "not_found", "{method} {path}");
    }
}

#[tokio::test]
async fn preflights_are_answered_without_the_secret() {
    let hub = BridgeHub::start().await;
    for path in [
        "/api/relay",
        "/api/nothing",
        "/health",
        "/api/agents/amy/status",
    ] {
        let response = hub.ask(Method::OPTIONS, path).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let headers = response.headers();
        assert_eq!(
            headers["access-control-allow-methods"],
            "GET, POST, OPTIONS"
        );
        assert_eq!(
            headers["access-control-allow-headers"],
            "Content-Type, X-Platform-Secret"
        );
        assert!(!headers.contains_key("access-control-allow-origin"));
        assert_eq!(response.text().await.unwrap(), "");
    }
}

#[tokio::test]
async fn health_is_for_everybody() {
    let hub = BridgeHub::start().await;
    let response = hub.ask(Method::GET, "/health").send().await.unwrap();
    assert_eq!(
        taken_apart(response).await,
        (StatusCode::OK, json!({"status": "ok"}))
    );
}
