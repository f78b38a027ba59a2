//! Running handlers: their input, their concurrency limit, and their cancellation.

use jackfield_sdk::{Agent, File, Part};
use jackfield_testkit::SOON;
use serde_json::json;
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

use crate::bridge::script::ScriptedHub;

/// Reports its own drop.
struct DropReport(mpsc::Sender<String>, String);

impl Drop for DropReport {
    fn drop(&mut self) {
        self.0.try_send(self.1.clone()).ok();
    }
}

/// An agent whose handlers send a chunk and wait forever, except for [`quiet`](crate::bridge::script::Wire::quiet)
/// requests. The channel receives the request id of each dropped handler.
pub(crate) fn waiting() -> (Agent, mpsc::Receiver<String>) {
    let (sender, dropped) = mpsc::channel(64);
    let agent = Agent::new("a").on_message(move |message, reply| {
        let sender = sender.clone();
        async move {
            if message.text == "quiet?" {
                return Ok(reply.text("quiet").await?);
            }
            let _report = DropReport(sender, message.request_id.clone());
            reply.text(&message.text).await?;
            std::future::pending().await
        }
    });
    (agent, dropped)
}

/// Waits for the next dropped handler, and returns its request id.
pub(crate) async fn dropped(channel: &mut mpsc::Receiver<String>) -> String {
    let next = timeout(SOON, channel.recv()).await;
    next.expect("a handler is dropped in time").unwrap()
}

