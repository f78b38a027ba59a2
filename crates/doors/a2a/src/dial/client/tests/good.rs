//! What is asked, in the words of each version and binding, and what comes of the answers.

use serde_json::json as value;

use super::*;

#[tokio::test]
async fn a_send_in_json_rpc_has_the_words_of_its_version() {
    for (version, body, method, role, part) in [
        (
            A2aVersion::V03,
            TASK_03,
            "message/send",
            "user",
            value!({"kind": "text", "text": "hi"}),
        ),
        (
            A2aVersion::V10,
            TASK_10,
            "SendMessage",
            "ROLE_USER",
            value!({"text": "hi"}),
        ),
    ] {
        let mut server = ScriptedServer::start(vec![json(body)]).await;
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", HeaderValue::from_static("00-1-2-01"));
        let line = line(rpc(&format!("{}/rpc/", server.url), version));
        let item = line.send(&params(), &headers).await.unwrap();
        assert_eq!(what(&item), "task t working");

        let asked = server.asked().await;
        assert_eq!(asked.line(), "POST /rpc/");
        assert_eq!(asked.header("a2a-version"), Some(version.name()));
        assert_eq!(asked.header("content-type"), Some("application/json"));
        assert_eq!(asked.header("accept"), Some("application/json"));
        assert_eq!(asked.header("traceparent"), Some("00-1-2-01"));
        let agent = asked.header("user-agent").unwrap();
        assert!(agent.starts_with("jackfield/"), "{agent}");
        let json = asked.json();
        assert_eq!(json["jsonrpc"], "2.0");
        assert_eq!(json["method"], method);
        assert!(json["id"].is_string());
        let message = &json["params"]["message"];
        assert_eq!(message["role"], role);
        assert_eq!(message["parts"], value!([part]));
    }
}

#[tokio::test]
async fn every_operation_goes_where_rest_has_it() {
    let sent = r#"{"task":{"id":"t/1","contextId":"c","status":{"state":"TASK_STATE_CANCELED"}}}"#;
    let bare = r#"{"id":"t/1","contextId":"c","status":{"state":"TASK_STATE_CANCELLED"}}"#;
    for (base, version, below) in [
        ("", A2aVersion::V03, "/v1"),
        ("/base/", A2aVersion::V10, "/base"),
    ] {
        let events = answer("200 OK", "text/event-stream", &format!("data: {sent}\n\n"));
        let again = answer("200 OK", "text/event-stream", &format!("data: {sent}\n\n"));
        let scripts = vec![json(sent), events, json(bare), json(bare), again];
        let mut server = ScriptedServer::start(scripts).await;
        let url = format!("{}{base}", server.url);
        let (line, none) = (line(rest(&url, version)), HeaderMap::new());
        let item = line.send(&params(), &none).await.unwrap();
        assert_eq!(what(&item), "task t/1 canceled");
        let incoming = line.stream(&params(), &none).await.unwrap();
        assert_eq!(all(incoming).await.0, ["task t/1 canceled"]);
        let task = line.get("t/1").await.unwrap();
        assert_eq!(task.status.state, A2aState::Canceled);
        line.cancel("t/1").await.unwrap();
        let incoming = line.subscribe("t/1", Some("7")).await.unwrap();
        assert_eq!(all(incoming).await.0, ["task t/1 canceled"]);

        let asked = server.asked_so_far();
        let lines: Vec<_> = asked.iter().map(ScriptedRequest::line).collect();
        assert_eq!(
            lines,
            [
                format!("POST {below}/message:send"),
                format!("POST {below}/message:stream"),
                format!("GET {below}/tasks/t%2F1"),
                format!("POST {below}/tasks/t%2F1:cancel"),
                format!("GET {below}/tasks/t%2F1:subscribe"),
            ]
        );
        let accept = asked[4].header("accept");
        assert_eq!(accept, Some("text/event-stream, application/json"));
        assert_eq!(asked[4].header("last-event-id"), Some("7"));
        assert!(asked[2].body.is_empty() && asked[2].header("content-type").is_none());
        let message = &asked[0].json()["message"];
        assert_eq!(message["role"], "ROLE_USER");
        let parts = match version {
            A2aVersion::V03 => "content",
            A2aVersion::V10 => "parts",
        };
        assert_eq!(message[parts], value!([{"text": "hi"}]));
    }
}

