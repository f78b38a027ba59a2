//! Who may do what, and what malformed requests are told.

use jackfield_core::principal::{Principal, Scopes};
use jackfield_model::Owner;
use reqwest::Method;
use serde_json::{Value, json};

use crate::remotes::{far::Far, harness::Near};

async fn token(near: &Near, owner: &str, scopes: &[&str]) -> String {
    let owner = Owner::parse(owner).unwrap();
    let scopes = Scopes::parse(scopes.iter().copied()).unwrap();
    let tokens = near.hub.tokens();
    let token = tokens.create("t".to_owned(), owner, &scopes, None).await;
    token.unwrap().secret
}

#[tokio::test]
async fn only_an_admin_adds_remotes_and_only_their_owner_sees_them_too() {
    let (near, far) = (Near::start().await, Far::start().await);
    let user = token(&near, "ann", &["agent:*", "call:*"]).await;
    let admin = token(&near, "ann", &["admin"]).await;
    let stranger = token(&near, "bob", &["call:*"]).await;
    let body = json!({"url": far.url(), "id": "far"});
    let (status, refused) = near
        .ask_as(Some(&user), Method::POST, "/v1/remotes", body.clone())
        .await;
    assert_eq!((status, &refused["error"]), (401, &json!("unauthorized")));
    let (status, _) = near
        .ask_as(Some(&admin), Method::POST, "/v1/remotes", body)
        .await;
    assert_eq!(status, 201);
    assert_eq!(near.agent("far").unwrap().owner.as_str(), "ann");
    for (who, sees) in [(&user, true), (&stranger, false)] {
        let (_, list) = near
            .ask_as(Some(who), Method::GET, "/v1/remotes", Value::Null)
            .await;
        assert_eq!(list["remotes"].as_array().unwrap().len(), usize::from(sees));
        for path in ["/v1/remotes/far", "/v1/remotes/far/card"] {
            let (status, _) = near.ask_as(Some(who), Method::GET, path, Value::Null).await;
            assert_eq!(status, if sees { 200 } else { 404 }, "{path}");
        }
    }
    let (status, _) = near
        .ask_as(
            Some(&stranger),
            Method::DELETE,
            "/v1/remotes/far",
            Value::Null,
        )
        .await;
    assert_eq!(status, 404);
    let (status, _) = near
        .ask_as(Some(&user), Method::DELETE, "/v1/remotes/far", Value::Null)
        .await;
    assert_eq!(status, 204);
    let gone = near.hub.agents().find(&Principal::local(), "far");
    assert!(gone.is_err());
}

#[tokio::test]
async fn the_card_is_handed_out_byte_for_byte() {
    let (near, far) = (Near::start().await, Far::start().await);
    let text = format!(
        "{{ \"url\" :\"{}/rpc\",\n\"name\":\"\\u0046ar\", \"version\": \"1\", \"x-unknown\": 1.50,\t\"protocolVersion\":\"0.3.0\",
        \"description\":\"d\",\"capabilities\":{{}},\"defaultInputModes\":[],\"defaultOutputModes\":[],\"skills\":[] }}\n",
        far.url()
    );
    far.shows(&text);
    near.add(json!({"url": far.url(), "id": "far"})).await;
    let response = reqwest::get(near.at("/v1/remotes/far/card")).await.unwrap();
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.text().await.unwrap(), text);
}

#[tokio::test]
async fn what_is_malformed_is_refused_by_its_field_and_touches_nothing() {
    let near = Near::start().await;
    for (body, field) in [
        (json!([]), "object"),
        (json!({}), "url"),
        (json!({"url": "not a url"}), "not a url"),
        (json!({"url": "ftp://a.example"}), "http"),
        (json!({"url": "http://ann:pw@a.example"}), "password"),
        (json!({"url": "http://a.example", "id": "a b"}), "id"),
        (json!({"url": "http://a.example", "auth": []}), "auth"),
        (
            json!({"url": "http://a.example", "auth": {"bearer": "s3cret"}}),
            "auth.bearer",
        ),
        (
            json!({"url": "http://a.example", "auth": {"oauth": ["https://a.example"]}}),
            "auth.oauth",
        ),
        (
            json!({"url": "http://a.example", "timeout": "soon"}),
            "timeout",
        ),
        (json!({"url": "http://a.example", "token": "x"}), "token"),
    ] {
        let (status, refused) = near.ask(Method::POST, "/v1/remotes", body.clone()).await;
        assert_eq!(
            (status, &refused["error"]),
            (400, &json!("invalid")),
            "{body}"
        );
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(field), "{body}: {message}");
    }
    let large = json!({"url": "x".repeat(70 << 10)});
    let (status, _) = near.ask(Method::POST, "/v1/remotes", large).await;
    assert_eq!(status, 413);
    let (status, _) = near.ask(Method::PUT, "/v1/remotes", Value::Null).await;
    assert_eq!(status, 405);
    assert!(near.stored().await.is_empty());
}
