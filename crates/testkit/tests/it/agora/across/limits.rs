//! Limits between Agora and the other doors: sizes, counts, timeouts, readers that don't read.

use std::pin::pin;

use jackfield_core::{
    pipe::Pushed,
    units::{Size, Span},
};
use jackfield_model::{Artifact, End, Event, Part, Reason};
use jackfield_testkit::{TestHub, attach_agent, fake_request};
use serde_json::json;

use super::read;

fn failed(end: End) -> Reason {
    match end {
        End::Failed(failure) => failure.reason,
        other => panic!("not failed: {other:?}"),
    }
}

#[tokio::test]
async fn a_joined_message_has_a_size_and_so_have_all_of_them_together() {
    let hub = TestHub::start_with(|config| config.limits.message = Size::kib(64)).await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut caller = hub.agora("caller").await;
    let start = |id: &str| json!({"type": "send", "to": "fake", "stream": true, "stream_id": id});
    let chunk = |id: &str, kib: usize| json!({"type": "send_chunk", "to": "fake", "stream_id": id, "chunk": "x".repeat(kib << 10)});
    let end = |id: &str| json!({"type": "send_end", "to": "fake", "stream_id": id});
    let refused = |id: &str, code: &str| json!({"code": code, "to": "fake", "stream_id": id, "frame_type": "send_chunk"});
    // A single large message.
    caller.send(start("a")).await;
    caller.send(chunk("a", 40)).await;
    caller.send(chunk("a", 40)).await;
    let mut too_large = refused("a", "too_large");
    too_large["field"] = "chunk".into();
    caller.expect_error(too_large).await;
    // The refusal removes the message.
    caller.send(end("a")).await;
    assert_eq!(caller.frame().await["code"], "invalid");
    // Several messages together.
    caller.send(start("b")).await;
    caller.send(chunk("b", 40)).await;
    caller.send(start("c")).await;
    caller.send(chunk("c", 40)).await;
    caller.expect_error(refused("c", "busy")).await;
    caller.send(end("b")).await;
    let serving = fake.next_call().await;
    assert_eq!(serving.call().message.joined_text().len(), 40 << 10);
    // A sent message frees its bytes.
    caller.send(start("c")).await;
    caller.send(chunk("c", 60)).await;
    caller.send(end("c")).await;
    assert_eq!(
        fake.next_call().await.call().message.joined_text().len(),
        60 << 10
    );
    // A message whose first frame is too large is refused too.
    assert_eq!(
        caller.frame().await["type"],
        "error",
        "the dropped call is told"
    );
    caller
        .send(json!({"type": "send", "to": "fake", "stream": true, "stream_id": "d", "payload": "x".repeat(70 << 10)}))
        .await;
    assert_eq!(caller.frame().await["code"], "busy");
}

#[tokio::test]
async fn artifacts_that_wait_for_the_end_have_a_size() {
    let hub = TestHub::start_with(|config| config.limits.message = Size::kib(64)).await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut caller = hub.agora("caller").await;
    caller
        .send(json!({"type": "send", "to": "fake", "payload": {"request_id": "r"}}))
        .await;
    let serving = fake.next_call().await;
    for number in 0..3 {
        serving.push(Event::Artifact(Artifact {
            id: number.to_string(),
            name: None,
            parts: vec![Part::Text("x".repeat(30 << 10))],
            append: false,
            last: true,
            extra: None,
        }));
    }
    caller
        .expect_error(json!({"code": "too_large", "from": "fake", "to": "fake", "stream_id": "r", "request_id": "r"}))
        .await;
    assert_eq!(fake.next_cancel().await, serving.call().id);
    caller.expect_nothing().await;
}

#[tokio::test]
async fn an_agent_with_too_many_open_calls_is_busy() {
    let hub = TestHub::start_with(|config| config.limits.pending_per_agent = 2).await;
    let fake = attach_agent(hub.hub(), "fake");
    let mut agent = hub.agora("agent").await;
    for id in ["1", "2", "3"] {
        agent
            .send(json!({"type": "send", "to": "fake", "payload": {"request_id": id}}))
            .await;
    }
    agent
        .expect_error(
            json!({"code": "busy", "to": "fake", "request_id": "3", "frame_type": "send"}),
        )
        .await;
    // A message without an id is refused in the same way.
    agent
        .send(json!({"type": "send", "to": "fake", "payload": "x"}))
        .await;
    agent
        .expect_error(json!({"code": "busy", "to": "fake", "frame_type": "send"}))
        .await;
    drop(fake);
    // And the other way round.
    let _open = [1, 2].map(|_| hub.hub().calls().open(fake_request("agent", "?")).unwrap());
    let refused = hub
        .hub()
        .calls()
        .open(fake_request("agent", "?"))
        .unwrap_err();
    assert_eq!(refused.reason, Reason::Busy);
}

