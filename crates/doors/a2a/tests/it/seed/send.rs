//! `message/send`: one answer out of what the agent said, and one task for each request.

use jackfield_model::{Artifact, Chunk, ChunkKind, Done, End, Event, File, FileSource, Json, Part};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::seed::harness::{A2aHub, CURL, SEND, answered, changed, done};

fn file(name: &str, mime: Option<&str>, source: FileSource) -> File {
    File {
        name: Some(name.into()),
        mime: mime.map(str::to_owned),
        source,
    }
}

fn reply(body: &Value) -> &Value {
    &body["result"]["task"]["history"][1]
}

#[tokio::test]
async fn words_artifacts_and_attachments_become_parts_of_one_reply() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let answering = async {
        let serving = agent.next_call().await;
        let thinking = Chunk {
            kind: ChunkKind::Thinking,
            ..Chunk::text("hm")
        };
        serving.push(Event::Chunk(thinking));
        serving.push(Event::text("Hello "));
        let made = |parts, append| {
            Event::Artifact(Artifact {
                id: "a".into(),
                name: None,
                parts,
                append,
                last: append,
                extra: None,
            })
        };
        serving.push(made(vec![Part::Text("one, ".into())], false));
        serving.push(Event::text("you"));
        let bytes = FileSource::Bytes("aGk=".into());
        let rest = vec![
            Part::Text("two".into()),
            Part::Data(Json::parse("{\"n\": 1.50}").unwrap()),
            Part::File(file("b.png", Some("image/png"), bytes)),
        ];
        serving.push(made(rest, true));
        let link = FileSource::Uri("https://files.example/c".into());
        serving.finish(End::Done(Box::new(Done {
            result: Some("Hello you".into()),
            attachments: vec![file("c", None, link)],
            ..Done::default()
        })));
    };
    let ((status, body), ()) = tokio::join!(hub.post(SEND, CURL), answering);
    assert_eq!(status, StatusCode::OK);
    assert_eq!(
        reply(&body)["parts"],
        json!([
            {"kind": "text", "text": "Hello you"},
            {"kind": "text", "text": "one, two"},
            {"kind": "data", "data": {"content": "{\"n\": 1.50}", "mimeType": "application/json"}},
            {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "image/png", "name": "b.png"}},
            {"kind": "file", "file": {"uri": "https://files.example/c", "mimeType": "application/octet-stream", "name": "c"}},
        ])
    );
}

#[tokio::test]
async fn an_answer_that_only_the_end_gives_is_told() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    for (result, parts) in [
        (
            "all at once",
            json!([{"kind": "text", "text": "all at once"}]),
        ),
        ("", json!([])),
    ] {
        let answering = async { agent.next_call().await.finish(done(result)) };
        let ((_, body), _) = tokio::join!(hub.post(SEND, CURL), answering);
        assert_eq!(body["result"]["task"]["status"], "completed");
        assert_eq!(reply(&body)["parts"], parts);
    }
}

#[tokio::test]
async fn the_message_is_echoed_byte_for_byte_and_what_nobody_knows_is_carried() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let message = r#"{ "kind": "message", "messageId": "m", "role": "agent", "agentId": "my-agent", "taskId": "t",
        "parts": [ {"kind": "text", "text": "\u0048i", "metadata": {"x": 1}} ], "metadata": {"userId": "ann", "n": 1.50} }"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","method":"message/send","id":1,"params":{{"message":{message},"configuration":{{"blocking":true}}}}}}"#
    );
    let request = hub.request(SEND, body).header("X-User-ID", "ann");
    let (answer, call) = tokio::join!(request.send(), answered(&mut agent, "x"));
    let text = answer.unwrap().text().await.unwrap();
    assert!(text.contains(&format!("\"history\":[{message},")), "{text}");
    assert_eq!(
        call.message.metadata.as_ref().map(Json::get),
        Some(
            r#"{"userId":"ann","n":1.50,"kind":"message","taskId":"t","configuration":{"blocking":true}}"#
        )
    );
    assert_eq!(
        call.principal.label(),
        "local",
        "who calls is not what the message says"
    );
    assert_eq!(call.message.joined_text(), "Hi");
}

#[tokio::test]
async fn a_new_conversation_is_told_so_that_it_can_go_on() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let body = changed(r#""contextId": "session-123","#, "");
    let ((_, first), call) = tokio::join!(hub.post(SEND, body.as_str()), answered(&mut agent, "x"));
    let context = first["result"]["task"]["context_id"].as_str().unwrap();
    assert_eq!(context, call.session.as_str());
    assert_eq!(reply(&first)["contextId"], context);
    let ((_, second), _) = tokio::join!(hub.post(SEND, body), answered(&mut agent, "x"));
    assert_ne!(second["result"]["task"]["context_id"], context);
    let again = changed("session-123", context);
    let (_, call) = tokio::join!(hub.post(SEND, again), answered(&mut agent, "x"));
    assert_eq!(call.session.as_str(), context);
}

#[tokio::test]
async fn requests_with_the_same_ids_do_not_meet() {
    let hub = A2aHub::start().await;
    let mut agent = hub.attach("my-agent");
    let answering = async {
        let (first, second) = (agent.next_call().await, agent.next_call().await);
        second.finish(done("second"));
        first.finish(done("first"));
    };
    let sent = async { (hub.post(SEND, CURL), hub.post(SEND, CURL)) };
    let (one, two) = sent.await;
    let ((_, one), (_, two), ()) = tokio::join!(one, two, answering);
    let mut told = [&one, &two].map(|body| reply(body)["parts"][0]["text"].to_string());
    told.sort();
    assert_eq!(told, ["\"first\"", "\"second\""]);
    assert_ne!(one["result"]["task"]["id"], two["result"]["task"]["id"]);
}

#[tokio::test]
async fn agents_are_named_by_the_message_or_else_by_the_header() {
    let hub = A2aHub::start().await;
    let mut named = hub.attach("my-agent");
    let mut other = hub.attach("other");
    let request = hub.request(SEND, CURL).header("X-Agent-ID", "other");
    let (answer, _) = tokio::join!(request.send(), answered(&mut named, "x"));
    assert_eq!(answer.unwrap().status(), StatusCode::OK);
    let body = changed(r#""agentId": "my-agent","#, "");
    let request = hub.request(SEND, body).header("X-Agent-ID", "other");
    let (answer, _) = tokio::join!(request.send(), answered(&mut other, "x"));
    let body: Value = answer.unwrap().json().await.unwrap();
    assert_eq!(reply(&body)["agentId"], "other");
    assert!(named.has_nothing_to_do());
}

#[tokio::test]
async fn a_uuid_names_its_agent_in_either_case() {
    let hub = A2aHub::start().await;
    let id = "0192f0c1-7b2a-7abc-8def-0123456789ab";
    let mut agent = hub.attach(id);
    let body = changed("my-agent", &id.to_uppercase());
    let ((status, body), _) = tokio::join!(hub.post(SEND, body), answered(&mut agent, "x"));
    assert_eq!(status, StatusCode::OK);
    assert_eq!(reply(&body)["agentId"], id);
}