#[tokio::test]
async fn a_tenant_is_named_where_the_binding_has_it() {
    let sent = r#"{"message":{"messageId":"n","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#;
    let mut server = ScriptedServer::start(vec![json(sent), json(TASK_10)]).await;
    let with_tenant = |place: RemoteEndpoint| RemoteEndpoint {
        tenant: Some("ten/1".to_owned()),
        ..place
    };
    let over_rest = line(with_tenant(rest(&server.url, A2aVersion::V10)));
    let item = over_rest.send(&params(), &HeaderMap::new()).await.unwrap();
    assert_eq!(what(&item), "message n");
    let asked = server.asked().await;
    assert_eq!(asked.line(), "POST /ten%2F1/message:send");
    assert_eq!(asked.json()["tenant"], "ten/1");
    let over_rpc = line(with_tenant(rpc(&server.url, A2aVersion::V10)));
    over_rpc.get("t").await.unwrap();
    let asked = server.asked().await;
    assert_eq!(asked.line(), "POST /");
    let named = value!({"tenant": "ten/1", "id": "t"});
    assert_eq!(asked.json()["params"], named);
}

#[tokio::test]
async fn a_query_of_the_url_stays_behind_the_path() {
    let task = r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;
    let mut server = ScriptedServer::start(vec![json(task)]).await;
    let url = format!("{}/x?key=1", server.url);
    line(rest(&url, A2aVersion::V10)).get("t").await.unwrap();
    assert_eq!(server.asked().await.line(), "GET /x/tasks/t?key=1");
}

#[tokio::test]
async fn answers_of_the_other_version_are_understood() {
    let agno_go = r#"{"jsonrpc":"2.0","id":$ID,"result":{"task":{"id":"t","context_id":"c","status":"working"}}}"#;
    for (version, body) in [
        (A2aVersion::V03, TASK_10),
        (A2aVersion::V10, TASK_03),
        (A2aVersion::V03, agno_go),
    ] {
        let server = ScriptedServer::start(vec![json(body)]).await;
        let line = line(rpc(&server.url, version));
        let item = line.send(&params(), &HeaderMap::new()).await;
        assert_eq!(what(&item.unwrap()), "task t working", "{body}");
    }
}

#[tokio::test]
async fn agno_gets_its_envelopes_at_its_own_paths_and_the_conversation_with_the_task() {
    let events = format!("event: Task\ndata: {TASK_03}\n\n");
    let no_task = r#"{"detail":"Task not found"}"#;
    let no_user = r#"{"detail":"Only user messages are accepted"}"#;
    let mut server = ScriptedServer::start(vec![
        answer("200 OK", "text/event-stream", &events),
        answer("202 Accepted", "application/json", TASK_03),
        json(TASK_03),
        json(TASK_03),
        answer("404 Not Found", "application/json", no_task),
        answer("400 Bad Request", "application/json", no_user),
    ])
    .await;
    let place = RemoteEndpoint {
        dialect: Dialect::Agno,
        ..rpc(&format!("{}/agents/a", server.url), A2aVersion::V03)
    };
    let (line, none) = (line(place), HeaderMap::new());
    let incoming = line.stream(&params(), &none).await.unwrap();
    assert_eq!(all(incoming).await.0, ["task t working"]);
    line.send(&params(), &none).await.unwrap();
    line.get("t").await.unwrap();
    line.cancel("t").await.unwrap();
    let trouble = line.get("u").await.unwrap_err();
    assert_eq!(refused(&trouble), Some(A2aErrorKind::TaskNotFound));
    let trouble = line.send(&params(), &none).await.unwrap_err();
    assert_eq!(refused(&trouble), Some(A2aErrorKind::InvalidRequest));
    let text = trouble.to_string();
    assert!(text.contains("Only user messages"), "{text}");
    let trouble = line.subscribe("t", None).await.unwrap_err();
    assert_eq!(refused(&trouble), Some(A2aErrorKind::Unsupported));

    let asked = server.asked_so_far();
    let lines: Vec<_> = asked.iter().map(ScriptedRequest::line).collect();
    assert_eq!(
        lines,
        [
            "POST /agents/a/v1/message:stream",
            "POST /agents/a/v1/message:send",
            "POST /agents/a/v1/tasks:get",
            "POST /agents/a/v1/tasks:cancel",
            "POST /agents/a/v1/tasks:get",
            "POST /agents/a/v1/message:send",
        ]
    );
    assert_eq!(asked[0].json()["method"], "message/stream");
    for known in &asked[2..4] {
        let named = value!({"id": "t", "contextId": "c"});
        assert_eq!(known.json()["params"], named);
    }
    assert_eq!(asked[4].json()["params"], value!({"id": "u"}));
}

