//! Servers that misbehave: each trouble has its name, and none hangs.

use tokio::net::TcpListener;

use super::*;

#[tokio::test]
async fn what_is_no_answer_of_the_protocol_is_garbled() {
    let large = format!(
        r#"{{"jsonrpc":"2.0","id":$ID,"result":"{}"}}"#,
        "x".repeat(8 << 20)
    );
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":$ID,"result":{{"task":{{"id":"t","status":{{}},"x":{}{}}}}}}}"#,
        "[".repeat(80),
        "]".repeat(80)
    );
    let other = r#"{"jsonrpc":"2.0","id":"x","result":{"task":{"id":"t","status":{}}}}"#;
    let nobodys = r#"{"jsonrpc":"2.0","id":null,"result":{"task":{"id":"t","status":{}}}}"#;
    let number = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}"#;
    let nothing = r#"{"jsonrpc":"2.0","id":$ID,"result":{"nothing":1}}"#;
    for (how, script) in [
        (
            "a web page",
            answer("200 OK", "text/html", "<html>hello</html>"),
        ),
        ("no JSON", json("hello")),
        ("nothing at all", json("")),
        ("half of it", json(&TASK_10[..40])),
        ("another id", json(other)),
        ("no id", json(nobodys)),
        ("an error with another id", json(number)),
        ("nothing in it", json(nothing)),
        ("too large", json(&large)),
        ("too deep", json(&deep)),
        (
            "500 and a page",
            answer("500 Internal Server Error", "text/html", "<h1>oops"),
        ),
        (
            "500 and nothing",
            answer("500 Internal Server Error", "text/plain", ""),
        ),
        (
            "404 and JSON",
            answer(
                "404 Not Found",
                "application/json",
                r#"{"detail":"Not Found"}"#,
            ),
        ),
        (
            "a large no",
            answer("500 Oops", "text/plain", &"x".repeat(1 << 20)),
        ),
    ] {
        let trouble = sent(script).await.unwrap_err();
        assert!(
            matches!(trouble, RemoteCallError::Garbled(_)),
            "{how}: {trouble:?}"
        );
        assert!(!trouble.to_string().contains("oops"), "{how}: {trouble}");
    }
}

#[tokio::test]
async fn events_that_are_no_answer_of_the_protocol_are_garbled() {
    let other = r#"{"jsonrpc":"2.0","id":"x","result":{"task":{"id":"t","status":{}}}}"#;
    let good = format!("data: {TASK_10}\n\n");
    for (how, event) in [
        ("no JSON", "data: hello\n\n".to_owned()),
        ("another id", format!("data: {other}\n\n")),
        (
            "no envelope",
            "data: {\"task\":{\"id\":\"t\",\"status\":{}}}\n\n".to_owned(),
        ),
        (
            "too large",
            format!("data: \"{}\"\n\n", "x".repeat(8 << 20)),
        ),
        ("too many lines", "data: 0123456789abcdef\n".repeat(1 << 19)),
        ("a line without end", "x".repeat((8 << 20) + 1)),
    ] {
        let script = vec![
            stream_head(),
            ScriptStep::Say(good.clone()),
            ScriptStep::Say(event),
        ];
        let (arrived, end) = streamed(script).await;
        assert_eq!(arrived, ["task t working"], "{how}");
        assert!(
            matches!(end, Err(RemoteCallError::Garbled(_))),
            "{how}: {end:?}"
        );
    }
    let (_, end) = streamed(answer("200 OK", "text/html", "<html>")).await;
    assert!(matches!(end, Err(RemoteCallError::Garbled(_))), "{end:?}");
}

#[tokio::test]
async fn an_error_of_the_protocol_is_refused_with_its_kind_and_words() {
    let error = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"gone"}}"#;
    for status in ["200 OK", "404 Not Found", "500 Oops"] {
        let trouble = sent(answer(status, "application/json", error))
            .await
            .unwrap_err();
        assert_eq!(refused(&trouble), Some(A2aErrorKind::TaskNotFound));
        assert!(trouble.to_string().contains("gone"), "{trouble}");
    }
    for (status, body, about_task, about_nothing) in [
        (
            "404 Not Found",
            r#"{"message":"gone"}"#,
            A2aErrorKind::TaskNotFound,
            A2aErrorKind::MethodNotFound,
        ),
        (
            "400 Bad Request",
            r#"{"error":{"code":400,"message":"gone","details":[{"reason":"TASK_NOT_CANCELABLE","domain":"a2a-protocol.org"}]}}"#,
            A2aErrorKind::TaskNotCancelable,
            A2aErrorKind::TaskNotCancelable,
        ),
    ] {
        let script = || answer(status, "application/json", body);
        let server = ScriptedServer::start(vec![script(), script()]).await;
        let line = line(rest(&server.url, A2aVersion::V10));
        let trouble = line.cancel("t").await.unwrap_err();
        assert_eq!(refused(&trouble), Some(about_task));
        let trouble = line.send(&params(), &HeaderMap::new()).await.unwrap_err();
        assert_eq!(refused(&trouble), Some(about_nothing));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_says_where_it_pointed() {
    let script = vec![ScriptStep::Say(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/there?key=hunter2\r\ncontent-length: 0\r\n\r\n"
            .to_owned(),
    )];
    let trouble = sent(script).await.unwrap_err();
    let text = trouble.to_string();
    assert!(
        matches!(trouble, RemoteCallError::Garbled(_)),
        "{trouble:?}"
    );
    assert!(
        text.contains("http://127.0.0.1:1/there") && !text.contains("hunter2"),
        "{text}"
    );
}

#[tokio::test]
async fn whoever_is_not_let_in_is_unauthorized() {
    let error = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"no"}}"#;
    for status in ["401 Unauthorized", "403 Forbidden"] {
        let script = || answer(status, "application/json", error);
        let trouble = sent(script()).await.unwrap_err();
        assert!(
            matches!(trouble, RemoteCallError::Unauthorized(_)),
            "{trouble:?}"
        );
        let (_, end) = streamed(script()).await;
        assert!(
            matches!(end, Err(RemoteCallError::Unauthorized(_))),
            "{end:?}"
        );
    }
    let auth = Auth {
        bearer: Some(SecretLocation::Env("JACKFIELD_NO_SUCH_VARIABLE".to_owned())),
        ..Auth::default()
    };
    let line = line_by(
        &private(),
        rpc("http://127.0.0.1:1", A2aVersion::V10),
        &auth,
    );
    let trouble = line.get("t").await.unwrap_err();
    assert!(
        matches!(trouble, RemoteCallError::Unauthorized(_)),
        "{trouble:?}"
    );
}