#[tokio::test]
async fn an_agent_that_says_nothing_for_too_long_is_cancelled() {
    let hub = TestHub::start_with(|config| config.limits.idle_live = Span::secs(1)).await;
    let mut agent = hub.agora("agent").await;
    let call = hub.hub().calls().open(fake_request("agent", "?")).unwrap();
    let to = agent.frame().await["from"].clone();
    let request = call.call().request.clone();
    assert_eq!(failed(read(call.replies()).await.1), Reason::Timeout);
    agent
        .expect(json!({"type": "cancel", "from": to, "request_id": request.as_str()}))
        .await;
}

#[tokio::test]
async fn a_live_line_counts_as_a_sign_of_life() {
    let hub = TestHub::start_with(|config| {
        config.limits.idle_live = Span::secs(2);
        config.limits.ping = Span::millis(500);
    })
    .await;
    let mut agent = hub.agora("agent").await;
    let call = hub.hub().calls().open(fake_request("agent", "?")).unwrap();
    let to = agent.frame().await["from"].clone();
    // Pings well beyond the idle limit.
    for _ in 0..8 {
        agent.pinged().await;
    }
    agent
        .send(json!({"type": "reply", "to": to, "payload": "at last"}))
        .await;
    assert_eq!(call.replies().finish().await.0, "at last");
}

#[tokio::test]
async fn a_caller_that_does_not_read_loses_its_call_and_the_agent_is_told() {
    let hub = TestHub::start_with(|config| {
        config.limits.pipe_full = Size::kib(128);
        config.limits.pipe_low = Size::kib(64);
        config.limits.pipe_overrun = Size::kib(512);
    })
    .await;
    let mut fake = attach_agent(hub.hub(), "fake");
    let mut caller = hub.agora_narrow("caller").await;
    caller
        .send(json!({"type": "send", "to": "fake", "payload": {"request_id": "r"}}))
        .await;
    let serving = fake.next_call().await;
    // An agent that can't be slowed down keeps sending.
    let text = "x".repeat(60 << 10);
    while serving.push(Event::text(text.clone())) != Pushed::Overrun {
        tokio::task::yield_now().await;
    }
    assert_eq!(fake.next_cancel().await, serving.call().id);
    loop {
        let frame = caller.frame().await;
        if frame["type"] == "error" {
            assert_eq!(
                (&frame["code"], &frame["request_id"]),
                (&json!("slow_reader"), &json!("r"))
            );
            break;
        }
    }
    caller.expect_nothing().await;
}

#[tokio::test]
async fn an_agora_agent_is_paced_by_a_slow_caller_and_nothing_is_lost() {
    // More than the kernel's buffers hold.
    const CHUNKS: usize = 200;
    let hub = TestHub::start_with(|config| {
        config.limits.pipe_full = Size::kib(128);
        config.limits.pipe_low = Size::kib(64);
        config.limits.pipe_overrun = Size::kib(512);
    })
    .await;
    let mut agent = hub.agora_narrow("agent").await;
    let call = hub.hub().calls().open(fake_request("agent", "?")).unwrap();
    let to = agent.frame().await["from"].clone();
    let text = "x".repeat(60 << 10);
    let talk = async {
        for _ in 0..CHUNKS {
            agent
                .send(json!({"type": "reply_chunk", "to": to, "stream_id": "x", "chunk": text}))
                .await;
        }
        agent
            .send(json!({"type": "reply_end", "to": to, "stream_id": "x"}))
            .await;
    };
    let mut talk = pin!(talk);
    // The call can't finish while the caller doesn't read.
    tokio::select! {
        () = &mut talk => panic!("nobody held it up"),
        () = async { while hub.hub().shared().budget.used() < 128 << 10 { tokio::task::yield_now().await } } => {}
    }
    let ((), (events_seen, end)) = tokio::join!(talk, call.replies().finish());
    assert_eq!((events_seen.len(), end), (CHUNKS * text.len(), End::done()));
}
