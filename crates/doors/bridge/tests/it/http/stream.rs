//! The stream of a live relay: its bytes, and how it ends.

use jackfield_core::agent::Closing;
use jackfield_model::{
    Chunk, ChunkKind, Done, End, Event, Failure, File, FileSource, Part, Reason,
};
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use crate::http::harness::{BridgeHub, SECRET, chunk, done, error, read_until, relay_body, soon};

/// What was sent in HTTP chunks, without their lengths.
fn dechunked(mut text: &str) -> String {
    let mut whole = String::new();
    loop {
        let (length, rest) = text.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return whole;
        }
        whole.push_str(&rest[..length]);
        text = rest[length..].strip_prefix("\r\n").unwrap();
    }
}

#[tokio::test]
async fn the_bytes_are_those_of_the_original_hub() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let body = relay_body("amy", "r1").to_string();
    let mut socket = hub
        .raw(&format!(
            "POST /api/relay HTTP/1.1\r\nHost: x\r\nX-Platform-Secret: {SECRET}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
        .await;
    let call = amy.next_call().await;
    let head = read_until(&mut socket, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for line in [
        "content-type: text/event-stream\r\n",
        "cache-control: no-cache\r\n",
    ] {
        assert!(head.contains(line), "{head}");
    }
    assert!(
        head.ends_with("\r\n\r\n"),
        "nothing comes before the first event: {head}"
    );
    let tool = |kind, text: &str, name: Option<&str>, id: Option<&str>| {
        Event::Chunk(Chunk {
            kind,
            text: text.into(),
            tool_name: name.map(str::to_owned),
            tool_call_id: id.map(str::to_owned),
            extra: None,
            waiting_for: None,
        })
    };
    let (name, id) = (Some("Bash"), Some("t1"));
    call.push(tool(ChunkKind::Thinking, "hm", Some(""), Some("")));
    call.push(tool(ChunkKind::ToolStart, "", name, id));
    call.push(tool(ChunkKind::ToolInput, "{\"x\":1}", name, id));
    call.push(tool(ChunkKind::ToolResult, "ok\n", Some(""), id));
    call.push(Event::text("Hé\r\n\"llo\""));
    call.push(Event::Chunk(Chunk::status("Searching…")));
    call.finish(End::Done(Box::new(Done {
        result: Some("never repeated".into()),
        attachments: vec![File {
            name: Some("o.png".into()),
            mime: Some("image/png".into()),
            source: FileSource::Uri("https://e/o.png".into()),
        }],
        ..Done::default()
    })));
    let mut rest = String::new();
    soon(socket.read_to_string(&mut rest)).await.unwrap();
    let expected = concat!(
        "data: {\"type\":\"chunk\",\"delta\":\"hm\",\"kind\":\"thinking\"}\n\n",
        "data: {\"type\":\"chunk\",\"delta\":\"\",\"kind\":\"tool_start\",\"tool_name\":\"Bash\",\"tool_call_id\":\"t1\"}\n\n",
        "data: {\"type\":\"chunk\",\"delta\":\"{\\\"x\\\":1}\",\"kind\":\"tool_input\",\"tool_name\":\"Bash\",\"tool_call_id\":\"t1\"}\n\n",
        "data: {\"type\":\"chunk\",\"delta\":\"ok\\n\",\"kind\":\"tool_result\",\"tool_call_id\":\"t1\"}\n\n",
        "data: {\"type\":\"chunk\",\"delta\":\"Hé\\r\\n\\\"llo\\\"\"}\n\n",
        "data: {\"type\":\"chunk\",\"delta\":\"Searching…\",\"kind\":\"status\"}\n\n",
        "data: {\"type\":\"done\",\"attachments\":[{\"name\":\"o.png\",\"url\":\"https://e/o.png\",\"type\":\"image/png\"}]}\n\n",
    );
    assert_eq!(dechunked(&rest), expected);
}

#[tokio::test]
async fn an_answer_that_comes_only_with_the_end_is_told_before_it() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    for (said, heard) in [
        (None, vec![chunk("all"), json!({"type": "done"})]),
        (
            Some("al"),
            vec![chunk("al"), chunk("l"), json!({"type": "done"})],
        ),
        (Some("all"), vec![chunk("all"), json!({"type": "done"})]),
        (Some("none"), vec![chunk("none"), json!({"type": "done"})]),
    ] {
        let mut stream = hub.stream("/api/relay", relay_body("amy", "r1")).await;
        let call = amy.next_call().await;
        if let Some(said) = said {
            call.push(Event::text(said));
        }
        call.finish(done("all"));
        assert_eq!(stream.rest().await, heard);
    }
}

#[tokio::test]
async fn what_the_platform_says_reaches_the_agent() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut body = relay_body("amy", "r1");
    body["content"] = json!("What is this?");
    body["attachments"] = json!([{"name": "a.png", "url": "https://e/a.png", "type": "image/png"}]);
    body["client_id"] = json!("client-1");
    body["with_files"] = json!(true);
    body["task_id"] = json!("ignored");
    let _stream = hub.stream("/api/relay", body).await;
    let call = amy.next_call().await;
    let call = call.call();
    assert_eq!((call.session.as_str(), call.request.as_str()), ("s1", "r1"));
    assert_eq!(
        call.agent_session.as_str(),
        "s1",
        "the platform's sessions are passed on as they are"
    );
    assert_eq!(call.message.joined_text(), "What is this?");
    let file = File {
        name: Some("a.png".into()),
        mime: Some("image/png".into()),
        source: FileSource::Uri("https://e/a.png".into()),
    };
    assert_eq!(call.message.parts[1..], [Part::File(file)]);
    let metadata = call.message.metadata.as_ref().unwrap();
    assert_eq!(
        metadata.get(),
        r#"{"client_id":"client-1","with_files":true}"#
    );
}

