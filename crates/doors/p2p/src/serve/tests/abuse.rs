//! The abuse list, as far as requests go: each is refused with a clear word, and reaches nobody.

use super::*;

/// Hands bytes off and expects to be refused with this code, and that nobody was called.
async fn bad(host: &HubHost, writer: &Scripted, request: &[u8], code: u16) -> String {
    let answer = host
        .answer(PEER, Origin::Elsewhere, request, HandoffProtocol::Plain)
        .await;
    let HandoffReply::Whole(body) = answer else {
        panic!("{answer:?}");
    };
    let body: Value = serde_json::from_slice(&body).unwrap();
    let text = String::from_utf8_lossy(&request[..request.len().min(200)]);
    assert_eq!(body["code"], code, "{text} -> {body}");
    assert!(writer.has_nothing_to_do(), "{text}");
    body["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_no_request_is_refused_by_field() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    for (request, code, word) in [
        ("", 400, "empty"),
        ("GET_CARD", 400, "JSON"),
        ("[]", 400, "object"),
        ("{}", 400, "method"),
        (r#"{"method": "POST"}"#, 400, "path"),
        (r#"{"method": "POST", "path": ""}"#, 400, "path"),
        (
            r#"{"method": "POST", "path": "/agents/writer/ask", "params": [1], "input_data": "x"}"#,
            400,
            "params",
        ),
        (
            r#"{"method": "POST", "path": "/agents/writer/{a}", "params": {"a": {}}, "input_data": "x"}"#,
            400,
            "params.a",
        ),
        (
            r#"{"method": "POST", "path": "/agents/writer/ask", "x_hops": -1, "input_data": "x"}"#,
            400,
            "x_hops",
        ),
        (
            r#"{"method": "POST", "path": "/agents/writer/ask"}"#,
            400,
            "input_data",
        ),
        (
            r#"{"method": "CONNECT", "path": "/agents/writer/ask", "input_data": "x"}"#,
            405,
            "method",
        ),
        (
            r#"{"method": "TRACE", "path": "/agents/writer/ask", "input_data": "x"}"#,
            405,
            "method",
        ),
    ] {
        let told = bad(&host, &writer, request.as_bytes(), code).await;
        assert!(told.contains(word), "{request} -> {told}");
    }
    let refused = hub.metrics().render();
    let line = refused
        .lines()
        .find(|line| line.contains("refused") && line.contains("p2p"));
    assert!(
        line.is_some_and(|line| line.ends_with(" 12")),
        "each is counted: {line:?}"
    );
}

#[tokio::test]
async fn deep_and_large_requests_are_refused() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let deep = format!(
        r#"{{"method": "POST", "path": "/agents/writer/ask", "input_data": {}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let told = bad(&host, &writer, deep.as_bytes(), 400).await;
    assert!(told.contains("64"), "{told}");
    let large =
        json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x".repeat(1 << 20)});
    bad(&host, &writer, large.to_string().as_bytes(), 413).await;
}

#[tokio::test]
async fn no_path_leads_out_of_its_place() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &["ask"]);
    let host = host(&hub);
    for path in [
        "/agents/writer/../../card",
        "/agents/../agents/writer/ask",
        "/agents/writer/./ask",
        "/agents/writer/%2e%2e/ask",
        "/agents/writer/%2E./ask",
        "/agents/writer/%252e%252e/ask",
        "/agents/writer/..%2fask",
        "/agents/writer/..%252fask",
        "/agents/writer\\..\\ask",
        "/agents/writer/%5c..%5cask",
        "/agents/writer/ask%00",
        "/agents/writer/ask\u{0}",
        "/agents/writer/ask\r\nHost: x",
        "//agents/writer/ask",
        "/agents//writer/ask",
        "//evil.example/agents/writer/ask",
        "http://evil.example/agents/writer/ask",
        "https:evil.example",
        "user@evil.example/agents/writer",
        "/agents/writer/ask#x",
        "/agents/writer/ask%zz",
        "/agents/writer/%ff",
    ] {
        let request = json!({"method": "POST", "path": path, "input_data": "x"}).to_string();
        bad(&host, &writer, request.as_bytes(), 400).await;
    }
    // These are paths, and nobody has declared them.
    for path in [
        "/agents/writer/ask%0d%0aHost:%20x",
        "/agents/writer/ask%5cx",
        "/agents/writer/ask?x=1",
    ] {
        let request = json!({"method": "POST", "path": path, "input_data": "x"}).to_string();
        bad(&host, &writer, request.as_bytes(), 404).await;
    }
}

#[tokio::test]
async fn a_parameter_stays_one_value_whatever_is_in_it() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    for (value, code) in [
        ("..", 400),
        ("%2e%2e", 400),
        ("../../card", 400),
        ("a/b", 404),
        ("a\nb\\c", 404),
        ("ask?x", 404),
        ("http://evil.example", 404),
    ] {
        let request = json!({"method": "POST", "path": "/agents/writer/{skill}", "params": {"skill": value}, "input_data": "x"});
        bad(&host, &writer, request.to_string().as_bytes(), code).await;
    }
}