#[tokio::test]
async fn a_handler_knows_all_that_the_hub_said() {
    let (sender, mut messages) = mpsc::channel(1);
    let agent = Agent::new("a").on_message(move |message, _| {
        sender.try_send(message).unwrap();
        async { Ok(()) }
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.send(json!({
        "type": "message", "session_id": "s", "request_id": "r", "content": "look at \u{2713}",
        "attachments": [{"name": "a.png", "url": "https://x/a.png", "type": "image/png"}],
        "client_id": "anns-laptop", "with_files": true,
        "meta": {
            "message_id": "m", "task_id": "t", "context_id": "c", "caller": "ann", "parent": "call-1",
            "metadata": {"lang": "de"},
            "parts": [
                {"text": "look at \u{2713}"},
                {"file": {"name": "a.png", "mime": "image/png", "uri": "https://x/a.png"}},
                {"file": {"bytes": "aGk="}},
                {"data": {"n": 1}},
            ],
        },
    }))
    .await;
    let message = timeout(SOON, messages.recv()).await.unwrap().unwrap();
    assert_eq!(message.text, "look at \u{2713}");
    assert_eq!(
        (message.session.as_str(), message.request_id.as_str()),
        ("s", "r")
    );
    let png = File::at("https://x/a.png").name("a.png").mime("image/png");
    let hi = File::bytes(*b"hi");
    assert_eq!(message.attachments().collect::<Vec<_>>(), [&png, &hi]);
    assert_eq!(
        message.parts,
        [
            Part::Text("look at \u{2713}".to_owned()),
            Part::File(png.clone()),
            Part::File(hi.clone()),
            Part::Data(json!({"n": 1}).into()),
        ]
    );
    assert_eq!(message.metadata, Some(json!({"lang": "de"})));
    assert_eq!(message.client_id.as_deref(), Some("anns-laptop"));
    assert!(message.with_files);
    let ids = [
        message.message_id,
        message.task_id,
        message.context_id,
        message.caller,
        message.call,
    ];
    assert_eq!(ids.map(Option::unwrap), ["m", "t", "c", "ann", "call-1"]);
}

#[tokio::test]
async fn a_cancel_drops_the_handler_and_nothing_more_is_said() {
    let (agent, mut handlers) = waiting();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    for request in ["r1", "r2"] {
        wire.message(request, "go").await;
        assert_eq!(wire.frame().await["request_id"], request);
    }
    wire.send(json!({"type": "cancel", "session_id": "s", "request_id": "r1"}))
        .await;
    assert_eq!(dropped(&mut handlers).await, "r1");
    wire.quiet().await;
    assert!(handlers.try_recv().is_err(), "the other goes on");
}

#[tokio::test]
async fn a_message_that_comes_again_is_worked_on_once() {
    let (agent, _handlers) = waiting();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    assert_eq!(wire.frame().await["delta"], "go");
    wire.message("r", "go").await;
    wire.quiet().await;
}

#[tokio::test]
async fn frames_that_cannot_be_read_or_are_not_known_harm_nobody() {
    let (agent, _handlers) = waiting();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    for frame in [
        json!([1]),
        json!({"type": "message", "request_id": "r"}),
        json!({"type": "of the future"}),
        json!({"type": "ack", "request_id": "nobody", "seq": 1}),
        json!({"type": "cancel", "request_id": "nobody"}),
        json!({"type": "answer", "request_id": "nobody", "ask_id": "x"}),
        json!({"type": "call_agent_chunk", "call_id": "nobody", "delta": "x"}),
        json!({"type": "call_agent_done", "call_id": "nobody"}),
        json!({"type": "call_agent_error", "call_id": "nobody"}),
        json!({"type": "discover_agents_result", "agents": []}),
        json!({"type": "registered", "status": "ok"}),
        json!({"type": "error", "code": "invalid_message", "message": "what?"}),
    ] {
        wire.send(frame).await;
    }
    wire.quiet().await;
}

#[tokio::test]
async fn one_that_says_much_does_not_keep_others_from_speaking() {
    let agent = Agent::new("a").on_message(|message, reply| async move {
        if message.text == "talk" {
            loop {
                reply.text("talk").await?;
            }
        }
        Ok(reply.text(message.text).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("talker", "talk").await;
    assert_eq!(wire.frame().await["delta"], "talk");
    wire.message("r", "a word").await;
    // Earlier frames of the talker may come first, but no more than fit in its buffer.
    loop {
        let frame = wire.frame().await;
        if frame["request_id"] == "r" {
            assert_eq!(frame["delta"], "a word");
            break;
        }
        wire.ack("talker", frame["seq"].as_u64().unwrap()).await;
    }
}

#[tokio::test]
async fn a_handler_waits_when_the_hub_does_not_acknowledge() {
    let (counter, mut counted) = watch::channel(0u64);
    let agent = Agent::new("a").on_message(move |_, reply| {
        let counter = counter.clone();
        async move {
            let piece = "x".repeat(60_000);
            loop {
                reply.text(&piece).await?;
                counter.send_modify(|count| *count += 1);
            }
        }
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    // The buffer holds 1 MiB: 17 pieces with their frames.
    for seq in 1..=17 {
        assert_eq!(wire.frame().await["seq"], seq);
    }
    let first = timeout(SOON, counted.wait_for(|count| *count >= 17)).await;
    assert_eq!(*first.unwrap().unwrap(), 17);
    wire.ack("r", 2).await;
    for seq in 18..=19 {
        assert_eq!(wire.frame().await["seq"], seq);
    }
    wire.ack("r", 19).await;
    for seq in 20..=36 {
        assert_eq!(wire.frame().await["seq"], seq);
    }
    let last = timeout(SOON, counted.wait_for(|count| *count >= 36)).await;
    assert_eq!(*last.unwrap().unwrap(), 36);
}

#[tokio::test]
async fn a_request_of_which_the_hub_could_not_use_a_frame_fails() {
    let (agent, mut handlers) = waiting();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    assert_eq!(wire.frame().await["seq"], 1);
    wire.send(json!({"type": "error", "code": "invalid_message", "message": "nested too deeply", "request_id": "r", "frame_type": "ask"}))
        .await;
    wire.expect(json!({"type": "error", "session_id": "s", "request_id": "r", "code": "internal_error", "message": "nested too deeply", "seq": 2}))
        .await;
    assert_eq!(dropped(&mut handlers).await, "r");
    // A refused end still counts as an end.
    wire.send(json!({"type": "error", "code": "invalid_message", "message": "what?", "request_id": "r", "frame_type": "error"}))
        .await;
    wire.quiet().await;
    drop(wire);
    let (_wire, register) = script.greet().await;
    assert_eq!(register["resume"]["open"], json!([]));
}
