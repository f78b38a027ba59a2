//! An Agora agent calls an agent of another door with the same frames as for an Agora agent.

use jackfield_core::{principal::Principal, store::TaskState};
use jackfield_model::{
    Artifact, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, File, FileSource, Input,
    Json, Part, Reason,
};
use jackfield_testkit::{TestHub, attach_agent_as, with_files};
use serde_json::json;

use super::{ask, caller_and_fake, done, piece};

#[tokio::test]
async fn an_answer_without_chunks_is_one_reply() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "why?");
    assert_eq!(serving.call().request.as_str(), "r");
    assert_eq!(serving.call().principal.label(), "caller");
    serving.finish(done("because"));
    caller
        .expect(json!({"type": "reply", "from": "fake", "payload": {"action": "answer", "body": {"answer": "because"}, "request_id": "r"}}))
        .await;
    // A message with only a stream id gets its reply under the stream id.
    caller
        .send(json!({"type": "send", "to": "fake", "stream_id": "s", "payload": "why?"}))
        .await;
    fake.next_call().await.finish(End::done());
    caller
        .expect(json!({"type": "reply", "from": "fake", "stream_id": "s", "payload": {"action": "answer", "body": {"answer": ""}}}))
        .await;
}

#[tokio::test]
async fn a_message_without_any_id_is_answered_with_one_reply_or_error() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    let send = json!({"type": "send", "to": "fake", "payload": {"action": "query", "body": {"question": "why?"}}});
    caller.send(send.clone()).await;
    let serving = fake.next_call().await;
    assert_eq!(serving.call().message.joined_text(), "why?");
    serving.push(piece(ChunkKind::Thinking, "hm"));
    serving.push(Event::text("be"));
    serving.push(Event::text("cause"));
    serving.finish(End::done());
    caller
        .expect(json!({"type": "reply", "from": "fake", "payload": {"action": "answer", "body": {"answer": "because"}}}))
        .await;
    caller.send(send.clone()).await;
    fake.next_call().await.finish(done("whole"));
    caller
        .expect(json!({"type": "reply", "from": "fake", "payload": {"action": "answer", "body": {"answer": "whole"}}}))
        .await;
    caller.send(send).await;
    let failure = Failure::new(Reason::Agent("quota".to_owned()), "no more");
    fake.next_call().await.finish(End::Failed(failure));
    caller
        .expect(json!({"type": "error", "code": "quota", "message": "no more", "from": "fake", "to": "fake"}))
        .await;
}

#[tokio::test]
async fn a_message_without_any_id_is_worked_on_when_its_sender_is_gone() {
    let (hub, mut caller, mut fake) = caller_and_fake().await;
    caller
        .send(json!({"type": "send", "to": "fake", "payload": "why?"}))
        .await;
    let serving = fake.next_call().await;
    let task = serving.call().task.unwrap();
    drop(caller);
    let task = hub.hub().tasks().find(&Principal::local(), task).await;
    let task = task.unwrap();
    serving.finish(done("because"));
    task.over().await;
    assert_eq!(task.record().state, TaskState::Completed);
}

#[tokio::test]
async fn a_streamed_answer_keeps_its_kinds_and_tool_ids() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    for (send, stream_id) in [
        (ask("r"), "r"),
        (
            json!({"type": "send", "to": "fake", "stream_id": "mine", "payload": {"request_id": "r"}}),
            "mine",
        ),
    ] {
        caller.send(send).await;
        let serving = fake.next_call().await;
        let tool = |kind, text: &str| {
            Event::Chunk(Chunk {
                kind,
                text: text.to_owned(),
                tool_name: Some("calc".to_owned()),
                tool_call_id: Some("t-1".to_owned()),
                extra: None,
                waiting_for: None,
            })
        };
        for event in [
            piece(ChunkKind::Thinking, "hm"),
            tool(ChunkKind::ToolStart, ""),
            tool(ChunkKind::ToolInput, "1+1"),
            tool(ChunkKind::ToolResult, "2"),
            piece(ChunkKind::Status, "writing"),
            Event::text("it is \"2\""),
        ] {
            serving.push(event);
        }
        serving.finish(done("it is \"2\""));
        caller
            .expect(json!({"type": "reply", "from": "fake", "stream_id": stream_id, "stream": true, "payload": {"request_id": "r"}}))
            .await;
        let chunk = |text: &str, kind: Option<&str>, is_tool: bool| {
            let mut frame = json!({"type": "reply_chunk", "from": "fake", "stream_id": stream_id, "chunk": text});
            if let Some(kind) = kind {
                frame["kind"] = kind.into();
            }
            if is_tool {
                frame["tool_name"] = "calc".into();
                frame["tool_call_id"] = "t-1".into();
            }
            frame
        };
        for frame in [
            chunk("hm", Some("thinking"), false),
            chunk("", Some("tool_start"), true),
            chunk("1+1", Some("tool_input"), true),
            chunk("2", Some("tool_result"), true),
            chunk("writing", Some("status"), false),
            chunk("it is \"2\"", None, false),
        ] {
            caller.expect(frame).await;
        }
        // Streamed text isn't repeated.
        caller
            .expect(json!({"type": "reply_end", "from": "fake", "stream_id": stream_id, "payload": {"action": "answer", "request_id": "r"}}))
            .await;
    }
}