#[tokio::test]
async fn failures_come_with_the_codes_of_the_protocol() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    for (reason, text, expected) in [
        (
            Reason::Crashed,
            "claude died",
            error("adapter_crash", "claude died"),
        ),
        (
            Reason::Busy,
            "queue full",
            error("agent_busy", "queue full"),
        ),
        (
            Reason::Agent("rate_limited".into()),
            "later",
            error("rate_limited", "later"),
        ),
        (Reason::Agent("made_up".into()), "?", error("made_up", "?")),
        (Reason::Timeout, "10 min", error("timeout", "10 min")),
    ] {
        let mut stream = hub.relay("amy", "r1").await;
        let call = amy.next_call().await;
        call.push(Event::text("so far"));
        call.finish(End::Failed(Failure::new(reason, text)));
        assert_eq!(stream.rest().await, [chunk("so far"), expected]);
    }
}

#[tokio::test]
async fn an_agent_that_leaves_ends_its_relays() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.relay("amy", "r1").await;
    let call = amy.next_call().await;
    call.push(Event::text("so far"));
    amy.leave();
    let left = error("agent_offline", "Agent disconnected");
    assert_eq!(stream.rest().await, [chunk("so far"), left]);
}

/// In the original hub, the heartbeats of the new connection kept them open for ever.
#[tokio::test]
async fn a_newer_connection_ends_the_relays_of_the_older_one() {
    let hub = BridgeHub::start().await;
    let mut old = hub.attach("amy");
    let mut stream = hub.relay("amy", "r1").await;
    let _call = old.next_call().await;
    let mut new = hub.attach("amy");
    assert_eq!(old.next_close().await, Closing::Replaced);
    let left = error("agent_offline", "Agent disconnected");
    assert_eq!(stream.rest().await, [left]);
    let mut stream = hub.relay("amy", "r2").await;
    new.next_call().await.finish(done(""));
    assert_eq!(stream.rest().await, [json!({"type": "done"})]);
}

/// The original hub noticed it only when it next wrote something.
#[tokio::test]
async fn a_reader_that_hangs_up_cancels_the_call_at_the_agent() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.relay("amy", "r1").await;
    let call = amy.next_call().await;
    call.push(Event::text("so far"));
    assert_eq!(stream.data().await, chunk("so far"));
    drop(stream);
    assert_eq!(amy.next_cancel().await, call.call().id);
}

#[tokio::test]
async fn a_stopping_hub_tells_its_readers() {
    let hub = BridgeHub::start().await;
    let mut amy = hub.attach("amy");
    let mut stream = hub.relay("amy", "r1").await;
    let _call = amy.next_call().await;
    hub.stop().await;
    let last = stream.data().await;
    assert_eq!(
        (&last["type"], &last["code"]),
        (&json!("error"), &json!("agent_offline"))
    );
    assert!(stream.next().await.is_none());
}
