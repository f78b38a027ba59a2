//! Chat completions, whole and streamed.

use jackfield_model::{Artifact, ChunkKind, Done, End, Event, Failure, File, Json, Part, Reason};
use serde_json::{Value, json};

use crate::harness::{ChatEvents, OpenAiHub, answer_text, chunk, joined, says};

#[tokio::test]
async fn an_answer_comes_whole() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body = says("jackfield/amy", "hi");
    let asking = hub.send(hub.chat(&body));
    let answering = async {
        let call = amy.next_call().await;
        assert_eq!(call.call().message.joined_text(), "hi");
        call.push(chunk(ChunkKind::Thinking, "hm", None));
        call.push(Event::text("It is "));
        let usage = Json::parse(r#"{"input_tokens": 3, "output_tokens": 4}"#).unwrap();
        call.finish(End::Done(Box::new(Done {
            result: Some("It is 42.".into()),
            usage: Some(usage),
            ..Done::default()
        })));
    };
    let ((status, body), ()) = tokio::join!(asking, answering);
    assert_eq!(status, 200, "{body}");
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], "jackfield/amy");
    let message = json!({"role": "assistant", "content": "It is 42.", "refusal": null, "reasoning_content": "hm"});
    assert_eq!(body["choices"][0]["message"], message);
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7});
    assert_eq!(body["usage"], usage);
}

#[tokio::test]
async fn a_stream_tells_each_piece_as_it_comes() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut body = says("amy", "hi");
    body["stream_options"] = json!({"include_usage": true});
    let mut chat = hub.chat_stream(body).await;
    let call = amy.next_call().await;
    let first = chat.next().await.unwrap();
    assert_eq!(
        first["choices"][0]["delta"],
        json!({"role": "assistant", "content": ""})
    );
    call.push(Event::text("one "));
    chat.expect("one ").await;
    call.push(Event::text("two"));
    chat.expect("two").await;
    call.finish(End::done());
    let rest = chat.rest().await;
    assert_eq!(rest[0]["choices"][0]["finish_reason"], "stop");
    let usage = json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0});
    assert_eq!(
        (&rest[1]["choices"], &rest[1]["usage"]),
        (&json!([]), &usage)
    );
    assert_eq!(rest.len(), 2);
    assert!(chat.is_done);
}

#[tokio::test]
async fn thinking_tools_and_status_are_reasoning_and_never_tool_calls() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "hi")).await;
    let call = amy.next_call().await;
    let tool = Some(("Bash", "t-1"));
    call.push(chunk(ChunkKind::Thinking, "hm", None));
    call.push(chunk(ChunkKind::Status, "reading", None));
    call.push(chunk(ChunkKind::ToolStart, "", tool));
    call.push(chunk(ChunkKind::ToolInput, "ls", tool));
    call.push(chunk(ChunkKind::ToolResult, "a.txt", tool));
    answer_text(call, "done");
    let chunks = chat.rest().await;
    assert_eq!(
        joined(&chunks, "reasoning_content"),
        "hm\nreading\nUses Bash\n"
    );
    assert_eq!(joined(&chunks, "content"), "done");
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["choices"][0]["delta"]["tool_calls"].is_null())
    );
}

#[tokio::test]
async fn files_come_in_as_parts_and_go_out_as_links() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body = json!({"model": "amy", "messages": [{"role": "user", "content": [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
        {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,aGk="}},
    ]}]});
    let mut chat = hub.chat_stream(body).await;
    let call = amy.next_call().await;
    let files: Vec<_> = call.call().message.files().cloned().collect();
    assert_eq!(files[0].mime.as_deref(), Some("image/png"));
    assert_eq!(files[1].name.as_deref(), Some("a.txt"));
    call.push(Event::Artifact(Artifact {
        id: "a".into(),
        parts: vec![Part::Text("made".into())],
        ..Artifact::default()
    }));
    call.push(Event::text("see"));
    call.finish(End::Done(Box::new(Done {
        attachments: vec![File::bytes(b"hello").name("b.txt").mime("text/plain")],
        ..Done::default()
    })));
    let content = joined(&chat.rest().await, "content");
    let (text, link) = content.split_once("[b.txt](").unwrap();
    assert_eq!(text, "see\n\nmade\n\n");
    let fetched = reqwest::get(link.trim_end_matches(')')).await.unwrap();
    // This hub has no route for the link; a whole hub does.
    assert_eq!(fetched.status(), 404);
    assert!(link.contains("/v1/files/"), "{link}");
}

#[tokio::test]
async fn a_failure_is_an_error_and_no_done() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut chat = hub.chat_stream(says("amy", "hi")).await;
    let call = amy.next_call().await;
    call.push(Event::text("half"));
    let failure = Failure::new(Reason::Agent("quota".into()), "no more today");
    call.finish(End::Failed(failure.clone()));
    let chunks = chat.rest().await;
    let error =
        json!({"message": "no more today", "type": "server_error", "param": null, "code": "quota"});
    assert_eq!(chunks.last().unwrap(), &json!({"error": error}));
    assert!(!chat.is_done);
    let body = says("amy", "hi");
    let asking = async {
        let response = hub.chat(&body).send().await.unwrap();
        assert_eq!(response.headers()["x-should-retry"], "false");
        (
            response.status().as_u16(),
            response.json::<Value>().await.unwrap(),
        )
    };
    let failing = async { amy.next_call().await.finish(End::Failed(failure)) };
    let ((status, body), _) = tokio::join!(asking, failing);
    assert_eq!((status, body), (502, json!({"error": error})));
}

