//! CORS of every protocol's routes.

use jackfield_testkit::{TestHub, attach_agent};
use reqwest::{Client, Method, Response, header::HeaderMap};
use serde_json::json;

const PAGE: &str = "https://page.example";

async fn hub(is_open: bool) -> TestHub {
    TestHub::start_with(|config| {
        config.require_token = !is_open;
        config.allowed_origins = vec![PAGE.to_owned()];
    })
    .await
}

async fn ask(hub: &TestHub, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = Client::new().request(method, hub.url(path));
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    request.send().await.unwrap()
}

fn has_cors(headers: &HeaderMap) -> bool {
    let mut names = headers.keys().map(|name| name.as_str());
    names.any(|name| name.starts_with("access-control"))
}

#[tokio::test]
async fn a_page_of_a_listed_origin_may_ask_every_protocol() {
    let hub = hub(true).await;
    for (method, path, wanted) in [
        ("POST", "/v1/tickets", "authorization, content-type"),
        ("GET", "/v1/events", "authorization, last-event-id"),
        ("PATCH", "/v1/agents/a", "content-type, jackfield-agent"),
        (
            "POST",
            "/a2a/agents/a",
            "a2a-version, a2a-extensions, content-type",
        ),
        (
            "POST",
            "/mcp",
            "mcp-protocol-version, mcp-session-id, content-type",
        ),
        ("GET", "/.well-known/agent-card.json", "if-none-match"),
        (
            "POST",
            "/v1/chat/completions",
            "authorization, content-type, jackfield-session, x-stainless-lang, x-stainless-retry-count",
        ),
    ] {
        let asked = [
            ("origin", PAGE),
            ("access-control-request-method", method),
            ("access-control-request-headers", wanted),
        ];
        let response = ask(&hub, "OPTIONS", path, &asked).await;
        assert_eq!(response.status(), 200, "{path}");
        let headers = response.headers();
        assert_eq!(headers["access-control-allow-origin"], PAGE, "{path}");
        let list = |name: &str| headers[name].to_str().unwrap().to_owned();
        assert!(list("access-control-allow-methods").contains(method));
        let allowed = list("access-control-allow-headers");
        for name in wanted.split(", ") {
            assert!(
                allowed.split(',').any(|it| it.trim() == name),
                "{name}: {allowed}"
            );
        }
        assert!(
            !allowed.contains("x-platform-secret"),
            "no page has the platform's secret"
        );
    }
    let exposed = ask(&hub, "GET", "/v1/whoami", &[("origin", PAGE)]).await;
    let exposed = exposed.headers()["access-control-expose-headers"]
        .to_str()
        .unwrap()
        .to_owned();
    for name in [
        "mcp-session-id",
        "a2a-extensions",
        "retry-after",
        "x-should-retry",
    ] {
        assert!(exposed.contains(name), "{exposed}");
    }
}

#[tokio::test]
async fn errors_of_every_protocol_can_be_read_by_the_page() {
    let hub = hub(false).await;
    let root = format!("Bearer {}", hub.token("root", &["admin"]).await);
    for (method, path, status) in [
        ("GET", "/v1/whoami", 401),
        ("GET", "/a2a/agents/a/v1/tasks", 401),
        ("POST", "/mcp", 401),
        ("GET", "/ws/agent-team/t", 401),
        ("GET", "/nothing", 404),
    ] {
        let response = ask(&hub, method, path, &[("origin", PAGE)]).await;
        assert_eq!(response.status(), status, "{path}");
        assert_eq!(
            response.headers()["access-control-allow-origin"],
            PAGE,
            "{path}"
        );
    }
    let known = [("origin", PAGE), ("authorization", &*root)];
    let missing = ask(&hub, "GET", "/v1/agents/a", &known).await;
    assert_eq!(missing.status(), 404);
    assert_eq!(missing.headers()["access-control-allow-origin"], PAGE);
    let _near = attach_agent(hub.hub(), "near");
    let large = Client::new()
        .post(hub.url("/v1/agents/near/calls"))
        .header("origin", PAGE)
        .header("authorization", &root)
        .json(&json!({"text": "x".repeat(9 << 20)}));
    let large = large.send().await.unwrap();
    assert_eq!(large.status(), 413);
    assert_eq!(large.headers()["access-control-allow-origin"], PAGE);
}

#[tokio::test]
async fn a_page_of_another_origin_may_do_nothing_even_where_no_token_is_needed() {
    let hub = hub(true).await;
    let evil = ("origin", "https://evil.example");
    for (method, path) in [
        ("OPTIONS", "/v1/tickets"),
        ("GET", "/v1/agents"),
        ("POST", "/v1/tickets"),
        ("GET", "/ws"),
    ] {
        let asked = [evil, ("access-control-request-method", "POST")];
        let response = ask(&hub, method, path, &asked).await;
        assert_eq!(response.status(), 403, "{method} {path}");
        assert!(!has_cors(response.headers()), "{method} {path}");
    }
    // A page of a hub behind a name that is not its own, as in DNS rebinding.
    let rebound = ask(
        &hub,
        "GET",
        "/v1/agents",
        &[("host", "evil.example"), ("origin", PAGE)],
    )
    .await;
    assert_eq!(rebound.status(), 403);
    assert!(!has_cors(rebound.headers()));
}

#[tokio::test]
async fn a_hub_without_listed_origins_answers_no_page() {
    let hub = TestHub::start().await;
    let response = ask(&hub, "GET", "/v1/agents", &[("origin", PAGE)]).await;
    assert_eq!(response.status(), 403);
    assert!(!has_cors(response.headers()));
    let own = format!("http://{}", hub.addr());
    let response = ask(&hub, "GET", "/v1/agents", &[("origin", &own)]).await;
    assert_eq!(response.status(), 200);
    assert!(
        !has_cors(response.headers()),
        "a page of the hub needs none"
    );
}

#[tokio::test]
async fn a_page_of_the_public_url_behind_a_proxys_path_is_the_hubs_own() {
    let hub = TestHub::start_with(|config| {
        config.public_url = Some("https://hub.example.com/base".to_owned());
        config.allowed_origins = vec![PAGE.to_owned()];
    })
    .await;
    let root = hub.token("root", &["admin"]).await;
    let made = Client::new()
        .post(hub.url("/v1/tickets"))
        .bearer_auth(root)
        .header("origin", "https://hub.example.com")
        .send()
        .await
        .unwrap();
    assert_eq!(made.status(), 201);
    assert!(!made.headers().contains_key("access-control-allow-origin"));
}
