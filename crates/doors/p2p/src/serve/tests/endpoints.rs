//! Agents behind HTTP: the seed's mapping, to one origin, by what their card declares and nothing else.

use axum::{Router, body::Bytes, extract::State, response::IntoResponse, routing::any};
use http::{HeaderMap, StatusCode, Uri, header};
use jackfield_kit::outbound::{Outbound, OutboundRules};
use jackfield_sidecar::limits;
use tokio::{net::TcpListener, sync::mpsc, task::JoinSet};

use super::*;

/// What the agent got.
#[derive(Debug, PartialEq)]
struct Got {
    method: String,
    uri: String,
    kind: Option<String>,
    body: String,
}

struct Site {
    base: String,
    got: mpsc::Receiver<Got>,
    _server: JoinSet<()>,
}

const CARD: &str = r#"{
    "name": "Shop", "version": "2", "description": "Sells things.",
    "skills": [
        {"id": "buy", "name": "Buy", "description": "Buys.", "path": "/items/{item}/buy", "method": "POST",
         "params_schema": {"type": "object"}},
        {"id": "list", "name": "List", "description": "Lists.", "path": "/items", "method": "GET"},
        {"id": "fail", "name": "Fail", "description": "Fails.", "path": "/fail", "method": "POST"},
        {"id": "move", "name": "Move", "description": "Moves.", "path": "/move", "method": "GET"},
        {"id": "hang", "name": "Hang", "description": "Hangs.", "path": "/hang", "method": "POST"},
        {"id": "find", "name": "Find", "description": "Finds.", "path": "/find?q={q}&lang=en", "method": "GET"},
        {"id": "trace", "name": "Trace", "description": "Traces.", "path": "/trace", "method": "TRACE"}
    ]
}"#;

async fn respond(
    State(to): State<mpsc::Sender<Got>>,
    method: http::Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> axum::response::Response {
    let path = uri.path().to_owned();
    if path == "/base/card" {
        return CARD.into_response();
    }
    let got = Got {
        method: method.to_string(),
        uri: uri.to_string(),
        kind: headers
            .get(header::CONTENT_TYPE)
            .map(|kind| kind.to_str().unwrap().to_owned()),
        body: String::from_utf8(body.to_vec()).unwrap(),
    };
    to.send(got).await.unwrap();
    match path.as_str() {
        "/base/fail" => StatusCode::IM_A_TEAPOT.into_response(),
        "/base/move" => (StatusCode::FOUND, [(header::LOCATION, "/base/items")]).into_response(),
        "/base/hang" => std::future::pending().await,
        _ => "{\"ok\": true}".into_response(),
    }
}

async fn site() -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/base", listener.local_addr().unwrap());
    let (to, got) = mpsc::channel(16);
    let app = Router::new().fallback(any(respond)).with_state(to);
    let mut server = JoinSet::new();
    server.spawn(async move { axum::serve(listener, app).await.unwrap() });
    Site {
        base,
        got,
        _server: server,
    }
}

async fn shop(hub: &Hub, base: &str) -> HubHost {
    let outbound = Outbound::new(&OutboundRules::default()).unwrap();
    let endpoint = Endpoint::new(&outbound, base, None).unwrap();
    assert!(endpoint.look().await.is_here());
    let id = AgentId::parse("shop").unwrap();
    HubHost::new(hub.clone(), Files::for_hub(hub), terms(), [(id, endpoint)])
}

#[tokio::test]
async fn a_handoff_becomes_the_request_that_the_seed_describes() {
    let (hub, mut site) = (hub().await, site().await);
    let host = shop(&hub, &site.base).await;
    for (input, body) in [
        (json!("two, please"), "\"two, please\""),
        (json!("{\"n\": 2}"), "{\"n\": 2}"),
        (json!({"n": 2}), "{\"n\":2}"),
    ] {
        let request = json!({"method": "post", "path": "/agents/shop/items/{item}/buy", "params": {"item": "red hat/7"}, "input_data": input});
        assert_eq!(whole(&host, &request).await, "{\"ok\": true}");
        let expected = Got {
            method: "POST".to_owned(),
            uri: "/base/items/red%20hat%2F7/buy".to_owned(),
            kind: Some("application/json".to_owned()),
            body: body.to_owned(),
        };
        assert_eq!(site.got.recv().await.unwrap(), expected);
    }
    let request = json!({"method": "GET", "path": "/agents/shop/items"});
    assert_eq!(whole(&host, &request).await, "{\"ok\": true}");
    let got = site.got.recv().await.unwrap();
    assert_eq!(
        (got.method.as_str(), got.kind, got.body.as_str()),
        ("GET", None, "")
    );
    let frames = framed(&host, &request).await;
    let result = json!({"type": "result", "data": {"ok": true}});
    assert_eq!(lines(frames).await, [json!({"type": "accepted"}), result]);
}

