//! A refused frame ends its call: otherwise the answer would look complete, or never end. Errors about calls name the
//! wrong field.

use jackfield_core::{agent::Settings, call::CallerHandle, principal::Principal};
use jackfield_model::{AgentId, Answer, Ask, AskKind, End, Event, Failure, Input, Reason};
use jackfield_testkit::{Raw, TestHub, fake_request};
use serde_json::{Value, json};

use super::{ask, caller_and_fake, done, read};

/// Starts a call from another door that the agent has received. Also returns the sender's address.
async fn call(hub: &TestHub, agent: &mut Raw) -> (CallerHandle, Value) {
    let call = hub
        .hub()
        .calls()
        .open(fake_request("agent", "why?"))
        .unwrap();
    let from = agent.frame().await["from"].clone();
    (call, from)
}

#[tokio::test]
async fn a_reply_to_a_call_needs_no_stream() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let (call, to) = call(&hub, &mut agent).await;
    for mut frame in [
        json!({"type": "reply", "stream": true}),
        json!({"type": "reply_chunk", "chunk": "be"}),
        json!({"type": "reply_chunk", "chunk": "cause", "stream_id": "whatever"}),
        json!({"type": "reply_end"}),
    ] {
        frame["to"] = to.clone();
        agent.send(frame).await;
    }
    agent.expect_nothing().await;
    assert_eq!(
        call.replies().finish().await,
        ("because".to_owned(), End::done())
    );
}

#[tokio::test]
async fn a_frame_about_a_call_that_is_refused_ends_it() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let (bystander, spared) = call(&hub, &mut agent).await;
    let large = "x".repeat((1 << 20) + 1);
    for (mut frame, code, field) in [
        (
            json!({"type": "reply_chunk", "chunk": {"text": "two"}}),
            "invalid",
            "chunk",
        ),
        (
            json!({"type": "reply_chunk", "text": "two"}),
            "invalid",
            "chunk",
        ),
        (
            json!({"type": "reply_chunk", "chunk": large}),
            "too_large",
            "chunk",
        ),
        (
            json!({"type": "reply_end", "stream_id": 7}),
            "invalid",
            "stream_id",
        ),
        (
            json!({"type": "reply", "stream": "yes", "payload": "two"}),
            "invalid",
            "stream",
        ),
        (json!({"type": "error", "message": "m"}), "invalid", "code"),
        (
            json!({"type": "message", "payload": "two"}),
            "unsupported",
            "type",
        ),
        (json!({"type": "send", "payload": "two"}), "invalid", "type"),
        (
            json!({"type": "answer", "payload": "two"}),
            "unsupported",
            "type",
        ),
    ] {
        let kind = frame["type"].clone();
        let (call, to) = call(&hub, &mut agent).await;
        agent
            .send(json!({"type": "reply_chunk", "to": to, "chunk": "one"}))
            .await;
        frame["to"] = to.clone();
        frame["request_id"] = "r".into();
        agent.send(frame).await;
        let request = call.call().request.clone();
        let expected_error =
            json!({"code": code, "to": to, "request_id": "r", "frame_type": kind, "field": field});
        agent.expect_error(expected_error).await;
        agent
            .expect(json!({"type": "cancel", "from": to, "request_id": request.as_str()}))
            .await;
        let (events, end) = read(call.replies()).await;
        assert_eq!(events, [Event::text("one")], "what came before it stays");
        let End::Failed(Failure { reason, text, .. }) = end else {
            panic!("{kind}: {end:?}");
        };
        assert_eq!(reason, Reason::Agent("internal_error".to_owned()));
        let begin = format!(
            "a frame of the agent cannot be read: {}: ",
            kind.as_str().unwrap()
        );
        assert!(text.starts_with(&begin), "{text}");
        // Frames after the end are dropped.
        agent
            .send(json!({"type": "reply", "to": to, "payload": "late"}))
            .await;
        agent.expect_nothing().await;
    }
    // Other calls aren't affected.
    agent
        .send(json!({"type": "reply", "to": spared, "payload": "fine"}))
        .await;
    assert_eq!(
        bystander.replies().finish().await,
        ("fine".to_owned(), End::done())
    );
}

