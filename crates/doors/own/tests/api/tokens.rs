//! Who may do what: tokens, their revocation, the open and the closed routes.

use jackfield_core::limits::Limits;
use jackfield_model::TokenId;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{OwnHub, soon};

/// A hub that is not bound to loopback.
async fn closed() -> OwnHub {
    OwnHub::start_with(false, Limits::default()).await
}

#[tokio::test]
async fn on_loopback_anybody_is_local_and_elsewhere_nobody_is_anybody() {
    let hub = OwnHub::start().await;
    let (_, who) = hub.get("/v1/whoami").await;
    assert_eq!(
        who,
        json!({"owner": "local", "who": "person", "scopes": ["admin"], "admin": true})
    );
    let hub = closed().await;
    for path in [
        "/v1/whoami",
        "/v1/agents",
        "/v1/agents/x",
        "/v1/calls",
        "/v1/calls/x",
        "/v1/calls/x/events",
        "/v1/events",
        "/v1/tokens",
        "/readyz",
        "/metrics",
        "/openapi.json",
    ] {
        let (status, answer) = hub.get(path).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer["error"], "unauthorized");
        assert!(
            answer["message"].as_str().unwrap().contains("token create"),
            "the remedy is told"
        );
    }
    for path in [
        "/v1/agents/x/calls",
        "/v1/calls/x/cancel",
        "/v1/calls/x/answer",
        "/v1/calls/x/messages",
        "/v1/tokens",
        "/v1/invites",
        "/v1/tickets",
    ] {
        assert_eq!(
            hub.post(path, json!({})).await.0,
            StatusCode::UNAUTHORIZED,
            "{path}"
        );
    }
    let (status, health) = hub.get("/healthz").await;
    assert_eq!((status, health), (StatusCode::OK, json!({"status": "ok"})));
    let ann = hub.token("ann", &["call:x"]).await;
    let (_, who) = hub
        .json_as(Some(&ann), Method::GET, "/v1/whoami", None)
        .await;
    assert_eq!(
        who,
        json!({"owner": "ann", "who": "person", "scopes": ["call:x"], "admin": false})
    );
}

#[tokio::test]
async fn an_admin_makes_lists_and_revokes_tokens_whose_secret_is_shown_once() {
    let hub = closed().await;
    let root = hub.token("root", &["admin"]).await;
    let root = Some(root.as_str());
    let body = json!({"name": "laptop", "owner": "ann", "scopes": ["agent:lab-*", "call:*"], "expires": "30d"});
    let (status, new) = hub
        .json_as(root, Method::POST, "/v1/tokens", Some(body))
        .await;
    assert_eq!(status, StatusCode::CREATED);
    let secret = new["token"].as_str().unwrap();
    assert_eq!(
        (&new["name"], &new["owner"]),
        (&json!("laptop"), &json!("ann"))
    );
    assert!(new["expires_at"].is_string());
    let (_, who) = hub
        .json_as(Some(secret), Method::GET, "/v1/whoami", None)
        .await;
    assert_eq!(
        (&who["owner"], &who["scopes"]),
        (&json!("ann"), &json!(["agent:lab-*", "call:*"]))
    );
    let (_, list) = hub.json_as(root, Method::GET, "/v1/tokens", None).await;
    assert_eq!(list["tokens"][2]["id"], new["id"]);
    assert!(!list.to_string().contains(secret) && !list.to_string().contains("hash"));
    let path = format!("/v1/tokens/{}", new["id"].as_str().unwrap());
    for _ in 0..2 {
        let (status, _) = hub.json_as(root, Method::DELETE, &path, None).await;
        assert_eq!(status, StatusCode::NO_CONTENT, "twice is as good as once");
    }
    let (status, answer) = hub
        .json_as(Some(secret), Method::GET, "/v1/whoami", None)
        .await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(answer["message"].as_str().unwrap().contains("revoked"));
    let (_, list) = hub.json_as(root, Method::GET, "/v1/tokens", None).await;
    assert!(list["tokens"][2]["revoked_at"].is_string());
    for id in [TokenId::new().to_string(), "x".to_owned()] {
        let (status, _) = hub
            .json_as(root, Method::DELETE, &format!("/v1/tokens/{id}"), None)
            .await;
        assert_eq!(status, StatusCode::NOT_FOUND);
    }
}