#[tokio::test]
async fn a_result_that_was_not_among_the_chunks_comes_with_the_end() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    serving.push(piece(ChunkKind::Thinking, "hm"));
    serving.finish(done("the answer"));
    assert_eq!(caller.frame().await["stream"], true);
    assert_eq!(caller.frame().await["kind"], "thinking");
    caller
        .expect(json!({"type": "reply_end", "from": "fake", "stream_id": "r", "payload": {"action": "answer", "body": {"answer": "the answer"}, "request_id": "r"}}))
        .await;
}

#[tokio::test]
async fn artifacts_attachments_and_state_are_in_the_end_frame() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    let artifact = |text: &str, append| {
        Event::Artifact(Artifact {
            id: "a-1".to_owned(),
            name: Some("notes".to_owned()),
            parts: vec![Part::Text(text.to_owned())],
            append,
            last: append,
            extra: None,
        })
    };
    serving.push(artifact("first draft", false));
    serving.push(artifact("one", false));
    serving.push(artifact("two", true));
    serving.finish(End::Done(Box::new(Done {
        state: DoneState::InputRequired,
        attachments: vec![
            File {
                name: Some("plot.png".to_owned()),
                mime: Some("image/png".to_owned()),
                source: FileSource::Uri("https://files.example/plot".to_owned()),
            },
            File {
                name: None,
                mime: None,
                source: FileSource::Bytes("aGk=".into()),
            },
        ],
        usage: Some(Json::parse(r#"{"tokens":3}"#).unwrap()),
        stop_reason: Some("length".to_owned()),
        ..Done::default()
    })));
    let reply = with_files(caller.frame().await).await;
    assert_eq!(reply["type"], "reply");
    let payload = &reply["payload"];
    assert_eq!(
        payload["attachments"],
        json!([{"name": "plot.png", "url": "https://files.example/plot", "type": "image/png"}, {"url": "fetched: hi"}])
    );
    assert_eq!(
        payload["artifacts"],
        json!([{"id": "a-1", "name": "notes", "parts": [{"text": "onetwo"}], "append": false, "last": true}])
    );
    assert_eq!(payload["state"], "input_required");
    assert_eq!(payload["usage"], json!({"tokens": 3}));
    assert_eq!(payload["stop_reason"], "length");
}

#[tokio::test]
async fn a_failure_is_an_error_frame_before_and_after_chunks() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    let quota = || {
        End::Failed(Failure::new(
            Reason::Agent("quota".to_owned()),
            "no more today",
        ))
    };
    caller.send(ask("r")).await;
    fake.next_call().await.finish(quota());
    caller
        .expect(json!({"type": "error", "code": "quota", "message": "no more today", "from": "fake", "to": "fake", "stream_id": "r", "request_id": "r"}))
        .await;
    caller
        .send(
            json!({"type": "send", "to": "fake", "stream_id": "s", "payload": {"request_id": "r"}}),
        )
        .await;
    let serving = fake.next_call().await;
    serving.push(Event::text("well"));
    serving.finish(quota());
    caller.frame().await;
    assert_eq!(caller.frame().await["chunk"], "well");
    caller
        .expect(json!({"type": "error", "code": "quota", "message": "no more today", "from": "fake", "to": "fake", "stream_id": "s", "request_id": "r"}))
        .await;
    // The agent disconnects in the middle.
    caller.send(ask("r")).await;
    drop(fake.next_call().await);
    caller
        .expect_error(json!({"code": "offline", "from": "fake", "to": "fake", "stream_id": "r", "request_id": "r"}))
        .await;
    caller.expect_nothing().await;
}