#[tokio::test]
async fn a_task_of_before_this_line_is_asked_for_with_its_conversation() {
    let mut server = ScriptedServer::start(vec![json(TASK_03)]).await;
    let line = line(RemoteEndpoint {
        dialect: Dialect::Agno,
        ..rpc(&format!("{}/agents/a", server.url), A2aVersion::V03)
    });
    line.set_context("t", "c");
    line.get("t").await.unwrap();
    let named = value!({"id": "t", "contextId": "c"});
    assert_eq!(server.asked().await.json()["params"], named);
}

#[tokio::test]
async fn rest_of_the_old_version_shows_who_it_is_before_it_gets_bytes() {
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
    for (name, written) in [("uvicorn", "YUdrPQ=="), ("x", "aGk=")] {
        let signed = |body: &str| {
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nserver: {name}\r\ncontent-length: {length}");
            vec![ScriptStep::Say(format!(
                "{head}\r\nconnection: close\r\n\r\n{body}"
            ))]
        };
        let mut server =
            ScriptedServer::start(vec![signed("{}"), signed(task), signed(task)]).await;
        let line = line(rest(&server.url, A2aVersion::V03));
        let params = SendParams {
            message: Message::new(
                "m",
                Role::User,
                vec![Part::new(PartContent::Bytes("aGk=".to_owned()))],
            ),
            ..params()
        };
        for _ in 0..2 {
            line.send(&params, &HeaderMap::new()).await.unwrap();
        }
        let asked = server.asked_so_far();
        assert_eq!(asked[0].line(), "GET /v1/card");
        for asked in &asked[1..] {
            let file = &asked.json()["message"]["content"][0]["file"];
            assert_eq!(file["fileWithBytes"], written);
        }
    }
}

#[tokio::test]
async fn a_whole_answer_may_take_longer_than_any_clock_of_the_line() {
    let go = Arc::new(Notify::new());
    let mut script = vec![ScriptStep::Wait(go.clone())];
    script.extend(json(TASK_10));
    let mut server = ScriptedServer::start(vec![script]).await;
    let line = line(rpc(&server.url, A2aVersion::V10));
    let (params, none) = (params(), HeaderMap::new());
    let (item, ()) = tokio::join!(line.send(&params, &none), async {
        server.asked().await;
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(7200)).await;
        tokio::time::resume();
        go.notify_one();
    });
    assert_eq!(what(&item.unwrap()), "task t working");
}

#[tokio::test]
async fn a_token_that_is_refused_is_fetched_anew_and_shown_once_more() {
    let token = |name: &str| json(&format!(r#"{{"access_token":"{name}"}}"#));
    let no = || answer("401 Unauthorized", "application/json", "{}");
    let issuer = ScriptedServer::start(vec![token("old"), token("new"), token("newest")]).await;
    let mut server = ScriptedServer::start(vec![no(), json(TASK_10), no(), no()]).await;
    let path = || SecretLocation::Env("PATH".to_owned());
    let auth = Auth {
        oauth: Some(OAuth {
            token_url: issuer.url.clone(),
            client_id: path(),
            client_secret: path(),
            scope: None,
        }),
        ..Auth::default()
    };
    let line = line_by(&private(), rpc(&server.url, A2aVersion::V10), &auth);
    let item = line.send(&params(), &HeaderMap::new()).await.unwrap();
    assert_eq!(what(&item), "task t working");
    let trouble = line.get("t").await.unwrap_err();
    assert!(
        matches!(trouble, RemoteCallError::Unauthorized(_)),
        "{trouble:?}"
    );
    let asked = server.asked_so_far();
    let shown: Vec<_> = asked
        .iter()
        .filter_map(|asked| asked.header("authorization"))
        .collect();
    let expected = ["Bearer old", "Bearer new", "Bearer new", "Bearer newest"];
    assert_eq!(shown, expected);
}
