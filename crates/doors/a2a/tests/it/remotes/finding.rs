//! `POST /v1/discover`: agents at an address, before any of them is added.

use reqwest::Method;
use serde_json::{Value, json};

use crate::remotes::{
    far::{Far, nobody},
    harness::Near,
};

async fn find(near: &Near, body: Value) -> (u16, Value) {
    near.ask(Method::POST, "/v1/discover", body).await
}

#[tokio::test]
async fn a_server_is_found_with_the_id_that_it_would_get_and_is_not_added() {
    let (near, far) = (Near::start().await, Far::start().await);
    let (status, found) = find(&near, json!({"url": far.url()})).await;
    assert_eq!(status, 200, "{found}");
    let url = format!("{}/", far.url());
    let remote = json!({
        "url": url, "id": "far-echo", "name": "Far Echo", "description": "says something",
        "speaks": "A2A 0.3, JSONRPC", "state": "new"
    });
    assert_eq!(
        found,
        json!({"protocol": "a2a", "url": far.url(), "remotes": [remote], "truncated": false})
    );
    assert!(near.agent("far-echo").is_none());
    assert!(near.stored().await.is_empty());
    near.add(json!({"url": far.url(), "id": "mine"})).await;
    let (_, found) = find(&near, json!({"url": far.url()})).await;
    let known = &found["remotes"][0];
    assert_eq!(
        (&known["state"], &known["id"]),
        (&json!("added"), &json!("mine"))
    );
}

#[tokio::test]
async fn an_id_that_is_taken_is_not_offered() {
    let (near, far, other) = (Near::start().await, Far::start().await, Far::start().await);
    near.add(json!({"url": other.url(), "id": "far-echo"}))
        .await;
    let (_, found) = find(&near, json!({"url": far.url()})).await;
    assert_eq!(found["remotes"][0]["id"], "far-echo-2");
}

#[tokio::test]
async fn the_operators_credentials_are_shown() {
    let (near, far) = (Near::start().await, Far::start().await);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "secret").unwrap();
    let auth = json!({"bearer": {"file": file}});
    let (status, _) = find(&near, json!({"url": far.url(), "auth": auth})).await;
    assert_eq!(status, 200);
    assert_eq!(far.was_shown("authorization").unwrap(), "Bearer secret");
}

#[tokio::test]
async fn a_server_out_of_reach_and_a_wrong_setting_are_told() {
    let near = Near::start().await;
    let url = format!("http://{}", nobody().await);
    let (status, refused) = find(&near, json!({"url": url})).await;
    assert_eq!((status, &refused["error"]), (502, &json!("offline")));
    assert!(
        refused["message"].as_str().unwrap().contains(&url),
        "{refused}"
    );
    for (body, field) in [
        (json!({"url": url, "keep": true}), "keep"),
        (json!({"url": "ftp://a.example"}), "url"),
        (json!({"url": url, "timeout": "0s"}), "timeout"),
    ] {
        let (status, refused) = find(&near, body).await;
        assert_eq!(
            (status, &refused["field"]),
            (400, &json!(field)),
            "{refused}"
        );
    }
}