#[tokio::test]
async fn an_answer_that_is_not_in_the_payload_is_no_empty_success() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    for (mut frame, field) in [
        (json!({"type": "reply"}), "payload"),
        (json!({"type": "reply", "payload": null}), "payload"),
        (json!({"type": "reply", "data": {"text": "hi"}}), "payload"),
        (json!({"type": "reply", "text": "hi"}), "text"),
        (
            json!({"type": "reply", "body": {"answer": "hi"}, "payload": {"request_id": "r"}}),
            "body",
        ),
        (
            json!({"type": "reply", "stream": true, "text": "hi"}),
            "text",
        ),
        (json!({"type": "reply_end", "answer": "hi"}), "answer"),
    ] {
        let (call, to) = call(&hub, &mut agent).await;
        frame["to"] = to;
        agent.send(frame.clone()).await;
        let error = agent.frame().await;
        assert_eq!(error["field"], field, "{frame}: {error}");
        assert_eq!(agent.frame().await["type"], "cancel");
        let (events, end) = read(call.replies()).await;
        assert_eq!(events, []);
        let End::Failed(failure) = end else {
            panic!("{frame}: {end:?}");
        };
        assert!(failure.text.contains(field), "{failure}");
    }
    // With the answer in the payload or the chunks, the text is complete.
    for frames in [
        vec![json!({"type": "reply", "text": "hi", "payload": {"answer": "hi"}})],
        vec![
            json!({"type": "reply_chunk", "chunk": "hi"}),
            json!({"type": "reply_end", "text": "hi"}),
        ],
        vec![
            json!({"type": "reply_chunk", "chunk": "hi"}),
            json!({"type": "reply"}),
        ],
    ] {
        let (call, to) = call(&hub, &mut agent).await;
        for mut frame in frames {
            frame["to"] = to.clone();
            agent.send(frame).await;
        }
        assert_eq!(
            call.replies().finish().await,
            ("hi".to_owned(), End::done())
        );
    }
}

#[tokio::test]
async fn an_id_in_the_payload_that_is_no_text_is_refused_and_not_overlooked() {
    let (hub, mut caller, mut fake) = caller_and_fake().await;
    for id in ["request_id", "session_id", "parent_request_id", "ask_id"] {
        let mut payload = json!({"body": {"question": "why?"}});
        payload[id] = 7.into();
        caller
            .send(json!({"type": "send", "to": "fake", "payload": payload}))
            .await;
        let field = format!("payload.{id}");
        let text = caller
            .expect_error(
                json!({"code": "invalid", "to": "fake", "frame_type": "send", "field": field}),
            )
            .await;
        assert!(text.contains(&field), "{text}");
    }
    // The refused frame opened no call.
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    assert_eq!(serving.call().request.as_str(), "r");
    // Between two Agora agents, payloads are opaque.
    let mut other = hub.agora("other").await;
    caller
        .send(json!({"type": "send", "to": "other", "payload": {"request_id": 7}}))
        .await;
    assert_eq!(other.frame().await["payload"], json!({"request_id": 7}));
    let mut watching = crate::agora::watch(&hub, "other");
    other.close().await;
    crate::agora::until_offline(&mut watching).await;
    caller
        .send(json!({"type": "send", "to": "other", "payload": {"request_id": 7}}))
        .await;
    caller
        .expect_error(
            json!({"code": "offline", "to": "other", "frame_type": "send", "field": "to"}),
        )
        .await;
}

#[tokio::test]
async fn a_frame_about_an_unknown_call_is_told_the_field_that_it_sent() {
    let (_hub, mut caller, _fake) = caller_and_fake().await;
    for (frame, field) in [
        (json!({"type": "cancel", "stream_id": "s"}), "stream_id"),
        (json!({"type": "cancel", "request_id": "r"}), "request_id"),
        (
            json!({"type": "send", "request_id": "r", "payload": {"ask_id": "q"}}),
            "request_id",
        ),
        (
            json!({"type": "send", "payload": {"request_id": "r", "ask_id": "q"}}),
            "payload.request_id",
        ),
        (
            json!({"type": "send", "payload": {"ask_id": "q"}}),
            "payload.request_id",
        ),
        (
            json!({"type": "send", "stream_id": "s", "payload": {"ask_id": "q"}}),
            "stream_id",
        ),
        (
            json!({"type": "send", "payload": {"request_id": "\n"}}),
            "payload.request_id",
        ),
        (json!({"type": "send", "request_id": "\n"}), "request_id"),
    ] {
        let mut sent = frame.clone();
        sent["to"] = "fake".into();
        caller.send(sent).await;
        let error = caller.frame().await;
        assert_eq!(error["code"], "invalid", "{frame}: {error}");
        assert_eq!(error["field"], field, "{frame}: {error}");
        let text = error["message"].as_str().unwrap();
        assert!(text.contains(&format!("{field:?}")), "{frame}: {text}");
    }
}

