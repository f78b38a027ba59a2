//! An agent of another door calls an Agora agent, which answers as for an Agora caller.

use jackfield_core::{call::CallerHandle, hub::Request, principal::Principal};
use jackfield_model::{
    Artifact, Chunk, ChunkKind, Done, DoneState, End, Event, Failure, File, FileSource, Input,
    Json, Message, Part, Reason, RequestId, SessionId,
};
use jackfield_testkit::{Raw, TestHub, fake_request, with_files};
use serde_json::{Value, json};

use super::{piece, read};

async fn called() -> (TestHub, Raw, CallerHandle, Value) {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let call = hub
        .hub()
        .calls()
        .open(fake_request("agent", "why?"))
        .unwrap();
    let address = agent.frame().await["from"].clone();
    (hub, agent, call, address)
}

#[tokio::test]
async fn the_message_says_who_calls_and_where_the_answer_goes() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let mut request = fake_request("agent", "why?");
    request.session = Some(SessionId::parse("s-1").unwrap());
    request.request = Some(RequestId::parse("r-1").unwrap());
    request.message.parts.extend([
        Part::File(File {
            name: Some("a.txt".to_owned()),
            mime: None,
            source: FileSource::Uri("https://files.example/a".to_owned()),
        }),
        Part::File(File {
            name: Some("b.txt".to_owned()),
            mime: Some("text/plain".to_owned()),
            source: FileSource::Bytes("aGk=".into()),
        }),
        Part::Data(Json::parse(r#"{"n":1.50}"#).unwrap()),
    ]);
    request.message.metadata = Some(Json::parse(r#"{"trace":"t"}"#).unwrap());
    let call = hub.hub().calls().open(request).unwrap();
    let from = format!("call:{}", call.call().id);
    assert_eq!(
        with_files(agent.frame().await).await,
        json!({
            "type": "message",
            "from": from,
            "payload": {
                "action": "query",
                "body": {
                    "question": "why?",
                    "parts": [
                        {"file": {"name": "a.txt", "uri": "https://files.example/a"}},
                        {"file": {"name": "b.txt", "mime": "text/plain", "bytes": "aGk="}},
                        {"data": {"n": 1.50}},
                    ],
                    "attachments": [
                        {"name": "a.txt", "url": "https://files.example/a"},
                        {"name": "b.txt", "url": "fetched: hi", "type": "text/plain"},
                    ],
                },
                "request_id": "r-1",
                "session_id": "s-1",
            },
            "caller": "local",
            "metadata": {"trace": "t"},
        })
    );
    // Another caller's equal id doesn't clash: the agent sees a different id.
    let fake = Principal::local().as_agent(jackfield_model::AgentId::parse("someone").unwrap());
    let mut request = Request::new(
        fake,
        "local",
        call.call().target.clone(),
        Message::text("?"),
    );
    request.request = Some(RequestId::parse("r-1").unwrap());
    let _second = hub.hub().calls().open(request).unwrap();
    let message = agent.frame().await;
    assert_eq!(message["caller"], "someone");
    assert_ne!(message["payload"]["request_id"], "r-1");
}

#[tokio::test]
async fn one_reply_may_have_many_shapes() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    for (payload, text) in [
        (json!("plain"), "plain"),
        (json!({"answer": "a"}), "a"),
        (json!({"body": {"answer": "b"}}), "b"),
        (
            json!({"action": "answer", "body": {"text": "c"}, "request_id": "r"}),
            "c",
        ),
        (json!({"result": "d"}), "d"),
        (json!({"content": "e"}), "e"),
        (json!({"body": "f"}), "f"),
        (
            json!({"weather": {"rain": true}}),
            r#"{"weather":{"rain":true}}"#,
        ),
        (json!([1, 2]), "[1,2]"),
        (json!({"answer": 42}), r#"{"answer":42}"#),
        (json!({"answer": ""}), ""),
        (json!({"request_id": "r"}), ""),
    ] {
        let call = hub.hub().calls().open(fake_request("agent", "?")).unwrap();
        let from = agent.frame().await["from"].clone();
        agent
            .send(json!({"type": "reply", "to": from, "payload": payload}))
            .await;
        let (events_seen, end) = call.replies().finish().await;
        assert_eq!(
            (events_seen.as_str(), end),
            (text, End::done()),
            "{payload}"
        );
    }
}

#[tokio::test]
async fn a_streamed_reply_keeps_its_kinds() {
    let (_hub, mut agent, call, to) = called().await;
    for frame in [
        json!({"type": "reply", "to": to, "stream": true, "stream_id": "x", "payload": {"request_id": "r"}}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": "hm", "kind": "thinking"}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": "", "kind": "tool_start", "tool_name": "calc", "tool_call_id": "t"}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": "it \u{e9}"}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": " i", "kind": "text"}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": "s", "kind": "unheard-of"}),
        json!({"type": "reply_end", "to": to, "stream_id": "x", "payload": {"answer": "it é is"}}),
    ] {
        agent.send(frame).await;
    }
    let (events, end) = read(call.replies()).await;
    let tool = Event::Chunk(Chunk {
        kind: ChunkKind::ToolStart,
        text: String::new(),
        tool_name: Some("calc".to_owned()),
        tool_call_id: Some("t".to_owned()),
        extra: None,
        waiting_for: None,
    });
    let text: String = events
        .iter()
        .filter_map(|event| match event {
            Event::Chunk(chunk) if chunk.kind == ChunkKind::Text => Some(chunk.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(events[..2], [piece(ChunkKind::Thinking, "hm"), tool]);
    // A repeated text at the end is the result, and isn't appended to the text.
    assert_eq!(text, "it é is");
    let End::Done(done) = end else {
        panic!("{end:?}")
    };
    assert_eq!(done.result.as_deref(), Some("it é is"));
}

#[tokio::test]
async fn the_end_brings_artifacts_attachments_usage_and_state() {
    for (state, expected) in [
        ("completed", DoneState::Completed),
        ("input_required", DoneState::InputRequired),
        ("rejected", DoneState::Rejected),
    ] {
        let (_hub, mut agent, call, to) = called().await;
        agent
            .send(
                json!({"type": "reply", "to": to, "stream": true, "stream_id": "x",
                "payload": {"artifacts": [{"id": "early", "parts": [{"text": "e"}]}]}}),
            )
            .await;
        agent
            .send(json!({"type": "reply_end", "to": to, "stream_id": "x", "payload": {
                "answer": "see there",
                "state": state,
                "attachments": [{"name": "a", "url": "https://files.example/a", "type": "text/plain"}, {"bytes": "aGk="}],
                "artifacts": [{"id": "late", "parts": [{"text": "l"}], "last": true}],
                "usage": {"tokens": 3},
                "stop_reason": "stop",
            }}))
            .await;
        let (events, end) = read(call.replies()).await;
        let artifact = |id: &str, text: &str, last| {
            Event::Artifact(Artifact {
                id: id.to_owned(),
                name: None,
                parts: vec![Part::Text(text.to_owned())],
                append: false,
                last,
                extra: None,
            })
        };
        assert_eq!(
            events,
            [
                artifact("early", "e", false),
                Event::text("see there"),
                artifact("late", "l", true)
            ]
        );
        let file = |name: Option<&str>, mime: Option<&str>, source| File {
            name: name.map(str::to_owned),
            mime: mime.map(str::to_owned),
            source,
        };
        let done = Done {
            state: expected,
            result: None,
            attachments: vec![
                file(
                    Some("a"),
                    Some("text/plain"),
                    FileSource::Uri("https://files.example/a".to_owned()),
                ),
                file(None, None, FileSource::Bytes("aGk=".into())),
            ],
            usage: Some(Json::parse(r#"{"tokens":3}"#).unwrap()),
            stop_reason: Some("stop".to_owned()),
            file_transfer_offer: None,
            is_message: false,
            needs_auth: false,
        };
        assert_eq!(end, End::Done(Box::new(done)));
    }
}

#[tokio::test]
async fn an_error_fails_the_call_with_the_agents_own_code() {
    let (_hub, mut agent, call, to) = called().await;
    agent
        .send(json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": "well"}))
        .await;
    agent
        .send(json!({"type": "error", "to": to, "code": "quota", "message": "no more today"}))
        .await;
    let (events, end) = read(call.replies()).await;
    assert_eq!(events, [Event::text("well")]);
    let failure = Failure::new(Reason::Agent("quota".to_owned()), "no more today");
    assert_eq!(end, End::Failed(failure));
}

#[tokio::test]
async fn a_task_that_failed_in_a_word_of_the_hubs_is_kept_as_it_was_told() {
    for (code, reason) in [
        ("busy", Reason::Busy),
        ("rate_limited", Reason::RateLimited),
        ("cancelled", Reason::Cancelled),
        ("slow_reader", Reason::Agent("agent_slow_reader".into())),
        ("quota", Reason::Agent("quota".into())),
    ] {
        let hub = TestHub::start().await;
        let mut agent = hub.agora("agent").await;
        let task = hub.hub().tasks().start(fake_request("agent", "why?")).await;
        let task = task.unwrap();
        let to = agent.frame().await["from"].clone();
        agent
            .send(json!({"type": "error", "to": to, "code": code, "message": "no"}))
            .await;
        task.over().await;
        let expected_failure = Some(Failure::new(reason, "no"));
        assert_eq!(task.record().failure, expected_failure);
        let kept = hub.hub().tasks().find(&Principal::local(), task.id).await;
        assert_eq!(kept.unwrap().record().failure, expected_failure);
    }
}

#[tokio::test]
async fn what_the_opening_of_a_stream_says_of_it_is_no_part_of_the_answer() {
    let (_hub, mut agent, call, to) = called().await;
    for frame in [
        json!({"type": "reply", "to": to, "stream_id": "s", "stream": true, "payload": {"action": "answer", "body": {"format": "markdown"}}}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "s", "chunk": "hello"}),
        json!({"type": "reply_end", "to": to, "stream_id": "s"}),
    ] {
        agent.send(frame).await;
    }
    let (events, end) = read(call.replies()).await;
    assert_eq!(events, [Event::text("hello")]);
    assert_eq!(end, End::done());
}

#[tokio::test]
async fn an_agent_may_cancel_what_it_works_on() {
    let (_hub, mut agent, call, to) = called().await;
    agent
        .send(json!({"type": "cancel", "to": to, "request_id": "any"}))
        .await;
    assert_eq!(read(call.replies()).await.1, End::Cancelled);
}

#[tokio::test]
async fn the_agent_is_told_when_the_caller_cancels_and_when_it_leaves() {
    let (hub, mut agent, call, to) = called().await;
    let cancel_of = |call: &CallerHandle, to: &Value| json!({"type": "cancel", "from": to, "request_id": call.call().request.as_str()});
    hub.hub()
        .calls()
        .cancel(&Principal::local(), call.call().id)
        .unwrap();
    agent.expect(cancel_of(&call, &to)).await;
    assert_eq!(read(call.replies()).await.1, End::Cancelled);

    let call = hub
        .hub()
        .calls()
        .open(fake_request("agent", "again"))
        .unwrap();
    let to = agent.frame().await["from"].clone();
    let expected = cancel_of(&call, &to);
    drop(call);
    agent.expect(expected).await;
    // Later frames are dropped silently, and affect no other call.
    let call = hub
        .hub()
        .calls()
        .open(fake_request("agent", "third"))
        .unwrap();
    let third = agent.frame().await["from"].clone();
    for late in [
        json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": "late"}),
        json!({"type": "reply_end", "to": to, "stream_id": "x"}),
        json!({"type": "reply", "to": to, "payload": "late"}),
    ] {
        agent.send(late).await;
    }
    agent.expect_nothing().await;
    agent
        .send(json!({"type": "reply", "to": third, "payload": "in time"}))
        .await;
    assert_eq!(
        call.replies().finish().await,
        ("in time".to_owned(), End::done())
    );
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_the_agent_saw_it_is_never_shown() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    // A single thread, so the agent's session doesn't run in between.
    for _ in 0..100 {
        drop(
            hub.hub()
                .calls()
                .open(fake_request("agent", "never mind"))
                .unwrap(),
        );
    }
    agent.expect_nothing().await;
}

#[tokio::test]
async fn a_cancel_after_the_answer_is_not_shown_to_the_agent() {
    let (hub, mut agent, call, to) = called().await;
    agent
        .send(json!({"type": "reply", "to": to, "payload": "done"}))
        .await;
    agent.expect_nothing().await;
    assert!(
        hub.hub()
            .calls()
            .cancel(&Principal::local(), call.call().id)
            .is_err()
    );
    drop(call);
    agent.expect_nothing().await;
}

#[tokio::test]
async fn why_an_agent_leaves_is_told_to_whoever_waits_for_it() {
    let left = "the agent disconnected before it said anything";
    for (code, reason, ending) in [
        (
            1011,
            "no \u{1b}memory",
            r#": it closed the connection with 1011 "no \u{1b}memory""#,
        ),
        (1001, "", ": it closed the connection with 1001"),
        (1000, "bye", r#": it closed the connection with 1000 "bye""#),
        (1000, "", ""),
    ] {
        let (_hub, agent, call, _) = called().await;
        agent.close_with(code, reason).await;
        let End::Failed(failure) = read(call.replies()).await.1 else {
            panic!("not failed");
        };
        assert_eq!(failure.reason, Reason::Offline);
        assert_eq!(failure.text, format!("{left}{ending}"));
    }
}

#[tokio::test]
async fn an_agent_that_leaves_or_is_replaced_fails_its_calls_as_offline() {
    let (hub, agent, call, _) = called().await;
    agent.close().await;
    let End::Failed(failure) = read(call.replies()).await.1 else {
        panic!("not failed");
    };
    assert_eq!(failure.reason, Reason::Offline);

    let mut old = hub.agora("agent").await;
    let call = hub.hub().calls().open(fake_request("agent", "?")).unwrap();
    let to = old.frame().await["from"].clone();
    let mut new = hub.agora("agent").await;
    let End::Failed(failure) = read(call.replies()).await.1 else {
        panic!("not failed");
    };
    assert_eq!(failure.reason, Reason::Offline);
    assert!(failure.text.contains("newer connection"), "{failure:?}");
    // The new connection didn't get the message, so its answer doesn't count.
    new.send(json!({"type": "reply", "to": to, "payload": "late"}))
        .await;
    new.expect_nothing().await;
}

#[tokio::test]
async fn a_reply_that_names_a_stream_and_says_nothing_begins_it() {
    let (_hub, mut agent, call, to) = called().await;
    for frame in [
        json!({"type": "reply", "to": to, "stream_id": "s", "payload": {"request_id": "r"}}),
        json!({"type": "reply_chunk", "to": to, "stream_id": "s", "chunk": "not lost"}),
        json!({"type": "reply_end", "to": to, "stream_id": "s"}),
    ] {
        agent.send(frame).await;
    }
    let (events_seen, end) = read(call.replies()).await;
    assert_eq!(events_seen, [piece(ChunkKind::Text, "not lost")]);
    assert!(matches!(end, End::Done(_)), "{end:?}");
}

#[tokio::test]
async fn a_caller_may_stream_its_message() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let mut request = fake_request("agent", "Sum up:");
    request.streamed = true;
    let call = hub.hub().calls().open(request).unwrap();
    let message = agent.frame().await;
    let from = &message["from"];
    assert_eq!(
        (&message["stream"], &message["stream_id"]),
        (&json!(true), from)
    );
    call.say(Input::Chunk("This is".to_owned()));
    agent
        .expect(
            json!({"type": "message_chunk", "from": from, "stream_id": from, "chunk": "This is"}),
        )
        .await;
    call.say(Input::EndOfMessage);
    agent
        .expect(json!({"type": "message_end", "from": from, "stream_id": from}))
        .await;
    // The agent may begin its answer at any time.
    agent
        .send(json!({"type": "reply", "to": from, "payload": "short"}))
        .await;
    assert_eq!(call.replies().finish().await.0, "short");
}

#[tokio::test]
async fn a_kept_call_reaches_an_agora_agent_too() {
    let hub = TestHub::start().await;
    let mut agent = hub.agora("agent").await;
    let task = hub
        .hub()
        .tasks()
        .start(fake_request("agent", "take your time"))
        .await
        .unwrap();
    let message = agent.frame().await;
    assert_eq!(message["payload"]["body"]["question"], "take your time");
    let mut watching = crate::agora::watch(&hub, "agent");
    agent
        .send(json!({"type": "reply", "to": message["from"], "payload": "done"}))
        .await;
    while !matches!(
        watching.next().await.sight,
        jackfield_core::tap::Sight::Ended(_)
    ) {}
    assert!(task.call().is_none_or(|call| call.is_ended()));
}