#[tokio::test]
async fn words_of_every_kind_stay_in_the_gap_of_a_path_or_a_query_that_they_fill() {
    let (hub, mut site) = (hub().await, site().await);
    let host = shop(&hub, &site.base).await;
    let item = "two\nlines, C:\\hats & a/b?";
    let encoded = "two%0Alines%2C%20C%3A%5Chats%20%26%20a%2Fb%3F";
    for (method, path, params, uri) in [
        (
            "POST",
            "/items/{item}/buy",
            json!({"item": item, "unused": [null], "none": null}),
            format!("/items/{encoded}/buy"),
        ),
        (
            "POST",
            &*format!("/items/{encoded}/buy"),
            json!({}),
            format!("/items/{encoded}/buy"),
        ),
        (
            "GET",
            "/find?q={q}&lang=en",
            json!({"q": item}),
            format!("/find?q={encoded}&lang=en"),
        ),
        (
            "GET",
            &*format!("/find?q={encoded}&lang=en"),
            json!({}),
            format!("/find?q={encoded}&lang=en"),
        ),
    ] {
        let path = format!("/agents/shop{path}");
        let request = json!({"method": method, "path": path, "params": params});
        assert_eq!(whole(&host, &request).await, "{\"ok\": true}");
        assert_eq!(site.got.recv().await.unwrap().uri, format!("/base{uri}"));
    }
}

#[tokio::test]
async fn what_its_card_does_not_declare_is_refused_and_never_asked_for() {
    let (hub, site) = (hub().await, site().await);
    let host = shop(&hub, &site.base).await;
    for (method, path, code) in [
        ("GET", "/agents/shop/items/1/buy", 405),
        ("DELETE", "/agents/shop/items", 405),
        ("POST", "/agents/shop/trace", 405),
        ("POST", "/agents/shop/admin", 404),
        ("POST", "/agents/shop/items/1/2/buy", 404),
        ("POST", "/agents/shop", 404),
        ("POST", "/agents/shop/items/../admin/buy", 400),
        ("POST", "/agents/shop/items/%2e%2e/buy", 400),
        ("POST", "/agents/shop/items/%252e%252e/buy", 400),
        ("POST", "/agents/shop//evil.example/buy", 400),
        ("GET", "/agents/shop/items?all=1", 404),
        ("GET", "/agents/shop/find?q=x", 404),
        ("GET", "/agents/shop/find?q=x&lang=en&admin=1", 404),
        ("GET", "/agents/shop/find?q=x#&lang=en", 400),
        ("POST", "/agents/shop/items/..%5C..%5Cadmin/buy", 400),
        ("POST", "/agents/shop/items/a%00/buy", 400),
        ("POST", "/agents/shop/items/a\nb/buy", 400),
    ] {
        let request = json!({"method": method, "path": path, "input_data": "x"});
        refused(&host, &request, code).await;
    }
    let request = json!({"method": "POST", "path": "/agents/shop/items/1/buy", "input_data": "x", "x_hops": 9});
    refused(&host, &request, 429).await;
    assert!(site.got.is_empty());
}

