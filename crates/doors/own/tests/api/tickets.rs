//! Tickets for web pages: who makes one, for which page, and what the answer says.

use jackfield_core::limits::Limits;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::harness::{OwnHub, PAGE};

const PATH: &str = "/v1/tickets";

/// Asks for a ticket as a page of this origin does.
async fn ask_from(hub: &OwnHub, origin: &str, body: Value) -> (StatusCode, Value) {
    let request = hub.ask_as(None, Method::POST, PATH, &body);
    let response = request.header("origin", origin).send().await.unwrap();
    hub.checked(&Method::POST, PATH, response).await
}

#[tokio::test]
async fn a_page_gets_a_ticket_for_its_own_origin() {
    let hub = OwnHub::start().await;
    let response = hub
        .ask(Method::POST, PATH)
        .header("origin", PAGE)
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["cache-control"], "no-store");
    let (status, made) = hub.checked(&Method::POST, PATH, response).await;
    assert_eq!(status, StatusCode::CREATED);
    let ticket = made["ticket"].as_str().unwrap();
    assert_eq!(
        made,
        json!({
            "ticket": ticket,
            "origin": PAGE,
            "expires_at": made["expires_at"],
            "query": format!("ticket={ticket}"),
            "protocols": ["jackfield", format!("jackfield.ticket.{ticket}")],
        })
    );
    let until: jiff::Timestamp = made["expires_at"].as_str().unwrap().parse().unwrap();
    let left = until.duration_since(jiff::Timestamp::now()).as_secs();
    assert!((50..=60).contains(&left), "{left} s");
}

#[tokio::test]
async fn a_server_names_the_origin_of_its_page() {
    let hub = OwnHub::start_with(false, Limits::default()).await;
    let ann = hub.token("ann", &[]).await;
    let body = Some(json!({"origin": "https://PAGE.example/"}));
    let (status, made) = hub.json_as(Some(&ann), Method::POST, PATH, body).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    assert_eq!(made["origin"], PAGE);
    let (status, made) = hub.json_as(Some(&ann), Method::POST, PATH, None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{made}");
    assert_eq!(made["field"], "origin");
    let (status, _) = hub.json_as(None, Method::POST, PATH, None).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_page_that_may_not_use_the_hub_gets_none() {
    let hub = OwnHub::start().await;
    let own = format!("http://{}", hub.addr);
    let (status, made) = ask_from(&hub, &own, Value::Null).await;
    assert_eq!(
        (status, &made["origin"]),
        (StatusCode::CREATED, &json!(own))
    );
    for (origin, body, why) in [
        ("https://evil.example", Value::Null, "allowed_origins"),
        (
            "https://evil.example",
            json!({"origin": PAGE}),
            "its own origin",
        ),
        (
            PAGE,
            json!({"origin": "https://evil.example"}),
            "its own origin",
        ),
        ("null", Value::Null, "allowed_origins"),
    ] {
        let (status, refused) = ask_from(&hub, origin, body).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{origin}");
        assert_eq!(refused["field"], "origin");
        let message = refused["message"].as_str().unwrap();
        assert!(message.contains(why), "{message}");
    }
    let (status, refused) = ask_from(&hub, PAGE, json!({"orign": PAGE})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{refused}");
}