#[tokio::test]
async fn cancel_reaches_the_agent_and_ends_the_stream() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    for cancel in [
        json!({"type": "cancel", "to": "fake", "stream_id": "s"}),
        json!({"type": "cancel", "to": "fake", "request_id": "r"}),
    ] {
        caller
            .send(json!({"type": "send", "to": "fake", "stream_id": "s", "payload": {"request_id": "r"}}))
            .await;
        let serving = fake.next_call().await;
        caller.send(cancel.clone()).await;
        assert_eq!(fake.next_cancel().await, serving.call().id);
        caller
            .expect_error(json!({"code": "cancelled", "from": "fake", "to": "fake", "stream_id": "s", "request_id": "r"}))
            .await;
        // The ids are free again, and no call is left to cancel.
        caller.send(cancel).await;
        assert_eq!(caller.frame().await["code"], "invalid");
    }
}

#[tokio::test]
async fn a_message_that_is_still_being_joined_can_be_cancelled() {
    let (_hub, mut caller, _fake) = caller_and_fake().await;
    let start = json!({"type": "send", "to": "fake", "stream": true, "stream_id": "s"});
    for _ in 0..2 {
        caller.send(start.clone()).await;
        caller
            .send(json!({"type": "cancel", "to": "fake", "stream_id": "s"}))
            .await;
        caller
            .expect_error(
                json!({"code": "cancelled", "from": "fake", "to": "fake", "stream_id": "s"}),
            )
            .await;
    }
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_at_once() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    caller.close().await;
    assert_eq!(fake.next_cancel().await, serving.call().id);
    assert!(serving.call().is_ended());
}

#[tokio::test]
async fn a_streamed_message_is_joined_for_an_agent_that_takes_whole_ones() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    for frame in [
        json!({"type": "send", "to": "fake", "stream": true, "stream_id": "s", "payload": {"body": {"question": "Sum up:"}}}),
        json!({"type": "send_chunk", "to": "fake", "stream_id": "s", "chunk": "This is"}),
        json!({"type": "send_chunk", "to": "fake", "stream_id": "s", "chunk": " a segment"}),
        json!({"type": "send_end", "to": "fake", "stream_id": "s"}),
    ] {
        caller.send(frame).await;
    }
    let serving = fake.next_call().await;
    assert!(!serving.call().streamed);
    assert_eq!(
        serving.call().message.joined_text(),
        "Sum up:\nThis is a segment"
    );
    serving.finish(done("short"));
    let reply = caller.frame().await;
    assert_eq!(
        (&reply["type"], &reply["stream_id"]),
        (&json!("reply"), &json!("s"))
    );
    caller.expect_nothing().await;
}

#[tokio::test]
async fn a_streamed_message_is_passed_through_to_an_agent_that_takes_pieces() {
    let hub = TestHub::start().await;
    let mut fake = attach_agent_as(hub.hub(), &Principal::local(), "fake", true);
    let mut caller = hub.agora("caller").await;
    caller
        .send(json!({"type": "send", "to": "fake", "stream": true, "stream_id": "s", "payload": "Sum up:"}))
        .await;
    // The call exists before the message is complete.
    let serving = fake.next_call().await;
    assert!(serving.call().streamed);
    assert_eq!(serving.call().message.joined_text(), "Sum up:");
    for frame in [
        json!({"type": "send_chunk", "to": "fake", "stream_id": "s", "chunk": "This"}),
        json!({"type": "send_end", "to": "fake", "stream_id": "s"}),
    ] {
        caller.send(frame).await;
    }
    caller.expect_nothing().await;
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    assert_eq!(
        inputs,
        [Input::Chunk("This".to_owned()), Input::EndOfMessage]
    );
    serving.finish(End::done());
    assert_eq!(caller.frame().await["type"], "reply");
}

#[tokio::test]
async fn a_message_that_nobody_waits_for_is_kept() {
    let (hub, mut caller, mut fake) = caller_and_fake().await;
    caller
        .send(json!({"type": "send", "to": "fake", "payload": {"body": {"question": "take your time"}}}))
        .await;
    let serving = fake.next_call().await;
    let task = serving.call().task.expect("it is a task");
    // The task outlives its caller.
    let mut watching = crate::agora::watch(&hub, "caller");
    caller.close().await;
    crate::agora::until_offline(&mut watching).await;
    assert!(!serving.call().is_ended());
    serving.finish(done("finally"));
    assert!(
        hub.hub()
            .tasks()
            .find(&Principal::local(), task)
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn what_nobody_waits_for_still_fails_with_a_word() {
    let (_hub, mut caller, fake) = caller_and_fake().await;
    drop(fake);
    caller
        .send(json!({"type": "send", "to": "fake", "payload": "hello?"}))
        .await;
    caller
        .expect_error(json!({"code": "offline", "to": "fake", "frame_type": "send", "field": "to"}))
        .await;
}