#[tokio::test]
async fn an_agent_that_is_cut_off_at_its_limit_says_length_and_one_that_refuses_fails() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let body = says("amy", "hi");
    let ended = |done: Done| End::Done(Box::new(done));
    let cut = ended(Done {
        stop_reason: Some("max_tokens".into()),
        ..Done::default()
    });
    let asking = hub.send(hub.chat(&body));
    let ((_, answer), _) = tokio::join!(asking, async { amy.next_call().await.finish(cut) });
    assert_eq!(answer["choices"][0]["finish_reason"], "length");
    let refused = ended(Done {
        state: jackfield_model::DoneState::Rejected,
        result: Some("not my job".into()),
        ..Done::default()
    });
    let asking = hub.send(hub.chat(&body));
    let ((status, answer), _) =
        tokio::join!(asking, async { amy.next_call().await.finish(refused) });
    assert_eq!(
        (status, &answer["error"]["code"]),
        (502, &json!("rejected"))
    );
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.ends_with("not my job"), "{message}");
}

#[tokio::test]
async fn helper_prompts_are_answered_here_unless_the_operator_says_otherwise() {
    let prompt = "### Task:\nGenerate a title.\n### Output:\nJSON format: { \"title\": \"x\" }\n### Chat History:\n\
                  <chat_history>\nUSER: Bake bread\n</chat_history>";
    let hub = OpenAiHub::start().await;
    let amy = hub.attach("amy");
    let (status, body) = hub.send(hub.chat(&says("amy", prompt))).await;
    assert_eq!(status, 200);
    assert_eq!(
        body["choices"][0]["message"]["content"],
        r#"{"title":"Bake bread"}"#
    );
    let mut chat = hub.chat_stream(says("amy", prompt)).await;
    assert_eq!(
        joined(&chat.rest().await, "content"),
        r#"{"title":"Bake bread"}"#
    );
    assert!(chat.is_done && amy.has_nothing_to_do());
    let config = jackfield_openai::Config {
        answer_helper_prompts: false,
    };
    let limits = jackfield_core::limits::Limits::default();
    let plain = OpenAiHub::start_with(config, true, limits).await;
    let mut amy = plain.attach("amy");
    let mut chat = plain.chat_stream(says("amy", prompt)).await;
    answer_text(amy.next_call().await, "a title");
    assert_eq!(joined(&chat.rest().await, "content"), "a title");
}

#[tokio::test]
async fn settings_reach_the_agent_as_metadata() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut body = says("amy", "hi");
    body["temperature"] = json!(0.5);
    let mut chat = hub.chat_stream(body).await;
    let call = amy.next_call().await;
    let metadata = call
        .call()
        .message
        .metadata
        .as_ref()
        .unwrap()
        .get()
        .to_owned();
    assert_eq!(metadata, r#"{"openai":{"temperature":0.5}}"#);
    answer_text(call, "ok");
    chat.rest().await;
}

#[tokio::test]
async fn a_named_session_gets_the_transcript_once_and_then_what_is_new() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let transcript = json!({"model": "amy", "messages": [
        {"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}, {"role": "user", "content": "two"},
    ]});
    let mut heard = Vec::new();
    for (header, value) in [
        (None, ""),
        (Some("x-openwebui-chat-id"), "chat-1"),
        (Some("x-openwebui-chat-id"), "chat-1"),
        (Some("jackfield-session"), "s-2"),
    ] {
        let mut body = transcript.clone();
        body["stream"] = true.into();
        let mut request = hub.chat(&body);
        if let Some(header) = header {
            request = request.header(header, value);
        }
        let mut chat = ChatEvents::of(request).await;
        let call = amy.next_call().await;
        let session = call.call().session.to_string();
        heard.push((session, call.call().message.joined_text()));
        answer_text(call, "2");
        chat.rest().await;
    }
    let whole = "[user]\none\n\n[assistant]\n1\n\n[user]\ntwo";
    assert_eq!(heard[0].1, whole);
    assert_eq!(heard[1], ("chat-1".to_owned(), whole.to_owned()));
    assert_eq!(heard[2], ("chat-1".to_owned(), "two".to_owned()));
    assert_eq!(heard[3], ("s-2".to_owned(), whole.to_owned()));
}

#[tokio::test]
async fn the_user_is_a_session_if_nothing_else_is() {
    let hub = OpenAiHub::start().await;
    let mut amy = hub.attach("amy");
    let mut body = says("amy", "hi");
    body["user"] = json!("ann");
    let mut chat = hub.chat_stream(body).await;
    let call = amy.next_call().await;
    assert_eq!(call.call().session.as_str(), "ann");
    answer_text(call, "ok");
    chat.rest().await;
}
