//! Who may read which card.

use jackfield_a2a::Cards;
use jackfield_core::agent::{Profile, Share};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::card::harness::{A2aHub, ECHO, HUB, SITE, key};

async fn guarded() -> A2aHub {
    A2aHub::start_with(false, Cards::at(SITE).signed_by(key())).await
}

#[tokio::test]
async fn away_from_loopback_a_card_needs_a_token_and_asks_for_it() {
    let hub = guarded().await;
    let ann = hub.owner("ann").await;
    let _echo = hub.attach_for(&ann, "echo", Profile::default());
    for path in [ECHO, HUB, "/a2a/agents/nobody/.well-known/agent-card.json"] {
        let response = hub.get(path).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{path}");
        let asks = response.headers()["www-authenticate"].to_str().unwrap();
        assert!(asks.starts_with("Bearer"));
        let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(body["error"]["code"], 401);
        assert_eq!(body["error"]["status"], "UNAUTHENTICATED");
    }
    let token = hub.token("ann", &[]).await;
    let response = hub
        .ask(Method::GET, ECHO)
        .bearer_auth(token)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["cache-control"], "private, max-age=60");
    assert_eq!(response.headers()["vary"], "authorization, a2a-version");
    let card: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    let scheme = &card["securitySchemes"]["bearer"];
    assert_eq!(
        (&scheme["type"], &scheme["scheme"]),
        (&json!("http"), &json!("bearer"))
    );
    assert_eq!(scheme["httpAuthSecurityScheme"]["scheme"], "bearer");
    assert_eq!(
        card["securityRequirements"],
        json!([{"schemes": {"bearer": {}}}])
    );
    assert_eq!(card["security"], json!([{"bearer": []}]));
}