#[tokio::test]
async fn a_place_where_nobody_is_or_may_be_reached_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/x?key=hunter2", listener.local_addr().unwrap());
    drop(listener);
    let strict = OutboundRules::default();
    for (how, line) in [
        ("nobody", line(rpc(&url, A2aVersion::V10))),
        (
            "private",
            line_by(&strict, rpc(&url, A2aVersion::V10), &Auth::default()),
        ),
        ("no URL", line(rpc("/relative", A2aVersion::V10))),
        (
            "gRPC",
            line(place("http://127.0.0.1:1", Binding::Grpc, A2aVersion::V10)),
        ),
    ] {
        let trouble = line.stream(&params(), &HeaderMap::new()).await.unwrap_err();
        // Where there is no connection, nobody heard anything.
        let is_unheard = matches!(trouble, RemoteCallError::Unheard(_));
        assert_eq!(is_unheard, how == "nobody", "{how}: {trouble:?}");
        assert!(
            is_unheard || matches!(trouble, RemoteCallError::Unreachable(_)),
            "{how}: {trouble:?}"
        );
        assert!(!trouble.to_string().contains("hunter2"), "{how}: {trouble}");
    }
    for status in [
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
    ] {
        let trouble = sent(answer(status, "text/html", "<html>"))
            .await
            .unwrap_err();
        assert!(
            matches!(trouble, RemoteCallError::Unreachable(_)),
            "{status}: {trouble:?}"
        );
    }
    let trouble = sent(vec![ScriptStep::Reset]).await.unwrap_err();
    assert!(
        matches!(trouble, RemoteCallError::Unreachable(_)),
        "{trouble:?}"
    );
}

#[tokio::test]
async fn a_whole_answer_that_breaks_off_is_cut() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{";
    let trouble = sent(vec![ScriptStep::Say(head.to_owned())])
        .await
        .unwrap_err();
    assert!(matches!(trouble, RemoteCallError::Cut(_)), "{trouble:?}");
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_where_it_has_nothing_to_think_about() {
    for operation in ["stream", "subscribe", "get"] {
        let mut server = ScriptedServer::start(vec![vec![ScriptStep::Hang]]).await;
        let line = line(rpc(&server.url, A2aVersion::V10));
        let (params, none) = (params(), HeaderMap::new());
        let asking = async {
            match operation {
                "stream" => line.stream(&params, &none).await.map(drop),
                "subscribe" => line.subscribe("t", None).await.map(drop),
                _ => line.get("t").await.map(drop),
            }
        };
        let (end, ()) = tokio::join!(asking, async {
            server.asked().await;
            tokio::time::pause();
        });
        tokio::time::resume();
        let trouble = end.unwrap_err();
        assert!(
            matches!(trouble, RemoteCallError::Unreachable(_)),
            "{trouble:?}"
        );
        assert!(trouble.to_string().contains("30 seconds"), "{trouble}");
    }
}

#[tokio::test]
async fn a_refusal_without_end_is_given_up() {
    let head = "HTTP/1.1 500 Oops\r\ncontent-length: 900\r\n\r\n{";
    let mut server = ScriptedServer::start(vec![vec![
        ScriptStep::Say(head.to_owned()),
        ScriptStep::Hang,
    ]])
    .await;
    let line = line(rpc(&server.url, A2aVersion::V10));
    let (params, none) = (params(), HeaderMap::new());
    let (end, ()) = tokio::join!(line.send(&params, &none), async {
        server.asked().await;
        tokio::time::pause();
    });
    assert!(matches!(end, Err(RemoteCallError::Garbled(_))), "{end:?}");
}
