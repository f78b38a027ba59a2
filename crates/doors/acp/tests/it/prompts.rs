//! Prompts, and the updates by which an editor follows them.

use jackfield_core::principal::Principal;
use jackfield_core::store::TaskFilter;
use jackfield_kit::testing::answer_text;
use jackfield_model::{
    Artifact, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, File, Part, Reason,
};
use serde_json::{Value, json};

use crate::harness::{AcpHub, text_of, texts};

fn chunk(kind: ChunkKind, text: &str) -> Event {
    Event::Chunk(Chunk {
        kind,
        ..Chunk::text(text)
    })
}

fn tool(kind: ChunkKind, id: &str, text: &str) -> Event {
    Event::Chunk(Chunk {
        kind,
        tool_name: (kind == ChunkKind::ToolStart).then(|| "grep".to_owned()),
        tool_call_id: Some(id.to_owned()),
        ..Chunk::text(text)
    })
}

#[tokio::test]
async fn a_prompt_is_streamed_and_ends_with_its_response() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "hi").await;
    let call = amy.next_call().await;
    assert_eq!(call.call().message.joined_text(), "hi");
    assert_eq!(call.call().session.as_str(), session);
    call.push(chunk(ChunkKind::Thinking, "hm"));
    let thought = editor.update(&session).await;
    assert_eq!(
        thought,
        json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}})
    );
    call.push(Event::text("Hello, "));
    let first = editor.update(&session).await;
    assert_eq!(
        first,
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hello, "}})
    );
    call.push(Event::text("world"));
    call.finish(End::Done(Box::new(Done {
        result: Some("Hello, world!".to_owned()),
        usage: Some(json!({"tokens": 7}).into()),
        ..Done::default()
    })));
    let (updates, response) = editor.updates_until(prompt).await;
    assert_eq!(texts(&updates, "agent_message_chunk"), "world!");
    let result = &response["result"];
    assert_eq!(result["stopReason"], "end_turn");
    assert_eq!(result["_meta"]["jackfield"]["usage"], json!({"tokens": 7}));
}

#[tokio::test]
async fn all_kinds_of_blocks_reach_the_agent() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "mimeType": "image/png", "data": "aGk=", "uri": "file:///p.png"},
        {"type": "resource_link", "uri": "file:///home/a.rs", "name": "a.rs"},
        {"type": "resource_link", "uri": "https://x/b.pdf", "name": "b.pdf", "mimeType": "application/pdf", "size": 3},
        {"type": "resource", "resource": {"uri": "file:///c.rs", "text": "fn c() {}", "mimeType": "text/x-rust"}, "annotations": null},
    ]);
    let params = json!({"sessionId": session, "prompt": prompt, "_meta": {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}});
    let id = editor.ask("session/prompt", params).await;
    let call = amy.next_call().await;
    assert_eq!(
        call.call().message.parts,
        [
            Part::Text("look".to_owned()),
            Part::File(File::bytes(b"hi").name("p.png").mime("image/png")),
            Part::Text("[a.rs](file:///home/a.rs)".to_owned()),
            Part::File(
                File::at("https://x/b.pdf")
                    .name("b.pdf")
                    .mime("application/pdf")
            ),
            Part::Text("<context ref=\"file:///c.rs\">\nfn c() {}\n</context>".to_owned()),
        ]
    );
    let trace = call.call().traceparent.as_deref();
    assert_eq!(
        trace,
        Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    );
    answer_text(call, "seen");
    assert_eq!(editor.stop_reason(id).await, "end_turn");
}

#[tokio::test]
async fn a_tool_call_has_one_id_and_its_pieces_come_together() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let prompt = editor.prompt(&session, "search").await;
        let call = amy.next_call().await;
        call.push(tool(ChunkKind::ToolStart, "call_1", ""));
        call.push(tool(ChunkKind::ToolInput, "call_1", r#"{"pattern":"#));
        call.push(tool(ChunkKind::ToolInput, "call_1", r#""x"}"#));
        call.push(tool(ChunkKind::ToolResult, "call_1", "[error] no "));
        call.push(tool(ChunkKind::ToolResult, "call_1", "such file"));
        call.push(Event::text("Sorry."));
        call.push(tool(ChunkKind::ToolStart, "call_2", ""));
        call.finish(End::done());
        let (updates, _) = editor.updates_until(prompt).await;
        let id = updates[0]["toolCallId"].clone();
        assert_eq!(
            updates[0],
            json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "grep", "status": "in_progress"})
        );
        let of_first: Vec<&Value> = updates[1..]
            .iter()
            .filter(|it| it["toolCallId"] == id)
            .collect();
        let last = of_first.last().unwrap();
        assert_eq!(last["status"], "failed");
        assert_eq!(last["content"][0]["content"]["text"], "no such file");
        let input = of_first
            .iter()
            .find(|it| !it["rawInput"].is_null())
            .unwrap();
        assert_eq!(input["rawInput"], json!({"pattern": "x"}));
        let end = updates.last().unwrap();
        assert_eq!(
            end["status"], "completed",
            "a tool without a result ends with its turn"
        );
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1], "an agent numbers its calls within a turn");
}

#[tokio::test]
async fn a_status_is_a_thought_unless_the_editor_shows_notices() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    for (capabilities, expected) in [
        (
            json!({}),
            json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "looking\n"}}),
        ),
        (
            json!({"session": {"notices": {}}}),
            json!({"sessionUpdate": "notice", "severity": "info", "title": "looking"}),
        ),
    ] {
        let (mut editor, session) = hub.open_with("amy", capabilities).await;
        editor.prompt(&session, "hi").await;
        let call = amy.next_call().await;
        call.push(Event::Chunk(Chunk::status("looking")));
        assert_eq!(editor.update(&session).await, expected);
        call.finish(End::done());
    }
}