#[tokio::test]
async fn the_card_of_an_agent_that_everyone_may_call_needs_no_token() {
    let hub = guarded().await;
    let ann = hub.owner("ann").await;
    let _hers = hub.attach_for(&ann, "hers", Profile::default());
    let _all = hub.attach_for(&ann, "echo", Profile::default());
    hub.share(&ann, "echo", Share::Everyone).await;
    for path in [
        ECHO,
        "/a2a/agents/echo/.well-known/agent.json",
        "/a2a/agents/echo/1.0/.well-known/agent-card.json",
    ] {
        let response = hub.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert_eq!(response.headers()["cache-control"], "public, max-age=60");
        let card: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert!(card["securitySchemes"]["bearer"].is_object(), "{card}");
    }
    // Whoever shows a bad token is told so.
    let wrong = hub.ask(Method::GET, ECHO).bearer_auth("jf_guess");
    let status = wrong.send().await.unwrap().status();
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    // Only its card: foreign, unknown and impossible ones look the same.
    let mut refusals = Vec::new();
    for name in ["hers", "nobody", "not%20an%20id", "%ff"] {
        let path = format!("/a2a/agents/{name}/.well-known/agent-card.json");
        let response = hub.get(&path).await;
        let status = response.status();
        let headers = format!("{:?}", response.headers().get("cache-control"));
        refusals.push((status, headers, response.text().await.unwrap()));
    }
    assert_eq!(refusals[0].0, StatusCode::UNAUTHORIZED);
    for other in &refusals[1..] {
        assert_eq!(*other, refusals[0]);
    }
    assert_eq!(hub.get(HUB).await.status(), StatusCode::UNAUTHORIZED);
    hub.share(&ann, "echo", Share::Nobody).await;
    assert_eq!(hub.get(ECHO).await.status(), StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_card_says_what_callers_need_who_come_the_way_its_reader_came() {
    let hub = A2aHub::start().await;
    let local = jackfield_core::principal::Principal::local();
    let _echo = hub.attach("echo", Profile::default());
    hub.share(&local, "echo", Share::Everyone).await;
    let token = hub.token("bob", &[]).await;
    let direct = hub.get(ECHO).await;
    let tag = direct.headers()["etag"].clone();
    let direct: Value = serde_json::from_str(&direct.text().await.unwrap()).unwrap();
    assert_eq!(direct["securitySchemes"], Value::Null);
    for (path, token) in [(ECHO, None), (ECHO, Some(&token)), (HUB, Some(&token))] {
        let mut proxied = hub.ask(Method::GET, path);
        proxied = proxied.header("x-forwarded-for", "203.0.113.7");
        if let Some(token) = token {
            proxied = proxied.bearer_auth(token);
        }
        let card = proxied.send().await.unwrap().text().await.unwrap();
        let card: Value = serde_json::from_str(&card).unwrap();
        let scheme = &card["securitySchemes"]["bearer"];
        assert!(scheme.is_object(), "{path} {token:?}: {card}");
    }
    // Each is signed once: the other one did not push it out.
    assert_eq!(hub.get(ECHO).await.headers()["etag"], tag);
}

#[tokio::test]
async fn foreign_and_unknown_agents_look_the_same() {
    let hub = guarded().await;
    let ann = hub.owner("ann").await;
    let _echo = hub.attach_for(&ann, "echo", Profile::default());
    let token = hub.token("bob", &[]).await;
    for name in ["echo", "nobody", "not%20an%20id", "%ff"] {
        let path = format!("/a2a/agents/{name}/.well-known/agent-card.json");
        let response = hub
            .ask(Method::GET, &path)
            .bearer_auth(&token)
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{name}");
        assert_eq!(response.headers()["cache-control"], "no-store");
        assert_eq!(response.headers()["content-type"], "application/json");
        let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(body["error"]["code"], 404);
        assert_eq!(body["error"]["status"], "NOT_FOUND");
        assert_eq!(body["error"]["details"], json!([]));
    }
}

#[tokio::test]
async fn the_hubs_card_shows_everybody_their_own_agents() {
    let hub = guarded().await;
    let (ann, bob) = (hub.owner("ann").await, hub.owner("bob").await);
    let _hers = hub.attach_for(&ann, "hers", Profile::default());
    let _his = hub.attach_for(&bob, "his", Profile::default());
    for (owner, scopes, expected) in [
        ("ann", &[] as &[&str], vec!["hers"]),
        ("bob", &[], vec!["his"]),
        ("bob", &["call:hers"], vec!["hers", "his"]),
        // Who may only watch cannot call.
        ("eve", &["watch:*"], vec!["switchboard"]),
        ("ops", &["admin"], vec!["hers", "his"]),
    ] {
        let token = hub.token(owner, scopes).await;
        let response = hub
            .ask(Method::GET, HUB)
            .bearer_auth(token)
            .send()
            .await
            .unwrap();
        let card: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        let skills = card["skills"].as_array().unwrap();
        let ids: Vec<_> = skills
            .iter()
            .map(|skill| skill["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected, "{owner} {scopes:?}");
    }
}

#[tokio::test]
async fn an_agent_is_found_however_its_uuid_is_spelt() {
    let hub = A2aHub::start().await;
    let id = "0b8c1d9e-6f1c-4a2b-9d3e-5f6a7b8c9d0e";
    let _agent = hub.attach(id, Profile::default());
    let upper = id.to_uppercase();
    let card = hub
        .card(&format!("/a2a/agents/{upper}/.well-known/agent-card.json"))
        .await;
    assert_eq!(card["url"], format!("{SITE}/a2a/agents/{id}"));
}

#[tokio::test]
async fn a_card_is_only_read() {
    let hub = A2aHub::start().await;
    let _echo = hub.attach("echo", Profile::default());
    for path in [ECHO, HUB, "/.well-known/jwks.json"] {
        let response = hub.ask(Method::POST, path).body("{}").send().await.unwrap();
        assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(response.headers()["allow"], "GET, HEAD");
        let body: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(
            body["error"]["message"],
            format!("{path} takes GET, got POST")
        );
    }
}
