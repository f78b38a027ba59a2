//! Cuts after every frame, combined with every number of frames received by the hub.

use std::collections::BTreeMap;

use jackfield_sdk::{Agent, Artifact};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::bridge::{
    script::{ScriptedHub, Wire},
    work::{dropped, waiting},
};

/// An agent that sends an event of each kind, and asks twice.
fn scripted() -> Agent {
    Agent::new("a").on_message(|message, reply| async move {
        reply.text("one ").await?;
        reply.thinking("hm").await?;
        let first = Artifact::new("log").text("first").open();
        reply.artifact(first).await?;
        let name = reply.ask("who?").await?.text;
        reply.text(format!("{name} says {} ", message.text)).await?;
        let last = Artifact::new("log").text("last").append();
        reply.artifact(last).await?;
        let may = reply.approve("rm", json!(["x"])).await?.approved;
        reply.text(format!("{may}")).await?;
        reply.result("all");
        Ok(())
    })
}

/// Number of frames of the scripted agent, with the end.
const FRAMES: u64 = 9;

/// Frames of the reply to `r` received by a hub; each sequence number once.
#[derive(Default)]
struct ReceivedFrames {
    frames: BTreeMap<u64, Value>,
    answered: Vec<String>,
}

impl ReceivedFrames {
    /// Reads a frame: the next in order or a repeated one. Answers questions, including repeated questions.
    async fn take(&mut self, wire: &mut Wire) {
        let frame = wire.frame().await;
        let seq = frame["seq"].as_u64().unwrap();
        let known = self.frames.len() as u64;
        assert!(seq <= known + 1, "{frame} comes too early");
        if let Some(before) = self.frames.insert(seq, frame.clone()) {
            assert_eq!(before, frame, "a frame does not change");
        }
        if frame["type"] == "ask" {
            let id = frame["ask_id"].as_str().unwrap();
            self.answered.push(id.to_owned());
            answer(wire, id).await;
        }
    }

    fn is_whole(&self) -> bool {
        self.frames.len() as u64 == FRAMES
    }
}

async fn answer(wire: &mut Wire, id: &str) {
    wire.send(json!({"type": "answer", "request_id": "r", "ask_id": id, "content": "ann", "approved": true}))
        .await;
}

fn have(count: u64) -> Value {
    let open = json!([{"request_id": "r", "have": count}]);
    json!({"token": "t-2", "grace_ms": 30000, "open": open})
}

/// The reply without any cut.
async fn uncut() -> BTreeMap<u64, Value> {
    let script = ScriptedHub::start(scripted()).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    let mut got = ReceivedFrames::default();
    while !got.is_whole() {
        got.take(&mut wire).await;
    }
    got.frames
}

#[tokio::test]
async fn a_cut_after_any_frame_loses_nothing_and_doubles_nothing() {
    let expected = uncut().await;
    assert_eq!(expected[&FRAMES]["type"], "done");
    for cut in 0..=FRAMES {
        // The hub may have lost the last frames, and may or may not have acknowledged the others.
        for kept in 0..=cut {
            for acked in [0, kept] {
                let script = ScriptedHub::start(scripted()).await;
                let mut wire = script.first().await;
                wire.message("r", "go").await;
                let mut got = ReceivedFrames::default();
                while (got.frames.len() as u64) < cut {
                    got.take(&mut wire).await;
                }
                if acked > 0 {
                    wire.ack("r", acked).await;
                }
                drop(wire);
                got.frames.retain(|seq, _| *seq <= kept);
                let (mut wire, register) = script.attach(have(kept)).await;
                assert_eq!(register["resume"]["token"], "t-1");
                let open = register["resume"]["open"].as_array().unwrap();
                if acked == FRAMES {
                    assert!(open.len() <= 1, "it may have heard that it is over");
                } else {
                    let sent = open[0]["sent"].as_u64().unwrap();
                    assert!(sent >= cut, "{register}");
                }
                // A hub repeats its answers after a resume.
                for id in got.answered.clone() {
                    answer(&mut wire, &id).await;
                }
                while !got.is_whole() {
                    got.take(&mut wire).await;
                }
                assert_eq!(
                    got.frames, expected,
                    "cut {cut}, kept {kept}, acked {acked}"
                );
            }
        }
    }
}

#[tokio::test]
async fn what_was_acknowledged_is_not_sent_again() {
    let (agent, _handlers) = waiting();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    assert_eq!(wire.frame().await["seq"], 1);
    drop(wire);
    let (mut wire, register) = script.attach(have(1)).await;
    let open = json!([{"request_id": "r", "sent": 1}]);
    assert_eq!(register["resume"]["open"], open);
    wire.quiet().await;
}