#[tokio::test]
async fn formats_are_names_and_nothing_more() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    for path in [
        "/agents/{a.__class__.__mro__}/ask",
        "/agents/{a[0]}/ask",
        "/agents/{a!r}/ask",
        "/agents/{a:>1000000000}/ask",
        "/agents/{0}/ask",
        "/agents/{}/ask",
        "/agents/{{a}}/ask",
        "/agents/{a/ask",
        "/agents/a}/ask",
        "/agents/{missing}/ask",
    ] {
        let request =
            json!({"method": "POST", "path": path, "params": {"a": "writer"}, "input_data": "x"});
        bad(&host, &writer, request.to_string().as_bytes(), 400).await;
    }
}

#[tokio::test]
async fn undeclared_methods_and_paths_are_refused() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &["poem"]);
    let host = host(&hub);
    for (method, path, code) in [
        ("GET", "/agents/writer/poem", 405),
        ("DELETE", "/agents/writer/ask", 405),
        ("PUT", "/agents/writer", 405),
        ("POST", "/card", 405),
        ("POST", "/agents", 405),
        ("POST", "/agents/writer/card", 405),
        ("GET", "/plan a trip", 405),
        ("POST", "/agents/writer/song", 404),
        ("POST", "/agents/writer/poem/more", 404),
        ("POST", "/admin/tokens", 404),
        ("POST", "/v1/agents", 404),
        ("GET", "/agents/nobody/card", 404),
    ] {
        let request = json!({"method": method, "path": path, "input_data": "x"}).to_string();
        bad(&host, &writer, request.as_bytes(), code).await;
    }
}

#[tokio::test]
async fn a_stranger_may_hand_off_nothing_and_learns_nothing() {
    let hub = hub().await;
    let writer = agent(&hub, "writer", &["poem"]);
    let host = host(&hub);
    let good =
        json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x"}).to_string();
    let mut bodies = HashSet::new();
    for request in [
        good.as_str(),
        "nonsense",
        r#"{"method": "GET", "path": "/agents"}"#,
    ] {
        match host
            .answer(
                STRANGER,
                Origin::Elsewhere,
                request.as_bytes(),
                HandoffProtocol::Plain,
            )
            .await
        {
            HandoffReply::Whole(body) => bodies.insert(String::from_utf8(body).unwrap()),
            other => panic!("{other:?}"),
        };
    }
    assert_eq!(bodies.len(), 1, "always the same: {bodies:?}");
    let body: Value = serde_json::from_str(bodies.iter().next().unwrap()).unwrap();
    assert_eq!(body["code"], 401);
    let card: Value = serde_json::from_str(&host.card(STRANGER, Origin::Elsewhere)).unwrap();
    assert_eq!(card["skills"], json!([]));
    assert!(writer.has_nothing_to_do());
}

#[tokio::test]
async fn a_foreign_agent_looks_like_an_unknown_one() {
    let hub = hub().await;
    let ann = agent_of(&hub, "ann", "secret", &[], "bridge");
    let host = host(&hub);
    let told = async |id: &str| {
        let request =
            json!({"method": "POST", "path": format!("/agents/{id}/ask"), "input_data": "x"});
        refused(&host, &request, 404).await.replace(id, "ID")
    };
    assert_eq!(told("secret").await, told("nobody").await);
    assert!(ann.has_nothing_to_do());
}

#[tokio::test]
async fn an_agent_of_another_hub_is_not_passed_on() {
    let hub = hub().await;
    let far = agent_of(&hub, "local", "writer@12D3KooWDpJ7As7B", &[], "p2p");
    let near = agent_of(&hub, "local", "someone@home", &[], "bridge");
    let host = host(&hub);
    let list = whole(&host, &json!({"method": "GET", "path": "/agents"})).await;
    assert!(
        list.contains("someone@home") && !list.contains("writer@"),
        "{list}"
    );
    let request =
        json!({"method": "POST", "path": "/agents/writer@12D3KooWDpJ7As7B/ask", "input_data": "x"});
    refused(&host, &request, 404).await;
    assert!(far.has_nothing_to_do() && near.has_nothing_to_do());
}

#[tokio::test]
async fn hops_are_counted_on_and_too_many_are_a_loop() {
    let hub = hub().await;
    let mut writer = agent(&hub, "writer", &[]);
    let host = host(&hub);
    let request = |hops: u64| json!({"method": "POST", "path": "/agents/writer/ask", "input_data": "x", "x_hops": hops});
    let serve = async {
        let call = writer.next_call().await;
        assert_eq!(
            call.call().chain.hops(),
            8,
            "seven were said, and this is one more"
        );
        call.finish(End::done());
    };
    let request_7 = request(7);
    tokio::join!(whole(&host, &request_7), serve);
    for hops in [8, 9, 4_000_000_000] {
        refused(&host, &request(hops), 429).await;
    }
    assert!(writer.has_nothing_to_do());
}

#[test]
fn a_sidecar_allows_as_many_hops_as_a_hub_does_by_default() {
    assert_eq!(jackfield_peer::limits::HOPS, Limits::default().hops);
}