#[tokio::test]
async fn its_errors_are_mirrored_and_redirects_not_followed() {
    let (hub, mut site) = (hub().await, site().await);
    let host = shop(&hub, &site.base).await;
    let request = json!({"method": "POST", "path": "/agents/shop/fail", "input_data": "x"});
    assert_eq!(refused(&host, &request, 418).await, "HTTP error: 418");
    site.got.recv().await.unwrap();
    let request = json!({"method": "GET", "path": "/agents/shop/move"});
    assert_eq!(refused(&host, &request, 502).await, "HTTP error: 302");
    assert_eq!(site.got.recv().await.unwrap().uri, "/base/move");
    assert!(site.got.is_empty(), "nobody went where it pointed to");
}

#[tokio::test]
async fn an_endpoint_that_never_answers_is_given_up_and_the_peer_does_not_learn_where_it_is() {
    let (hub, site) = (hub().await, site().await);
    let host = shop(&hub, &site.base).await;
    tokio::time::pause();
    let request = json!({"method": "POST", "path": "/agents/shop/hang", "input_data": "x"});
    let told = refused(&host, &request, 504).await;
    assert!(!told.contains("127.0.0.1"), "{told}");
    tokio::time::resume();
    drop(site);
    let request = json!({"method": "GET", "path": "/agents/shop/items"});
    let told = refused(&host, &request, 504).await;
    assert!(!told.contains("127.0.0.1"), "{told}");
}

#[tokio::test]
async fn its_card_is_shown_with_paths_as_they_are_here() {
    let (hub, site) = (hub().await, site().await);
    let host = shop(&hub, &site.base).await;
    let card: Value = serde_json::from_str(&host.card(PEER, Origin::Elsewhere)).unwrap();
    assert_eq!(card["skills"][0]["id"], "shop/buy");
    assert_eq!(card["skills"][0]["path"], "/agents/shop/items/{item}/buy");
    assert_eq!(
        card["skills"][0]["params_schema"],
        json!({"type": "object"})
    );
    let request = json!({"method": "GET", "path": "/agents/shop/card"});
    let own: Value = serde_json::from_str(&whole(&host, &request).await).unwrap();
    assert_eq!(
        (&own["name"], &own["skills"][1]["path"]),
        (&json!("Shop"), &json!("/agents/shop/items"))
    );
    let list = whole(&host, &json!({"method": "GET", "path": "/agents"})).await;
    assert!(list.contains("\"shop\""), "{list}");
}

#[tokio::test]
async fn the_hub_waits_for_no_card_and_shows_who_is_there() {
    let (hub, site) = (hub().await, site().await);
    let outbound = Outbound::new(&OutboundRules::default()).unwrap();
    let endpoint = Endpoint::new(&outbound, &site.base, None).unwrap();
    let id = AgentId::parse("shop").unwrap();
    let host = HubHost::new(
        hub.clone(),
        Files::for_hub(&hub),
        terms(),
        [(id, endpoint.clone())],
    );
    let get = |path: &str| json!({"method": "GET", "path": path});
    let skills = || {
        let card: Value = serde_json::from_str(&host.card(PEER, Origin::Elsewhere)).unwrap();
        let skills = card["skills"].as_array().unwrap().iter();
        skills.filter(|it| it["id"] == "shop/list").count()
    };
    let online = async || {
        let list = whole(&host, &get("/agents")).await;
        let list: Value = serde_json::from_str(&list).unwrap();
        list["agents"][0]["online"].clone()
    };
    // Nobody has looked yet.
    assert_eq!((skills(), online().await), (0, json!(null)));
    for path in ["/agents/shop/items", "/agents/shop/card"] {
        refused(&host, &get(path), 504).await;
    }
    let mut keeping = JoinSet::new();
    let mut sight = endpoint.watch();
    keeping.spawn(endpoint.clone().keep());
    sight.wait_for(EndpointState::is_here).await.unwrap();
    assert_eq!((skills(), online().await), (1, json!(true)));
    whole(&host, &get("/agents/shop/items")).await;
    // It stops, which is seen at the next look; what it was is still known.
    drop(site);
    tokio::time::pause();
    tokio::time::advance(limits::CARD_EVERY).await;
    tokio::time::resume();
    sight.wait_for(|it| !it.is_here()).await.unwrap();
    assert_eq!((skills(), online().await), (0, json!(false)));
    whole(&host, &get("/agents/shop/card")).await;
    refused(&host, &get("/agents/shop/items"), 504).await;
}
