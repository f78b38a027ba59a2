//! The table of hosts and origins, and the middleware around it.

use axum::{Router, routing::get};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::*;

fn loopback() -> HostRules {
    HostRules {
        listen: vec!["127.0.0.1:7411".parse().unwrap()],
        ..HostRules::default()
    }
}

fn everywhere() -> HostRules {
    HostRules {
        listen: vec![
            "0.0.0.0:7411".parse().unwrap(),
            "[::]:8443".parse().unwrap(),
        ],
        public_url: Some("https://hub.example.com/base".parse().unwrap()),
        allowed_hosts: vec!["inner".into(), "exact:99".into()],
        allowed_origins: vec!["https://console.example.com".into(), "app://x/".into()],
    }
}

#[test]
fn a_hub_on_loopback_answers_to_loopback_names_only() {
    let rules = loopback();
    for host in [
        "localhost",
        "localhost:7411",
        "LocalHost:9000",
        "127.0.0.1:7411",
        "127.8.9.1",
        "[::1]:7411",
        "[::ffff:127.0.0.1]:7411",
    ] {
        assert_eq!(check(Some(host), None, &rules), Ok(()), "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "192.168.1.5:7411",
        "127.0.0.1.evil.example:7411",
        "0.0.0.0:7411",
        "2130706433",
        "user@localhost",
        "localhost:",
        "localhost:99999",
        "",
        "a b",
        "local\u{1}host",
    ] {
        let refusal = check(Some(host), None, &rules).unwrap_err();
        assert_eq!(refusal, Refusal::Host(host.to_owned()), "{host}");
    }
    assert_eq!(check(None, None, &rules), Err(Refusal::MissingHost));
}

#[test]
fn a_hub_on_one_address_answers_to_it_on_its_port() {
    let rules = HostRules {
        listen: vec!["10.1.2.3:7411".parse().unwrap()],
        ..HostRules::default()
    };
    assert!(check(Some("10.1.2.3:7411"), None, &rules).is_ok());
    assert!(check(Some("10.1.2.3:7412"), None, &rules).is_err());
    assert!(check(Some("10.1.2.3"), None, &rules).is_err());
    assert!(check(Some("10.1.2.4:7411"), None, &rules).is_err());
}

#[test]
fn a_hub_on_all_addresses_answers_to_any_address_but_to_known_names_only() {
    let rules = everywhere();
    for host in [
        "192.168.1.5:7411",
        "[2001:db8::1]:8443",
        "hub.example.com",
        "HUB.example.com:443",
        "inner",
        "inner:1234",
        "exact:99",
        "localhost:1",
    ] {
        assert_eq!(check(Some(host), None, &rules), Ok(()), "{host}");
    }
    for host in [
        "192.168.1.5:7000",
        "192.168.1.5",
        "exact",
        "exact:98",
        "example.com",
    ] {
        assert!(check(Some(host), None, &rules).is_err(), "{host}");
    }
}

#[test]
fn an_origin_must_be_the_host_the_public_url_or_listed() {
    let rules = everywhere();
    let local = "localhost:7411";
    let allowed = [
        (local, "http://localhost:7411"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("hub.example.com", "https://hub.example.com"),
        // Behind a proxy that speaks TLS and passes its own name on.
        (local, "https://hub.example.com"),
        (local, "https://hub.example.com:443"),
        (local, "https://console.example.com"),
        (local, "app://x"),
    ];
    for (host, origin) in allowed {
        assert_eq!(
            check(Some(host), Some(origin), &rules),
            Ok(()),
            "{host} {origin}"
        );
    }
    let refused = [
        (local, "http://localhost:3000"),
        (local, "http://localhost"),
        (local, "http://127.0.0.1:7411"),
        (local, "https://evil.example"),
        (local, "http://hub.example.com"),
        (local, "http://console.example.com"),
        (local, "https://console.example.com.evil.example"),
        (local, "https://hub.example.com@evil.example"),
        (local, "null"),
        (local, ""),
    ];
    for (host, origin) in refused {
        let refusal = check(Some(host), Some(origin), &rules).unwrap_err();
        assert_eq!(
            refusal,
            Refusal::Origin(origin.to_owned()),
            "{host} {origin}"
        );
    }
}

#[test]
fn a_null_origin_can_be_listed() {
    let rules = HostRules {
        allowed_origins: vec!["null".into()],
        ..loopback()
    };
    assert!(check(Some("localhost"), Some("null"), &rules).is_ok());
}

async fn answer(request: http::request::Builder) -> (StatusCode, serde_json::Value) {
    let app = Router::new()
        .route("/", get(|| async { "\"in\"" }))
        .layer(Guard::new(loopback()));
    let response = app
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn the_middleware_lets_through_what_may_pass() {
    let (status, body) = answer(Request::get("/").header("host", "localhost:7411")).await;
    assert_eq!((status, body), (StatusCode::OK, "in".into()));
}

#[tokio::test]
async fn the_middleware_counts_the_authority_of_http2() {
    let (status, _) = answer(Request::get("http://localhost:7411/")).await;
    assert_eq!(status, StatusCode::OK);
    let (status, _) = answer(Request::get("http://evil.example/")).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let foreign_host = Request::get("http://localhost:7411/").header("host", "evil.example");
    assert_eq!(answer(foreign_host).await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_middleware_says_what_is_wrong_and_what_to_configure() {
    let (status, body) = answer(Request::get("/")).await;
    assert_eq!(
        (status, &body["error"]),
        (StatusCode::BAD_REQUEST, &"missing_host".into())
    );
    let twice = Request::get("/")
        .header("host", "localhost")
        .header("host", "evil.example");
    assert_eq!(answer(twice).await.0, StatusCode::BAD_REQUEST);

    let (status, body) = answer(Request::get("/").header("host", "evil.example")).await;
    assert_eq!(
        (status, &body["error"]),
        (StatusCode::FORBIDDEN, &"forbidden_host".into())
    );
    assert!(body["message"].as_str().unwrap().contains("allowed_hosts"));

    let page = Request::get("/")
        .header("host", "localhost")
        .header("origin", "https://evil.example");
    let (status, body) = answer(page).await;
    assert_eq!(
        (status, &body["error"]),
        (StatusCode::FORBIDDEN, &"forbidden_origin".into())
    );
    assert!(
        body["message"]
            .as_str()
            .unwrap()
            .contains("allowed_origins")
    );
}