#[tokio::test]
async fn artifacts_and_files_are_part_of_the_answer() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "make").await;
    let call = amy.next_call().await;
    let report = Artifact::new("r").name("Report");
    call.push(Event::Artifact(report.clone().text("One. ").open()));
    call.push(Event::Artifact(report.text("Two.").append()));
    let picture = File::bytes(b"png").name("p.png").mime("image/png");
    call.push(Event::Artifact(Artifact::new("p").file(picture)));
    call.finish(End::Done(Box::new(Done {
        attachments: vec![File::bytes(b"text").name("a.txt").mime("text/plain")],
        ..Done::default()
    })));
    let (updates, _) = editor.updates_until(prompt).await;
    let text = texts(&updates, "agent_message_chunk");
    assert!(text.contains("**Report**\n\nOne. Two."), "{text}");
    let block = |kind: &str| {
        updates
            .iter()
            .find(|it| it["content"]["type"] == kind)
            .unwrap()
    };
    assert_eq!(block("image")["content"]["data"], "cG5n");
    let link = &block("resource_link")["content"];
    assert_eq!(
        (&link["name"], &link["mimeType"]),
        (&json!("a.txt"), &json!("text/plain"))
    );
    let uri = link["uri"].as_str().unwrap();
    assert!(
        uri.contains("/v1/files/"),
        "a link that the hub serves: {uri}"
    );
}

#[tokio::test]
async fn each_end_of_an_agent_has_its_stop_reason_or_error() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let done = |state, reason: Option<&str>| {
        End::Done(Box::new(Done {
            state,
            stop_reason: reason.map(str::to_owned),
            ..Done::default()
        }))
    };
    for (end, expected) in [
        (done(DoneState::Completed, None), "end_turn"),
        (done(DoneState::Completed, Some("length")), "max_tokens"),
        (
            done(DoneState::Completed, Some("max_turn_requests")),
            "max_turn_requests",
        ),
        (done(DoneState::Rejected, None), "refusal"),
    ] {
        let prompt = editor.prompt(&session, "hi").await;
        amy.next_call().await.finish(end);
        assert_eq!(editor.stop_reason(prompt).await, expected);
    }
    for (reason, code) in [
        (Reason::Busy, -32603),
        (Reason::TooLarge, -32602),
        (Reason::Agent("quota".to_owned()), -32603),
        (Reason::Cancelled, -32800),
    ] {
        let prompt = editor.prompt(&session, "hi").await;
        let failure = Failure::new(reason.clone(), "it failed");
        amy.next_call().await.finish(End::Failed(failure));
        let (_, response) = editor.updates_until(prompt).await;
        let error = &response["error"];
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().unwrap().starts_with("it failed"));
        assert_eq!(error["data"]["reason"], reason.name());
    }
}

#[tokio::test]
async fn an_agent_that_leaves_or_is_gone_fails_the_prompt() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "hi").await;
    let call = amy.next_call().await;
    call.push(Event::text("Well"));
    assert_eq!(text_of(&editor.update(&session).await), "Well");
    drop(call);
    amy.leave();
    let (_, response) = editor.updates_until(prompt).await;
    assert_eq!(response["error"]["data"]["reason"], "offline", "{response}");
    let prompt = editor.prompt(&session, "again").await;
    let (_, response) = editor.updates_until(prompt).await;
    assert_eq!(response["error"]["data"]["reason"], "offline");
}

#[tokio::test]
async fn a_prompt_continues_the_task_of_an_agent_that_waits_for_it() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let first = editor.prompt(&session, "book").await;
    let call = amy.next_call().await;
    call.push(Event::text("Where to?"));
    call.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        ..Done::default()
    })));
    assert_eq!(editor.stop_reason(first).await, "end_turn");
    let second = editor.prompt(&session, "Rome").await;
    answer_text(amy.next_call().await, "Booked.");
    let (updates, _) = editor.updates_until(second).await;
    assert_eq!(texts(&updates, "agent_message_chunk"), "Booked.");
    let third = editor.prompt(&session, "thanks").await;
    answer_text(amy.next_call().await, "Bye.");
    assert_eq!(editor.stop_reason(third).await, "end_turn");
    let filter = TaskFilter {
        limit: 10,
        ..TaskFilter::default()
    };
    let tasks = hub.hub.tasks().list(&Principal::local(), filter).await;
    assert_eq!(
        tasks.unwrap().len(),
        2,
        "the second prompt is a turn of the first task"
    );
}

#[tokio::test]
async fn an_editor_that_does_not_read_gets_everything_later() {
    let hub = AcpHub::start().await;
    let mut amy = hub.attach("amy");
    let (mut editor, session) = hub.open("amy").await;
    let prompt = editor.prompt(&session, "much").await;
    let call = amy.next_call().await;
    let piece = "x".repeat(64 << 10);
    for _ in 0..64 {
        call.push(Event::text(&*piece));
        tokio::task::yield_now().await;
    }
    call.finish(End::done());
    let (updates, response) = editor.updates_until(prompt).await;
    assert_eq!(response["result"]["stopReason"], "end_turn");
    assert_eq!(
        texts(&updates, "agent_message_chunk").len(),
        64 * piece.len()
    );
}