#[tokio::test]
async fn whoever_answers_a_question_wrongly_is_told_how() {
    let (_hub, mut caller, mut fake) = caller_and_fake().await;
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    serving.ask(Ask {
        id: "a1".to_owned(),
        kind: AskKind::Input,
        text: "which city?".to_owned(),
        tool_name: None,
        tool_call_id: None,
        arguments: None,
        schema: None,
    });
    assert_eq!(
        caller.frame().await["payload"]["input_required"]["id"],
        "a1"
    );
    let answer = |payload: Value| json!({"type": "send", "to": "fake", "payload": payload});
    let refused = |code: &str, field: &str| json!({"code": code, "to": "fake", "request_id": "r", "frame_type": "send", "field": field});
    // Without the question's id, the frame would be a new message.
    caller
        .send(answer(
            json!({"request_id": "r", "body": {"content": "Rome"}}),
        ))
        .await;
    let text = caller
        .expect_error(refused("conflict", "payload.ask_id"))
        .await;
    assert!(
        text.contains(r#"waits for an answer: add "ask_id": "a1""#),
        "{text}"
    );
    caller
        .send(answer(
            json!({"request_id": "r", "ask_id": "a2", "body": {"content": "Rome"}}),
        ))
        .await;
    caller
        .expect_error(refused("not_found", "payload.ask_id"))
        .await;
    caller
        .send(answer(
            json!({"request_id": "r", "ask_id": "a1", "body": {"approved": true}}),
        ))
        .await;
    let text = caller
        .expect_error(refused("invalid", "payload.body"))
        .await;
    assert!(text.contains("content"), "{text}");
    caller
        .send(answer(
            json!({"request_id": "r", "ask_id": "a1", "body": {"content": "Rome"}}),
        ))
        .await;
    caller.expect_nothing().await;
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    let expected_answer = Answer {
        content: Some("Rome".to_owned()),
        ..Answer::default()
    };
    assert_eq!(inputs, [Input::Answer("a1".to_owned(), expected_answer)]);
    serving.finish(done("sunny"));
    assert_eq!(caller.frame().await["type"], "reply");
}

#[tokio::test]
async fn an_approval_is_the_owners_and_the_caller_hears_that_it_waits() {
    let (hub, mut caller, mut fake) = caller_and_fake().await;
    let approval = || Ask {
        id: "a1".to_owned(),
        kind: AskKind::Approval,
        text: "delete it?".to_owned(),
        tool_name: Some("rm".to_owned()),
        tool_call_id: None,
        arguments: None,
        schema: None,
    };
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    serving.ask(approval());
    assert_eq!(caller.frame().await["stream"], true);
    caller
        .expect(
            json!({"type": "reply_chunk", "from": "fake", "stream_id": "r", "kind": "status",
            "chunk": "waiting for the owner of fake to approve rm"}),
        )
        .await;
    serving.finish(done("left it"));
    assert_eq!(caller.frame().await["type"], "reply_end");
    // Unless the owner lets callers decide.
    let settings = Settings {
        approvals_to_caller: true,
        ..Settings::default()
    };
    let id = AgentId::parse("fake").unwrap();
    let changed = hub
        .hub()
        .agents()
        .change(&Principal::local(), &id, None, Some(settings));
    drop(changed.unwrap());
    caller.send(ask("r")).await;
    let serving = fake.next_call().await;
    serving.ask(approval());
    assert_eq!(
        caller.frame().await["payload"]["input_required"],
        json!({"id": "a1", "kind": "approval", "text": "delete it?", "tool": "rm"})
    );
    caller
        .send(json!({"type": "send", "to": "fake", "payload": {"request_id": "r", "ask_id": "a1", "body": {"approved": true}}}))
        .await;
    caller.expect_nothing().await;
    let mut inputs = Vec::new();
    serving.input().take(&mut inputs, usize::MAX);
    let expected_answer = Answer {
        approved: Some(true),
        ..Answer::default()
    };
    assert_eq!(inputs, [Input::Answer("a1".to_owned(), expected_answer)]);
}

#[tokio::test]
async fn a_reply_to_the_caller_is_told_where_replies_go() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let call = hub
        .hub()
        .calls()
        .open(fake_request("agent", "why?"))
        .unwrap();
    let caller = agent.frame().await["caller"].clone();
    agent
        .send(json!({"type": "reply", "to": caller, "payload": {"answer": "hi"}}))
        .await;
    let text = agent
        .expect_error(
            json!({"code": "not_found", "to": caller, "frame_type": "reply", "field": "to"}),
        )
        .await;
    assert!(text.ends_with("reply to the `from` of a message"), "{text}");
    assert!(!call.call().is_ended());
}