#[tokio::test]
async fn an_end_is_kept_until_the_hub_has_it() {
    let agent = Agent::new("a").on_message(|_, reply| async move { Ok(reply.text("x").await?) });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    wire.frame().await;
    assert_eq!(wire.frame().await["type"], "done");
    drop(wire);
    let (mut wire, register) = script.attach(have(1)).await;
    let open = json!([{"request_id": "r", "sent": 2}]);
    assert_eq!(register["resume"]["open"], open);
    let done = wire.frame().await;
    assert_eq!((&done["type"], &done["seq"]), (&json!("done"), &json!(2)));
    wire.ack("r", 2).await;
    wire.quiet().await;
    drop(wire);
    let (_wire, register) = script.greet().await;
    assert_eq!(register["resume"]["token"], "t-2");
    assert_eq!(register["resume"]["open"], json!([]));
}

#[tokio::test]
async fn handlers_of_requests_that_are_gone_are_dropped() {
    let gone = |open: Value, gone: Value| json!({"token": "t-2", "grace_ms": 1, "open": open, "gone": gone});
    let goes_on = json!([{"request_id": "r2", "have": 1}]);
    let cases = [
        (gone(goes_on.clone(), json!(["r1"])), vec!["r1"]),
        // A request missing from both lists counts as gone.
        (gone(goes_on, json!([])), vec!["r1"]),
        // A fresh session: the grace period was over.
        (gone(json!([]), json!(["r1", "r2"])), vec!["r1", "r2"]),
        (json!({"token": "t-2", "grace_ms": 1}), vec!["r1", "r2"]),
        (Value::Null, vec!["r1", "r2"]),
    ];
    for (resume, expected) in cases {
        let (agent, mut handlers) = waiting();
        let script = ScriptedHub::start(agent).await;
        let mut wire = script.first().await;
        for request in ["r1", "r2"] {
            wire.message(request, "go").await;
            wire.frame().await;
        }
        drop(wire);
        let numbered = !resume.is_null();
        let (mut wire, _) = script.attach(resume).await;
        let mut gone = Vec::new();
        for _ in &expected {
            gone.push(dropped(&mut handlers).await);
        }
        gone.sort();
        assert_eq!(gone, expected);
        if numbered {
            wire.quiet().await;
            assert!(handlers.try_recv().is_err(), "the others go on");
        }
    }
}

#[tokio::test]
async fn without_a_way_back_a_cut_drops_the_handlers() {
    let (agent, mut handlers) = waiting();
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.plain().await;
    wire.message("r", "go").await;
    wire.frame().await;
    drop(wire);
    assert_eq!(dropped(&mut handlers).await, "r");
    let (_wire, register) = script.greet().await;
    assert_eq!(register["resume"], Value::Null);
}

#[tokio::test]
async fn a_handler_goes_on_while_nobody_is_connected() {
    let (ended_sender, mut ended_receiver) = mpsc::channel(1);
    let (go, going) = tokio::sync::watch::channel(false);
    let agent = Agent::new("a").on_message(move |_, reply| {
        let (ended_sender, mut going) = (ended_sender.clone(), going.clone());
        async move {
            reply.text("before ").await?;
            going.wait_for(|go| *go).await?;
            for _ in 0..100 {
                reply.text("meanwhile ").await?;
            }
            ended_sender.try_send(()).unwrap();
            Ok(())
        }
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    assert_eq!(wire.frame().await["delta"], "before ");
    drop(wire);
    // Connected but not confirmed: the agent can't send.
    let (mut wire, _) = script.greet().await;
    go.send_replace(true);
    ended_receiver.recv().await.unwrap();
    wire.send(json!({
        "type": "registered", "status": "ok", "extensions": ["resume"], "resume": have(1),
    }))
    .await;
    for seq in 2..=101 {
        let frame = wire.frame().await;
        assert_eq!(
            (&frame["seq"], &frame["delta"]),
            (&json!(seq), &json!("meanwhile "))
        );
    }
    assert_eq!(wire.frame().await["type"], "done");
}

#[tokio::test]
async fn a_question_that_nobody_answered_is_put_again_even_if_the_hub_had_it() {
    let agent = Agent::new("a").on_message(|_, reply| async move {
        let (one, two) = tokio::join!(reply.ask("one?"), reply.ask("two?"));
        Ok(reply.text(one?.text + &two?.text).await?)
    });
    let script = ScriptedHub::start(agent).await;
    let mut wire = script.first().await;
    wire.message("r", "go").await;
    let (one, two) = (wire.frame().await, wire.frame().await);
    wire.ack("r", 2).await;
    wire.send(
        json!({"type": "answer", "request_id": "r", "ask_id": one["ask_id"], "content": "1"}),
    )
    .await;
    wire.send(json!({"type": "discover_agents_result", "agents": []}))
        .await;
    drop(wire);
    let (mut wire, _) = script.attach(have(2)).await;
    let again = wire.frame().await;
    if again == one {
        // The answer was lost with the connection.
        assert_eq!(wire.frame().await, two);
        wire.send(
            json!({"type": "answer", "request_id": "r", "ask_id": one["ask_id"], "content": "1"}),
        )
        .await;
    } else {
        assert_eq!(again, two);
    }
    wire.send(
        json!({"type": "answer", "request_id": "r", "ask_id": two["ask_id"], "content": "2"}),
    )
    .await;
    let frame = wire.frame().await;
    assert_eq!((&frame["seq"], &frame["delta"]), (&json!(3), &json!("12")));
}
