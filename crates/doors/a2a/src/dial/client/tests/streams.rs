//! Streams, however their bytes come.

use futures_util::FutureExt as _;

use super::*;

const WORKING: &str =
    r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}}"#;
const DONE: &str =
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#;

/// What a server of REST that follows this script makes of a stream.
async fn over_rest(script: Vec<ScriptStep>) -> (Vec<String>, Result<(), RemoteCallError>) {
    let server = ScriptedServer::start(vec![script]).await;
    let line = line(rest(&server.url, A2aVersion::V10));
    match line.stream(&params(), &HeaderMap::new()).await {
        Ok(incoming) => all(incoming).await,
        Err(trouble) => (Vec::new(), Err(trouble)),
    }
}

#[tokio::test]
async fn events_are_the_same_however_their_bytes_are_cut() {
    let (first, rest) = WORKING.split_at(8);
    let text = format!(
        "\u{feff}retry: 9\r\n: hello\r\n\r\nevent: x\rid: 1\rdata:{first}\rdata: {rest}\r\rdata\n\n\
         id: 2\nid: 3\r\ndata: {DONE}\r\n\r\n: bye\nid: 4\n\ndata: {DONE}\n\n"
    );
    let expected = [
        "pulse",
        "1: task t working",
        "pulse",
        "3: status completed",
        "pulse",
        "status completed",
    ];
    for size in [1, 2, 3, 5, 64, text.len()] {
        let (arrived, end) = over_rest(chunks(&text, size)).await;
        assert_eq!(arrived, expected, "{size}");
        assert_eq!(end, Ok(()), "{size}");
    }
}

#[tokio::test]
async fn a_stream_that_is_closed_in_order_ends_and_what_comes_after_the_end_of_the_task_is_passed_on()
 {
    let text = format!("data: {DONE}\n\ndata: {WORKING}\n\n");
    let (arrived, end) = over_rest(vec![stream_head(), ScriptStep::Say(text)]).await;
    assert_eq!(arrived, ["status completed", "task t working"]);
    assert_eq!(end, Ok(()));
    let (arrived, end) = over_rest(vec![stream_head()]).await;
    assert_eq!((arrived.len(), end), (0, Ok(())));
}

#[tokio::test]
async fn a_last_event_that_is_not_ended_counts_if_it_is_whole() {
    for ending in ["", "\n", "\r\n"] {
        let text = format!("data: {WORKING}\n\nid: 2\ndata: {DONE}{ending}");
        let (arrived, end) = over_rest(vec![stream_head(), ScriptStep::Say(text)]).await;
        assert_eq!(arrived, ["task t working", "2: status completed"]);
        assert_eq!(end, Ok(()));
    }
}

#[tokio::test]
async fn a_stream_that_breaks_is_cut() {
    let begun = || ScriptStep::Bytes(chunk_of(format!("data: {WORKING}\n\n").as_bytes()));
    let half = || ScriptStep::Bytes(chunk_of(b"data: {\"statusUp"));
    let plain = ScriptStep::Say(format!("data: {WORKING}\n\ndata: {{\"statusUp"));
    for (how, script) in [
        ("no end of the chunks", vec![chunked_head(), begun()]),
        ("within an event", vec![chunked_head(), begun(), half()]),
        (
            "reset",
            vec![chunked_head(), begun(), half(), ScriptStep::Reset],
        ),
        ("half an event, in order", vec![stream_head(), plain]),
    ] {
        let (arrived, end) = over_rest(script).await;
        assert!(
            matches!(end, Err(RemoteCallError::Cut(_))),
            "{how}: {end:?}"
        );
        // A reset may overtake what was said before it.
        assert!(
            arrived == ["task t working"] || how == "reset",
            "{how}: {arrived:?}"
        );
    }
}

#[tokio::test]
async fn an_error_is_refused_whether_it_comes_as_json_or_as_an_event() {
    let error = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32004,"message":"no"}}"#;
    let nobodys = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32004,"message":"no"}}"#;
    let event = vec![
        stream_head(),
        ScriptStep::Say(format!("event: error\ndata: {error}\n\n")),
    ];
    for script in [
        json(error),
        json(nobodys),
        answer("400 Bad Request", "application/json", error),
        answer("500 Internal Server Error", "application/json", nobodys),
        event,
    ] {
        let (arrived, end) = streamed(script).await;
        assert_eq!(arrived.len(), 0);
        assert_eq!(refused(&end.unwrap_err()), Some(A2aErrorKind::Unsupported));
    }
    // In REST the same, without an envelope.
    let error = r#"{"code":-32001,"message":"no"}"#;
    let new = r#"{"error":{"code":404,"status":"NOT_FOUND","message":"no","details":[{"reason":"TASK_NOT_FOUND"}]}}"#;
    for body in [error, new] {
        let text = format!("data: {WORKING}\n\nevent: error\ndata: {body}\n\n");
        let (arrived, end) = over_rest(vec![stream_head(), ScriptStep::Say(text)]).await;
        assert_eq!(arrived, ["task t working"]);
        // It had begun: that is more than a refusal.
        let Err(RemoteCallError::GaveUp(fault)) = end else {
            panic!("{end:?}");
        };
        assert_eq!(fault.message, "no");
    }
}

#[tokio::test]
async fn a_server_that_answers_a_stream_at_once_is_heard() {
    let (arrived, end) = streamed(json(TASK_10)).await;
    assert_eq!(arrived, ["task t working"]);
    assert_eq!(end, Ok(()));
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_nothing() {
    let go = Arc::new(Notify::new());
    let (first, rest_of) = WORKING.split_at(20);
    let script = vec![
        stream_head(),
        ScriptStep::Say(format!(": here\n\nid: 1\ndata: {first}")),
        ScriptStep::Wait(go.clone()),
        ScriptStep::Say(format!("{rest_of}\n\n")),
    ];
    let server = ScriptedServer::start(vec![script]).await;
    let line = line(rest(&server.url, A2aVersion::V10));
    let mut incoming = line.stream(&params(), &HeaderMap::new()).await.unwrap();
    assert_eq!(told(&incoming.next().await.unwrap().unwrap()), "pulse");
    for _ in 0..3 {
        assert!(incoming.next().now_or_never().is_none());
    }
    go.notify_one();
    let arrived = incoming.next().await.unwrap().unwrap();
    assert_eq!(told(&arrived), "1: task t working");
}
