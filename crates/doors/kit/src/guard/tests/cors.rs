//! What a web page of another origin can send and read.

use axum::routing::{get, post};
use http::HeaderMap;

use super::*;

const PAGE: &str = "https://console.example.com";

/// What a hub on loopback with these origins answers.
async fn answered(origins: &[&str], request: http::request::Builder) -> (u16, HeaderMap) {
    let rules = HostRules {
        allowed_origins: origins.iter().map(|origin| (*origin).to_owned()).collect(),
        ..loopback()
    };
    let browser = BrowserHeaders {
        accepted: vec!["x-protocol"],
        exposed: vec!["x-answer", "etag"],
    };
    let refused = || async { (StatusCode::UNAUTHORIZED, "no") };
    let varying = || async { ([("vary", "authorization")], "it depends") };
    let app = Router::new()
        .route("/", get(|| async { "in" }).options(|| async { "mine" }))
        .route("/varying", get(varying))
        .route("/refused", post(refused))
        .layer(Guard::new(rules).with_browser_headers(&browser));
    let request = request.header("host", "localhost:7411");
    let response = app
        .oneshot(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    (response.status().as_u16(), response.headers().clone())
}

fn preflight(origin: &str) -> http::request::Builder {
    Request::options("/refused")
        .header("origin", origin)
        .header("access-control-request-method", "PATCH")
        .header("access-control-request-headers", "authorization")
}

/// The comma-separated words of a header, sorted.
fn words<'a>(headers: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    let values = headers.get_all(name).iter();
    let values = values.flat_map(|value| value.to_str().unwrap().split(','));
    let mut words: Vec<_> = values.map(str::trim).collect();
    words.sort_unstable();
    words
}

#[tokio::test]
async fn a_preflight_of_a_listed_origin_names_what_the_routes_take() {
    let (status, headers) = answered(&[PAGE], preflight(PAGE)).await;
    assert_eq!(status, 200);
    assert_eq!(headers["access-control-allow-origin"], PAGE);
    assert_eq!(
        words(&headers, "access-control-allow-methods"),
        ["DELETE", "GET", "HEAD", "PATCH", "POST", "PUT"]
    );
    assert_eq!(
        words(&headers, "access-control-allow-headers"),
        [
            "authorization",
            "content-type",
            "idempotency-key",
            "if-none-match",
            "jackfield-agent",
            "jackfield-call",
            "last-event-id",
            "range",
            "traceparent",
            "x-protocol",
        ]
    );
    assert_eq!(headers["access-control-max-age"], "7200");
    assert!(words(&headers, "vary").contains(&"origin"));
    assert!(!headers.contains_key("access-control-allow-credentials"));
    assert!(!headers.contains_key("access-control-allow-private-network"));
}

#[tokio::test]
async fn a_hub_in_a_private_network_is_open_to_pages_of_listed_origins_only() {
    let name = "access-control-request-private-network";
    let asked = |origin| preflight(origin).header(name, "true");
    let (_, headers) = answered(&[PAGE], asked(PAGE)).await;
    assert_eq!(headers["access-control-allow-private-network"], "true");
    let (status, headers) = answered(&[PAGE], asked("https://evil.example")).await;
    assert_eq!(status, 403);
    assert!(!headers.contains_key("access-control-allow-private-network"));
}

#[tokio::test]
async fn other_origins_are_refused_and_get_no_header() {
    for (origins, origin) in [
        (&[PAGE][..], "https://evil.example"),
        (&[PAGE], "null"),
        (&[PAGE], "http://console.example.com"),
        (&[], PAGE),
    ] {
        for request in [
            preflight(origin),
            Request::get("/").header("origin", origin),
        ] {
            let (status, headers) = answered(origins, request).await;
            assert_eq!(status, 403, "{origin}");
            let mut names = headers.keys().map(|name| name.as_str());
            assert!(
                !names.any(|name| name.starts_with("access-control")),
                "{origin}"
            );
        }
    }
}

#[tokio::test]
async fn a_page_can_read_answers_and_errors_alike() {
    let post = |path: &str| Request::post(path).header("origin", PAGE);
    let typed = post("/refused").header("content-type", "text/plain");
    for (request, expected) in [
        (Request::get("/").header("origin", PAGE), 200),
        (Request::get("/nothing").header("origin", PAGE), 404),
        (post("/"), 405),
        (post("/refused"), 401),
        (typed.header("content-length", "1"), 401),
    ] {
        let (status, headers) = answered(&[PAGE], request).await;
        assert_eq!(status, expected);
        assert_eq!(headers["access-control-allow-origin"], PAGE, "{status}");
        assert_eq!(
            words(&headers, "access-control-expose-headers"),
            [
                "accept-ranges",
                "content-disposition",
                "content-range",
                "etag",
                "jackfield-call",
                "location",
                "retry-after",
                "www-authenticate",
                "x-answer",
            ]
        );
        assert!(words(&headers, "vary").contains(&"origin"), "{status}");
        assert!(!headers.contains_key("access-control-allow-credentials"));
    }
}

#[tokio::test]
async fn a_refused_type_of_body_is_told_to_the_page() {
    let rules = HostRules {
        allowed_origins: vec![PAGE.into()],
        ..loopback()
    };
    let app = Router::new()
        .fallback(|| async { "" })
        .layer(Guard::new(rules));
    let request = Request::post("/v1/tickets")
        .header("host", "localhost:7411")
        .header("origin", PAGE)
        .header("content-type", "text/plain")
        .body(Body::from("{}"))
        .unwrap();
    let response = app.oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(response.headers()["access-control-allow-origin"], PAGE);
}

#[tokio::test]
async fn answers_to_programs_name_no_origin_and_are_not_cached_for_pages() {
    let (_, headers) = answered(&[PAGE], Request::get("/varying")).await;
    assert!(!headers.contains_key("access-control-allow-origin"));
    let vary = words(&headers, "vary");
    assert!(
        vary.contains(&"origin") && vary.contains(&"authorization"),
        "{vary:?}"
    );
    let (_, headers) = answered(&[], Request::get("/varying")).await;
    assert_eq!(words(&headers, "vary"), ["authorization"]);
}

#[tokio::test]
async fn the_method_options_is_the_routes_own_without_a_preflight() {
    for request in [
        Request::options("/"),
        Request::options("/").header("origin", PAGE),
    ] {
        let (status, headers) = answered(&[PAGE], request).await;
        assert_eq!(status, 200);
        assert!(!headers.contains_key("access-control-allow-methods"));
    }
}
