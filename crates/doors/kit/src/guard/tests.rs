//! The table of hosts and origins, and the middleware around it.

use axum::{Router, routing::get};
use http_body_util::BodyExt as _;
use tower::ServiceExt as _;

use super::*;

mod cors;

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
        assert_eq!(refusal, GuardError::Host(host.to_owned()), "{host}");
    }
    assert_eq!(check(None, None, &rules), Err(GuardError::MissingHost));
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
            GuardError::Origin(origin.to_owned()),
            "{host} {origin}"
        );
    }
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

/// What the hub answers to a request with this body, if it listens on loopback and lists one origin.
async fn sent(request: http::request::Builder, body: &'static str) -> (u16, String) {
    let rules = HostRules {
        allowed_origins: vec!["https://console.example.com".into()],
        ..loopback()
    };
    let bodies = BodyRules {
        program_headers: vec!["x-program"],
        own_paths: vec!["/own"],
    };
    let app = Router::new()
        .fallback(|| async { "" })
        .layer(Guard::new(rules).with_bodies(bodies));
    let body = if body.is_empty() {
        Body::empty()
    } else {
        Body::from(body)
    };
    let request = request.header("host", "localhost:7411").body(body).unwrap();
    let response = app.oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
    let error = body["error"].as_str().unwrap_or_default();
    (status, error.to_owned())
}

#[tokio::test]
async fn what_a_browser_calls_cross_site_is_refused_unless_its_origin_is_listed() {
    let refused = (403, "cross_site".to_owned());
    let passed = (200, String::new());
    for method in ["GET", "POST", "DELETE"] {
        let request = || Request::builder().method(method).uri("/v1/agents");
        // A page of localhost is of another site than 127.0.0.1, and of the same as another port of localhost.
        let other = request().header("sec-fetch-site", "cross-site");
        assert_eq!(sent(other, "").await, refused, "{method}");
        for site in ["same-origin", "same-site", "none"] {
            let own = request().header("sec-fetch-site", site);
            assert_eq!(sent(own, "").await, passed, "{method} {site}");
        }
        let listed = request()
            .header("sec-fetch-site", "cross-site")
            .header("origin", "https://console.example.com");
        assert_eq!(sent(listed, "").await, passed, "{method}");
        let same_host = request()
            .header("sec-fetch-site", "cross-site")
            .header("origin", "http://localhost:7411");
        assert_eq!(sent(same_host, "").await, refused, "{method}");
    }
    let link = |method: &str, dest: &str| {
        Request::builder()
            .method(method)
            .uri("/v1/files/1/a.txt")
            .header("sec-fetch-site", "cross-site")
            .header("sec-fetch-mode", "navigate")
            .header("sec-fetch-dest", dest)
    };
    assert_eq!(sent(link("GET", "document"), "").await, passed);
    assert_eq!(sent(link("GET", "iframe"), "").await, refused);
    assert_eq!(sent(link("POST", "document"), "").await, refused);
}

#[tokio::test]
async fn a_body_that_a_page_can_send_without_asking_is_refused() {
    let refused = (415, "unsupported_media_type".to_owned());
    let passed = (200, String::new());
    for method in ["POST", "PATCH", "DELETE"] {
        for path in ["/v1/agents/a/calls", "/api/relay", "/mcp", "/register"] {
            let request = || Request::builder().method(method).uri(path);
            let typed = |kind: &str| request().header("content-type", kind);
            assert_eq!(sent(request(), "{}").await, refused, "{method} {path}");
            for kind in [
                "text/plain",
                "text/plain;charset=UTF-8",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
                "text/json",
                "application/xml",
                "",
            ] {
                assert_eq!(sent(typed(kind), "{}").await, refused, "{path} {kind}");
            }
            for kind in [
                "application/json",
                "Application/JSON; charset=utf-8",
                "application/a2a+json",
                "application/grpc+proto",
            ] {
                assert_eq!(sent(typed(kind), "{}").await, passed, "{path} {kind}");
            }
            assert_eq!(sent(request(), "").await, passed, "without a body");
            let program = typed("application/x-www-form-urlencoded");
            let program = program.header("x-program", "whatever");
            assert_eq!(sent(program, "{}").await, passed, "no page sends it");
        }
    }
    let upload = Request::put("/v1/transfers/t").header("content-type", "application/zip");
    assert_eq!(sent(upload, "PK").await, passed);
    let own = |kind: Option<&str>| {
        let request = Request::post("/own/agents/a");
        kind.into_iter()
            .fold(request, |it, kind| it.header("content-type", kind))
    };
    assert_eq!(sent(own(None), "{}").await, refused);
    assert_eq!(
        sent(own(Some("text/plain")), "{}").await,
        passed,
        "its door refuses it"
    );
    for (path, answer) in [
        ("/own", &passed),
        ("/own/", &passed),
        ("/ownfoo", &refused),
        ("/own-x/agents/a", &refused),
    ] {
        let request = Request::post(path).header("content-type", "text/plain");
        assert_eq!(sent(request, "{}").await, *answer, "{path}");
    }
}