#[tokio::test]
async fn who_is_no_admin_gets_no_token_out_of_the_hub() {
    let hub = closed().await;
    let ann = hub.token("ann", &["agent:*", "call:*", "watch:*"]).await;
    let body = json!({"name": "x", "owner": "ann", "scopes": ["admin"]});
    for (method, path, body) in [
        (Method::GET, "/v1/tokens", None),
        (Method::POST, "/v1/tokens", Some(body)),
        (Method::DELETE, "/v1/tokens/x", None),
    ] {
        let (status, answer) = hub.json_as(Some(&ann), method, path, body).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert!(answer["message"].as_str().unwrap().contains("admin"));
    }
}

#[tokio::test]
async fn bad_tokens_are_refused_by_field() {
    let hub = OwnHub::start().await;
    for (body, word) in [
        (json!({"owner": "a", "scopes": []}), "name"),
        (json!({"name": "", "owner": "a", "scopes": []}), "name"),
        (
            json!({"name": "x".repeat(129), "owner": "a", "scopes": []}),
            "name",
        ),
        (
            json!({"name": "x", "owner": "not ok", "scopes": []}),
            "owner",
        ),
        (
            json!({"name": "x", "owner": "a", "scopes": ["root"]}),
            "scopes",
        ),
        (
            json!({"name": "x", "owner": "a", "scopes": "admin"}),
            "scopes",
        ),
        (
            json!({"name": "x", "owner": "a", "scopes": [], "expires": "never"}),
            "expires",
        ),
        (
            json!({"name": "x", "owner": "a", "scopes": [], "secret": "s"}),
            "secret",
        ),
    ] {
        let (status, answer) = hub.post("/v1/tokens", body.clone()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        assert!(
            answer["message"].as_str().unwrap().contains(word),
            "{body}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_revoked_token_ends_its_streams_and_cancels_its_live_calls() {
    let hub = closed().await;
    let mut amy = hub.attach("amy");
    let token = hub.token("ann", &["call:*", "watch:*"]).await;
    let calls = "/v1/agents/amy/calls";
    let open = |body: Value| hub.ask(Method::POST, calls).bearer_auth(&token).json(&body);
    let mut live = hub.stream(open(json!({"text": "go"}))).await;
    live.expect("call").await;
    let serving = amy.next_call().await;
    let mut kept = hub.stream(open(json!({"text": "go", "keep": true}))).await;
    kept.expect("call").await;
    let kept_serving = amy.next_call().await;
    let mut watch = hub
        .stream(hub.ask(Method::GET, "/v1/events").bearer_auth(&token))
        .await;
    let whole = open(json!({"text": "go", "stream": false})).send();
    let revoking = async {
        let waited = amy.next_call().await;
        let tokens = hub.hub.tokens().list();
        let id = tokens
            .iter()
            .find(|it| it.owner.as_str() == "ann")
            .unwrap()
            .id;
        hub.hub.tokens().revoke(id).await.unwrap();
        waited
    };
    let (whole, waited) = soon(async { tokio::join!(whole, revoking) }).await;
    assert_eq!(whole.unwrap().status(), StatusCode::UNAUTHORIZED);
    for stream in [&mut live, &mut kept] {
        let failed = stream.expect("failed").await;
        assert_eq!(
            (&failed.data["error"], failed.id),
            (&json!("unauthorized"), None)
        );
        assert_eq!(stream.next().await, None);
    }
    let mut last = watch.next().await.unwrap();
    while let Some(next) = watch.next().await {
        last = next;
    }
    assert_eq!(
        (last.event.as_str(), &last.data["error"]),
        ("failed", &json!("unauthorized"))
    );
    let mut cancelled = [amy.next_cancel().await, amy.next_cancel().await];
    cancelled.sort();
    assert_eq!(cancelled, [serving.call().id, waited.call().id]);
    assert!(!kept_serving.call().is_ended(), "what is kept goes on");
}
